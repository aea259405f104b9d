"""What `leadline verify` finds: the claims of any Markdown report, or of a run's, with verdicts of the same judges.

Reports of other tools cite whole sources. Their claims are judged against the passages of these that are nearest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from leadline.citations import number
from leadline.contracts import Run
from leadline.findings import FAILED
from leadline.records import Claim, Document, Evidence, Hit, Record, Report, Section, Source, Text, Verdict, VerdictKind
from leadline_plugins.passages import passages_of
from leadline_plugins.verification.checks import REQUIRED
from leadline_plugins.verification.claims import Statements, of_sections, statements
from leadline_plugins.verification.nearest import Nearest
from leadline_plugins.verification.reports import CitedReport, Entry, read
from leadline_plugins.verification.verdicts import Library, judge

_PASSAGES = 3
"""Passages of each cited source that a claim is judged against."""


class Wanted(Record):
    """A source that a report cites: by its key in the list, or by its address where it is only linked."""

    key: str
    text: Text = ""
    urls: tuple[str, ...] = ()


class CheckedClaim(Record):
    """A claim with the keys of its sources, and the verdict with the passage that decided it or comes nearest."""

    claim: Text
    source: str
    """Keys, separated by commas."""
    verdict: VerdictKind | None = None
    """None where no source was read."""
    reason: Text = ""
    confidence: float = 0.0
    passage: Text = ""
    judge: str = ""
    """Empty where no judge decided."""
    under: Text = ""
    """The headings above it."""


class CheckedReport(Record):
    """What was found; `passed`: every mark has a source, and no claim is contradicted or unsupported."""

    title: Text
    marks: int
    sources: tuple[Wanted, ...]
    claims: tuple[CheckedClaim, ...]
    counts: dict[VerdictKind, int]
    unchecked: int
    """Claims of which no source was read."""
    dangling: tuple[str, ...]
    """Numbers in the text without an entry in the list of sources."""
    uncited_sources: tuple[str, ...]
    paragraphs_without_citation: int
    passed: bool


@dataclass(frozen=True)
class _Read:
    """A report of any tool with its claims, and the source of each target that its marks name."""

    report: CitedReport
    found: Statements
    targets: Mapping[str, Wanted]

    def sources(self, claim: Claim) -> list[Wanted]:
        """Return the sources that a claim cites, each once."""
        named = (self.targets[name] for name in claim.evidence_ids if name in self.targets)
        return list({one.key: one for one in named}.values())


def wanted(markdown: str) -> tuple[Wanted, ...]:
    """Return the sources that the claims of a report cite, in the order of their first citation."""
    known = _read(markdown)
    return tuple({one.key: one for claim in known.found.claims for one in known.sources(claim)}.values())


async def check(markdown: str, documents: Mapping[str, Document], run: Run | None = None) -> CheckedReport:
    """Judge the claims of a report by documents, which are given by the keys of `wanted`; nothing without a run."""
    known = _read(markdown)
    by_key = {one.key: one for one in wanted(markdown)}
    sources = [_source(by_key[key], document) for key, document in documents.items() if key in by_key]
    passages = {source.id: passages_of(source) for source in sources}
    near = {key: Nearest(own) for key, own in passages.items()}
    library = Library([one for own in passages.values() for one in own], sources)
    judged = [_against(claim, known.sources(claim), near) for claim in known.found.claims]
    readable = [claim for claim in judged if claim.evidence_ids]
    verdicts = {one.claim.id: one for one in await judge(run, readable, library)} if run else {}
    checked = (
        _checked(claim, known.sources(claim), verdicts.get(claim.id), library, near) for claim in known.found.claims
    )
    cited = {name for name, one in known.targets.items() if any(name in c.evidence_ids for c in known.found.claims)}
    used = {known.targets[name].key for name in cited}
    return _summed(
        title=known.report.title,
        marks=len(known.report.marks),
        sources=tuple(by_key.values()),
        claims=tuple(checked),
        dangling=tuple(known.report.dangling()),
        uncited_sources=tuple(key for key in known.report.entries if key not in used and not key.startswith("#")),
        bare=sum(one.states and not one.cite_ids for one in known.found.paragraphs),
        failing=_failing(run),
    )


async def recheck(report: Report, run: Run) -> CheckedReport:
    """Judge the claims of a run's own report by the passages that it cites."""
    found, library, numbered = statements(report), Library.of(report), number(report)
    verdicts = await judge(run, found.claims, library)
    entries = {
        source.id: Wanted(key=str(key), text=source.hit.title, urls=(source.hit.url,)) for key, source in numbered.cited
    }
    sources = {item.id: entries[item.source_id] for item in report.evidence if item.source_id in entries}
    claims = [
        _checked(one.claim, [sources[name] for name in one.claim.evidence_ids if name in sources], one, library)
        for one in verdicts
    ]
    known = {item.id for item in report.evidence}
    used = [name for paragraph in found.paragraphs for name in paragraph.cite_ids]
    return _summed(
        title=report.title,
        marks=len(used),
        sources=tuple(entries.values()),
        claims=tuple(claims),
        dangling=tuple(dict.fromkeys(name for name in used if name not in known)),
        uncited_sources=(),
        bare=len(found.uncited),
        failing=_failing(run),
        strict=True,
    )


