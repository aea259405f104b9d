"""A report of any tool held against its sources: what `leadline verify` shows.

Such reports cite whole sources, not quotes: so the passage that a claim is held against is looked for first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from leadline.findings import UNBORNE, VerdictKind
from leadline.records import Document, Record, Text
from leadline_plugins.checks import several
from leadline_plugins.checks.passages import Passage
from leadline_plugins.citing.model import CitedReport, Claim, Entry
from leadline_plugins.citing.reading import read
from leadline_plugins.text import sentences


class Wanted(Record):
    """A source that a report cites: by its key in the list, or by its address where it is only linked."""

    key: str
    text: Text = ""
    urls: tuple[str, ...] = ()


class Near(Record):
    """Where a source speaks of a claim: the sentences that come nearest, and in `text` their neighbours too."""

    source: str
    passage: Text
    text: Text


class CheckedClaim(Record):
    """A claim, all that it cites, the verdict on what that bears together, and the passages that came nearest."""

    claim: Text
    """As people are shown it: of a table's row with what stands over its cells."""
    source: str
    """The keys of its sources, parted by commas."""
    verdict: VerdictKind | None = None
    """None where no source could be read."""
    reason: Text = ""
    confidence: float = 0.0
    passage: Text = ""
    """What came nearest in each source that was read, a line for each."""
    near: tuple[Near, ...] = ()
    """The same by source; empty in a run's own report, which cites passages."""
    by: Literal["", "exact", "words", "model"] = ""
    """Who judged: a rule, the measure of words, the model of the run; empty where nobody could."""
    own: bool = True
    """Whether it cites its sources itself; else it is held against what the next sentence cites."""
    text: Text = ""
    """It as it stands in the report, of a row its cells alone, and as it is judged."""
    under: Text = ""
    """The headings over it."""
    before: Text = ""
    """The sentence before its own, in its paragraph."""
    whole: Text = ""
    """Its sentence, where it is a part of that."""


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
    held = {key: _held(one, sources.get(key)) for key, one in documents.items()}
    claims = tuple(_checked(claim, cited, held) for claim in report.claims if (cited := _of(report, claim)))
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
    strict: bool = False,
) -> CheckedReport:
    """Return what was found with its counts; `bare` paragraphs cite nothing, which fails a report where `strict`."""
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
        passed=bool(claims) and not (dangling or (strict and bare) or any(counts[kind] for kind in UNBORNE)),
    )


def resummed(found: CheckedReport, claims: Iterable[CheckedClaim], bare: int, *, strict: bool = False) -> CheckedReport:
    """Return what was found with these claims in place of its own; `bare` and `strict` as in `summed`."""
    return summed(
        title=found.title,
        marks=found.marks,
        sources=found.sources,
        claims=tuple(claims),
        dangling=found.dangling,
        uncited_sources=found.uncited_sources,
        bare=bare,
        strict=strict,
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


def _held(document: Document, listed: Wanted | None) -> several.Cited:
    around = f"{document.title}\n{listed.text if listed else ''}"
    return several.Cited(document.text, around, sentences(document.text))


def _checked(claim: Claim, sources: Sequence[Wanted], held: Mapping[str, several.Cited]) -> CheckedClaim:
    """Hold a claim against all that it cites together, as far as that was read."""
    said = "; ".join(filter(None, (claim.text, claim.first)))
    named = ", ".join(source.key for source in sources)
    read = [source.key for source in sources if source.key in held]
    unread = [source.key for source in sources if source.key not in held]
    unjudged = CheckedClaim(
        claim=claim.shown or claim.text,
        source=named,
        text=claim.text,
        under=claim.under,
        before=claim.before,
        whole=claim.whole,
    )
    if not read:
        return unjudged.model_copy(update={"reason": "the source was not read"})
    cited = [held[key] for key in read]
    each = several.each(said, cited)
    found = several.together(said, cited, each)
    near = [_near(key, one.passage) for key, one in zip(read, each, strict=True)]
    lacking = f"; not read: [{'], ['.join(unread)}]" if unread and found.verdict != "supported" else ""
    judged = {
        "verdict": found.verdict,
        "reason": found.reason + lacking,
        "confidence": round(found.confidence, 2),
        "passage": "\n".join(one.passage for one in near),
        "near": tuple(near),
        "by": "exact" if found.exact else "words",
    }
    return unjudged.model_copy(update=judged)


def _near(key: str, found: Passage) -> Near:
    return Near(source=key, passage=" ".join(found.text.split()), text=" ".join(found.wide.split()))
