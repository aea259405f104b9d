"""The report as a tree: title, sections, figures, method, checks and sources, in the order of the page.

Built once for each format, since formats differ in what a page can hold; written by the writers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count

from leadline.citations import cited, number, unenclosed
from leadline.records import Blob, Evidence, Report, Section, Source
from leadline_plugins.formats.blocks import Blocks
from leadline_plugins.formats.checks import AtCitations, Checked, Checks, worst
from leadline_plugins.formats.figures import Numbered, Placing, credited, data_url, numbered
from leadline_plugins.formats.method import heading, paragraphs
from leadline_plugins.formats.references import Lists, quote, verified
from leadline_plugins.formats.tree import (
    Node,
    attributes,
    behind,
    clean,
    div,
    figure,
    header,
    image,
    link,
    plain,
    set_out,
    text,
    words,
)
from leadline_plugins.formats.verified import summary
from leadline_plugins.stages.kinds import MARKS, label
from leadline_plugins.wording import say

Served = Callable[[str], Sequence[Checked]]
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True)
class Medium:
    """What a format's page can hold.

    `columns`: a table of more is set as several. `pictures`: media types, the best first. `inline`: pictures stand in
    the document itself, as data. `quotes`: the passages stand below the sources.
    """

    columns: int | None = None
    pictures: tuple[str, ...] = ("image/svg+xml", "image/png", "image/jpeg")
    inline: bool = True
    quotes: bool = False


@dataclass(frozen=True)
class Document:
    """The report as blocks; `files` are the pictures they name, where these do not stand inline."""

    title: str
    language: str
    blocks: list[Node]
    files: tuple[Blob, ...] = ()
    checks: str = ""
    """What verification found, as a sentence; empty where it did not look."""

    @property
    def length(self) -> int:
        """The characters of the report, without its lists of sources."""
        return sum(len(text(block)) for block in self.blocks if block["t"] != "Div")

    def about(self, day: date) -> str:
        """Return the line below the title: the day, and what verification found."""
        return " · ".join(filter(None, (f"{day:%Y-%m-%d}", self.checks)))


def document(
    report: Report, medium: Medium, *, references: bool = True, entries: Mapping[str, list[Node]] | None = None
) -> Document:
    """Return the report as a tree. `entries` are its references as a citation style writes them, by source id."""
    return Builder(report, medium, references).build(entries or {})


def _serving_none(evidence_id: str) -> Sequence[Checked]:
    """Return the claims that a citation in a figure's caption serves: verdicts are on sentences."""
    return ()


