"""The comparison of two runs: their figures, the claims of their reports with verdicts, and their sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from leadline.citations import cited
from leadline.records import Record, Report, Source, Verdict, VerdictKind
from leadline.runs import Metadata, Status


class RunFigures(Record):
    """What a run took and made.

    `cost` is in USD, null if unknown; `citations` are the places in the report that cite a passage; `claims` the
    numbers of claims by verdict.
    """

    run: str
    pipeline: str
    status: Status
    reason: str = ""
    seconds: float = 0.0
    cost: float | None = None
    tokens: int = 0
    model_calls: int = 0
    searches: int = 0
    sources: int = 0
    cited_sources: int = 0
    citations: int = 0
    claims: dict[VerdictKind, int] = {}

    @classmethod
    def of(cls, known: Metadata, report: Report | None) -> RunFigures:
        """Return the figures of a run; `report` is None if it has none."""
        usage, sections = known.usage, report.sections if report else ()
        figures = {
            "run": known.run_id,
            "pipeline": known.pipeline,
            "status": known.status,
            "reason": known.reason,
            "seconds": known.seconds,
            "cost": usage.get("cost"),
            "tokens": usage.get("tokens", 0),
            "model_calls": usage.get("replies", 0),
            "searches": sum(count for kind, count in known.calls.items() if kind.startswith("query/")),
            "sources": len(report.sources) if report else 0,
            "cited_sources": known.citations.get("cited", 0),
            "citations": sum(len(cited(section.text or "")) for section in sections),
            "claims": Counter(verdict.verdict for verdict in report.verdicts) if report else {},
        }
        return cls.model_validate(figures)


class ChangedVerdict(Record):
    """A claim of both reports with different verdicts."""

    first: Verdict
    second: Verdict


class Comparison(Record):
    """Two runs compared: their figures, what only the report of the first has, what only the second, and what both.

    Claims are equal if they have the same words; sources if they have the same address.
    """

    runs: tuple[RunFigures, ...] = ()
    """The first run and the second."""

    only_first: tuple[Verdict, ...]
    only_second: tuple[Verdict, ...]
    changed: tuple[ChangedVerdict, ...]
    same: tuple[Verdict, ...]
    sources_only_first: tuple[str, ...]
    sources_only_second: tuple[str, ...]
    sources_of_both: tuple[str, ...]


def compare(first: Report | None, second: Report | None, runs: Sequence[Metadata] = ()) -> Comparison:
    """Return the comparison of two verified reports, None for one that was not written, and of their runs."""
    mine, others = (_by_words(report.verdicts if report else ()) for report in (first, second))
    both = [(mine[words], others[words]) for words in mine if words in others]
    urls, other_urls = (_addresses(report.sources if report else ()) for report in (first, second))
    pairs = zip(runs, (first, second), strict=True) if len(runs) == 2 else ()
    return Comparison(
        runs=tuple(RunFigures.of(known, report) for known, report in pairs),
        only_first=tuple(verdict for words, verdict in mine.items() if words not in others),
        only_second=tuple(verdict for words, verdict in others.items() if words not in mine),
        changed=tuple(ChangedVerdict(first=a, second=b) for a, b in both if a.verdict != b.verdict),
        same=tuple(a for a, b in both if a.verdict == b.verdict),
        sources_only_first=tuple(url for url in urls if url not in other_urls),
        sources_only_second=tuple(url for url in other_urls if url not in urls),
        sources_of_both=tuple(url for url in urls if url in other_urls),
    )


def _by_words(verdicts: Iterable[Verdict]) -> dict[str, Verdict]:
    return {" ".join(verdict.claim.text.casefold().split()): verdict for verdict in verdicts}


def _addresses(sources: Iterable[Source]) -> dict[str, None]:
    return dict.fromkeys(source.hit.url for source in sources)
