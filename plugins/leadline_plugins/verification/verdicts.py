"""Verdicts on claims: the judges decide in order, then one rule may overrule them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from leadline.citations import uncitable
from leadline.contracts import StageRun
from leadline.errors import CallFailed
from leadline.records import (
    Claim,
    Correction,
    Document,
    Evidence,
    Hit,
    Judgement,
    JudgeRequest,
    Notice,
    Report,
    Section,
    Source,
    Verdict,
    VerdictKind,
)
from leadline.research_findings import FAILED, GROUNDED
from leadline_plugins.verification.claims import section_statements
from leadline_plugins.verification.judges.exact import missing_facts
from leadline_plugins.verification.quotes import OMISSION, find_quote, normalize_source
from leadline_plugins.verification.tasks import VERIFY_TASK

_DIGIT = re.compile(r"\d")
# The verdicts that fail a report with `verify.require_support`.
REQUIRED: Sequence[VerdictKind] = (*FAILED, "not_judged")


@dataclass(frozen=True)
class Library:
    """The evidence and sources of a run, for looking up citations."""

    evidence: Sequence[Evidence]
    sources: Sequence[Source]
    language: str = ""
    question: str = ""

    @classmethod
    def of(cls, report: Report) -> Library:
        """Return the library of a report."""
        return cls(report.evidence, report.sources, report.language, str(report.metadata.get("question", "")))

    @cached_property
    def by_source(self) -> Mapping[str, Source]:
        """The sources by id, without fields that no judge needs."""
        return {source.id: _without_extras(source) for source in self.sources}

    @cached_property
    def by_id(self) -> Mapping[str, Evidence]:
        """The passages by id."""
        return {passage.id: passage for passage in self.evidence}

    def cited(self, claim: Claim) -> list[Evidence]:
        """Return the passages of a claim that are in the stored text of their source."""
        known = (self.by_id[name] for name in claim.evidence_ids if name in self.by_id)
        return [passage for passage in known if occurs(passage, self.by_source.get(passage.source_id))]

    def correction(self, text: str, judgement: Judgement, passages: Sequence[Evidence]) -> Correction | None:
        """Return a correction by the quoted passages; None if it has other facts, or they are not in their sources."""
        stored = all(occurs(passage, self.by_source.get(passage.source_id)) for passage in passages)
        if not stored or self.lacks(text, passages, judgement, judgement.quote):
            return None
        return Correction(
            text=text, evidence_ids=tuple(dict.fromkeys(passage.id for passage in passages)), quote=judgement.quote
        )

    def lacks(self, claim: str, cited: Sequence[Evidence], judgement: Judgement, quote: str) -> list[Notice]:
        """Return the facts of a claim that its passages and a judge's quote lack."""
        return missing_facts(claim, cited, self.by_source, quote, judgement.names, self.question)

    def request(self, claims: Sequence[Claim]) -> JudgeRequest:
        """Return the request to judge claims; each passage occurs once."""
        passages = {passage.id: passage for claim in claims for passage in self.cited(claim)}
        sources = {passage.source_id: self.by_source[passage.source_id] for passage in passages.values()}
        return JudgeRequest(
            claims=tuple(claims),
            passages=tuple(passages.values()),
            sources=tuple(sources.values()),
            language=self.language,
        )


def occurs(passage: Evidence, source: Source | None) -> bool:
    """Return whether a passage is in the stored text of its source, white space and typography aside."""
    if source is None:
        return False
    text, (start, end) = source.document.text, passage.span
    return text[start:end] == passage.quote or normalize_source(passage.quote) in normalize_source(text)


def _without_extras(source: Source) -> Source:
    document = source.document
    bare = Document(text=document.text, title=document.title, language=document.language, published=document.published)
    hit = Hit(url=source.hit.url, title=source.hit.title, published=source.hit.published)
    return source.model_copy(update={"document": bare, "hit": hit})


async def judge(run: StageRun, claims: Sequence[Claim], library: Library, *, together: bool = False) -> list[Verdict]:
    """Return the verdicts on claims, in order. If a judge fails, the next one decides.

    A judge is asked section by section, or for all sections `together`, which shows it each passage and claim once.
    """
    by_id: dict[str, Verdict] = {}
    first = {(claim.text, claim.evidence_ids): claim for claim in reversed(claims)} if together else {}
    sections = [list(section) for _, section in groupby(claims, key=lambda claim: claim.section_id)]
    batches = [list(first.values())[::-1]] if together else sections
    for verdicts in await run.each(batches, lambda batch: judge_batch(run, batch, library)):
        by_id |= {verdict.claim.id: verdict for verdict in verdicts}
    repeated = [(claim, first.get((claim.text, claim.evidence_ids), claim)) for claim in claims]
    return [by_id[claim.id] if claim is same else _of(claim, by_id[same.id]) for claim, same in repeated]


async def prejudge(
    run: StageRun, sections: Sequence[Section], evidence: Sequence[Evidence], sources: Sequence[Source], language: str
) -> list[Verdict]:
    """Judge the claims of sections before the stage `verify`, which reuses the calls for unchanged sections.

    Without a model there is nothing to wait for, and there are no verdicts.
    """
    if not await run.by_chat(VERIFY_TASK.name):
        return []
    return await judge(run, section_statements(sections).to_judge(), Library(evidence, sources, language))


