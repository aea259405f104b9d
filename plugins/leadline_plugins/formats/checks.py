"""What verification found, as formats show it at each place: at a citation, below a quote, beside a paragraph.

It comes in the metadata of the report, `verification`; without it nothing is said. A verdict belongs to the citations
right behind its claim, and to no other of the same passage; in reports of older versions, which do not tell where
those stand, none is shown at a number.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from leadline.citations import CITATION, unenclosed
from leadline.findings import Verdict
from leadline.records import Record, Report, Section
from leadline_plugins.checks.whole import whole
from leadline_plugins.formats.inlines import spoken
from leadline_plugins.stages.kinds import MARKS, Kind, kind_of
from leadline_plugins.stages.paragraphs import blocks
from leadline_plugins.wording.notices import retold

R = TypeVar("R", bound=Record)
_WORST: tuple[Kind, ...] = ("contradicted", "unsupported", "doubted", "partial", "undecided", "hedged", "supported")


@dataclass(frozen=True)
class Checked:
    """A claim, and what its citations come to; `at` is where they begin in the text of its section."""

    id: str
    section_id: str
    text: str
    kind: Kind
    reason: str
    cites: tuple[str, ...]
    at: int
    own: bool = True
    """Whether the citations are its own, or those of what follows, as it has none."""

    @property
    def served(self) -> bool:
        """Whether its verdict is shown at those citations.

        What stands before a cited sentence without a citation may simply be of another source: that the passage does
        not bear it is nothing against the sentence that cites it. That the passage denies it is.
        """
        return self.own or self.kind in ("supported", "contradicted")


class Checks:
    """The verdicts of a report."""

    def __init__(self, report: Report) -> None:
        self.language = report.language
        found: Any = report.metadata.get("verification") or {}
        self.found: Mapping[str, Any] = found
        self.claims = tuple(_claims(found, report.language))
        self._bare = frozenset(found.get("paragraphs_without_citation", ()))
        self._by_section: dict[str, list[Checked]] = {}
        self._by_evidence: dict[str, list[Checked]] = {}
        for claim in self.claims:
            self._by_section.setdefault(claim.section_id, []).append(claim)
            for name in claim.cites:
                self._by_evidence.setdefault(name, []).append(claim)

    def at(self, section: Section) -> AtCitations:
        """Return the claims of a section, to be taken where their citations are set."""
        return AtCitations(section.text or "", self._by_section.get(section.id, ()))

    def on(self, evidence_id: str) -> Sequence[Checked]:
        """Return the claims that cite this evidence."""
        return self._by_evidence.get(evidence_id, ())

    def lacking(self) -> list[tuple[Checked, int]]:
        """Return the claims that are marked, those borne in part last, each once, with how often it is made."""
        marked = (claim for claim in self.claims if claim.kind in MARKS)
        return once(iter(sorted(marked, key=lambda claim: claim.kind == "partial")))

    def bare(self, section: Section) -> list[tuple[int, int, str]]:
        """Return the paragraphs of a section that end without a citation: first line, line behind the last, text."""
        if not any(name.startswith(f"{section.id}.") for name in self._bare):
            return []
        text = unenclosed(section.text or "")
        return [
            (text.count("\n", 0, start), text.count("\n", 0, end) + 1, text[start:end])
            for place, (start, end) in enumerate(blocks(text), start=1)
            if f"{section.id}.{place}" in self._bare
        ]


class AtCitations:
    """The claims of one section by their citations, each of which is asked for once."""

    def __init__(self, text: str, claims: Sequence[Checked]) -> None:
        by_place: dict[int, list[Checked]] = {}
        for claim in claims:
            by_place.setdefault(claim.at, []).append(claim)
        self._left: dict[str, deque[Sequence[Checked]]] = {}
        for name, at in _runs(text, by_place) if by_place.keys() != {-1} else ():
            said = [claim for claim in by_place.get(at, ()) if name in claim.cites and claim.served]
            self._left.setdefault(name, deque()).append(said)

    def take(self, evidence_id: str) -> Sequence[Checked]:
        """Return the claims that the next citation of this evidence serves."""
        left = self._left.get(evidence_id)
        return left.popleft() if left else ()


def _runs(text: str, places: Mapping[int, object]) -> Iterator[tuple[str, int]]:
    """Yield each citation of a text with the place at which its run begins; -1 where no claim has it for its own."""
    end, run = 0, -1
    for found in CITATION.finditer(text):
        between = text[end : found.start()]
        if between.strip():
            run = -1
        first = found.start() - (len(between) - len(between.rstrip()))
        run = next((at for at in range(first, found.start() + 1) if at in places), run)
        yield found[1], run
        end = found.end()


def worst(claims: Sequence[Checked]) -> str:
    """Return the worst of what was found; empty where there are no claims."""
    return min((claim.kind for claim in claims), key=_WORST.index, default="")


def once(claims: Iterator[Checked]) -> list[tuple[Checked, int]]:
    """Return claims of the same words and verdict once, in order, with how often they are made."""
    first: dict[tuple[str, str], Checked] = {}
    counts = Counter((first.setdefault((claim.kind, claim.text), claim).id) for claim in claims)
    return [(claim, counts[claim.id]) for claim in first.values()]


def _claims(found: Mapping[str, Any], language: str) -> Iterator[Checked]:
    for place, group in enumerate(whole(records_of(found, "verdicts", Verdict)), start=1):
        verdict = group[0]
        yield Checked(
            id=f"claim-{place}",
            section_id=verdict.section_id,
            text=spoken(verdict.claim),
            kind=kind_of(verdict),
            reason=retold(verdict.reason, language) or verdict.reason,
            cites=tuple(dict.fromkeys(name for one in group for name in one.cites)),
            at=verdict.at,
            own=verdict.own,
        )


def records_of(found: Mapping[str, Any], name: str, form: type[R]) -> Iterator[R]:
    """Yield the records that a verification holds under a name."""
    for row in found.get(name, ()):
        try:
            yield form.model_validate(row)
        except ValidationError:
            continue  # of another version of the report: what it says cannot be shown
