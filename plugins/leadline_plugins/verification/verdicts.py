"""Verdicts on claims: the judges in their order, then the one rule that overrules them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from leadline.contracts import Run
from leadline.errors import CallFailed
from leadline.records import Claim, Document, Evidence, Hit, Judgement, JudgeRequest, Report, Section, Source, Verdict
from leadline_plugins.verification.claims import of_sections
from leadline_plugins.verification.occurs import lacking
from leadline_plugins.verification.quotes import OMISSION, squeezed, squeezed_source, words_in
from leadline_plugins.verification.tasks import VERIFY


@dataclass(frozen=True)
class Library:
    """The evidence and sources of a run, for looking up what claims cite."""

    evidence: Sequence[Evidence]
    sources: Sequence[Source]
    language: str = ""

    @classmethod
    def of(cls, report: Report) -> Library:
        """Return the library of a report."""
        return cls(report.evidence, report.sources, report.language)

    @cached_property
    def by_source(self) -> Mapping[str, Source]:
        """The sources by their ids, without what no judge needs: a request has them whole."""
        return {one.id: _lean(one) for one in self.sources}

    @cached_property
    def by_id(self) -> Mapping[str, Evidence]:
        """The passages by their ids."""
        return {one.id: one for one in self.evidence}

    def cited(self, claim: Claim) -> list[Evidence]:
        """Return the passages that a claim cites and that occur in the stored text of their source."""
        known = (self.by_id[name] for name in claim.evidence_ids if name in self.by_id)
        return [one for one in known if self._occurs(one)]

    def request(self, claims: Sequence[Claim]) -> JudgeRequest:
        """Return the request to judge claims, each passage once."""
        passages = {one.id: one for claim in claims for one in self.cited(claim)}
        sources = {one.source_id: self.by_source[one.source_id] for one in passages.values()}
        return JudgeRequest(
            claims=tuple(claims),
            passages=tuple(passages.values()),
            sources=tuple(sources.values()),
            language=self.language,
        )

    def _occurs(self, passage: Evidence) -> bool:
        source = self.by_source.get(passage.source_id)
        if source is None:
            return False
        text, (start, end) = source.document.text, passage.span
        return text[start:end] == passage.quote or squeezed(passage.quote).text in squeezed_source(text)


def _lean(source: Source) -> Source:
    document = source.document
    kept = Document(text=document.text, title=document.title, language=document.language, published=document.published)
    hit = Hit(url=source.hit.url, title=source.hit.title, published=source.hit.published)
    return source.model_copy(update={"document": kept, "hit": hit})


async def judge(run: Run, claims: Sequence[Claim], library: Library) -> list[Verdict]:
    """Return the verdicts on claims, in their order. A judge that fails leaves its claims to the next."""
    found: dict[str, Verdict] = {}
    for verdicts in await run.each(list(_requests(claims)), lambda batch: _judged(run, batch, library)):
        found |= {one.claim.id: one for one in verdicts}
    return [found[claim.id] for claim in claims]


async def prejudge(
    run: Run, sections: Sequence[Section], evidence: Sequence[Evidence], sources: Sequence[Source], language: str
) -> None:
    """Judge the claims of sections while the report is composed: work for `run.ahead`.

    The stage `verify` makes the same requests for sections that did not change, and finds the calls made. `language`
    is that of the report. Without a model to wait for it does nothing.
    """
    if await run.by_chat(VERIFY.name):
        await judge(run, of_sections(sections).claims, Library(evidence, sources, language))


def _requests(claims: Sequence[Claim]) -> Iterator[list[Claim]]:
    """Yield the claims of each section: its request is the same whatever becomes of other sections."""
    for _, section in groupby(claims, key=lambda claim: claim.section_id):
        yield list(section)


async def _judged(run: Run, claims: Sequence[Claim], library: Library) -> list[Verdict]:
    """Return the verdicts on the claims of one request, one judge after the other."""
    decided: dict[str, Verdict] = {}
    left = {claim.id: claim for claim in claims if library.cited(claim)}
    for name in run.settings.verify.judges:
        if not left:
            break
        for one in await _asked(run, list(left.values()), library, name):
            claim = left.get(one.claim_id)
            if claim is None:
                continue
            verdict = _counted(claim, one, library, name)
            if verdict.verdict == "not_judged":
                found = tuple(dict.fromkeys((*claim.findings, verdict.reason)))
                left[claim.id] = claim.model_copy(update={"findings": tuple(filter(None, found))})
            else:
                decided[claim.id] = _checked(verdict, one.quote, library)
                del left[claim.id]
    return [decided.get(claim.id) or _open(claim, left.get(claim.id)) for claim in claims]


async def _asked(run: Run, claims: Sequence[Claim], library: Library, name: str) -> Sequence[Judgement]:
    try:
        return (await run.judge(library.request(claims), name)).judgements
    except CallFailed as failed:
        message = f"the judge {name} judged nothing ({failed.record.text})"
        if message not in run.notices:
            await run.emit("notice", {"message": message})
        return ()


def _counted(claim: Claim, said: Judgement, library: Library, judge: str) -> Verdict:
    """Return a judgement as a verdict with the exact words of the passage; words that occur in none do not count."""
    quote, evidence_id = "", ""
    if said.quote.strip():
        found = words_in(said.quote, sorted(library.cited(claim), key=lambda one: one.id != said.evidence_id))
        if not found:
            reason = f"{judge} quotes words that no cited passage has"
            return Verdict(claim=claim, verdict="not_judged", reason=reason, confidence=0)
        passage, quote = max(found, key=lambda one: len(one[1]))
        evidence_id = passage.id
    return Verdict(
        claim=claim,
        verdict=said.verdict,
        quote=quote,
        evidence_id=evidence_id,
        reason=said.reason,
        confidence=said.confidence,
        judge=judge,
    )


def _checked(verdict: Verdict, quote: str, library: Library) -> Verdict:
    """Return a verdict, unsupported where the claim has a number, date or quoted text that occurs nowhere.

    `quote` are all words on which it rests: a number may be computed from those of several passages.
    """
    if verdict.verdict not in ("supported", "partial"):
        return verdict
    cited = library.cited(verdict.claim)
    said = OMISSION.join(words for _, words in words_in(quote, cited))
    lacks = lacking(verdict.claim.text, cited, library.by_source, said)
    return verdict.model_copy(update={"verdict": "unsupported", "reason": "; ".join(lacks)}) if lacks else verdict


def _open(claim: Claim, left: Claim | None) -> Verdict:
    """Return the verdict on a claim that no judge decided, with what they found."""
    if left is None:
        reason = "no cited passage occurs in its source"
        return Verdict(claim=claim, verdict="unsupported", reason=reason)
    reason = "; ".join(left.findings) or "no judge could decide"
    return Verdict(claim=left, verdict="not_judged", reason=reason, confidence=0)


def carried(claims: Iterable[Claim], verdicts: Iterable[Verdict]) -> tuple[list[Verdict], list[Claim]]:
    """Return the verdicts on claims that did not change, and the claims that have none."""
    known = {_content(one.claim): one for one in verdicts}
    kept: list[Verdict] = []
    changed: list[Claim] = []
    for claim in claims:
        if verdict := known.get(_content(claim)):
            findings = verdict.claim.findings
            kept.append(verdict.model_copy(update={"claim": claim.model_copy(update={"findings": findings})}))
        else:
            changed.append(claim)
    return kept, changed


def _content(claim: Claim) -> tuple[object, ...]:
    return claim.section_id, claim.text, claim.evidence_ids, claim.under
