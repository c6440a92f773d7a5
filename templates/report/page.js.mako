"use strict";
// Draws the figures of a report, and opens a layer's card where its mark is clicked.
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const open = (index) => {
    const card = document.getElementById("layer-" + index);
    if (!card) return;
    card.open = true;
    card.scrollIntoView({ block: "center" });
    card.querySelector("summary").focus({ preventScroll: true });
  };
  const config = () => {
    const ink = dark.matches ? "#d7dde4" : "#24292f";
    const axis = { labelColor: ink, titleColor: ink, domainColor: ink, tickColor: ink };
    const legend = { labelColor: ink, titleColor: ink };
    return { background: null, axis, legend, text: { color: ink } };
  };
  const draw = () => {
    for (const place of document.querySelectorAll("[data-figure]")) {
      const spec = JSON.parse(document.getElementById("spec-" + place.dataset.figure).textContent);
      const options = { actions: false, renderer: "svg", ast: true, config: config() };
      options.tooltip = { theme: dark.matches ? "dark" : "light" };
      vegaEmbed(place, spec, options).then((made) => {
        made.view.addEventListener("click", (event, item) => {
          if (item && item.datum && item.datum.index !== undefined) open(item.datum.index);
        });
        place.dataset.drawn = "yes";
      });
    }
  };
  dark.addEventListener("change", draw);
  const toHash = () => {
    const found = /^#layer-(\d+)$/.exec(location.hash);
    if (found) open(found[1]);
  };
  window.addEventListener("hashchange", toHash);
  draw();
  toHash();
})();
