"""A report as HTML: escaped text, citations that open their passages, and marks at claims that are not supported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup

from leadline.citations import number, unenclosed
from leadline.formulas import mathml
from leadline.records import Figure, Report, Section
from leadline.rendering import clean, safe_url
from leadline.report_markdown import parser, with_tokens
from leadline_server.page.wording import LABELS, WORST

if TYPE_CHECKING:
    from markdown_it.token import Token

# Added to the number of a claim in the token at its beginning; the token at its end has the number itself.
_BEGINS = 500_000
_QUOTES = '"“‘「『(（'
_INLINE = {"em": "em", "strong": "strong", "s": "del", "sub": "sub", "sup": "sup"}
_BLOCKS = {"paragraph": "p", "bullet_list": "ul", "list_item": "li", "blockquote": "blockquote", "dl": "dl", "dt": "dt",
           "dd": "dd", "thead": "thead", "tbody": "tbody", "tr": "tr"}  # fmt: skip
_SIDES = {"text-align:right": "end", "text-align:center": "middle"}
_DEEPEST = 6


@dataclass(frozen=True)
class Heading:
    """An entry of the contents; `level` 1 is a section."""

    anchor: str
    text: str
    level: int


@dataclass(frozen=True)
class Part:
    """A section as HTML; `title` is empty if it repeats the title of the report."""

    anchor: str
    title: str
    html: Markup
    headings: tuple[Heading, ...]


@dataclass
class _Chip:
    """A citation: the number of a source, and the passages that it opens; with the verdict on each of its claims."""

    number: int
    ids: list[str]
    base: str
    # By the number of the claim.
    kinds: dict[int, str] = field(default_factory=dict)

    def __str__(self) -> str:
        kind = next((one for one in WORST if one in self.kinds.values()), "")
        said = f", {LABELS[kind]}" if kind else ""
        names = escape(",".join(self.ids))
        claims = f"?claims={','.join(map(str, self.kinds))}" if self.kinds else ""
        address = escape(f"{self.base}/evidence/{quote(','.join(self.ids), safe=',')}{claims}")
        return (
            f'<a class="cite {kind}" href="{address}" data-evidence="{names}" '
            f'aria-label="Source {self.number}{said}: show the passage">{self.number}</a>'
        )


@dataclass
class _Open:
    tag: str
    parts: list[Any] = field(default_factory=list)
    attributes: str = ""


def parts_of(report: Report, base: str) -> list[Part]:
    """Return the sections of a report; `base` is the address of its run."""
    return Writer(report, base).parts()


class Writer:
    """Writes the sections of one report."""

    def __init__(self, report: Report, base: str) -> None:
        self._report, self._base = report, base
        self._numbers = number(report).by_evidence
        self._figures = {figure.id: (place, figure) for place, figure in enumerate(report.figures, start=1)}
        self._shown: set[str] = set()
        # By number from 1: verdicts, then paragraphs without a citation.
        self._claims = [
            *((one.claim.section_id, one.claim.span, one.verdict, one.claim.evidence_ids) for one in report.verdicts),
            *((one.section_id, one.span, "uncited", ()) for one in report.uncited),
        ]
        self._marked: set[int] = set()
        self._recent: list[_Chip] = []
        self._closed = False
        self._asked: list[str] = []
        self._headings: list[Heading] = []
        self._tables = 0
        self._anchor, self._level, self._tag = "", 1, "h2"

    def parts(self) -> list[Part]:
        """Return the sections that have text."""
        made = [
            self._part(section, place)
            for place, section in enumerate(self._report.sections, start=1)
            if (section.text or "").strip() or section.inferences or section.unanswered
        ]
        rest = [name for name in self._figures if name not in self._shown]
        if rest:
            html = Markup("".join(map(self._figure, rest)))  # noqa: S704 - escaped
            made.append(Part("figures", "Figures", html, (Heading("figures", "Figures", 1),)))
        return made

    def _part(self, section: Section, place: int) -> Part:
        self._anchor, self._level, self._headings, self._recent = f"section-{place}", 1, [], []
        same = _folded(section.title) == _folded(self._report.title) and section is self._report.sections[0]
        title = "" if same else " ".join(clean(section.title).split())
        if title:
            self._headings.append(Heading(self._anchor, title, 1))
        html = self._text(unenclosed(self._with_marks(section)))
        html = f'<div class="quotes">{html}</div>' if section.quotes else html
        for inference in section.inferences:
            html += f'<p class="inference"><b>Inference</b> {self._line(inference)}</p>'
        if section.unanswered:
            items = "".join(f"<li>{self._line(item)}</li>" for item in dict.fromkeys(section.unanswered))
            html += f'<div class="open"><b>Not found in the passages read</b><ul>{items}</ul></div>'
        own = [name for name, (_, one) in self._figures.items() if one.section_id == section.id]
        used = [n for n, (_, one) in self._figures.items() if {*one.evidence_ids} & {*section.evidence_ids}]
        html += "".join(self._figure(name) for name in dict.fromkeys((*own, *used)) if name not in self._shown)
        return Part(self._anchor, title, Markup(html), tuple(self._headings))  # noqa: S704 - escaped

    def _with_marks(self, section: Section) -> str:
        text, places = section.text or "", []
        for place, (name, span, kind, _) in enumerate(self._claims, start=1):
            if name != section.id:
                continue
            places.append((place, span))
            if kind in WORST and kind != "supported" and _begins_text(text, span[0]):
                places.append((place + _BEGINS, (span[0], span[0])))
        return with_tokens(text, places)

    def _line(self, markdown: str) -> str:
        (line,) = parser().parseInline(" ".join(markdown.split()))
        return "".join(map(str, self._inlines(line.children or ())))

    # --- blocks --------------------------------------------------------------------------------------------------

    def _text(self, markdown: str) -> str:
        parts: list[Any] = []
        tokens = parser().parse(markdown)
        for place, token in enumerate(tokens):
            name, _, side = token.type.rpartition("_")
            if name == "heading":
                parts.append(self._heading(token, tokens[place + 1]) if side == "open" else f"</{self._tag}>")
            elif name == "table":
                self._tables += side == "open"
                region = f'<div class="table" role="region" aria-label="Table {self._tables}" tabindex="0"><table>'
                parts.append(region if side == "open" else "</table></div>")
            elif name in ("th", "td"):
                # A header without words is an empty cell: screen readers would announce it.
                if name == "th" and not tokens[place + token.nesting].content.strip():
                    name = "td"
                align = _SIDES.get(str(token.attrs.get("style", "")), "")
                scope = ' scope="col"' if name == "th" else ""
                parts.append(f"<{name}{scope}{f' class={align}' if align else ''}>" if side == "open" else f"</{name}>")
            elif name == "ordered_list":
                start = min(int(token.attrs.get("start", 1)), 2**31 - 1)
                parts.append(f'<ol start="{start}">' if side == "open" else "</ol>")
            elif name in ("footnote_block", "footnote"):
                parts.append(self._footnote(name, side, token))
            elif name in _BLOCKS and not (name == "paragraph" and token.hidden):
                parts.append(f"<{_BLOCKS[name]}>" if side == "open" else f"</{_BLOCKS[name]}>")
            elif token.type == "inline":
                parts += self._inlines(token.children or ())
            elif token.type in ("fence", "code_block"):
                parts.append(f'<pre tabindex="0"><code>{escape(clean(token.content))}</code></pre>')
            elif token.type == "hr":
                parts.append("<hr>")
            if token.level == 0 and token.nesting <= 0 and self._asked:
                parts += [self._figure(asked) for asked in self._asked]
                self._asked.clear()
        return "".join(map(str, parts))

    def _heading(self, token: Token, inline: Token) -> str:
        wanted = max(2, int(token.tag[1]) - 1)
        self._level = min(wanted, self._level + 1)
        anchor = f"{self._anchor}-{len(self._headings)}"
        words = "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))
        self._headings.append(Heading(anchor, clean(words), self._level))
        self._tag = f"h{min(self._level + 1, _DEEPEST)}"
        return f'<{self._tag} id="{anchor}">'

    def _footnote(self, name: str, side: str, token: Token) -> str:
        if name == "footnote_block":
            return '<section class="notes"><ol>' if side == "open" else "</ol></section>"
        return f'<li id="{self._anchor}-note-{token.meta["id"]}">' if side == "open" else "</li>"

    # --- inlines -------------------------------------------------------------------------------------------------

    def _inlines(self, tokens: Iterable[Token]) -> list[Any]:
        """Return inlines, balanced whatever the writer left open."""
        stack = [_Open("")]
        for token in tokens:
            name, _, side = token.type.rpartition("_")
            if side == "open":
                stack.append(self._opened(name, token))
            elif side == "close":
                _close(stack, "a" if name == "link" else _INLINE[name])
            elif token.type == "mark":
                self._mark(token.meta["number"], stack)
            else:
                stack[-1].parts += self._leaf(token)
        while len(stack) > 1:
            _wrap(stack)
        return stack[0].parts

    def _opened(self, name: str, token: Token) -> _Open:
        if name != "link":
            return _Open(_INLINE[name])
        url = safe_url(str(token.attrs.get("href", "")))
        return _Open("a", attributes=f' href="{escape(url)}" rel="noopener noreferrer nofollow"' if url else "")

    def _leaf(self, token: Token) -> Iterator[Any]:
        match token.type:
            case "softbreak":
                yield "\n"
            case "hardbreak":
                yield "<br>"
            case "code_inline":
                yield f"<code>{escape(clean(token.content))}</code>"
            case "math_inline" | "math_block":
                yield mathml(clean(token.content), block=token.type == "math_block")
            case "citation":
                yield from self._cite(token.meta["ids"])
            case "footnote_ref":
                note = token.meta["id"]
                yield f'<sup><a href="#{self._anchor}-note-{note}">{int(note) + 1}</a></sup>'
            case "footnote_anchor":
                pass
            case "image":
                yield from self._image(token)
            case _:
                yield escape(clean(token.content), quote=False)

    def _image(self, token: Token) -> Iterator[str]:
        """Yield a figure's name, or in place of a foreign image its description: nothing is loaded from elsewhere."""
        url = str(token.attrs.get("src", ""))
        name = url.removeprefix("figure:")
        if url.startswith("figure:") and name in self._figures:
            if name in self._shown:
                place = self._figures[name][0]
                yield f'<a href="#figure-{place}">Figure {place}</a>'
            else:
                self._shown.add(name)
                self._asked.append(name)
        else:
            words, target = escape(f"[{clean(token.content) or 'image'}]"), safe_url(url)
            yield f'<a href="{escape(target)}" rel="noopener noreferrer nofollow">{words}</a>' if target else words

    def _cite(self, ids: Sequence[str]) -> list[_Chip]:
        if self._closed:
            self._recent, self._closed = [], False
        by_number: dict[int, list[str]] = {}
        for name in dict.fromkeys(ids):
            if name in self._numbers:
                by_number.setdefault(self._numbers[name], []).append(name)
        chips = [_Chip(place, names, self._base) for place, names in by_number.items()]
        self._recent += chips
        return chips

    def _mark(self, place: int, stack: list[_Open]) -> None:
        """Begin or end a claim: its citations get its verdict, and one that is not supported a mark."""
        begins, place = place > _BEGINS, place % _BEGINS
        if not 0 < place <= len(self._claims):
            return
        _, _, kind, evidence = self._claims[place - 1]
        if begins:
            stack.append(_Open("span", attributes=f' class="claim {kind}"'))
            return
        self._closed = True
        _close(stack, "span")
        for chip in self._recent:
            if {*chip.ids} & {*evidence}:
                chip.kinds[place] = kind
        if kind == "supported" or place in self._marked:
            return
        self._marked.add(place)
        href = escape(f"{self._base}/checks#claim-{place}")
        stack[-1].parts.append(f'<a class="mark {kind}" id="mark-{place}" href="{href}">{LABELS[kind]}</a>')

    # --- figures -------------------------------------------------------------------------------------------------

    def _figure(self, name: str) -> str:
        self._shown.add(name)
        place, figure = self._figures[name]
        recent, self._recent = self._recent, []
        chips = "".join(map(str, self._cite(figure.evidence_ids)))
        self._recent = recent
        alt = escape(" ".join(clean(figure.alt or figure.caption).split()))
        credit = safe_url(figure.credit)
        source = f' · <a href="{escape(credit)}" rel="noopener noreferrer nofollow">source</a>' if credit else ""
        source += f" ({escape(clean(figure.rights))})" if figure.rights else ""
        shown = f'<img src="{self._base}/figures/{place}" alt="{alt}" loading="lazy">' if picture(figure) else alt
        caption = f"<b>Figure {place}</b> {escape(clean(figure.caption))}{chips}{source}"
        return f'<figure id="figure-{place}">{shown}<figcaption>{caption}</figcaption></figure>'


def picture(figure: Figure) -> tuple[str, bytes] | None:
    """Return the media type and the bytes of the best picture of a figure."""
    types = ("image/svg+xml", "image/png", "image/jpeg")
    return next(((name, figure.media[name]) for name in types if name in figure.media), None)


def _begins_text(text: str, place: int) -> bool:
    """Return whether a claim begins with words, outside a table: elsewhere a token would change the Markdown."""
    line = text.rfind("\n", 0, place) + 1
    first = text[place : place + 1]
    return (first.isalnum() or (first != "" and first in _QUOTES)) and not text[line:place].lstrip(" \t>").startswith(
        "|"
    )


def _folded(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _close(stack: list[_Open], tag: str) -> None:
    """Close the last element of this kind and all inside it; ignore an end without a beginning."""
    if tag in {one.tag for one in stack}:
        while _wrap(stack) != tag:
            pass


def _wrap(stack: list[_Open]) -> str:
    one = stack.pop()
    bare = one.tag == "a" and not one.attributes
    stack[-1].parts += one.parts if bare else [f"<{one.tag}{one.attributes}>", *one.parts, f"</{one.tag}>"]
    return one.tag
