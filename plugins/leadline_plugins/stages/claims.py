"""The claims of a report, each sentence with the evidence cited for it, and how far the sources bear it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from leadline.citations import sentences_cited
from leadline.records import Evidence, Report, Source
from leadline_plugins.checks.judge import Judgement, judge
from leadline_plugins.checks.quotes import find, plain
from leadline_plugins.stages.paragraphs import Paragraph, paragraphs
from leadline_plugins.text import sentences

AROUND = 500
"""Characters before and behind a quote that may say whom it speaks of."""
_HEADING = re.compile(r"^#{1,6}\s.*$", re.MULTILINE)


@dataclass(frozen=True)
class Claim:
    """A sentence that cites: its id, where it stands, its text as it stands there, and the ids it cites."""

    id: str
    section_id: str
    text: str
    cite_ids: tuple[str, ...]


@dataclass(frozen=True)
class Cited:
    """A piece of evidence as it was checked: `problem` where its quote does not stand in a stored source."""

    evidence: Evidence
    around: str = ""
    problem: str = ""


class Library:
    """The evidence of a report, each piece looked up in its source once."""

    def __init__(self, report: Report) -> None:
        self._evidence = {item.id: item for item in report.evidence}
        self._sources = {source.id: source for source in report.sources}
        self._seen: dict[str, Cited] = {}

    def cited(self, claim: Claim) -> list[Cited]:
        """Return the evidence that a claim cites; ids that point nowhere are left out."""
        return [self._checked(self._evidence[name]) for name in claim.cite_ids if name in self._evidence]

    def others(self, claim: Claim) -> Iterator[Cited]:
        """Yield the sound evidence that a claim does not cite."""
        found = (self._checked(item) for name, item in self._evidence.items() if name not in claim.cite_ids)
        return (item for item in found if not item.problem)

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
    near = text[max(0, span[0] - AROUND) : span[1] + AROUND]
    return Cited(item, around=f"{source.hit.title}\n{source.document.title}\n{near}")


def claims(part: Paragraph) -> Iterator[Claim]:
    """Yield the sentences of a paragraph that a citation serves: those since the last one."""
    count = 0
    for stretch, names in sentences_cited(part.text):
        said = _HEADING.sub("", stretch)
        for text in [said[start:end] for start, end in sentences(said)] if names else ():
            count += 1
            yield Claim(f"{part.id}.{count}", part.section_id, text, tuple(dict.fromkeys(names)))


def claims_of(report: Report) -> list[Claim]:
    """Return all claims of a report, in order."""
    return [claim for part in paragraphs(report) for claim in claims(part)]


def held(claim: Claim, cited: list[Cited]) -> dict[str, Judgement]:
    """Judge a claim by the quotes cited for it, by evidence id; several may bear together what none bears alone."""
    sound = [item for item in cited if not item.problem]
    said = plain(claim.text)
    found = {item.evidence.id: judge(said, item.evidence.quote, around=item.around) for item in sound}
    if len(sound) > 1 and not any(one.verdict == "supported" for one in found.values()):
        together = judge(
            said, "\n".join(item.evidence.quote for item in sound), around="\n".join(i.around for i in sound)
        )
        if together.verdict == "supported":
            found = {name: together if one.verdict == "partial" else one for name, one in found.items()}
    return found