async def judge_batch(
    run: StageRun, claims: Sequence[Claim], library: Library, judges: Sequence[str] | None = None
) -> list[Verdict]:
    """Return the verdicts on claims that go to each judge, usually those of the settings, in one request."""
    decided: dict[str, Verdict] = {}
    left = {claim.id: claim for claim in claims if not claim.evidence_ids or library.cited(claim)}
    for name in run.settings.verify.judges if judges is None else judges:
        if not left:
            break
        for judgement in await _judgements(run, list(left.values()), library, name):
            claim = left.get(judgement.claim_id)
            if claim is None:
                continue
            verdict = verdict_of(claim, judgement, library, name)
            if verdict.verdict == "not_judged":
                if verdict.reason.code == "misquoted":
                    await _notify(run, verdict.reason)
                findings = tuple(dict.fromkeys((*claim.findings, verdict.reason)))
                left[claim.id] = claim.model_copy(update={"findings": tuple(filter(None, findings))})
            else:
                decided[claim.id] = _overruled_by_facts(verdict, judgement, library)
                del left[claim.id]
    return [decided.get(claim.id) or _undecided(claim, left.get(claim.id)) for claim in claims]


async def _judgements(run: StageRun, claims: Sequence[Claim], library: Library, name: str) -> Sequence[Judgement]:
    try:
        return (await run.judge(library.request(claims), name)).judgements
    except CallFailed as failed:
        returned = "the judge {judge} returned no verdicts ({reason})"
        notice = Notice(returned, "judge_failed", judge=name, reason=failed.record.text)
        await _notify(run, notice)
        return ()


async def _notify(run: StageRun, notice: Notice) -> None:
    if notice not in run.notices:
        await run.emit("notice", {"message": notice})


def failed_judges(run: StageRun) -> dict[str, Notice]:
    """Return the notices about judges that returned no verdicts in this run, by judge."""
    failures = (notice for notice in map(Notice.read, run.notices) if notice.code == "judge_failed")
    return {notice.parameters["judge"]: notice for notice in failures}


def verdict_of(claim: Claim, judgement: Judgement, library: Library, judge: str) -> Verdict:
    """Return a judgement as a verdict that quotes the passage; a quote that no passage has does not count.

    The words that support a correction may be in any passage of the report.
    """
    quote, evidence_id, correction = "", "", None
    quoted: tuple[str, ...] = ()
    if judgement.quote.strip():
        cited = sorted(library.cited(claim), key=lambda item: item.id != judgement.evidence_id)
        corrects = judgement.verdict in FAILED and bool(judgement.correction.strip())
        quotes = find_quote(judgement.quote, [*cited, *library.evidence] if corrects else cited)
        if not quotes:
            reason = Notice("the judge {judge} quoted words that are not in the passage", "misquoted", judge=judge)
            return Verdict(claim=claim, verdict="not_judged", reason=reason, confidence=0)
        passage, quote = max(quotes, key=lambda pair: len(pair[1]))
        evidence_id, quoted = passage.id, tuple(dict.fromkeys(item.id for item, _ in quotes))
        if corrects:
            text = _without_citations(judgement.correction)
            correction = library.correction(text, judgement, [item for item, _ in quotes])
            if not {*quoted} <= {*claim.evidence_ids}:
                quote, evidence_id, quoted = "", "", ()
    return Verdict(
        claim=claim,
        verdict=judgement.verdict,
        quote=quote,
        evidence_id=evidence_id,
        reason=judgement.reason,
        confidence=judgement.confidence,
        judge=judge,
        quoted=quoted,
        asserts=judgement.asserts,
        correction=correction,
    )


def _without_citations(text: str) -> str:
    """Return a judge's sentence on one line, without citations."""
    return re.sub(r"\s*\[\d+\]", "", " ".join(uncitable(text).split()))


def _overruled_by_facts(verdict: Verdict, judgement: Judgement, library: Library) -> Verdict:
    """Return the verdict; `unsupported` if a number, date or quotation of the claim is in no cited passage.

    A number may be computed from all the words that the judgement quotes. A sentence with digits may assert something
    although the judge says that it does not: `Two settings matter`, but not `It costs 999 euros`.
    """
    checked = verdict.verdict in GROUNDED if verdict.asserts else _DIGIT.search(verdict.claim.text)
    if not checked:
        return verdict
    cited = library.cited(verdict.claim)
    quoted = OMISSION.join(words for _, words in find_quote(judgement.quote, cited))
    lacks = library.lacks(verdict.claim.text, cited, judgement, quoted)
    changes = {"verdict": "unsupported", "reason": Notice.several(lacks), "asserts": True}
    return verdict.model_copy(update=changes) if lacks else verdict


def _undecided(claim: Claim, left: Claim | None) -> Verdict:
    """Return the verdict on a claim that no judge decided, with their findings."""
    if left is None:
        reason = Notice("no cited passage is in the stored text of its source", "not_stored")
        return Verdict(claim=claim, verdict="unsupported", reason=reason)
    reason = Notice.several(left.findings or [Notice("no judge could decide", "undecided")])
    return Verdict(claim=left, verdict="not_judged", reason=reason, confidence=0)


def reuse_verdicts(claims: Iterable[Claim], verdicts: Iterable[Verdict]) -> tuple[list[Verdict], list[Claim]]:
    """Return the verdicts on unchanged claims, and the claims without one."""
    known = {_content(verdict.claim): verdict for verdict in verdicts}
    reused: list[Verdict] = []
    changed: list[Claim] = []
    for claim in claims:
        if verdict := known.get(_content(claim)):
            reused.append(_of(claim, verdict))
        else:
            changed.append(claim)
    return reused, changed


def _of(claim: Claim, verdict: Verdict) -> Verdict:
    """Return a verdict on the same statement as that on a claim."""
    return verdict.model_copy(update={"claim": claim.model_copy(update={"findings": verdict.claim.findings})})


def _content(claim: Claim) -> tuple[object, ...]:
    return claim.section_id, claim.text, claim.evidence_ids, claim.under
