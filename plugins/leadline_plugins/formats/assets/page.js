"use strict";
(() => {
  const box = document.getElementById("quote");
  let from = null;

  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "×";
  close.setAttribute("aria-label", box.dataset.close);
  close.addEventListener("click", () => box.hidePopover());

  const copy = (node) => {
    const made = node.cloneNode(true);
    made.removeAttribute("id");
    return made;
  };

  const names = (node, what) => (node.dataset[what] || "").split(" ").filter(Boolean);

  // A passage with the words highlighted that the verdicts on this citation's claims quote.
  const passage = (node, claims) => {
    const made = copy(node);
    for (const mark of made.querySelectorAll("mark[data-claims]")) {
      if (claims.length && !names(mark, "claims").some((id) => claims.includes(id))) mark.replaceWith(...mark.childNodes);
    }
    return made;
  };

  const verdict = (id) => {
    const sign = document.getElementById(id);
    if (!sign?.title) return [];
    const line = document.createElement("p");
    line.className = sign.className;
    line.textContent = `${sign.textContent} ${sign.title}`;
    return [line];
  };

  const fill = (citation) => {
    const source = document.querySelector(citation.getAttribute("href"));
    const passages = names(citation, "evidence").map((id) => document.getElementById(id)).filter(Boolean);
    if (!source) return false;
    const claims = names(citation, "claims");
    const shown = passages.map((node) => passage(node, claims));
    box.replaceChildren(close, ...claims.flatMap(verdict), copy(source.querySelector("p")), ...shown);
    box.scrollTop = 0;
    return true;
  };

  const place = (citation) => {
    const at = citation.getBoundingClientRect();
    const width = box.offsetWidth, height = box.offsetHeight, gap = 8;
    const left = Math.max(16, Math.min(at.left, innerWidth - width - 16));
    const below = at.bottom + gap + height <= innerHeight;
    const top = below ? at.bottom + gap : Math.max(16, at.top - gap - height);
    box.style.setProperty("left", `${left}px`);
    box.style.setProperty("top", `${top}px`);
  };

  document.addEventListener("click", (event) => {
    const citation = event.target.closest?.("a.citation");
    if (!citation || event.ctrlKey || event.metaKey || event.shiftKey || !box.showPopover) return;
    if (!fill(citation)) return;
    event.preventDefault();
    from = citation;
    box.showPopover();
    place(citation);
    const words = box.querySelector("mark");
    if (words) box.scrollTop = Math.max(0, words.offsetTop - box.clientHeight / 2);
    box.focus({ preventScroll: true });
  });

  // A link into folded passages opens them.
  const unfold = () => document.getElementById(location.hash.slice(1))?.closest("details")?.setAttribute("open", "");
  addEventListener("hashchange", unfold);
  unfold();

  box.addEventListener("toggle", (event) => {
    if (event.newState === "closed" && from) {
      if (box.contains(document.activeElement) || document.activeElement === document.body) from.focus({ preventScroll: true });
      from = null;
    }
  });
  addEventListener("resize", () => from && place(from));

  for (const citation of document.querySelectorAll("a.citation")) citation.setAttribute("aria-haspopup", "dialog");

  const number = (text) => {
    const found = text.replace(/[\s,_ ]/g, "").match(/^[^\d\w-]*(-?\d+(?:\.\d+)?)/);
    return found ? parseFloat(found[1]) : NaN;
  };

  const sort = (table, column, down) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => ({ row, text: (row.cells[column]?.textContent || "").trim() }));
    const numeric = rows.every(({ text }) => !text || !Number.isNaN(number(text)));
    const order = numeric
      ? (a, b) => (number(a.text) || 0) - (number(b.text) || 0)
      : (a, b) => a.text.localeCompare(b.text, document.documentElement.lang);
    rows.sort((a, b) => (down ? -order(a, b) : order(a, b)));
    body.append(...rows.map(({ row }) => row));
  };

  for (const table of document.querySelectorAll("table")) {
    if (table.tBodies[0].rows.length < 2 || table.tHead.rows[0].cells.length > 100) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(table, column, down);
      });
    });
  }
})();
