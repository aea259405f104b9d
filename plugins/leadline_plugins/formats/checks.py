"""What verification found, as formats show it: a verdict beside each citation, and a section of what did not hold.

Verdicts come in the metadata of the report, `verification.verdicts`; without them nothing is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from pydantic import ValidationError

from leadline.findings import Verdict, VerdictKind
from leadline.records import Report
from leadline_plugins.wording import say

KINDS: tuple[VerdictKind, ...] = get_args(VerdictKind)
MARKS: Mapping[str, str] = {"unsupported": "?", "contradicted": "≠"}
"""What stands behind the number of a citation that does not bear its claim."""
_WORST = ("contradicted", "unsupported", "partial", "supported")


class Checks:
    """The verdicts of a report."""

    def __init__(self, report: Report) -> None:
        self.language = report.language
        self.verdicts = tuple(_verdicts(report.metadata.get("verification")))
        self._by_place: dict[tuple[str, str], list[Verdict]] = {}
        self._by_evidence: dict[str, list[Verdict]] = {}
        for verdict in self.verdicts:
            for name in verdict.cites:
                self._by_place.setdefault((verdict.section_id, name), []).append(verdict)
                self._by_evidence.setdefault(name, []).append(verdict)

    def of(self, section_id: str, evidence_ids: Iterable[str]) -> str:
        """Return the worst verdict on claims of a section that cite this evidence; empty where none was given."""
        given = {v.verdict for name in evidence_ids for v in self._by_place.get((section_id, name), ())}
        return next((kind for kind in _WORST if kind in given), "")

    def on(self, evidence_id: str) -> Verdict | None:
        """Return the worst verdict on any claim that cites this evidence."""
        return min(self._by_evidence.get(evidence_id, ()), key=lambda v: _WORST.index(v.verdict), default=None)

    def summary(self) -> str:
        """Return how many claims got which verdict, as a sentence; empty for a report that was not verified."""
        counts = Counter(verdict.verdict for verdict in self.verdicts)
        if not counts:
            return ""
        return say("checked", self.language, total=counts.total(), **{kind: counts[kind] for kind in KINDS})

    def failed(self) -> Iterator[Verdict]:
        """Yield the verdicts on claims that their passage does not bear."""
        return (verdict for verdict in self.verdicts if verdict.verdict in MARKS)


def _verdicts(verification: Any) -> Iterator[Verdict]:
    for row in (verification or {}).get("verdicts", ()):
        try:
            yield Verdict.model_validate(row)
        except ValidationError:
            continue  # of another version of the report: what it says cannot be shown
