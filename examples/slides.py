"""A report as slides in one HTML file: the page of the format `html`, which a script divides into slides."""

from leadline.plugin import report_formatter
from leadline_plugins.formats.html import Html, HtmlSettings

CSS = """
:root { --unit: min(1vh, .5625vw); font-size: calc(2.6 * var(--unit)); scroll-padding: 0; overflow-anchor: none; }
#title, main { max-width: none; margin: 0; padding: 0; }
.slide {
  width: calc(177.7 * var(--unit)); height: calc(100 * var(--unit)); margin: 0 auto; padding: 3rem 5rem;
  position: relative; overflow-y: auto; counter-increment: slide;
}
.slide::after {
  content: counter(slide); position: absolute; bottom: 1rem; inset-inline-end: 2rem; color: var(--faint);
  font-size: .7rem;
}
.slide h2 { margin: 0 0 1.2rem; padding: 0; border: 0; font-size: 1.9rem; }
.slide #title { padding: 6rem 0 2rem; }
main > .slide:first-child { margin-top: 0; } main::after { display: none; }
.slide figure { margin: 0; } .slide figure img { max-height: calc(66 * var(--unit)); }
@media print {
  @page { size: 320mm 180mm; margin: 0; }
  :root { --unit: 1.8mm; } body { font-size: 1.0625rem; } table { font-size: .92rem; }
  .slide { overflow: hidden; break-after: page; }
}
"""
SCRIPT = """
addEventListener("load", () => {
  const main = document.getElementById("report");
  document.getElementById("contents").remove();
  const blocks = [...main.children];
  const open = (...blocks) => {
    const slide = document.createElement("section");
    slide.className = "slide";
    slide.append(...blocks);
    main.append(slide);
    return slide;
  };
  const again = (heading) => {
    const copy = heading.cloneNode(true);
    for (const node of [copy, ...copy.querySelectorAll("[id]")]) node.removeAttribute("id");
    return copy;
  };
  let slide = open(document.getElementById("title"));
  for (const block of blocks) {
    if (block.matches("h2")) {
      slide = open(block);
      continue;
    }
    slide.append(block);
    let first = block;
    while (first.previousElementSibling.matches("h3, h4")) first = first.previousElementSibling;
    if (slide.scrollHeight <= slide.clientHeight || first.previousElementSibling.matches("h2, header")) continue;
    const moved = [...slide.children].slice([...slide.children].indexOf(first));
    slide = open(...[...slide.querySelectorAll(":scope > h2")].map(again), ...moved);
  }
  (document.getElementById(location.hash.slice(1)) ?? main).scrollIntoView({ behavior: "instant" });
  addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 }[event.key];
    if (!step || event.target.closest("#quote, button, summary")) return;
    event.preventDefault();
    const slides = [...main.children];
    const shown = slides.findIndex((slide) => slide.getBoundingClientRect().bottom > innerHeight / 2);
    slides[Math.min(Math.max(shown + step, 0), slides.length - 1)].scrollIntoView();
  });
});
"""


@report_formatter("The report as slides, in one HTML file", settings=HtmlSettings, cache_key=None)
class Slides(Html):
    """Renders slides: citations open their passages, and claims have their marks, as on the page."""

    css = CSS
    script = SCRIPT
