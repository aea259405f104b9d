"""The tree as HTML. All text and every attribute is escaped; no markup of the report gets through."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from typing import Any

from leadline_plugins.formats.html.formula import formula
from leadline_plugins.formats.tree import Node

_SIMPLE = {
    "Emph": "em",
    "Strong": "strong",
    "Strikeout": "del",
    "Subscript": "sub",
    "Superscript": "sup",
    "BlockQuote": "blockquote",
    "Para": "p",
}
_FIXED = {"Space": " ", "SoftBreak": "\n", "LineBreak": "<br>", "HorizontalRule": "<hr>"}
_SIDES = {"AlignRight": "right", "AlignCenter": "center"}
_DEEPEST_HEADING = 6
_BACK = ' <a href="#noteref-{0}" role="doc-backlink" aria-label="↩ {0}">↩</a>'


class Writer:
    """Writes one document; footnotes gather until `notes` sets them."""

    def __init__(self, table_label: str) -> None:
        self._table_label = table_label
        self._notes: list[str] = []
        self._tables = 0
        self._by_type: dict[str, Callable[[Any], str]] = {
            "Str": escape,
            "Plain": self.all,
            "Link": self._link,
            "Image": self._image,
            "Figure": self._figure,
            "Table": self._table,
            "Header": self._header,
            "Note": self._note,
            "Code": lambda c: f"<code>{escape(c[1])}</code>",
            "CodeBlock": self._code,
            "Math": lambda c: formula(c[1], block=c[0]["t"] == "DisplayMath"),
            "Span": self._span,
            "Div": self._div,
            "BulletList": lambda c: self._list("ul", c),
            "OrderedList": lambda c: self._list(f'ol start="{c[0][0]}"', c[1]),
        }

    def all(self, nodes: Iterable[Node]) -> str:
        """Return nodes as HTML."""
        return "".join(map(self.one, nodes))

    def one(self, node: Node) -> str:
        """Return a node as HTML."""
        kind = node["t"]
        if kind in _FIXED:
            return _FIXED[kind]
        if kind in _SIMPLE:
            return f"<{_SIMPLE[kind]}>{self.all(node['c'])}</{_SIMPLE[kind]}>"
        return self._by_type[kind](node["c"])

    def notes(self) -> str:
        """Return the footnotes, if there are any."""
        if not self._notes:
            return ""
        items = "".join(
            f'<li id="note-{place}">{_ended(note, _BACK.format(place))}</li>'
            for place, note in enumerate(self._notes, start=1)
        )
        return f'<section class="notes" role="doc-endnotes"><hr><ol>{items}</ol></section>'

    def _span(self, content: Any) -> str:
        attr, inside = content
        tag = "mark" if "mark" in attr[1] else "span"
        return f"<{tag}{_attributes(attr)}>{self.all(inside)}</{tag}>"

    def _code(self, content: Any) -> str:
        tag = "mark" if "quoted" in content[0][1] else "code"
        return f'<pre tabindex="0"><{tag}>{escape(content[1])}</{tag}></pre>'

    def _div(self, content: Any) -> str:
        attr, blocks = content
        if "folded" not in attr[1]:
            return f"<div{_attributes(attr)}>{self.all(blocks)}</div>\n"
        line, *rest = blocks
        return f"<details{_attributes(attr)}><summary>{self.all(line['c'])}</summary>{self.all(rest)}</details>\n"

    def _link(self, content: Any) -> str:
        attr, inside, (url, _) = content
        outside = "" if url.startswith("#") else ' rel="noopener noreferrer nofollow"'
        return f'<a href="{escape(url)}"{_attributes(attr)}{outside}>{self.all(inside)}</a>'

    def _image(self, content: Any) -> str:
        attr, _, (url, _) = content
        return f'<img src="{escape(url)}" alt="{escape(dict(attr[2]).get("alt", ""))}">'

    def _figure(self, content: Any) -> str:
        attr, (_, caption), body = content
        return f"<figure{_attributes(attr)}>{self.all(body)}<figcaption>{self.all(caption)}</figcaption></figure>\n"

    def _header(self, content: Any) -> str:
        level, attr, inside = content
        tag = f"h{min(level + 1, _DEEPEST_HEADING)}"
        return f"<{tag}{_attributes(attr)}>{self.all(inside)}</{tag}>\n"

    def _list(self, tag: str, items: list[list[Node]]) -> str:
        return f"<{tag}>" + "".join(f"<li>{self.all(item)}</li>" for item in items) + f"</{tag[:2]}>\n"

    def _note(self, blocks: list[Node]) -> str:
        self._notes.append("")
        place = len(self._notes)
        self._notes[place - 1] = self.all(blocks)
        return f'<sup><a href="#note-{place}" id="noteref-{place}" role="doc-noteref">{place}</a></sup>'

    def _table(self, content: Any) -> str:
        """Return a table in a region of its own, which scrolls where it is wider than the page."""
        _, _, columns, (_, head), bodies, _ = content
        sides = [_SIDES.get(side["t"], "") for side, _ in columns]
        self._tables += 1
        rows = "".join(self._row(row, "td", sides) for _, _, _, body in bodies for row in body)
        heads = "".join(self._row(row, 'th scope="col"', sides) for row in head)
        label = f"{escape(self._table_label)} {self._tables}"
        return (
            f'<div class="table" role="region" aria-label="{label}" tabindex="0"><table><thead>{heads}</thead>'
            f"<tbody>{rows}</tbody></table></div>\n"
        )

    def _row(self, row: Any, tag: str, sides: list[str]) -> str:
        cells = "".join(
            f"<{tag}{f' class={side}' if side else ''}>{self.all(cell[4])}</{tag[:2]}>"
            for cell, side in zip(row[1], sides, strict=False)
        )
        return f"<tr>{cells}</tr>"


def _attributes(attr: Any) -> str:
    name, classes, values = attr
    given = [("id", name), ("class", " ".join(classes)), *((key, value) for key, value in values)]
    return "".join(f' {key}="{escape(value)}"' for key, value in given if value)


def _ended(note: str, back: str) -> str:
    """Return a note with the way back on its last line."""
    return f"{note[:-4]}{back}</p>" if note.endswith("</p>") else note + back
