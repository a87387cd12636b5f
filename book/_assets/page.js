/* Loaded before every other script of a page. */

// The theme's icon library would replace the <i> of the Play button, and the widget would lose it.
window.FontAwesomeConfig = { observeMutations: false };

// The widget manager asks MathJax 2 to set formulas in labels; MathJax 3 does it.
document.addEventListener("DOMContentLoaded", () => {
  if (window.MathJax && MathJax.startup) {
    MathJax.Hub = {
      Queue: (call) => MathJax.startup.promise.then(() => MathJax.typesetPromise([call[2]])),
    };
  }
});

// Names for the controls, which widgets leave without one.
function nameControls() {
  for (const slider of document.querySelectorAll(".widget-slider")) {
    const handle = slider.querySelector("[role=slider]");
    const label = slider.querySelector(".widget-label");
    if (handle && !handle.hasAttribute("aria-label")) {
      handle.setAttribute("aria-label", (label && label.title) || "frame");
    }
  }
  for (const play of document.querySelectorAll(".widget-play")) {
    for (const button of play.querySelectorAll("button")) {
      const icon = button.querySelector("i");
      const name = icon && (icon.className.match(/fa-(play|pause|stop|retweet|repeat)/) || [])[1];
      const text = { play: "Play", pause: "Pause", stop: "Stop", retweet: "Repeat", repeat: "Repeat" }[name];
      if (text && button.getAttribute("aria-label") !== text) button.setAttribute("aria-label", text);
    }
  }
}
document.addEventListener("DOMContentLoaded", () => {
  new MutationObserver(nameControls).observe(document.body, {
    childList: true, subtree: true, attributes: true, attributeFilter: ["class"],
  });
});
