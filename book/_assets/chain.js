// The dynamic program of ordering.Ordered for one clip: the cheapest way through a chain of states.
// Float64 sums in the package's order and the package's rule for ties, so that paths are the same.
const Chain = (() => {
  "use strict";

  // States of a transcript (class numbers; bg is the background). An action of at least m intervals is m states
  // of which only the last may last (stay). skip is the price of leaving out what begins at a head.
  function make(transcript, bg, background, least = 1, price = Infinity) {
    const optional = background === "optional", alone = transcript.length === 0;
    const around = optional || background === "around" || (background === "between" && alone);
    const classes = transcript.flatMap((a, i) => (around || (background === "between" && i) ? [bg, a] : [a]));
    if (around) classes.push(bg);
    const chain = { classes, state: [], stay: [], head: [], skip: [] };
    classes.forEach((c, k) => {
      const m = c === bg ? 1 : least;
      for (let j = 0; j < m; j++) {
        chain.state.push(k);
        chain.head.push(j === 0);
        chain.stay.push(j === m - 1);
        chain.skip.push(c !== bg ? price : optional ? 0 : Infinity);
      }
    });
    const groups = classes.map((c) => (c === bg ? 1 : least));
    const needed = classes.map((c, k) => (chain.skip[chain.state.indexOf(k)] < Infinity ? 0 : groups[k]));
    const listed = classes.filter((c) => !(c === bg && optional)).length;  // a clip has room for its whole list
    chain.shortest = Math.max(needed.reduce((a, b) => a + b, 0), Math.min(...groups), listed);
    return chain;
  }

  // F[t + 1][k] is the price of the cheapest way to be in state k at interval t; gate: before a head, with
  // what lies between it and the state before left out. Returns the price of the cheapest way to the end.
  function forward(D, { stay, head, skip }, F) {
    const T = D.length, S = head.length;
    F.push(new Float64Array(S).fill(Infinity));
    for (let t = 0, gate; t < T; t++) {
      let enter = (gate = t === 0 ? 0 : Infinity);
      F.push(new Float64Array(S));
      for (let k = 0; k < S; k++) {
        if (k > 0) enter = F[t][k - 1];
        if (k > 0 && head[k]) enter = gate = Math.min(enter, gate + skip[k - 1]);
        F[t + 1][k] = Math.min(stay[k] ? F[t][k] : Infinity, enter) + D[t][k];
      }
    }
    let end = Infinity;
    for (let k = 1; k <= S; k++) if (k === S || head[k]) end = Math.min(F[T][k - 1], end + skip[k - 1]);
    return end;
  }

  // From the end back: go to the state before unless staying, or leaving states out, is strictly cheaper.
  function backtrack(F, { stay, head, skip }) {
    const T = F.length - 1, S = head.length, path = new Array(T);
    for (let t = T, k = S; t > 0; t--) {
      let came = k - 1, lowest = Infinity;
      for (let j = k, toll = 0; j > 0; ) {
        if (F[t][j - 1] + toll < lowest) [came, lowest] = [j - 1, F[t][j - 1] + toll];
        if ((j < S && !head[j]) || skip[j - 1] === Infinity) break;
        toll += skip[j - 1];
        do j--; while (!head[j]);
      }
      path[t - 1] = k = t < T && stay[k] && F[t][k] < lowest ? k : came;
    }
    return path;
  }

  // Price, states and labels of the cheapest way; null if there is none. Interval `at` must not have class `not`.
  function cheapest(cost, chain, at = -1, not = -1) {
    const columns = chain.state.map((k) => chain.classes[k]), F = [];
    const D = cost.map((row, t) => columns.map((c) => (t === at && c === not ? Infinity : row[c])));
    const total = forward(D, chain, F);
    if (!(total < Infinity)) return null;
    const states = backtrack(F, chain).map((k) => chain.state[k]);
    return { total, states, labels: states.map((k) => chain.classes[k]) };
  }

  // The cheapest labels that differ from the given ones: they differ in some interval, so each is tried.
  function runnerUp(cost, chain, labels) {
    const others = labels.map((c, t) => cheapest(cost, chain, t, c)).filter(Boolean);
    return others.reduce((a, b) => (a && a.total <= b.total ? a : b), null);
  }

  return { make, cheapest, runnerUp };
})();
