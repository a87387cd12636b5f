/* Loaded before every other script of a page. */

// The theme's icon library would replace the <i> of the Play button, and the widget, which needs it, would stop.
// So it replaces nothing by itself: the icons of the page are drawn below, before any widget is there.
window.FontAwesomeConfig = { autoReplaceSvg: false, mutateApproach: "sync" };

// The page's own language of colours: in print always the light one.
window.addEventListener("beforeprint", () => {
  document.documentElement.dataset.printed = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
});
window.addEventListener("afterprint", () => {
  document.documentElement.dataset.theme = document.documentElement.dataset.printed;
});

// Names for the controls, which widgets leave without one.
const ICON_NAMES = { play: "Play", pause: "Pause", stop: "Stop", retweet: "Repeat" };

function setAttribute(element, name, value) {
  if (element && value && element.getAttribute(name) !== value) element.setAttribute(name, value);
}

function nameControls() {
  for (const row of document.querySelectorAll(".widget-hbox:has(> .widget-slider)")) {
    const handle = row.querySelector("[role=slider]");
    const label = row.querySelector(".widget-slider .widget-label");
    // A formula in the label is there twice; its hidden MathML holds the text.
    const formula = label && label.querySelector("math");
    setAttribute(handle, "aria-label", ((formula || label || row).textContent || "").trim() || "frame");
    const readout = row.querySelector(".widget-html-content");
    setAttribute(handle, "aria-valuetext", readout && readout.textContent.trim());
  }
  for (const button of document.querySelectorAll(".widget-play button")) {
    const icon = button.querySelector("i");
    const found = icon && icon.className.match(/fa-(\w+)/);
    setAttribute(button, "aria-label", found && ICON_NAMES[found[1]]);
  }
  // The button for the colours is called "Color mode"; its icon need not say "Light" or "Dark" too.
  for (const title of document.querySelectorAll(".theme-switch > title")) {
    title.parentElement.removeAttribute("aria-labelledby");
    title.parentElement.setAttribute("aria-hidden", "true");
    title.remove();
  }
}

// ---------------------------------------------------------------- search from the disk
// The search fetches pages for its excerpts, which a page opened from the disk may not; search-texts.js has them all.
if (window.PAGE_TEXTS) {
  window.fetch = (address) => {
    const name = new URL(address, location.href).pathname.split("/").pop();
    return Promise.resolve({ text: () => Promise.resolve(PAGE_TEXTS[name] || "") });
  };
  // The page that says most about the words comes first.
  const words = (new URLSearchParams(location.search).get("q") || "").toLowerCase().match(/[\p{L}\d]{3,}/gu) || [];
  const lower = Object.fromEntries(Object.entries(PAGE_TEXTS).map(([name, text]) => [name, text.toLowerCase()]));
  const count = (page) => words.reduce((sum, word) => sum + lower[`${page}.html`].split(word).length - 1, 0);
  window.Scorer = {
    score: ([page, , , , score]) => score + 2 * Math.log2(1 + count(page)),
    objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
    title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  };
}

document.addEventListener("DOMContentLoaded", () => {
  FontAwesome.dom.i2svg({ node: document.body });
  // The widget manager asks MathJax 2 to set formulas in labels; MathJax 3 does it.
  if (window.MathJax && MathJax.startup) {
    MathJax.Hub = {
      Queue: (call) => MathJax.startup.promise.then(() => MathJax.typesetPromise([call[2]])),
    };
  }
  new MutationObserver(nameControls).observe(document.body, {
    childList: true, subtree: true, attributes: true, attributeFilter: ["class", "aria-valuenow"],
  });
  // Names and roles of the theme and of docutils that assistive software reads wrongly.
  for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
  for (const list of document.querySelectorAll(".citation-list")) list.removeAttribute("role");
  // The line that folds a cell open says what it does; its other name, "Toggle hidden content", contradicts it.
  for (const line of document.querySelectorAll("summary[aria-label]")) line.removeAttribute("aria-label");
});
