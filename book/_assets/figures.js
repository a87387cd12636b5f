/* Figures and tables of a page: dark colours, captions that follow the slider, enlarging, sorting, previews. */

// Colours of a figure on a dark page: the lightness is turned over (as HSL has it: 1 - max - min is added to all three
// channels), so hue and saturation stay exactly; then white is lifted from black to the colour of the page.
const DARK_FIGURE = `<svg width="0" height="0" aria-hidden="true" style="position: absolute">
  <filter id="dark-figure" color-interpolation-filters="sRGB" x="0" y="0" width="100%" height="100%">
    <feColorMatrix in="SourceGraphic" result="r" values="1 0 0 0 0  1 0 0 0 0  1 0 0 0 0  0 0 0 1 0"/>
    <feColorMatrix in="SourceGraphic" result="g" values="0 1 0 0 0  0 1 0 0 0  0 1 0 0 0  0 0 0 1 0"/>
    <feColorMatrix in="SourceGraphic" result="b" values="0 0 1 0 0  0 0 1 0 0  0 0 1 0 0  0 0 0 1 0"/>
    <feBlend in="r" in2="g" mode="lighten"/><feBlend in2="b" mode="lighten" result="max"/>
    <feBlend in="r" in2="g" mode="darken"/><feBlend in2="b" mode="darken" result="min"/>
    <feBlend in="SourceGraphic" in2="max" mode="difference"/>
    <feComponentTransfer result="raised"><feFuncR type="table" tableValues="1 0"/>
      <feFuncG type="table" tableValues="1 0"/><feFuncB type="table" tableValues="1 0"/></feComponentTransfer>
    <feBlend in="raised" in2="min" mode="difference"/>
    <feComponentTransfer><feFuncR type="linear" slope="0.87" intercept="0.071"/>
      <feFuncG type="linear" slope="0.87" intercept="0.071"/><feFuncB type="linear" slope="0.87" intercept="0.071"/></feComponentTransfer>
  </filter></svg>`;

function followSliders() {
  for (const text of document.querySelectorAll("figure .frame-text")) {
    const image = text.closest("figure").querySelector(".widget-html img");
    if (!image || text.textContent === image.alt) continue;
    const caption = text.closest("figcaption");
    caption.style.minHeight = `${Math.max(parseFloat(caption.style.minHeight) || 0, caption.clientHeight)}px`;
    text.textContent = image.alt;
  }
}

// ---------------------------------------------------------------- enlarging
function enlarge(figure) {
  const image = figure.querySelector("img");
  const dialog = document.createElement("dialog");
  dialog.className = "enlarged";
  dialog.setAttribute("aria-label", figure.querySelector(".caption-number").textContent.trim());
  const close = document.createElement("button");
  close.textContent = "Close";
  close.type = "button";
  const box = document.createElement("div");
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "The figure, which scrolls");
  const copy = image.cloneNode();
  copy.removeAttribute("style");
  copy.width = Math.round(1.5 * (image.getAttribute("width") || image.naturalWidth));
  box.append(copy);
  dialog.append(close, box);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function prepareFigure(figure) {
  const image = figure.querySelector(":scope > img");
  if (image) { // the box scrolls, the caption stays
    const box = document.createElement("div");
    box.className = "figure-box";
    image.replaceWith(box);
    box.append(image);
  }
  const button = document.createElement("button");
  button.type = "button";
  button.className = "enlarge";
  button.textContent = "Enlarge";
  button.setAttribute("aria-label", `Enlarge ${figure.querySelector(".caption-number").textContent.trim()}`);
  button.addEventListener("click", () => enlarge(figure));
  figure.querySelector("figcaption").append(button);
  figure.addEventListener("click", (event) => event.target.tagName === "IMG" && enlarge(figure));
}

// ---------------------------------------------------------------- sorting
function sortValue(cell) {
  const number = parseFloat(cell.textContent.trim().replace(/[−–](?=\d)/, "-").replace(/(\d),(?=\d{3})/g, "$1"));
  return Number.isNaN(number) ? cell.textContent.trim().toLowerCase() : number;
}

function sortBy(table, heading, column) {
  const down = heading.getAttribute("aria-sort") === "ascending";
  const order = (a, b) => {
    const [x, y] = [a, b].map((row) => sortValue(row.cells[column]));
    if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1; // dashes and words stand below numbers
    return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
  };
  const body = table.tBodies[0];
  body.append(...[...body.rows].sort(order));
  for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
}

function makeSortable(table) {
  const simple = table.tHead && table.tHead.rows.length === 1 && !table.querySelector("[colspan], [rowspan]");
  if (!simple || table.tBodies[0].rows.length < 8) return;
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...heading.childNodes);
    if (!button.textContent.trim()) button.setAttribute("aria-label", "Sort by title of the row");
    button.addEventListener("click", () => sortBy(table, heading, column));
    heading.append(button);
  });
}

// ---------------------------------------------------------------- previews
let preview = null;

function showPreview(link) {
  const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
  const shown = target && (target.closest("figure, div.math, div.citation"));
  if (!shown || link.pathname !== location.pathname) return;
  preview = document.createElement("div");
  preview.className = "preview";
  const copy = shown.cloneNode(true);
  for (const element of copy.querySelectorAll("[id], button, script, .headerlink")) {
    element.matches("button, script, .headerlink") ? element.remove() : element.removeAttribute("id");
  }
  copy.removeAttribute("id");
  preview.append(copy);
  preview.setAttribute("aria-hidden", "true");
  document.body.append(preview);
  const place = link.getBoundingClientRect();
  const above = place.top > preview.offsetHeight + 8;
  preview.style.left = `${Math.max(4, Math.min(place.left, innerWidth - preview.offsetWidth - 4))}px`;
  preview.style.top = `${above ? place.top - preview.offsetHeight - 6 : place.bottom + 6}px`;
}

function hidePreview() {
  if (preview) preview.remove();
  preview = null;
}

document.addEventListener("DOMContentLoaded", () => {
  document.body.insertAdjacentHTML("beforeend", DARK_FIGURE);
  document.querySelectorAll("article figure:has(> figcaption .caption-number)").forEach(prepareFigure);
  document.querySelectorAll("article div.cell_output table").forEach(makeSortable);
  // A heading without a word heads nothing: assistive software need not announce it.
  for (const heading of document.querySelectorAll("article thead th")) {
    if (heading.textContent.trim() || heading.querySelector("button, img")) continue;
    const cell = document.createElement("td");
    cell.className = heading.className;
    heading.replaceWith(cell);
  }
  // What scrolls can be reached with the keys.
  for (const box of document.querySelectorAll("article div.cell_output .text_html, article .figure-box")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
  new MutationObserver(followSliders).observe(document.body, { childList: true, subtree: true });
  for (const link of document.querySelectorAll('article a.reference.internal[href^="#"]')) {
    for (const name of ["mouseenter", "focus"]) link.addEventListener(name, () => { hidePreview(); showPreview(link); });
    for (const name of ["mouseleave", "blur"]) link.addEventListener(name, hidePreview);
  }
  addEventListener("keydown", (event) => event.key === "Escape" && hidePreview());
});
