// The method of the book for one clip, in float64: ridge objective in closed form, Frank-Wolfe over the chain of
// states (chain.js), rounding. And the files that a reader brings: read, checked, written. Nothing is sent anywhere.
const SingleClip = (() => {
  "use strict";
  const MOST = { bytes: 20e6, rows: 5000, columns: 200 };
  const zeros = (n, m) => Array.from({ length: n }, () => new Float64Array(m));
  const inner = (A, B) => A.reduce((sum, row, t) => row.reduce((s, v, c) => s + v * B[t][c], sum), 0);

  // Lower Cholesky factor of a symmetric positive definite matrix.
  function cholesky(A) {
    const L = zeros(A.length, A.length);
    for (let i = 0; i < A.length; i++) {
      for (let j = 0; j <= i; j++) {
        let s = A[i][j];
        for (let k = 0; k < j; k++) s -= L[i][k] * L[j][k];
        if (i === j && !(s > 0)) throw new Error("lambda: a larger value expected; the features are too nearly equal");
        L[i][j] = i === j ? Math.sqrt(s) : s / L[j][j];
      }
    }
    return L;
  }

  // Value and gradient from the residual B Z of the ridge regression on Z.
  function ridge(X, lambda, kappa) {
    const N = X.length, d = X[0].length, C = kappa.length;
    const mean = X[0].map((_, j) => X.reduce((s, x) => s + x[j], 0) / N);
    const A = X.map((x) => Float64Array.from(x, (v, j) => v - mean[j]));
    const gram = zeros(d, d);
    for (const a of A) for (let i = 0; i < d; i++) for (let j = 0; j <= i; j++) gram[i][j] += a[i] * a[j];
    for (let i = 0; i < d; i++) gram[i][i] += N * lambda;
    const L = cholesky(gram);

    function residual(Z) {  // B Z = (Pi Z - A W) / N
      const W = zeros(d, C), level = new Float64Array(C);
      Z.forEach((z, t) => z.forEach((v, c) => {
        level[c] += v / N;
        if (v) for (let j = 0; j < d; j++) W[j][c] += A[t][j] * v;
      }));
      for (let c = 0; c < C; c++) {
        for (let i = 0; i < d; i++) {
          for (let k = 0; k < i; k++) W[i][c] -= L[i][k] * W[k][c];
          W[i][c] /= L[i][i];
        }
        for (let i = d - 1; i >= 0; i--) {
          for (let k = i + 1; k < d; k++) W[i][c] -= L[k][i] * W[k][c];
          W[i][c] /= L[i][i];
        }
      }
      return Z.map((z, t) => z.map((v, c) => {
        let s = v - level[c];
        for (let j = 0; j < d; j++) s -= A[t][j] * W[j][c];
        return s / N;
      }));
    }
    const penalty = (Z) => Z.reduce((sum, z) => z.reduce((s, v, c) => s + v * kappa[c], sum), 0);
    return { residual, value: (Z) => inner(Z, residual(Z)) + penalty(Z),
             gradient: (Z) => residual(Z).map((row) => row.map((v, c) => 2 * v + kappa[c])) };
  }

  // Labels of an even split that keeps the least lengths; what may be left out is, where there is too little room.
  function evenSplit(T, chain) {
    const least = chain.classes.map((_, k) => chain.state.filter((s) => s === k).length);
    const free = chain.classes.map((_, k) => chain.skip[chain.state.indexOf(k)] < Infinity);
    const lengths = least.map((m, k) => (free[k] ? 0 : m));
    let room = T - lengths.reduce((a, b) => a + b, 0);
    least.forEach((m, k) => { if (free[k] && m <= room) { lengths[k] = m; room -= m; } });
    const there = lengths.flatMap((n, k) => (n ? [k] : []));
    for (let r = 0; r < room; r++) lengths[there[Math.floor((r * there.length) / room)]]++;
    return lengths;
  }

  // One value a pass: the state of the run. options: classes, lambda, kappa0, passes, background, least.
  function* solve(X, transcript, { bg, background, least, lambda, kappa0, passes }) {
    const T = X.length, chain = Chain.make(transcript, bg, background, least);
    if (T < chain.shortest) {
      throw new Error(`${chain.shortest} intervals or more expected, the least that the list takes `
        + `with actions of ${least} or more; found ${T}`);
    }
    const C = bg + (background !== "none");
    const oneHot = (labels) => labels.map((k) => Float64Array.from({ length: C }, (_, c) => +(c === k)));
    const penalty = (c) => (background === "none" ? 0 : c === bg ? kappa0 : -kappa0);
    const f = ridge(X, lambda, Array.from({ length: C }, (_, c) => penalty(c)));
    const start = evenSplit(T, chain).flatMap((n, k) => new Array(n).fill(chain.classes[k]));
    const run = { start, Z: oneHot(start), values: [], gaps: [], chain };
    run.round = () => Chain.cheapest(run.Z.map((z) => z.map((v) => -2 * v)), chain).labels;
    for (let p = 0; p < passes; p++) {
      const G = f.gradient(run.Z), S = oneHot(Chain.cheapest(G, chain).labels);
      const D = S.map((row, t) => row.map((v, c) => v - run.Z[t][c]));
      const gap = -inner(G, D), q = inner(D, f.residual(D));
      const step = q > 0 ? Math.max(0, Math.min(1, gap / (2 * q))) : 1;
      run.Z = run.Z.map((z, t) => z.map((v, c) => v + step * D[t][c]));
      run.gaps.push(gap);
      run.values.push(f.value(run.Z));
      yield run;
    }
  }

  // ------------------------------------------------------------------ files
  // Numbers of a text: one row an interval; commas, semicolons or tabs between. A first line without any
  // number holds names.
  function readFeatures(text) {
    if (text.length > MOST.bytes) throw new Error(`at most ${MOST.bytes / 1e6} MB expected, found more`);
    if (text.includes("\u0000")) throw new Error("a text file expected (CSV), found a binary one");
    const lines = text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/);
    const rows = lines.flatMap((line, i) => (line.trim() ? [{ line, number: i + 1 }] : []));
    if (!rows.length) throw new Error("one line for each interval expected, found an empty file");
    const mark = ["\t", ";", ","].find((m) => rows[0].line.includes(m)) || ",";
    const cells = rows.map(({ line }) => line.split(mark).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1")));
    const number = (cell) => /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(cell);
    const head = cells[0].some(Boolean) && !cells[0].some(number);
    const first = head ? 1 : 0;
    if (!cells[first]) throw new Error("one line for each interval expected, found only a line of names");
    cells.forEach((row, i) => {
      if (row.length !== cells[0].length) {
        throw new Error(`line ${rows[i].number}: ${cells[0].length} columns expected as in the first line, `
          + `found ${row.length}`);
      }
      row.forEach((cell, j) => {
        if (i >= first && !(number(cell) && Math.abs(+cell) < 1e140)) {
          const found = cell === "" ? "nothing" : `“${cell.slice(0, 40)}”`;
          const hint = /^\d+,\d+$/.test(cell) ? " (write decimals with a point)" : "";
          throw new Error(`line ${rows[i].number}, column ${j + 1}: a finite number expected, found ${found}${hint}`);
        }
      });
    });
    const X = cells.slice(first).map((row) => row.map(Number));
    if (X.length > MOST.rows) throw new Error(`at most ${MOST.rows} intervals expected, found ${X.length}`);
    if (X[0].length > MOST.columns) throw new Error(`at most ${MOST.columns} columns expected, found ${X[0].length}`);
    return X;
  }

  // Names of a list, separated by commas or line ends.
  function readTranscript(text) {
    const names = text.replace(/^\ufeff/, "").split(/[,;\r\n]+/).map((name) => name.trim()).filter(Boolean);
    if (!names.length) throw new Error("transcript: the names of one action or more expected, found none");
    if (names.length > 60) throw new Error(`transcript: at most 60 actions expected, found ${names.length}`);
    const wrong = names.find((name) => name.length > 60 || name.toLowerCase() === "background");
    if (wrong) {
      throw new Error(wrong.toLowerCase() === "background"
        ? "transcript: actions only expected, found “background”, which is put in by the choice of background"
        : `transcript: names of at most 60 letters expected, found “${wrong.slice(0, 30)}…”`);
    }
    const actions = [...new Set(names)];
    return { actions, transcript: names.map((name) => actions.indexOf(name)) };
  }

  // Every column with mean 0 and spread 1; a constant column becomes 0.
  function scaled(X) {
    const N = X.length, columns = X[0].map((_, j) => X.map((x) => x[j]));
    const parts = columns.map((column) => {
      const mean = column.reduce((a, b) => a + b, 0) / N;
      const spread = Math.sqrt(column.reduce((s, v) => s + (v - mean) ** 2, 0) / N);
      return [mean, spread > 1e-12 * Math.max(1, Math.abs(mean)) ? spread : Infinity];
    });
    return X.map((x) => x.map((v, j) => (v - parts[j][0]) / parts[j][1]));
  }

  // Runs of equal labels: [label, first interval, first interval after].
  const runs = (labels) => labels.reduce((found, c, t) => {
    if (t && labels[t - 1] === c) found[found.length - 1][2] = t + 1;
    else found.push([c, t, t + 1]);
    return found;
  }, []);

  // Text of a CSV file; what a spreadsheet would take for a formula is marked as text.
  function csv(rows) {
    const quote = (cell) => {
      const text = typeof cell === "string" && /^[=+\-@\t]/.test(cell) ? `'${cell}` : String(cell);
      return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
    };
    return rows.map((row) => row.map(quote).join(",") + "\r\n").join("");
  }

  // A clip to try: four features, background around five actions of three kinds, and the truth.
  function example() {
    let state = 20140906;
    const uniform = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
    const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
    const plan = [[3, 5], [0, 14], [3, 5], [1, 12], [3, 4], [0, 11], [3, 4], [2, 13], [3, 5], [1, 10], [3, 5]];
    const means = [[2, 0, 0, 1], [0, 2, 0, -1], [0, 0, 2, 1], [0, 0, 0, 0]];
    const truth = plan.flatMap(([c, n]) => new Array(n).fill(c));
    return { truth, transcript: "walk, sit, walk, answer, sit",
             X: truth.map((c) => means[c].map((m) => Math.round(1000 * (m + 0.4 * normal())) / 1000)) };
  }

  return { MOST, ridge, evenSplit, solve, readFeatures, readTranscript, scaled, runs, csv, example };
})();
