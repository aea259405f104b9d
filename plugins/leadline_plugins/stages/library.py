"""The evidence of a report, each piece looked up in the stored copy of its source."""

from __future__ import annotations

from dataclasses import dataclass

from leadline.records import Evidence, Report, Source
from leadline_plugins.checks.quotes import find
from leadline_plugins.stages.claims import Claim
from leadline_plugins.text.hanging import AROUND
from leadline_plugins.text.headings import BETWEEN, headings
from leadline_plugins.text.rows import heads_over


@dataclass(frozen=True)
class Cited:
    """A piece of evidence as it was checked: `problem` where its quote does not stand in a stored source.

    `around` is what may tell whom it speaks of; `before` and `behind` are the characters next to it in its source.
    """

    evidence: Evidence
    around: str = ""
    problem: str = ""
    title: str = ""
    under: str = ""
    before: str = ""
    behind: str = ""


class Library:
    """The evidence of a report, each piece looked up in its source once."""

    def __init__(self, report: Report) -> None:
        self._evidence = {item.id: item for item in report.evidence}
        self._sources = {source.id: source for source in report.sources}
        self._seen: dict[str, Cited] = {}

    def cited(self, claim: Claim) -> list[Cited]:
        """Return the evidence that a claim cites; ids that point nowhere are left out."""
        return [self._checked(self._evidence[name]) for name in claim.cite_ids if name in self._evidence]

    def beside(self, claim: Claim) -> list[Cited]:
        """Return what else the paragraph of a claim cites, as far as it stands in its sources."""
        found = (self._checked(self._evidence[name]) for name in claim.beside if name in self._evidence)
        return [item for item in found if not item.problem]

    def sound(self) -> list[Cited]:
        """Return all evidence whose quotes stand in their sources."""
        found = (self._checked(item) for item in self._evidence.values())
        return [item for item in found if not item.problem]

    def _checked(self, item: Evidence) -> Cited:
        if item.id not in self._seen:
            self._seen[item.id] = stands(item, self._sources.get(item.source_id))
        return self._seen[item.id]


def stands(item: Evidence, source: Source | None) -> Cited:
    """Look a quote up in the stored copy of its source: at its place, else anywhere, typography aside."""
    if source is None:
        return Cited(item, problem="the source is not in the report")
    text, span = source.document.text, item.span
    if text[slice(*span)] != item.quote:
        found = find(item.quote, text)
        if found is None:
            return Cited(item, problem="the quote does not stand in the source")
        span = found
    before, behind = text[max(0, span[0] - AROUND) : span[0]], text[span[1] : span[1] + AROUND]
    under = item.under or BETWEEN.join(filter(None, (*headings(text).over(span[0]), heads_over(text, span[0]))))
    around = f"{source.hit.title}\n{source.document.title}\n{under}\n{before}{text[slice(*span)]}{behind}"
    title = source.hit.title or source.document.title
    return Cited(item, around, title=title, under=under, before=before, behind=behind)
