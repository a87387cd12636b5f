// The two panels of the laboratory page. The mathematics is in chain.js and single-clip.js.
(() => {
  "use strict";
  // ordering.plots: PALETTE and BACKGROUND_COLOR.
  const PALETTE = ["#332288", "#88CCEE", "#CC6677", "#117733", "#DDCC77", "#AA4499",
                   "#44AA99", "#882255", "#999933", "#0072B2", "#E69F00", "#D55E00"];
  const BACKGROUND_COLOR = "#D9D9D9";
  const BACKGROUNDS = [["around", "around and between"], ["between", "between only"],
                       ["optional", "optional, everywhere"], ["none", "none"]];
  const MOST = { actions: 12, intervals: 60, cost: 9 };

  // ------------------------------------------------------------------ colours
  const dark = () => document.documentElement.dataset.theme === "dark";
  const page = () => (dark() ? [18, 18, 18] : [255, 255, 255]);
  const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const mix = (a, b, share) => a.map((v, i) => v + share * (b[i] - v));
  const text = (colour) => `rgb(${colour.map(Math.round).join(" ")})`;
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const BLACK = [0, 0, 0], WHITE = [255, 255, 255];
  const ink = (colour) => (contrast(colour, BLACK) >= contrast(colour, WHITE) ? BLACK : WHITE);

  // The colour of a class. On a dark page it is mixed with white until it stands out, and background is a dark grey.
  function colour(c, bg) {
    if (c === bg) return dark() ? [86, 92, 100] : rgb(BACKGROUND_COLOR);
    const fade = 1 - 0.5 ** Math.floor(c / PALETTE.length);
    let found = mix(rgb(PALETTE[c % PALETTE.length]), WHITE, fade);
    while (dark() && contrast(found, page()) < 4.5) found = mix(found, WHITE, 0.1);
    return found;
  }

  // ------------------------------------------------------------------ elements
  function element(name, attributes = {}, ...children) {
    const svg = ["svg", "g", "rect", "line", "circle", "polyline", "text", "title"].includes(name);
    const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.filter((child) => child !== null));
    return made;
  }
  function field(label, input, className = "") {
    return element("label", { class: className }, ...(className === "lab-line" ? [input, label] : [label, input]));
  }
  const choose = (options) =>
    element("select", {}, ...options.map(([value, name]) => element("option", { value }, name)));
  const heads = (names) =>
    element("thead", {}, element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name))));
  const caption = (x, y, anchor, name) => element("text", { x, y, "text-anchor": anchor }, name);
  const number = (min, max, value, step = 1) => element("input", { type: "number", min, max, value, step });
  const button = (name) => element("button", { type: "button" }, name);
  const say = (box, message, fault = false) => {
    if (box.textContent !== message) box.textContent = message;
    box.classList.toggle("lab-fault", fault);
  };
  function whole(input, name, least, most) {
    const value = Number(input.value);
    if (!Number.isInteger(value) || value < least || value > most || input.value.trim() === "") {
      throw new Error(`${name}: a whole number from ${least} to ${most} expected, found “${input.value}”`);
    }
    return value;
  }
  const positions = (labels, names, bg) => SingleClip.runs(labels).filter(([c]) => c !== bg).map(([c, a, b]) =>
    `${names[c]}\u00a0${a + 1}${b > a + 1 ? `–${b}` : ""}`).join(", ") || "background only";
  // The same for a cell of a table: no line ends within "2–5".
  const unbroken = (told) => told.split(/(\d+–\d+)/).map((part, i) =>
    (i % 2 ? element("span", { class: "lab-number" }, part) : part));
  const show = (price) => String(Math.round(price * 1000) / 1000);

  // A labelled strip of blocks: lengths in intervals, classes, and their names where they fit.
  function strip(y, height, left, unit, blocks, names, bg) {
    let at = 0;
    return element("g", {}, ...blocks.flatMap(([c, n]) => {
      const x = left + at * unit, width = n * unit, fill = colour(c, bg);
      at += n;
      if (!n) return [];
      const fits = c !== bg && names[c].length * 6.6 + 6 <= width;
      const label = fits ? caption(x + width / 2, y + height / 2 + 4, "middle", names[c]) : null;
      if (label) label.style.fill = text(ink(fill));
      return [element("rect", { x, y, width, height, fill: text(fill), stroke: text(page()) }), label].filter(Boolean);
    }));
  }

  // Redraw when the width of the panel or the colours of the page change.
  function keepDrawn(root, draw) {
    let width = root.clientWidth;
    new ResizeObserver(() => { if (root.clientWidth !== width) { width = root.clientWidth; draw(); } }).observe(root);
    new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    draw();
  }

  // ------------------------------------------------------------------ first panel: draw costs, drag boundaries
  function drawing(root) {
    const inputs = {
      transcript: element("input", { type: "text", value: "walk, sit, answer", spellcheck: "false" }),
      background: choose(BACKGROUNDS), T: number(1, MOST.intervals, 20), least: number(1, 20, 1),
      price: element("input", { type: "number", min: 0, step: 0.5, placeholder: "never" }),
      brush: element("input", { type: "range", min: 0, max: MOST.cost, value: 0 }),
    };
    const brushText = element("span", {}), fresh = button("New costs"), flat = button("All costs equal");
    const message = element("p", { class: "lab-message", role: "status" });
    const grid = element("svg", { class: "lab-grid", tabindex: 0, role: "application", "aria-label":
      "Costs, a row for each class, a column for each interval. Arrow keys move, digits 0 to 9 set a cost." });
    const lanes = element("svg", { role: "group", "aria-label": "The best labelling, the runner-up and yours" });
    const body = element("tbody"), numbers = element("textarea", { rows: 8, spellcheck: "false" });
    const numbersNames = element("span", {}, "Costs");
    root.replaceChildren(
      element("div", { class: "lab-controls" },
        field("Transcript", inputs.transcript, "lab-wide"), field("Background", inputs.background),
        field("Intervals", inputs.T), field("An action lasts at least", inputs.least),
        field("Price of leaving one out", inputs.price),
        element("label", {}, element("span", {}, "Brush: cost ", brushText), inputs.brush),
        element("div", { class: "lab-buttons" }, fresh, flat)),
      message, grid, lanes,
      element("table", { class: "table" }, heads(["Labels", "Price", "Above", "Actions, in intervals from 1"]), body),
      element("details", {}, element("summary", {}, "The costs as numbers"),
        element("label", {}, numbersNames, numbers)));

    const costs = new Map();  // by name of the class: one cost an interval
    let seed = 6, cursor = [0, 0], mine = null, mineKey = "", state = null;

    // Hills in the order of the first list, and noise: something to begin with.
    function costsOf(name, place) {
      if (!costs.has(name)) {
        let s = seed * 7919 + place * 104729 + 17;
        const random = () => { s = (Math.imul(s, 1664525) + 1013904223) >>> 0; return s / 2 ** 32; };
        for (let i = 0; i < 5; i++) random();
        const centre = place < 0 ? -1 : place + 0.2 * (random() - 0.5);
        costs.set(name, Array.from({ length: MOST.intervals }, (_, t) => {
          const x = (t + 0.5) / Number(inputs.T.value || 20);
          const far = place < 0 ? 0.45 : Math.min(1, 3.2 * Math.abs(x - centre));
          return Math.max(0, Math.min(MOST.cost, Math.round(9 * far + 3 * (random() - 0.5))));
        }));
      }
      return costs.get(name);
    }

    function read() {
      const { actions, transcript } = SingleClip.readTranscript(inputs.transcript.value);
      if (transcript.length > MOST.actions) {
        throw new Error(`transcript: at most ${MOST.actions} actions expected here, found ${transcript.length}`);
      }
      const T = whole(inputs.T, "intervals", 1, MOST.intervals), least = whole(inputs.least, "least length", 1, 20);
      const bad = inputs.price.validity.badInput;  // then its value is empty too
      const price = inputs.price.value.trim() === "" ? Infinity : Number(inputs.price.value);
      if (bad || !(price >= 0)) throw new Error("price: a number of 0 or more expected, or nothing");
      const background = inputs.background.value, bg = actions.length;
      const chain = Chain.make(transcript, bg, background, least, price);
      const names = background === "none" ? actions : [...actions, "background"];
      const place = (c) => (c === bg ? -1 : (transcript.indexOf(c) + 0.5) / transcript.length);
      const rows = names.map((name, c) => costsOf(name, place(c)));
      if (chain.shortest > T) {
        throw new Error(`${chain.shortest} intervals or more expected, the least that the transcript takes; `
          + `found ${T}`);
      }
      const cost = Array.from({ length: T }, (_, t) => rows.map((row) => row[t]));
      return { T, least, price, bg, background, chain, names, rows, cost };
    }

    // The reader's own labelling: lengths of all states. Its price, or why it is not allowed.
    function judge({ chain, cost, least, bg, names, price }) {
      let total = 0, t = 0;
      for (const [k, n] of mine.entries()) {
        const c = chain.classes[k], free = chain.skip[chain.state.indexOf(k)];
        if (n === 0 && free === Infinity) return { fault: `${names[c]} is missing` };
        if (n > 0 && c !== bg && n < least) return { fault: `${names[c]} lasts ${n}, at least ${least} expected` };
        if (n === 0 && c !== bg) total += price;
        for (let i = 0; i < n; i++) total += cost[t++][c];
      }
      return { total };
    }

    function update() {
      brushText.textContent = inputs.brush.value;
      try {
        state = read();
      } catch (error) {
        state = null;
        say(message, error.message, true);
        root.dataset.state = "fault";
        return;
      }
      const { T, chain, cost, names, bg } = state, key = `${T} ${chain.classes} ${state.least} ${chain.skip}`;
      if (key !== mineKey) { mine = SingleClip.evenSplit(T, chain); mineKey = key; }
      state.best = Chain.cheapest(cost, chain);
      state.second = Chain.runnerUp(cost, chain, state.best.labels);
      state.own = judge(state);
      say(message, `The best labelling costs ${show(state.best.total)}; ` + (state.second
        ? `the runner-up ${show(state.second.total)}.` : "there is no other."));
      const cell = (total) => element("td", { class: "lab-number" }, total === null ? "–" : show(total));
      const row = (name, total, where) => element("tr", {}, element("th", { scope: "row" }, name),
        cell(total), cell(total === null ? null : total - state.best.total), element("td", {}, ...unbroken(where)));
      const place = (labels) => positions(labels, names, bg);
      const mineLabels = mine.flatMap((n, k) => new Array(n).fill(chain.classes[k]));
      body.replaceChildren(row("best", state.best.total, place(state.best.labels)),
        row("runner-up", state.second?.total ?? null, state.second ? place(state.second.labels) : "none"),
        row("yours", state.own.fault ? null : state.own.total,
            (state.own.fault ? `not allowed, ${state.own.fault}: ` : "") + place(mineLabels)));
      if (document.activeElement !== numbers) numbers.value = cost.map((line) => line.join(",")).join("\n");
      numbersNames.textContent = `Costs: a line for each interval; columns ${names.join(", ")}`;
      root.dataset.state = "ready";
      draw();
    }

    // -------------------------------------------------------------- the picture
    const HEIGHT = 36, LANE = 30;
    const geometry = () => {
      const width = root.clientWidth - 28, left = width < 500 ? 76 : 96;
      return { width, left, unit: (width - left - 2) / state.T };
    };
    const short = (name, left) =>
      (name.length * 6.5 > left - 8 ? name.slice(0, Math.floor((left - 14) / 6.5)) + "…" : name);

    function draw() {
      if (!state) return;
      const { T, cost, names, bg, chain, best, second } = state, { width, left, unit } = geometry();
      const x = (t) => left + (t + 0.5) * unit, y = (c) => (c + 0.5) * HEIGHT, high = names.length * HEIGHT;
      grid.setAttribute("viewBox", `0 0 ${width} ${high + 18}`);
      grid.setAttribute("height", high + 18);
      const cells = names.flatMap((_, c) => cost.map((row, t) => {
        const fill = mix(colour(c, bg), page(), 0.92 * Math.min(1, Math.max(0, row[c] / MOST.cost)));
        const at = { x: left + t * unit, y: c * HEIGHT, width: unit, height: HEIGHT };
        const cell = element("rect", { ...at, fill: text(fill), stroke: text(page()) });
        if (unit < 13) return [cell];
        const value = element("text", { x: left + t * unit + 4, y: c * HEIGHT + 11 }, show(row[c]));
        value.style.fill = text(ink(fill));
        value.style.fontSize = unit < 20 ? "9px" : "10px";
        return [cell, value];
      })).flat();
      const line = (labels, shift, name, width) => element("polyline", { class: name, "stroke-width": width,
        points: labels.map((c, t) => `${x(t)},${y(c) + shift}`).join(" ") });
      const paths = [];
      if (second) {
        paths.push(line(second.labels, 8, "lab-halo", 5), line(second.labels, 8, "lab-path lab-second", 2));
      }
      const dot = (c, t) => element("circle", { class: "lab-dot", cx: x(t), cy: y(c) + 6, r: Math.min(4.5, unit / 3) });
      paths.push(line(best.labels, 6, "lab-halo", 6), line(best.labels, 6, "lab-path", 2.5), ...best.labels.map(dot));
      const labels = names.map((name, c) => caption(left - 6, y(c) + 4, "end", short(name, left)));
      const ticks = [...Array(T).keys()].filter((t) => t === 0 || (t + 1) % 5 === 0).map((t) =>
        caption(x(t), high + 13, "middle", String(t + 1)));
      cursor = [Math.min(cursor[0], T - 1), Math.min(cursor[1], names.length - 1)];
      const box = element("rect", { class: "lab-cursor", x: left + cursor[0] * unit, y: cursor[1] * HEIGHT,
                                    width: unit, height: HEIGHT });
      grid.replaceChildren(...cells, ...labels, ...ticks, ...paths, box);

      lanes.setAttribute("viewBox", `0 0 ${width} ${3 * LANE + 12}`);
      lanes.setAttribute("height", 3 * LANE + 12);
      const blocks = (found) => SingleClip.runs(found.labels).map(([c, a, b]) => [c, b - a]);
      const own = mine.map((n, k) => [chain.classes[k], n]);
      const lane = (name, i, found) => [caption(left - 6, i * LANE + 17, "end", name),
        ...(found ? [strip(i * LANE, LANE - 4, left, unit, found, names, bg)] : [])];
      const focused = lanes.contains(document.activeElement) ? document.activeElement.dataset.handle : null;
      lanes.replaceChildren(...lane("best", 0, blocks(best)), ...lane("runner-up", 1, second && blocks(second)),
        ...lane("yours", 2, own), ...handles(left, unit));
      if (focused) lanes.querySelector(`[data-handle="${focused}"]`)?.focus();
    }

    const borders = () => mine.slice(0, -1).reduce((ends, n) => [...ends, (ends.at(-1) ?? 0) + n], []);
    function handles(left, unit) {
      return borders().map((end, j) => {
        const names = [j, j + 1].map((k) => state.names[state.chain.classes[k]]);
        return element("g", { class: "lab-handle", tabindex: 0, role: "slider", "data-handle": j, "aria-valuemin": 0,
          "aria-valuemax": state.T, "aria-valuenow": end,
          "aria-label": `End of ${names[0]} (${j + 1}), before ${names[1]}`,
          "aria-valuetext": `after interval ${end}` },
          element("line", { x1: left + end * unit, x2: left + end * unit, y1: 2 * LANE - 2, y2: 3 * LANE }),
          element("circle", { cx: left + end * unit, cy: 3 * LANE + 2, r: 6 }));
      });
    }
    function moveBorder(j, to) {
      const ends = borders(), low = j ? ends[j - 1] : 0, high = j + 1 < ends.length ? ends[j + 1] : state.T;
      ends[j] = Math.max(low, Math.min(high, to));
      mine = [...ends, state.T].map((end, k) => end - (k ? ends[k - 1] : 0));
      update();
    }
    lanes.addEventListener("keydown", (event) => {
      const j = Number(event.target.dataset.handle);
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (!state || Number.isNaN(j) || !(step || ["Home", "End"].includes(event.key))) return;
      event.preventDefault();
      moveBorder(j, step ? borders()[j] + step : event.key === "Home" ? 0 : state.T);
    });

    // Pointer to interval and row; a pointer may leave the picture while it is down.
    function place(svg, event) {
      const box = svg.getBoundingClientRect(), { width, left, unit } = geometry(), scale = width / box.width;
      return { t: ((event.clientX - box.left) * scale - left) / unit, y: (event.clientY - box.top) * scale };
    }
    let dragged = null;
    lanes.addEventListener("pointerdown", (event) => {
      if (!state || event.button) return;
      const at = place(lanes, event), ends = borders();
      if (at.y < 2 * LANE - 2 || !ends.length || at.t < -0.7) return;
      const nearest = ends.reduce((a, b) => (Math.abs(b - at.t) < Math.abs(a - at.t) ? b : a));
      dragged = { from: nearest, j: null, same: ends.flatMap((end, j) => (end === nearest ? [j] : [])) };
      lanes.setPointerCapture(event.pointerId);
      lanes.querySelector(`[data-handle="${dragged.same[0]}"]`).focus({ focusVisible: false });
      event.preventDefault();
    });
    lanes.addEventListener("pointermove", (event) => {
      if (!dragged || !state) return;
      const to = Math.round(place(lanes, event).t);
      if (dragged.j === null && to !== dragged.from) dragged.j = dragged.same.at(to > dragged.from ? -1 : 0);
      if (dragged.j !== null && borders()[dragged.j] !== to) moveBorder(dragged.j, to);
    });
    for (const name of ["pointerup", "pointercancel"]) lanes.addEventListener(name, () => { dragged = null; });

    let painting = null;
    function paint(event) {
      const { t, y } = place(grid, event), c = Math.floor(y / HEIGHT), last = painting.last;
      const now = [Math.floor(t), painting.row ?? c];
      if (now[1] < 0 || now[1] >= state.names.length) return;
      painting.row = now[1];  // a stroke stays in its row, as hands do not
      const [a, b] = last === null ? [now[0], now[0]] : [Math.min(last, now[0]), Math.max(last, now[0])];
      state.rows[now[1]].fill(Number(inputs.brush.value), Math.max(0, a), Math.max(0, Math.min(state.T, b + 1)));
      painting.last = now[0];
      cursor = [Math.max(0, Math.min(state.T - 1, now[0])), now[1]];
      update();
    }
    grid.addEventListener("pointerdown", (event) => {
      if (!state || event.button || place(grid, event).t < 0) return;
      painting = { row: null, last: null };
      grid.setPointerCapture(event.pointerId);
      paint(event);
    });
    grid.addEventListener("pointermove", (event) => { if (painting && state) paint(event); });
    for (const name of ["pointerup", "pointercancel"]) grid.addEventListener(name, () => { painting = null; });
    grid.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!state || event.ctrlKey || event.metaKey || event.altKey || !(move || /^[0-9]$/.test(event.key))) return;
      event.preventDefault();
      const { T, names, rows } = state;
      const most = [T - 1, names.length - 1];
      if (move) cursor = cursor.map((v, i) => Math.max(0, Math.min(most[i], v + move[i])));
      else rows[cursor[1]][cursor[0]] = Number(event.key);
      update();
      const [t, c] = cursor;
      say(message, `Interval ${t + 1}, ${names[c]}: cost ${show(rows[c][t])}. ${message.textContent}`);
    });

    numbers.addEventListener("input", () => {
      if (!state) return;
      try {
        const given = SingleClip.readFeatures(numbers.value), { T, names, rows } = state;
        if (given.length !== T || given[0].length !== names.length) {
          throw new Error(`costs: ${T} lines of ${names.length} numbers expected, `
            + `found ${given.length} of ${given[0].length}`);
        }
        given.forEach((line, t) => line.forEach((value, c) => { rows[c][t] = value; }));
        update();
      } catch (error) {
        say(message, error.message, true);
      }
    });
    numbers.addEventListener("blur", update);
    for (const input of Object.values(inputs)) input.addEventListener("input", update);
    fresh.addEventListener("click", () => { seed++; costs.clear(); update(); });
    flat.addEventListener("click", () => { for (const row of costs.values()) row.fill(5); update(); });
    update();
    keepDrawn(root, draw);
  }

  // ------------------------------------------------------------------ second panel: a clip of the reader's
  function ownClip(root) {
    const inputs = {
      file: element("input", { type: "file", accept: ".csv,.txt,.tsv,text/csv,text/plain" }),
      transcript: element("textarea", { rows: 3, spellcheck: "false", placeholder: "walk, sit, answer" }),
      background: choose(BACKGROUNDS), least: number(1, 1000, 8),
      lambda: number(0, 1000, 0.01, "any"), kappa0: number(-1, 1, 0, "any"), passes: number(1, 2000, 200),
      scale: element("input", { type: "checkbox", checked: "" }),
    };
    const run = button("Label"), example = button("Use the example");
    const message = element("p", { class: "lab-message", role: "status" });
    const drop = element("div", { class: "lab-drop" },
      field("Features: a CSV file, a line for each interval (or drop it here)", inputs.file));
    const picture = element("svg", { role: "img", hidden: "" }), body = element("tbody");
    const table = element("table", { class: "table", hidden: "" }, heads(["Action", "Start", "End"]), body);
    const links = element("p", { class: "lab-controls", hidden: "" });
    root.replaceChildren(element("div", { class: "lab-controls" }, drop,
      field("Transcript: names in order, commas or lines between", inputs.transcript, "lab-wide"),
      field("Background", inputs.background), field("An action lasts at least", inputs.least),
      field("λ", inputs.lambda), field("κ₀", inputs.kappa0),
      field("Passes", inputs.passes), field("Scale columns", inputs.scale, "lab-line"),
      element("div", { class: "lab-buttons" }, run, example)), message, picture, table, links);

    let X = null, source = "", truth = null, result = null, turn = 0;
    const clear = () => { for (const part of [picture, table, links]) part.setAttribute("hidden", ""); result = null; };
    const fault = (error) => { clear(); say(message, error.message, true); root.dataset.state = "fault"; };

    async function take(file) {
      const own = ++turn;
      clear();
      X = truth = null;
      try {
        if (file.size > SingleClip.MOST.bytes) {
          throw new Error(`at most ${SingleClip.MOST.bytes / 1e6} MB expected, found more`);
        }
        const content = await file.text();
        if (own !== turn) return;
        X = SingleClip.readFeatures(content);
        source = file.name.replace(/\.[^.]*$/, "");
        say(message, `${file.name}: ${X.length} intervals, ${X[0].length} columns. Now the transcript, then “Label”.`);
        root.dataset.state = "read";
      } catch (error) {
        fault(new Error(`${file.name}: ${error.message}`));
      }
    }
    inputs.file.addEventListener("change", () => { if (inputs.file.files.length) take(inputs.file.files[0]); });
    for (const [name, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
      drop.addEventListener(name, (event) => {
        event.preventDefault();
        drop.classList.toggle("lab-over", over);
        if (name === "drop" && event.dataTransfer.files.length) {
          inputs.file.value = "";
          take(event.dataTransfer.files[0]);
        }
      });
    }

    async function label() {
      const own = ++turn;
      clear();
      try {
        if (!X) throw new Error("features: a CSV file expected, found none");
        const { actions, transcript } = SingleClip.readTranscript(inputs.transcript.value), bg = actions.length;
        const options = { bg, background: inputs.background.value, least: whole(inputs.least, "least length", 1, 1000),
          lambda: Number(inputs.lambda.value), kappa0: Number(inputs.kappa0.value),
          passes: whole(inputs.passes, "passes", 1, 2000) };
        if (!(options.lambda > 0) || options.lambda > 1e6) throw new Error("λ: a number above 0 expected");
        if (inputs.kappa0.value.trim() === "" || !(Math.abs(options.kappa0) <= 1)) {
          throw new Error("κ₀: a number from −1 to 1 expected");
        }
        root.dataset.state = "running";
        let last, shown = performance.now();
        for (const found of SingleClip.solve(inputs.scale.checked ? SingleClip.scaled(X) : X, transcript, options)) {
          last = found;
          if (performance.now() - shown > 60) {
            say(message, `Pass ${found.values.length} of ${options.passes}`);
            await new Promise((resolve) => setTimeout(resolve));
            if (own !== turn) return;
            shown = performance.now();
          }
        }
        const names = options.background === "none" ? actions : [...actions, "background"];
        result = { names, bg, labels: last.round(), start: last.start, run: last };
        say(message, `${X.length} intervals labelled. After ${options.passes} passes: `
          + `value ${last.values.at(-1).toPrecision(5)}, gap before the last step ${last.gaps.at(-1).toPrecision(3)}.`);
        finish();
        root.dataset.state = "done";
      } catch (error) {
        fault(error);
      }
    }

    function finish() {
      const { names, bg, labels } = result, found = SingleClip.runs(labels).filter(([c]) => c !== bg);
      body.replaceChildren(...found.map(([c, a, b]) => element("tr", {},
        element("td", {}, names[c]), element("td", {}, String(a)), element("td", {}, String(b)))));
      const file = (name, rows) => element("a", { class: "lab-button", download: name,
        href: URL.createObjectURL(new Blob([SingleClip.csv(rows)], { type: "text/csv" })) }, `Download ${name}`);
      for (const link of links.querySelectorAll("a")) URL.revokeObjectURL(link.href);
      links.replaceChildren(
        file("segments.csv", [["clip", "action", "start", "end"],
          ...found.map(([c, a, b]) => [source, names[c], a, b])]),
        file("labels.csv", [["interval", "label"], ...labels.map((c, t) => [t, names[c]])]));
      for (const part of [picture, table, links]) part.removeAttribute("hidden");
      draw();
    }

    function draw() {
      if (!result) return;
      const { names, bg, labels, start } = result, LANE = 30;
      const width = root.clientWidth - 28, left = width < 500 ? 76 : 96;
      const rows = [["labels", labels], ["start", start], ...(truth ? [["truth", truth]] : [])];
      const unit = (width - left - 2) / labels.length;
      picture.setAttribute("viewBox", `0 0 ${width} ${rows.length * LANE + 16}`);
      picture.setAttribute("height", rows.length * LANE + 16);
      picture.setAttribute("aria-label", `Labels of the clip as a coloured strip: ${positions(labels, names, bg)}`);
      picture.replaceChildren(...rows.flatMap(([name, row], i) => [
        caption(left - 6, i * LANE + 17, "end", name),
        strip(i * LANE, LANE - 4, left, unit, SingleClip.runs(row).map(([c, a, b]) => [c, b - a]), names, bg)]),
        ...[[0, "start"], [0.5, "middle"], [1, "end"]].map(([share, anchor]) => caption(
          left + share * (width - left - 2), rows.length * LANE + 10,
          anchor, String(Math.round(share * labels.length)))));
    }

    run.addEventListener("click", label);
    example.addEventListener("click", () => {
      const made = SingleClip.example();
      turn++;
      [X, source, truth] = [made.X, "example", made.truth];
      inputs.file.value = "";
      inputs.transcript.value = made.transcript;
      label();
    });
    inputs.transcript.addEventListener("input", () => { truth = null; });
    say(message, "Nothing that you put in leaves this page.");
    keepDrawn(root, draw);
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-lab=draw]").forEach(drawing);
    document.querySelectorAll("[data-lab=clip]").forEach(ownClip);
  });
})();
