"""The report as a tree: title, sections, figures, method, checks and sources, in the order of the page.

Built once for each format, since formats differ in what a page can hold; written by the writers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count

from leadline.citations import cited, number, unenclosed
from leadline.records import Blob, Evidence, Report, Section
from leadline_plugins.formats.blocks import Blocks
from leadline_plugins.formats.figures import Numbered, Placing, credited, data_url, numbered
from leadline_plugins.formats.marks import failures, legend, marks_of, summary
from leadline_plugins.formats.method import Told, heading, paragraphs
from leadline_plugins.formats.passages import Passages, places
from leadline_plugins.formats.references import Lists, checked
from leadline_plugins.formats.sections import headed, texts
from leadline_plugins.formats.tree import (
    Node,
    attributes,
    behind,
    bullets,
    clean,
    div,
    figure,
    header,
    image,
    link,
    para,
    plain,
    text,
    words,
)
from leadline_plugins.wording import listed, say

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True)
class Medium:
    """What a format's page can hold.

    `columns`: a table of more is set as several. `pictures`: media types, the best first. `inline`: pictures stand in
    the document itself, as data. `screen`: a page that folds: queries and passages open where they are asked for.
    """

    columns: int | None = None
    pictures: tuple[str, ...] = ("image/svg+xml", "image/png", "image/jpeg")
    inline: bool = True
    screen: bool = False


@dataclass(frozen=True)
class Document:
    """The report as blocks; `files` are the pictures they name, where these do not stand inline."""

    title: str
    language: str
    blocks: list[Node]
    files: tuple[Blob, ...] = ()
    checks: str = ""
    """What the judges decided, and what the marks mean; empty where none was asked."""

    @property
    def length(self) -> int:
        """The characters of the report, without its lists of sources."""
        return sum(len(text(block)) for block in self.blocks if block["t"] != "Div")

    def about(self, day: date) -> str:
        """Return the line below the title: the day, and what the judges decided."""
        return " · ".join(filter(None, (f"{day:%Y-%m-%d}", self.checks)))


def document(
    report: Report, medium: Medium, *, references: bool = True, entries: Mapping[str, list[Node]] | None = None
) -> Document:
    """Return the report as a tree. `entries` are its references as a citation style writes them, by source id."""
    return Builder(report, medium, references).build(entries or {})


class Builder:
    """Builds one document."""

    def __init__(self, report: Report, medium: Medium, references: bool) -> None:
        self._report = report
        self._language = report.language
        self._medium = medium
        self._references = references
        self._numbers = number(report)
        self._sources = {source.id: source for source in report.sources}
        self._evidence = {item.id: item for item in report.evidence}
        self._places = {item.id: f"quote-{place}" for place, item in enumerate(report.evidence, start=1)}
        self._marks = marks_of(report)
        self._checks = {mark.number: group[0].number for group in failures(self._marks) for mark in group}
        """The first mark of the entry in the list of checks, by the number of each that it names."""
        self._placed: set[int] = set()
        self._recent: dict[str, Node] = {}
        """The last citation of each passage since the last claim."""
        self._closed = False
        """Whether a claim ended after them."""
        self._figures = numbered(report, medium.pictures)
        self._shown: set[str] = set()
        self._asked: list[Numbered] = []
        self._names = map("section-{}".format, count(1))
        self._blocks = Blocks(self._cite, self._show, self._claim, self._name, medium.columns)

    def build(self, entries: Mapping[str, list[Node]]) -> Document:
        """Return the document."""
        blocks = [*self._body(), *self._method()]
        blocks += checked(self._report, self._marks, self._name, frozenset(self._placed))
        if self._references:
            blocks += self._lists(entries).blocks()
        files = tuple(item.file for item in self._figures.values() if item.file and not self._medium.inline)
        title = " ".join(clean(self._report.title).split()) or "Report"
        language = self._language if _LANGUAGE.fullmatch(self._language) else ""
        told = (tell(self._marks, self._language) for tell in (summary, legend))
        checks = listed(filter(None, told), self._language, "space")
        return Document(title, language, blocks, files, checks)

    def _lists(self, entries: Mapping[str, list[Node]]) -> Lists:
        named = {name for section in self._report.sections for name in cited(section.text or "")}
        named.update(name for item in self._report.figures for name in item.evidence_ids)
        passages: dict[str, list[Evidence]] = {}
        for item in self._report.evidence:
            if item.id in named and item.id in self._numbers.by_evidence:
                passages.setdefault(item.source_id, []).append(item)
        screen = self._medium.screen
        setting = Passages(self._marks, self._language, screen=screen)
        return Lists(self._report, self._numbers, passages, setting, entries, self._name, below=screen)

    def _name(self) -> str:
        return next(self._names)

    def _body(self) -> list[Node]:
        parts = [list(self._set(section)) for section in self._report.sections]
        placing = Placing(self._figures, self._shown)
        body = [block for part in parts for block in placing.after_mentions(part, self._figure)]
        return body + [self._figure(item) for item in placing.rest()]

    def _set(self, section: Section) -> Iterator[Node]:
        """Yield a section; figures its text shows stand behind the block that shows them."""
        self._recent = {}
        level = 1 if headed(section, self._report) else 0
        if level:
            yield header(1, self._name(), words(" ".join(section.title.split())))
        for markdown in texts(section, self._marks, self._language):
            for block in self._blocks.of(unenclosed(markdown), level):
                if block["c" if block["t"] == "Para" else "t"]:
                    yield block
                yield from map(self._figure, self._asked)
                self._asked.clear()

    def _method(self) -> list[Node]:
        said = [block for part in paragraphs(self._report) for block in self._told(part)]
        return [header(1, self._name(), words(heading(self._language))), *said] if said else []

    def _told(self, part: Told) -> list[Node]:
        """Return a paragraph and its list, which a page on the screen folds and print shortens."""
        line = para(words(part.text))
        if not part.items:
            return [line]
        if self._medium.screen:
            return [div([line, bullets([[plain(words(item))] for item in part.items])], attributes("", "folded"))]
        return [line, bullets([[plain(words(item))] for item in part.short])]

    def _cite(self, ids: Sequence[str]) -> list[Node]:
        """Return the numbers of a run of citations, each with the passages it stands for."""
        by_number: dict[int, list[str]] = {}
        for name in ids:
            if name in self._numbers.by_evidence:
                by_number.setdefault(self._numbers.by_evidence[name], []).append(name)
        if self._closed:
            self._recent, self._closed = {}, False
        links = [self._citation(place, names) for place, names in by_number.items()]
        return [{"t": "Str", "c": "\u00a0"}, *links] if links else []

    def _citation(self, place: int, names: Sequence[str]) -> Node:
        passages = [self._evidence[name] for name in dict.fromkeys(names)]
        where = places(passages, self._sources[passages[0].source_id], self._language)
        quotes = " ".join(self._places[item.id] for item in passages)
        attr = attributes("", "citation", data_evidence=quotes, **({"title": where} if where else {}))
        said = words(f"[{place}]")
        made = link(said, f"#ref-{place}", attr) if self._references else {"t": "Span", "c": [attr, said]}
        for item in passages:
            self._recent[item.id] = made
        return made

    def _claim(self, number: int) -> list[Node]:
        """Return the sign of the claim that ends here; its citations learn which claim they belong to."""
        if not 0 < number <= len(self._marks):
            return []
        mark = self._marks[number - 1]
        self._closed = True
        for citation in (self._recent[name] for name in mark.evidence_ids if name in self._recent):
            values = dict(citation["c"][0][2])
            claims = dict.fromkeys([*values.get("data-claims", "").split(), f"claim-{number}"])
            citation["c"][0][2] = [list(pair) for pair in {**values, "data-claims": " ".join(claims)}.items()]
        if not mark.sign or number in self._placed:
            return []
        self._placed.add(number)
        said = mark.told(self._language)
        sign: list[Node] = [{"t": "Superscript", "c": words(mark.sign)}]
        entry = self._checks.get(number)
        shown = [link(sign, f"#check-{entry}", attributes("", aria_label=said))] if entry else sign
        role = {} if entry else {"role": "img", "aria_label": said}
        attr = attributes(f"claim-{number}", "verdict", mark.kind, title=said, **role)
        return [{"t": "Span", "c": [attr, shown]}]

    def _show(self, name: str) -> list[Node] | None:
        """Take a figure up where the text asks for it; the second time the text only names it."""
        item = self._figures.get(name)
        if item is None:
            return None
        if name in self._shown:
            return words(f"({self._label(item)})")
        self._shown.add(name)
        self._asked.append(item)
        return []

    def _figure(self, item: Numbered) -> Node:
        stop = ". " if say("space", self._language) else "\u3000"
        caption = words(f"{self._label(item)}{stop}{item.figure.caption}")
        recent, self._recent = self._recent, {}
        caption += behind(caption, self._cite(item.figure.evidence_ids))
        self._recent = recent
        caption = credited(caption, item.figure, self._language)
        if item.file is None:
            return figure(f"figure-{item.number}", [plain(words(f"[{item.figure.alt}]"))], caption)
        alt = " ".join(item.figure.alt.split()) or item.figure.caption
        return figure(f"figure-{item.number}", [plain([image(alt, self._address(item.file))])], caption)

    def _label(self, item: Numbered) -> str:
        return f"{say('figure', self._language)} {item.number}"

    def _address(self, file: Blob) -> str:
        return data_url(file) if self._medium.inline else file.name