class Builder:
    """Builds one document."""

    def __init__(self, report: Report, medium: Medium, references: bool) -> None:
        self._report = report
        self._medium = medium
        self._references = references
        self._numbers = number(report)
        self._cited: dict[str, list[Evidence]] = {}
        named = {name for section in report.sections for name in cited(section.text or "")}
        named.update(name for figure in report.figures for name in figure.evidence_ids)
        for item in report.evidence:
            if item.id in self._numbers.by_evidence and item.id in named:
                self._cited.setdefault(item.source_id, []).append(item)
        self._checks = Checks(report)
        self._figures = numbered(report, medium.pictures)
        self._shown: set[str] = set()
        self._asked: list[Numbered] = []
        self._places = {item.id: f"quote-{place}" for place, item in enumerate(report.evidence, start=1)}
        self._claims: AtCitations | None = None
        self._names = map("section-{}".format, count(1))
        self._blocks = Blocks(self._cite, self._show, self._name, medium.columns)

    def build(self, entries: Mapping[str, list[Node]]) -> Document:
        """Return the document."""
        blocks = [*self._body(), *self._method(), *verified(self._report, self._checks, self._name)]
        if self._references:
            blocks += Lists(self._numbers, entries, self._name, self._report.language).blocks(self._quotes)
        files = tuple(item.file for item in self._figures.values() if item.file and not self._medium.inline)
        title = " ".join(clean(self._report.title).split()) or "Report"
        language = self._report.language if _LANGUAGE.fullmatch(self._report.language) else ""
        return Document(title, language, blocks, files, summary(self._checks))

    def _name(self) -> str:
        return next(self._names)

    def _body(self) -> list[Node]:
        parts = [list(self._set(section)) for section in self._report.sections]
        placing = Placing(self._figures, self._shown)
        body = [block for part in parts for block in placing.after_mentions(part, self._figure)]
        return body + [self._figure(item) for item in placing.rest()]

    def _set(self, section: Section) -> Iterator[Node]:
        """Yield a section; figures its text shows stand behind the block that shows them."""
        self._claims = self._checks.at(section)
        yield header(1, self._name(), words(" ".join(section.title.split())))
        bare = self._checks.bare(section) if self._medium.quotes else []
        for block, (first, behind_last) in self._blocks.of(unenclosed(section.text or "")):
            if block["c" if block["t"] == "Para" else "t"]:
                ends_bare = any(first < end and start < behind_last for start, end, _ in bare)
                yield self._without(block) if ends_bare else block
            yield from map(self._figure, self._asked)
            self._asked.clear()
        self._claims = None

    def _without(self, block: Node) -> Node:
        """Return a block that ends without a citation so that its reader sees it."""
        return div([block], attributes("", "uncited", title=say("bare_here", self._report.language)))

    def _method(self) -> list[Node]:
        said = [block for part in paragraphs(self._report) for block in set_out(part)]
        return [header(1, self._name(), words(heading(self._report.language))), *said] if said else []

    def _cite(self, ids: Sequence[str]) -> list[Node]:
        """Return the numbers of a run of citations, each with the evidence it stands for, and the claims it serves."""
        return self._cited_by(ids, self._claims.take if self._claims else _serving_none)

    def _cited_by(self, ids: Sequence[str], served: Served) -> list[Node]:
        by_number: dict[int, list[str]] = {}
        for name in ids:
            if name in self._numbers.by_evidence:
                by_number.setdefault(self._numbers.by_evidence[name], []).append(name)
        marks = [self._mark(place, names, served) for place, names in by_number.items()]
        return [{"t": "Str", "c": "\u00a0"}, *marks] if marks else []

    def _mark(self, place: int, names: Sequence[str], served: Served) -> Node:
        claims = list(dict.fromkeys(claim for name in names for claim in served(name)))
        verdict = worst(claims)
        said = words(f"[{place}]") + ([{"t": "Superscript", "c": words(MARKS[verdict])}] if verdict in MARKS else [])
        attr = attributes(
            "",
            "citation",
            *([verdict] if verdict else []),
            data_evidence=" ".join(dict.fromkeys(self._places[name] for name in names)),
            **({"data_claims": " ".join(claim.id for claim in claims)} if claims else {}),
            **(self._warning(place, verdict) if verdict in MARKS else {}),
        )
        return link(said, f"#ref-{place}", attr) if self._references else {"t": "Span", "c": [attr, said]}

    def _warning(self, place: int, verdict: str) -> dict[str, str]:
        """Return what a mark behind a number says to those who point at it, or have the page read to them."""
        word = label(verdict, self._report.language)
        return {"title": word, "aria_label": f"[{place}] {word}"}

    def _quotes(self, source: Source) -> list[Node]:
        if not self._medium.quotes:
            return []
        return [quote(item, self._places[item.id], self._checks) for item in self._cited.get(source.id, ())]

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
        stop = ". " if say("space", self._report.language) else "\u3000"
        caption = words(f"{self._label(item)}{stop}{item.figure.caption}")
        caption += behind(caption, self._cited_by(item.figure.evidence_ids, _serving_none))
        caption = credited(caption, item.figure, self._report.language)
        if item.file is None:
            return figure(f"figure-{item.number}", [plain(words(f"[{item.figure.alt}]"))], caption)
        alt = " ".join(item.figure.alt.split()) or item.figure.caption
        return figure(f"figure-{item.number}", [plain([image(alt, self._address(item.file))])], caption)

    def _label(self, item: Numbered) -> str:
        return f"{say('figure', self._report.language)} {item.number}"

    def _address(self, file: Blob) -> str:
        return data_url(file) if self._medium.inline else file.name
