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
  // Figures that are not drawn yet. Those on the screen come first, the others one by one when the
  // page has nothing else to do, so that a network of hundreds of layers can be read at once.
  const places = [...document.querySelectorAll("[data-figure]")];
  const waiting = new Set(places);
  const draw = (place) => {
    waiting.delete(place);
    const spec = JSON.parse(document.getElementById("spec-" + place.dataset.figure).textContent);
    const options = { actions: false, renderer: "svg", ast: true, config: config() };
    options.tooltip = { theme: dark.matches ? "dark" : "light" };
    return vegaEmbed(place, spec, options).then((made) => {
      made.view.addEventListener("click", (event, item) => {
        if (item && item.datum && item.datum.index !== undefined) open(item.datum.index);
      });
      place.dataset.drawn = "yes";
    });
  };
  const all = () => [...waiting].forEach(draw);
  const later = window.requestIdleCallback || ((then) => setTimeout(then, 50));
  const next = () => {
    const [place] = waiting;
    if (place) draw(place).then(() => later(next));
  };
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && waiting.has(target)) draw(target);
    }
  });
  dark.addEventListener("change", () => places.filter((p) => !waiting.has(p)).forEach(draw));
  window.addEventListener("beforeprint", all);
  const toHash = () => {
    const found = /^#layer-(\d+)$/.exec(location.hash);
    if (found) open(found[1]);
  };
  window.addEventListener("hashchange", toHash);
  // What a link points at must not move while figures above it are drawn.
  if (location.hash) all();
  places.forEach((place) => seen.observe(place));
  later(next);
  toHash();
})();
