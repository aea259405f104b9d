"""Checks for `leadline verify`: the claims of any Markdown report, or of a run's, judged by the same judges.

Reports of other tools cite whole sources. Their claims are judged by the nearest passages of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from leadline.citations import number
from leadline.contracts import StageRun
from leadline.errors import Unsupported, UsageError
from leadline.parsing import MOST_CHARACTERS, within_limits
from leadline.records import Claim, Document, Evidence, Hit, Record, Report, Section, Source, Text, Verdict, VerdictKind
from leadline.research_findings import FAILED
from leadline_plugins.documents.ranking import indexed, nearest
from leadline_plugins.passages.cutting import passages_of
from leadline_plugins.passages.ranking import nearest_sentence
from leadline_plugins.verification.claims import Statements, report_statements, section_statements
from leadline_plugins.verification.reports.marks import Entry
from leadline_plugins.verification.reports.reader import CitedReport, read_report
from leadline_plugins.verification.verdicts import REQUIRED, Library, judge

# Passages of each cited source by which a claim is judged.
_PASSAGES = 3
T = TypeVar("T")


class CitedSource(Record):
    """A source that a report cites: its key is that of the list of sources, or its address if it is only linked."""

    key: str
    text: Text = ""
    urls: tuple[str, ...] = ()


class CheckedClaim(Record):
    """A claim with the keys of its sources, and the verdict with the words that decided it."""

    claim: Text
    # Keys, separated by commas.
    source: str
    # None if no source was read.
    verdict: VerdictKind | None = None
    reason: Text = ""
    confidence: float = 0.0
    # Words of a cited passage that decided it; empty if no judge quoted any.
    passage: Text = ""
    # The sentence of the cited passages with most words of the claim, if no judge quoted one. It decided nothing.
    nearest: Text = ""
    # Empty if no judge decided.
    judge: str = ""
    # The headings above it.
    under: Text = ""


class CheckedReport(Record):
    """The result; it is `passed` if every citation has a source, and no claim is contradicted or unsupported.

    Every paragraph that makes a statement must end with a citation, too. Sentences that a judge says assert nothing are
    no claims.
    """

    title: Text
    marks: int
    sources: tuple[CitedSource, ...]
    claims: tuple[CheckedClaim, ...]
    counts: dict[VerdictKind, int]
    # The number of claims without a source that was read.
    unchecked: int
    # Numbers in the text without an entry in the list of sources.
    dangling: tuple[str, ...]
    uncited_sources: tuple[str, ...]
    paragraphs_without_citation: int
    # None if the report only shows passages, and claims nothing.
    passed: bool | None


@dataclass(frozen=True)
class _ParsedReport:
    """A report of any tool with its claims, and the sources of its citations by target."""

    report: CitedReport
    body: Statements
    targets: Mapping[str, CitedSource]

    def sources(self, claim: Claim) -> list[CitedSource]:
        """Return the distinct sources that a claim cites."""
        named = (self.targets[name] for name in claim.evidence_ids if name in self.targets)
        return list({source.key: source for source in named}.values())

    @property
    def cited(self) -> dict[str, CitedSource]:
        """The sources that the claims cite by key, in order of their first citation."""
        return {source.key: source for claim in self.body.claims for source in self.sources(claim)}


async def cited_sources(markdown: str) -> tuple[CitedSource, ...]:
    """Return the sources that the claims of a report cite, in order of their first citation. Raises `UsageError`."""
    return tuple((await _read(len(markdown), _parse, markdown)).cited.values())


async def check(markdown: str, documents: Mapping[str, Document], run: StageRun | None = None) -> CheckedReport:
    """Judge the claims of a report by documents, given by the keys of `cited_sources`; without a run none is judged.

    Raises `UsageError` for a report that cannot be read within the limits of a worker.
    """
    known = await _read(len(markdown), _parse, markdown)
    by_key = known.cited
    sources = [_source(by_key[key], document) for key, document in documents.items() if key in by_key]
    citing: dict[str, list[Claim]] = {}
    for claim in known.body.claims:
        for cited in known.sources(claim):
            citing.setdefault(cited.key, []).append(claim)
    near: list[Evidence] = []
    cites: dict[str, list[str]] = {}
    for source in sources:
        nearest_passages = await _read(len(source.document.text), _nearest, source, citing[source.id])
        for claim_id, passages in nearest_passages.items():
            near += passages
            cites.setdefault(claim_id, []).extend(passage.id for passage in passages)
    library = Library(near, sources)
    judged = (claim.model_copy(update={"evidence_ids": tuple(cites.get(claim.id, ()))}) for claim in known.body.claims)
    readable = [claim for claim in judged if claim.evidence_ids]
    # Of paragraphs without a citation a judge decides whether they assert anything.
    asked = [*readable, *known.body.bare()]
    verdicts = {verdict.claim.id: verdict for verdict in await judge(run, asked, library)} if run else {}
    return await _read(len(markdown), _checked_report, known, verdicts, library, _failing(run))


async def _read(size: int, function: Callable[..., T], *args: Any) -> T:
    """Return what a worker makes of a report and its sources: they are anybody's text. Raises `UsageError`."""
    try:
        return await within_limits("the report", size, function, *args)
    except Unsupported as error:
        raise UsageError(str(error)) from error


