"""The plugin `html`: the report as one self-contained page, and the parser of web pages.

All text and attributes are escaped; a content security policy allows only the page's own style and script.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.plugin import PluginSettings, parser, report_formatter
from leadline.records import Blob, Files, Report
from leadline_plugins.formats.document import Document, Medium
from leadline_plugins.formats.formulas import mathml
from leadline_plugins.formats.house_style import file_fault, report_name, style_sheet
from leadline_plugins.formats.interactive import frame, script_hashes
from leadline_plugins.formats.pandoc_format import build_document
from leadline_plugins.formats.tree import Node, text
from leadline_plugins.parse.html import HtmlParser
from leadline_plugins.wording.phrases import phrase, right_to_left

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
_SIDES = {"AlignRight": "end", "AlignCenter": "middle"}
_DEEPEST_HEADING = 6
_BACK = ' <a href="#noteref-{0}" role="doc-backlink" aria-label="↩ {0}">↩</a>'
MEDIUM = Medium(screen=True)


class HtmlSettings(PluginSettings):
    """Settings of the page."""

    authority = {"css": "a style sheet"}

    css: Path | None = Field(None, description="a style sheet after Leadline's; the page holds the files that it names")


class Writer:
    """Writes a document; `notes` writes the footnotes collected so far."""

    def __init__(self, table_label: str) -> None:
        self._table_label = table_label
        # Of the scripts of interactive figures, in their order.
        self.script_hashes: dict[str, None] = {}
        self.has_frames = False
        self._notes: list[str] = []
        self._tables = 0
        self._by_type: dict[str, Callable[[Any], str]] = {
            "Str": escape,
            "Plain": self.all,
            "Link": self._link,
            "Image": self._image,
            "Figure": self._figure,
            "Table": self._table,
            "Interactive": self._interactive,
            "Header": self._header,
            "Note": self._note,
            "Code": lambda c: f"<code>{escape(c[1])}</code>",
            "CodeBlock": self._code,
            "Math": lambda c: mathml(c[1], block=c[0]["t"] == "DisplayMath"),
            "Span": self._span,
            "Div": self._div,
            "BulletList": lambda c: self._list("ul", c),
            "OrderedList": lambda c: self._list(f'ol start="{c[0][0]}"', c[1]),
        }

    def all(self, nodes: Iterable[Node]) -> str:
        return "".join(map(self.one, nodes))

    def one(self, node: Node) -> str:
        kind = node["t"]
        if kind in _FIXED:
            return _FIXED[kind]
        if kind in _SIMPLE:
            return f"<{_SIMPLE[kind]}>{self.all(node['c'])}</{_SIMPLE[kind]}>"
        return self._by_type[kind](node["c"])

    def notes(self) -> str:
        """Return the footnotes, or an empty string."""
        if not self._notes:
            return ""
        items = "".join(
            f'<li id="note-{number}">{_with_back_link(note, _BACK.format(number))}</li>'
            for number, note in enumerate(self._notes, start=1)
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

    def _interactive(self, content: Any) -> str:
        html, title, still = content
        self.has_frames = True
        self.script_hashes.update(dict.fromkeys(script_hashes(html)))
        return f'<div class="still">{self.all(still)}</div>{frame(html, title)}'

    def _header(self, content: Any) -> str:
        level, attr, inside = content
        tag = f"h{min(level + 1, _DEEPEST_HEADING)}"
        return f"<{tag}{_attributes(attr)}>{self.all(inside)}</{tag}>\n"

    def _list(self, tag: str, items: list[list[Node]]) -> str:
        return f"<{tag}>" + "".join(f"<li>{self.all(item)}</li>" for item in items) + f"</{tag[:2]}>\n"

    def _note(self, blocks: list[Node]) -> str:
        self._notes.append("")
        number = len(self._notes)
        self._notes[number - 1] = self.all(blocks)
        return f'<sup><a href="#note-{number}" id="noteref-{number}" role="doc-noteref">{number}</a></sup>'

    def _table(self, content: Any) -> str:
        """Return a table in a region that scrolls if it is wider than the page."""
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
        cells = []
        for cell, side in zip(row[1], sides, strict=False):
            # A header without words is an empty cell: screen readers would announce it.
            own = tag if text(cell[4]).strip() else "td"
            cells.append(f"<{own}{f' class={side}' if side else ''}>{self.all(cell[4])}</{own[:2]}>")
        return f"<tr>{''.join(cells)}</tr>"


def _attributes(attr: Any) -> str:
    name, classes, values = attr
    pairs = [("id", name), ("class", " ".join(classes)), *((key, value) for key, value in values)]
    return "".join(f' {key}="{escape(value)}"' for key, value in pairs if value)


def _with_back_link(note: str, back: str) -> str:
    """Return a note with the link back in its last line."""
    return f"{note[:-4]}{back}</p>" if note.endswith("</p>") else note + back


def render_page(document: Document, css: str = "", more_script: str = "") -> str:
    writer = Writer(phrase("table", document.language))
    answer = writer.all(document.blocks[: document.answer])
    body = writer.all(document.blocks[document.answer :]) + writer.notes()
    title, style, script = escape(document.title), _part("page.css") + css, _part("page.js") + more_script
    language = escape(document.language or "en")
    direction = ' dir="rtl"' if right_to_left(document.language) else ""

    def word(name: str) -> str:
        return escape(phrase(name, document.language))

    return (
        f'<!doctype html>\n<html lang="{language}"{direction}>\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script, writer)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f'<meta name="generator" content="Leadline">\n<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n'
        f'<a class="skip" href="#report">{word("skip")}</a>\n'
        f'<header id="title"><h1>{title}</h1>{_about(document)}</header>\n'
        f'<main id="report" tabindex="-1">\n{answer}{_navigation(document, writer)}{body}\n</main>\n'
        f'<aside id="quote" popover tabindex="-1" role="dialog" aria-label="{word("evidence")}" '
        f'data-close="{word("close")}"></aside>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _about(document: Document) -> str:
    return f'<p class="about">{escape(document.checks)}</p>' if document.checks else ""


def render_fragment(document: Document) -> tuple[str, str]:
    """Return the text of a report, and its contents as a list, for a page that shows both."""
    writer = Writer(phrase("table", document.language))
    return writer.all(document.blocks) + writer.notes(), _contents(document, writer)


def _navigation(document: Document, writer: Writer) -> str:
    title = f'<h2 id="contents-title">{escape(phrase("contents", document.language))}</h2>'
    return f'<nav id="contents" aria-labelledby="contents-title">{title}{_contents(document, writer)}</nav>\n'


def _contents(document: Document, writer: Writer) -> str:
    entries = (block["c"] for block in document.blocks if block["t"] == "Header")
    items = "".join(
        f'<li class="level-{level}"><a href="#{attr[0]}">{writer.all(_unlinked(inside))}</a></li>'
        for level, attr, inside in entries
        if level <= document.depth
    )
    return f"<ul>{items}</ul>"


def _unlinked(inlines: Any) -> list[Node]:
    """Return inlines without links and notes, because an entry of the contents is a link."""
    unlinked: list[Node] = []
    for node in inlines:
        if node["t"] == "Link" and "citation" not in node["c"][0][1]:
            unlinked += node["c"][1]
        elif node["t"] not in {"Link", "Note", "Image", "Span"}:
            unlinked.append(node)
    return unlinked


def _policy(style: str, script: str, writer: Writer) -> str:
    """Return the policy of the page. Frames inherit it, so it must allow what interactive figures do."""
    hashes = " ".join(f"'{name}'" for name in (_hash(script), *writer.script_hashes))
    styles = "'unsafe-inline'" if writer.has_frames else f"'{_hash(style)}'"
    images = "data: blob:" if writer.has_frames else "data:"
    return (
        f"default-src 'none'; img-src {images}; font-src data:; style-src {styles}; script-src {hashes}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


@cache
def _part(name: str) -> str:
    return "\n" + files("leadline_plugins.formats").joinpath("assets", name).read_text("utf-8")


@report_formatter(
    "One self-contained page: citations open their quotes, tables sort, prints well",
    settings=HtmlSettings,
    ready=lambda settings: file_fault("html.css", settings.css, ".css", style_sheet),
    cache_key=None,
)
class Html:
    """Renders HTML. A subclass adds a style sheet and a script to those of the page."""

    css = ""
    script = ""

    def __init__(self, context: Context, settings: HtmlSettings | None = None) -> None:
        self._context = context
        self._css = settings.css.expanduser() if settings and settings.css else None

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `report.html`: text, style, script and pictures in one file. Raises `ConfigError` for a style sheet.

        For a page that shows the report, whose addresses are in `report.metadata["addresses"]`, return `fragment.html`
        and `contents.html`, without style, script and pictures.
        """
        addresses: Any = report.metadata.get("addresses")
        if addresses is None:
            document = await build_document(report, MEDIUM, self._context, call)
            page = await self._context.in_thread(self._page, document)
            return Files(files=(_file(report_name(self._context, "html"), page),))
        medium = replace(MEDIUM, addresses=addresses)
        document = await build_document(report, medium, self._context, call)
        fragment, contents = await self._context.in_thread(render_fragment, document)
        return Files(files=(_file("fragment.html", fragment), _file("contents.html", contents)))

    def _page(self, document: Document) -> str:
        return render_page(document, self.css + (style_sheet(self._css) if self._css else ""), self.script)


def _file(name: str, html: str) -> Blob:
    return Blob(name=name, media_type="text/html; charset=utf-8", data=html.encode("utf-8", "replace"))


@parser("Main part of HTML pages", settings=HtmlSettings, work="local", cache_key=())
def _parser() -> HtmlParser:
    return HtmlParser()
