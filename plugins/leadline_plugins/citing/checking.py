"""A report of any tool held against its sources: what `leadline verify` shows.

Such reports cite whole sources, not quotes: so the passage that a claim is held against is looked for first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

from leadline.findings import VerdictKind
from leadline.records import Document, Record, Text
from leadline_plugins.checks.judge import judge
from leadline_plugins.citing.model import CitedReport, Claim, Entry
from leadline_plugins.citing.reading import read
from leadline_plugins.text import sentences


class Wanted(Record):
    """A source that a report cites: by its key in the list, or by its address where it is only linked."""

    key: str
    text: Text = ""
    urls: tuple[str, ...] = ()


class CheckedClaim(Record):
    """A claim, the source it was held against, the verdict, and the passage that came nearest."""

    claim: Text
    source: str
    verdict: VerdictKind | None = None
    """None where the source could not be read."""
    reason: Text = ""
    confidence: float = 0.0
    passage: Text = ""
    by: Literal["", "exact", "words", "model"] = ""
    """Who judged: a rule, the measure of words, the model of the run; empty where nobody could."""


class CheckedReport(Record):
    """What was found; `passed`: every mark points at a source, and no claim is contradicted or unsupported."""

    title: Text
    marks: int
    sources: tuple[Wanted, ...]
    claims: tuple[CheckedClaim, ...]
    counts: dict[VerdictKind, int]
    unchecked: int
    dangling: tuple[str, ...]
    uncited_sources: tuple[str, ...]
    paragraphs_without_citation: int
    passed: bool


def wanted(markdown: str) -> tuple[Wanted, ...]:
    """Return the sources that a report's claims cite, in the order of their first citation."""
    return tuple(_sources(read(markdown)).values())


def check(markdown: str, documents: Mapping[str, Document]) -> CheckedReport:
    """Hold a report's claims against the documents, which are given by the keys of `wanted`."""
    report = read(markdown)
    sources = _sources(report)
    spans = {key: sentences(document.text) for key, document in documents.items()}
    claims = tuple(
        _checked(claim, source, documents.get(source.key), spans.get(source.key, []))
        for claim in report.claims
        for source in _of(report, claim)
    )
    return summed(
        title=report.title,
        marks=len(report.marks),
        sources=tuple(sources.values()),
        claims=claims,
        dangling=tuple(report.dangling()),
        uncited_sources=tuple(key for key in report.entries if key not in sources and not key.startswith("#")),
        bare=report.uncited,
    )


def summed(
    *,
    title: str,
    marks: int,
    sources: tuple[Wanted, ...],
    claims: tuple[CheckedClaim, ...],
    dangling: tuple[str, ...],
    uncited_sources: tuple[str, ...],
    bare: int,
) -> CheckedReport:
    """Return what was found with its counts; `bare` paragraphs cite nothing."""
    counts = Counter(claim.verdict for claim in claims if claim.verdict)
    return CheckedReport(
        title=title,
        marks=marks,
        sources=sources,
        claims=claims,
        counts=dict(counts),
        unchecked=sum(claim.verdict is None for claim in claims),
        dangling=dangling,
        uncited_sources=uncited_sources,
        paragraphs_without_citation=bare,
        passed=bool(claims) and not dangling and not counts["contradicted"] and not counts["unsupported"],
    )


def _sources(report: CitedReport) -> dict[str, Wanted]:
    return {source.key: source for claim in report.claims for source in _of(report, claim)}


def _of(report: CitedReport, claim: Claim) -> list[Wanted]:
    """Return the sources of a claim, each once: the entries its keys point at, then what it links besides."""
    entries = [entry for key in claim.keys if (entry := report.entry(key))]
    linked = [_listed(report, url) or Entry(url, "", (url,)) for url in claim.urls]
    found = {entry.key: entry for entry in [*entries, *linked]}
    return [Wanted(key=entry.key, text=entry.text, urls=entry.urls) for entry in found.values()]


def _listed(report: CitedReport, url: str) -> Entry | None:
    return next((entry for entry in report.entries.values() if url in entry.urls), None)


def _checked(claim: Claim, source: Wanted, document: Document | None, spans: list[tuple[int, int]]) -> CheckedClaim:
    if document is None:
        return CheckedClaim(claim=claim.text, source=source.key, reason="the source was not read")
    found = judge(claim.text, document.text, spans=spans, around=f"{document.title}\n{source.text}")
    return CheckedClaim(
        claim=claim.text,
        source=source.key,
        verdict=found.verdict,
        reason=found.reason,
        confidence=round(found.confidence, 2),
        passage=" ".join(found.passage.text.split()),
        by="exact" if found.exact else "words",
    )
