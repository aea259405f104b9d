"""The report as a tree: title, answer, sections with figures, open questions, method, checks and sources.

Each format builds its own tree, because formats differ in what a page can hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import chain, count
from urllib.parse import quote

from leadline.citations import cited, number, unenclosed
from leadline.records import Blob, Evidence, Report, Section
from leadline.rendering import clean, safe_url
from leadline_plugins.formats.arrangement import FEW, LONG, arranged
from leadline_plugins.formats.blocks import Blocks
from leadline_plugins.formats.figures import Numbered, data_url, numbered, with_credit
from leadline_plugins.formats.interactive import interactive_html
from leadline_plugins.formats.marks import (
    ANSWERS,
    KINDS,
    failures,
    has_heading,
    legend,
    marks_of,
    section_texts,
    summary,
)
from leadline_plugins.formats.method import MethodParagraph, heading, paragraphs
from leadline_plugins.formats.passages import Passages, places
from leadline_plugins.formats.references import SourceLists, checks_section
from leadline_plugins.formats.tree import (
    Node,
    after_text,
    attributes,
    bullets,
    div,
    figure,
    header,
    image,
    interactive,
    link,
    para,
    plain,
    text,
    words,
)
from leadline_plugins.wording.phrases import join_items, phrase

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True)
class Medium:
    """The limits of a format.

    `columns`: tables with more are divided. `pictures`: media types, best first. `inline`: pictures are part of the
    document, as data. `screen`: queries and passages are folded. `addresses`: of the `passages` and `figures` of a page
    that shows the report, with `{id}`, and of its `checks`, with `{number}`.
    """

    columns: int | None = None
    pictures: tuple[str, ...] = ("image/svg+xml", "image/png", "image/jpeg")
    inline: bool = True
    screen: bool = False
    addresses: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """The report as blocks; `files` are its pictures unless they are inline."""

    title: str
    language: str
    blocks: list[Node]
    files: tuple[Blob, ...] = ()
    # The summary of the verdicts and the legend of the marks; empty without verdicts.
    checks: str = ""
    # Number of blocks of the answer, after which the contents stand.
    answer: int = 0

    @property
    def length(self) -> int:
        """Characters of the report without its lists of sources."""
        return sum(len(text(block)) for block in self.blocks if block["t"] != "Div")

    @property
    def is_long(self) -> bool:
        """Whether the printed report has contents."""
        return self.length > LONG

    @property
    def depth(self) -> int:
        """The level of the deepest headings in the contents."""
        return 2 if sum(block["t"] == "Header" and block["c"][0] <= 2 for block in self.blocks) <= FEW else 1

    def about(self, day: date) -> str:
        """Return the line below the title: the day, and the summary of the verdicts."""
        return " · ".join(filter(None, (f"{day:%Y-%m-%d}", self.checks)))


def document(
    report: Report,
    medium: Medium,
    *,
    references: bool = True,
    passages: bool = True,
    entries: Mapping[str, list[Node]] | None = None,
) -> Document:
    """Return the report as a tree. `entries` are its references in a citation style, by source id.

    Without `passages`, the cited passages do not follow the sources; on the screen they stay folded below these.
    """
    return Builder(arranged(report), medium, references, passages=passages).build(entries or {})


class Builder:
    """Builds a document."""

    def __init__(self, report: Report, medium: Medium, references: bool, *, passages: bool = True) -> None:
        self._report = report
        self._language = report.language
        self._medium = medium
        self._references = references
        self._passages = passages
        self._numbers = number(report)
        self._sources = {source.id: source for source in report.sources}
        self._evidence = {item.id: item for item in report.evidence}
        self._places = {item.id: f"quote-{number}" for number, item in enumerate(report.evidence, start=1)}
        self._marks = marks_of(report)
        # By mark: the first mark of its entry in the list of checks.
        self._checks = {mark.number: group[0].number for group in failures(self._marks) for mark in group}
        self._placed: set[int] = set()
        # The last citation of each passage since the last claim, and whether a claim ended after them.
        self._recent: dict[str, Node] = {}
        self._closed = False
        self._figures = numbered(report, medium.pictures)
        self._shown: set[str] = set()
        # The part of the last section.
        self._part = ""
        self._asked: list[Numbered] = []
        self._names = map("section-{}".format, count(1))
        self._blocks = Blocks(self._cite, self._show, self._claim, self._name, medium.columns, self._target)

    def _target(self, url: str) -> str:
        """Return where a link leads: of a stored document to its page, where the medium has pages for them."""
        scheme, _, path = url.partition("://")
        key = "".join(path.split("/")[1:2])
        page = self._medium.addresses.get("documents") if scheme == "knowledge" and key.isalnum() else ""
        return page.replace("{id}", key) if page else safe_url(url)

    def build(self, entries: Mapping[str, list[Node]]) -> Document:
        parts = [list(self._set(section)) for section in self._report.sections]
        blocks = [*chain.from_iterable(parts), *self._method()]
        if "checks" not in self._medium.addresses:
            blocks += checks_section(self._report, self._marks, self._name, frozenset(self._placed))
        if self._references and self._report.sources and "references" not in self._medium.addresses:
            blocks += self._lists(entries).blocks()
        files = tuple(item.file for item in self._figures.values() if item.file and not self._medium.inline)
        title = " ".join(clean(self._report.title).split()) or "Report"
        language = self._language if _LANGUAGE.fullmatch(self._language) else ""
        lines = (summary(self._marks, self._language), legend(self._marks, self._language))
        checks = join_items(filter(None, lines), self._language, "space")
        answers = len(parts) > 1 and self._report.sections[0].id in ANSWERS
        return Document(title, language, blocks, files, checks, len(parts[0]) if answers else 0)

    def _lists(self, entries: Mapping[str, list[Node]]) -> SourceLists:
        named = {name for section in self._report.sections for name in cited(section.text or "")}
        named.update(name for item in self._report.figures for name in item.evidence_ids)
        passages: dict[str, list[Evidence]] = {}
        for item in self._report.evidence:
            if item.id in named and item.id in self._numbers.by_evidence:
                passages.setdefault(item.source_id, []).append(item)
        screen = self._medium.screen
        shown = Passages(self._marks, self._language, screen=screen) if screen or self._passages else None
        return SourceLists(self._report, self._numbers, passages, shown, entries, self._name)

    def _name(self) -> str:
        return next(self._names)

    def _set(self, section: Section) -> Iterator[Node]:
        """Yield a section; each figure of its text follows the block that shows it."""
        self._recent = {}
        if section.part and section.part != self._part:
            yield header(1, self._name(), words(" ".join(section.part.split())))
        self._part = section.part
        level = (1 if has_heading(section, self._report) else 0) + bool(section.part)
        if has_heading(section, self._report):
            yield header(level, self._name(), words(" ".join(section.title.split())))
        for markdown in section_texts(section, self._marks, self._language, begins=self._medium.screen):
            for block in self._blocks.of(unenclosed(markdown), level):
                if section.quotes and block["t"] == "Para" and [node["t"] for node in block["c"]] == ["Emph"]:
                    yield self._notice(block["c"][0]["c"])
                elif block["c" if block["t"] == "Para" else "t"]:
                    yield block
                yield from map(self._figure, self._asked)
                self._asked.clear()

    def _notice(self, inlines: list[Node]) -> Node:
        """Return the notice that a section only shows passages: in grey, in Word by the style of the subtitle."""
        style = {} if self._medium.screen else {"custom_style": "Subtitle"}
        return div([para(inlines)], attributes("", "about", **style))

    def _method(self) -> list[Node]:
        blocks = [self._method_paragraph(part) for part in paragraphs(self._report)]
        return [header(1, self._name(), words(heading(self._language))), *blocks] if blocks else []

    def _method_paragraph(self, part: MethodParagraph) -> Node:
        """Return a paragraph; on the screen with its list, folded."""
        if not (part.items and self._medium.screen):
            return para(words(part.line(self._language)))
        items = bullets([[plain(words(item))] for item in part.items])
        return div([para(words(part.text)), items], attributes("", "folded"))

    def _cite(self, ids: Sequence[str]) -> list[Node]:
        """Return the numbers of a run of citations, each with its passages."""
        by_number: dict[int, list[str]] = {}
        for name in ids:
            if name in self._numbers.by_evidence:
                by_number.setdefault(self._numbers.by_evidence[name], []).append(name)
        if self._closed:
            self._recent, self._closed = {}, False
        links = [self._citation(number, names) for number, names in by_number.items()]
        return [{"t": "Str", "c": "\u00a0"}, *links] if links else []

    def _citation(self, number: int, names: Sequence[str]) -> Node:
        passages = [self._evidence[name] for name in dict.fromkeys(names)]
        where = places(passages, self._sources[passages[0].source_id], self._language)
        quotes = " ".join(self._places[item.id] for item in passages)
        attr = attributes("", "citation", data_evidence=quotes, **({"title": where} if where else {}))
        label, target = words(f"[{number}]"), f"#ref-{number}" if self._references else ""
        if page := self._medium.addresses.get("passages"):
            target = page.replace("{id}", quote(",".join(item.id for item in passages), safe=","))
        node = link(label, target, attr) if target else {"t": "Span", "c": [attr, label]}
        for item in passages:
            self._recent[item.id] = node
        return node

    def _claim(self, number: int) -> list[Node]:
        """Return the sign of the claim that ends here, and add the claim to its citations."""
        if not 0 < number <= len(self._marks):
            return []
        mark = self._marks[number - 1]
        self._closed = True
        for citation in (self._recent[name] for name in mark.evidence_ids if name in self._recent):
            _, classes, pairs = citation["c"][0]
            values = dict(pairs)
            claims = dict.fromkeys([*values.get("data-claims", "").split(), f"claim-{number}"])
            pairs[:] = [list(pair) for pair in {**values, "data-claims": " ".join(claims)}.items()]
            classes[1:] = [min((*classes[1:], mark.kind), key=KINDS.index)]
        if not mark.sign or number in self._placed:
            return []
        self._placed.add(number)
        description = mark.description(self._language)
        sign: list[Node] = [{"t": "Superscript", "c": words(mark.sign)}]
        entry = f"#check-{self._checks[number]}" if number in self._checks else ""
        entry = self._medium.addresses.get("checks", entry).replace("{number}", str(number))
        content = [link(sign, entry, attributes("", aria_label=description))] if entry else sign
        role = {} if entry else {"role": "img", "aria_label": description}
        attr = attributes(f"claim-{number}", "verdict", mark.kind, title=description, **role)
        return [{"t": "Span", "c": [attr, content]}]

    def _show(self, name: str) -> list[Node] | None:
        """Queue a figure at its first mention in the text; a second mention only names it."""
        item = self._figures.get(name)
        if item is None:
            return None
        if name in self._shown:
            return words(f"({self._label(item)})")
        self._shown.add(name)
        self._asked.append(item)
        return []

    def _figure(self, item: Numbered) -> Node:
        stop = ". " if phrase("space", self._language) else "\u3000"
        caption = words(f"{self._label(item)}{stop}{item.figure.caption}")
        recent, self._recent = self._recent, {}
        caption += after_text(caption, self._cite(item.figure.evidence_ids))
        self._recent = recent
        caption = with_credit(caption, item.figure, self._language)
        alt = " ".join(item.figure.alt.split()) or item.figure.caption
        shown = [image(alt, self._address(item))] if item.file else words(f"[{item.figure.alt}]")
        body = [plain(shown)]
        if self._medium.screen and not self._medium.addresses and (html := interactive_html(item.figure)):
            body = [interactive(html, alt, body)]
        kinds = () if item.figure.credit else ("chart",)
        return figure(attributes(f"figure-{item.number}", *kinds), body, caption)

    def _label(self, item: Numbered) -> str:
        return f"{phrase('figure', self._language)} {item.number}"

    def _address(self, item: Numbered) -> str:
        assert item.file
        if page := self._medium.addresses.get("figures"):
            return page.replace("{id}", quote(item.figure.id, safe=""))
        return data_url(item.file) if self._medium.inline else item.file.name