def _checked_report(
    known: _ParsedReport,
    verdicts: Mapping[str, Verdict],
    library: Library,
    failing: Sequence[VerdictKind],
) -> CheckedReport:
    by_key, read = known.cited, {source.id for source in library.sources}
    checked = (
        _checked_claim(claim, known.sources(claim), verdicts.get(claim.id), library, read)
        for claim in known.body.claims
        if claim.id not in verdicts or verdicts[claim.id].asserts
    )
    named = {name for claim in known.body.claims for name in claim.evidence_ids}
    used = {target.key for name, target in known.targets.items() if name in named}
    return _summary(
        tuple(checked),
        tuple(known.report.dangling()),
        failing,
        title=known.report.title,
        marks=len(known.report.marks),
        sources=tuple(by_key.values()),
        uncited_sources=tuple(key for key in known.report.entries if key not in used and not key.startswith("#")),
        paragraphs_without_citation=_bare(known.body, verdicts),
    )


async def recheck(report: Report, run: StageRun) -> CheckedReport:
    """Judge the claims of a run's own report by the passages that it cites."""
    statements, library, numbered = report_statements(report), Library.of(report), number(report)
    verdicts = {verdict.claim.id: verdict for verdict in await judge(run, statements.to_judge(), library)}
    entries = {
        source.id: CitedSource(key=str(key), text=source.hit.title, urls=(source.hit.url,))
        for key, source in numbered.cited
    }
    sources = {item.id: entries[item.source_id] for item in report.evidence if item.source_id in entries}
    claims = [
        _checked_claim(claim, [sources[name] for name in claim.evidence_ids if name in sources], verdict, library)
        for claim in statements.claims
        if (verdict := verdicts[claim.id]).asserts
    ]
    known = {item.id for item in report.evidence}
    used = [name for paragraph in statements.paragraphs for name in paragraph.cite_ids]
    result = _summary(
        tuple(claims),
        tuple(dict.fromkeys(name for name in used if name not in known)),
        _failing(run),
        title=report.title,
        marks=len(used),
        sources=tuple(entries.values()),
        uncited_sources=(),
        paragraphs_without_citation=_bare(statements, verdicts),
    )
    return result.model_copy(update={"passed": None}) if report.quotes else result


def _bare(statements: Statements, verdicts: Mapping[str, Verdict]) -> int:
    """Return how many paragraphs end without a citation; those of which a judge says that they assert nothing may."""
    return sum(item.id not in verdicts or verdicts[item.id].asserts for item in statements.uncited)


def _summary(
    claims: tuple[CheckedClaim, ...], dangling: tuple[str, ...], failing: Sequence[VerdictKind], **more: Any
) -> CheckedReport:
    """Return the result with its counts; `more` are its other fields."""
    counts = Counter(claim.verdict for claim in claims if claim.verdict)
    return CheckedReport(
        claims=claims,
        dangling=dangling,
        counts=dict(counts),
        unchecked=sum(claim.verdict is None for claim in claims),
        passed=bool(claims)
        and not (dangling or more["paragraphs_without_citation"] or any(counts[kind] for kind in failing)),
        **more,
    )


def _failing(run: StageRun | None) -> Sequence[VerdictKind]:
    """Return the verdicts that fail a report under the settings."""
    return REQUIRED if run and run.settings.verify.require_support else FAILED


def _parse(markdown: str) -> _ParsedReport:
    report = read_report(markdown)
    statements = section_statements([Section(id="report", title="", text=report.text)])
    size = sum(len(claim.text) + len(claim.before) + sum(map(len, claim.under)) for claim in statements.claims)
    if size > MOST_CHARACTERS:  # a heading or a table's header is repeated with each of its claims
        raise UsageError(f"the claims of the report have {size:,} characters with their headings: divide the report")
    targets: dict[str, CitedSource] = {}
    by_url = {url: entry for entry in reversed(list(report.entries.values())) for url in entry.urls}
    for index, name in enumerate(report.targets):
        entry = report.entry(name) or by_url.get(name)
        if entry or "://" in name:
            entry = entry or Entry(name, "", (name,))
            targets[str(index)] = CitedSource(key=entry.key, text=entry.text, urls=entry.urls)
    return _ParsedReport(report, statements, targets)


def _source(listed: CitedSource, document: Document) -> Source:
    url = listed.urls[0] if listed.urls else f"source:{listed.key}"
    return Source(id=listed.key, hit=Hit(url=url, title=document.title or listed.text), document=document)


def _nearest(source: Source, claims: Sequence[Claim]) -> dict[str, list[Evidence]]:
    """Return the passages of a source that are nearest to each claim, by the claim's id."""
    index = indexed(passages_of(source), {})
    return {claim.id: nearest(index, " ".join((*claim.under[-1:], claim.text)), _PASSAGES) for claim in claims}


def _checked_claim(
    claim: Claim,
    sources: Sequence[CitedSource],
    verdict: Verdict | None,
    library: Library,
    read_keys: Container[str] | None = None,
) -> CheckedClaim:
    """Return a claim with its verdict; `read_keys` are the keys of the sources that were read, None for all."""
    keys = ", ".join(dict.fromkeys(source.key for source in sources))
    under = " > ".join(filter(None, claim.under))
    if verdict is None:
        unread = read_keys is not None and not any(source.key in read_keys for source in sources)
        reason = "the source was not read" if unread else "no passage of the source shares a word with it"
        kind: VerdictKind | None = None if unread else "not_judged"
        return CheckedClaim(claim=claim.text, source=keys, verdict=kind, reason=reason, under=under)
    near = "" if verdict.quote else nearest_sentence(verdict.claim.text, library.cited(verdict.claim))
    missing = [source.key for source in sources if read_keys is not None and source.key not in read_keys]
    lacking = f"; not read: [{'], ['.join(missing)}]" if missing and verdict.verdict != "supported" else ""
    return CheckedClaim(
        claim=claim.text,
        source=keys,
        verdict=verdict.verdict,
        reason=verdict.reason + lacking,
        confidence=round(verdict.confidence, 2),
        passage=" ".join(verdict.quote.split()),
        nearest=" ".join(near.split()),
        judge=verdict.judge,
        under=under,
    )