def _summed(
    *,
    title: str,
    marks: int,
    sources: tuple[Wanted, ...],
    claims: tuple[CheckedClaim, ...],
    dangling: tuple[str, ...],
    uncited_sources: tuple[str, ...],
    bare: int,
    failing: Sequence[VerdictKind],
    strict: bool = False,
) -> CheckedReport:
    """Return what was found with its counts; `strict`: paragraphs without a citation fail the report."""
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
        passed=bool(claims) and not (dangling or (strict and bare) or any(counts[kind] for kind in failing)),
    )


def _failing(run: Run | None) -> Sequence[VerdictKind]:
    """Return the verdicts that fail a report by the settings."""
    return REQUIRED if run and run.settings.verify.require_support else FAILED


def _read(markdown: str) -> _Read:
    report = read(markdown)
    found = of_sections([Section(id="report", title="", text=report.text)])
    targets: dict[str, Wanted] = {}
    for place, name in enumerate(report.targets):
        entry = report.entry(name) or _listed(report, name)
        if entry or "://" in name:
            entry = entry or Entry(name, "", (name,))
            targets[str(place)] = Wanted(key=entry.key, text=entry.text, urls=entry.urls)
    return _Read(report, found, targets)


def _listed(report: CitedReport, url: str) -> Entry | None:
    return next((entry for entry in report.entries.values() if url in entry.urls), None)


def _source(listed: Wanted, document: Document) -> Source:
    url = listed.urls[0] if listed.urls else f"source:{listed.key}"
    return Source(id=listed.key, hit=Hit(url=url, title=document.title or listed.text), document=document)


def _against(claim: Claim, sources: Iterable[Wanted], near: Mapping[str, Nearest]) -> Claim:
    """Return a claim that cites the nearest passages of its sources."""
    said = " ".join((*claim.under[-1:], claim.text))
    found = (one for source in sources if source.key in near for one in near[source.key].to(said, _PASSAGES))
    return claim.model_copy(update={"evidence_ids": tuple(one.id for one in found)})


def _checked(
    claim: Claim,
    sources: Sequence[Wanted],
    verdict: Verdict | None,
    library: Library,
    read_keys: Container[str] | None = None,
) -> CheckedClaim:
    """Return a claim with its verdict; `read_keys` are the keys of the sources that were read, None for all."""
    keys = ", ".join(dict.fromkeys(one.key for one in sources))
    under = " > ".join(filter(None, claim.under))
    if verdict is None:
        unread = read_keys is not None and not any(one.key in read_keys for one in sources)
        reason = "the source was not read" if unread else "no passage of the source shares a word with it"
        kind: VerdictKind | None = None if unread else "not_judged"
        return CheckedClaim(claim=claim.text, source=keys, verdict=kind, reason=reason, under=under)
    missing = [one.key for one in sources if read_keys is not None and one.key not in read_keys]
    lacking = f"; not read: [{'], ['.join(missing)}]" if missing and verdict.verdict != "supported" else ""
    return CheckedClaim(
        claim=claim.text,
        source=keys,
        verdict=verdict.verdict,
        reason=verdict.reason + lacking,
        confidence=round(verdict.confidence, 2),
        passage=" ".join((verdict.quote or _nearest_words(verdict.claim, library)).split()),
        judge=verdict.judge,
        under=under,
    )


def _nearest_words(claim: Claim, library: Library) -> str:
    """Return the sentence of the cited passages that shares most words with a claim."""
    cited: list[Evidence] = library.cited(claim)
    near = Nearest(cited)
    return near.sentence(claim.text, (near.to(claim.text, 1) or cited)[0]) if cited else ""
