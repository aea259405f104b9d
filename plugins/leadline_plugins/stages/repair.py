"""What is done about claims that their sources do not bear: cite what does, say less, or leave them out.

Every claim knows its place: none is looked for by its words, which may stand elsewhere too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Literal

from leadline.citations import cite
from leadline.findings import UNBORNE, Repair, Verdict, VerdictKind
from leadline.records import Report
from leadline_plugins.stages.claims import Claim
from leadline_plugins.stages.dropping import without
from leadline_plugins.stages.fitting import body
from leadline_plugins.stages.hedges import hedge
from leadline_plugins.stages.kinds import kind_of
from leadline_plugins.stages.remarks import speaks_of_sources

Done = Literal["recited", "weakened", "dropped"]
_DONE: Mapping[str, Done] = {"recite": "recited", "weaken": "weakened", "drop": "dropped"}
Edit = tuple[int, int, str]


def failed(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> list[tuple[Claim, VerdictKind]]:
    """Return the claims of which what they cite bears no part, with the verdict; remarks are none."""
    known = {verdict.claim_id: verdict for verdict in verdicts if not verdict.remark}
    judged = ((claim, known[claim.id].verdict) for claim in claims if claim.id in known)
    return [(claim, kind) for claim, kind in judged if kind in UNBORNE]


def partly(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> list[tuple[Claim, VerdictKind]]:
    """Return the claims that a model finds borne in part, or cannot defend against a rule, with the verdict."""
    known = {one.claim_id: one for one in verdicts if not one.remark and kind_of(one) in ("partial", "doubted")}
    return [(claim, known[claim.id].verdict) for claim in claims if claim.id in known]


def repaired(
    report: Report,
    claims: Sequence[Claim],
    bad: Sequence[tuple[Claim, VerdictKind]],
    how: str,
    better: Mapping[str, str],
) -> tuple[Report, tuple[Repair, ...]]:
    """Return the report with its failed claims handled, and what was done; sections left empty go.

    `better` is, by the ids of claims, the evidence that can be recited for them, or what is said in their place.
    """
    handled = [(claim, verdict) for claim, verdict in bad if claim.id in better or _can_be(how, claim, verdict)]
    if how not in _DONE or not handled:
        return report, ()
    wrong = {claim.id: verdict for claim, verdict in handled}
    touched = {claim.section_id for claim, _ in handled}
    stated = {name: list(group) for name, group in groupby(claims, key=lambda claim: claim.section_id)}
    texts = {
        section.id: _mended(section.text or "", stated[section.id], wrong, how, better, report.language)
        for section in report.sections
        if section.id in touched
    }
    sections = (
        section.model_copy(update={"text": texts[section.id]}) if section.id in touched else section
        for section in report.sections
        if section.id not in touched or texts[section.id].strip()
    )
    repairs = (
        Repair(
            section_id=claim.section_id,
            claim=claim.shown,
            verdict=verdict,
            done=_DONE[how],
            now=better.get(claim.id, "") if how == "weaken" else "",
        )
        for claim, verdict in handled
    )
    return report.model_copy(update={"sections": tuple(sections)}), tuple(repairs)


def _mended(
    text: str,
    claims: Sequence[Claim],
    wrong: Mapping[str, VerdictKind],
    how: str,
    better: Mapping[str, str],
    language: str,
) -> str:
    match how:
        case "recite":
            return _edited(text, _recitings(text, claims, better))
        case "weaken":
            return _edited(text, _hedgings(text, claims, wrong, better, language))
    return without(text, [claim.span[0] for claim in claims if claim.id in wrong])


def _edited(text: str, edits: Iterable[Edit]) -> str:
    parts, at = [], 0
    for start, end, new in sorted(edits):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def _can_be(how: str, claim: Claim, verdict: VerdictKind) -> bool:
    """Return whether a claim for which there is nothing better can be repaired: what sources lack, none confirms.

    What is borne in part is not: its source does confirm something, and what it lacks is said at its mark.
    """
    if verdict not in UNBORNE:
        return False
    lacks = verdict == "unsupported" and speaks_of_sources(claim.text)
    return how == "drop" or (how == "weaken" and not lacks)


def _hedgings(
    text: str, claims: Iterable[Claim], wrong: Mapping[str, VerdictKind], better: Mapping[str, str], language: str
) -> Iterator[Edit]:
    for claim in claims:
        if claim.id in wrong:
            start, end = claim.span
            if new := better.get(claim.id):
                yield end - len(body(claim.text)), end, new
            else:
                yield start, end, hedge(text[start:end], language, wrong[claim.id])


def _recitings(text: str, claims: Iterable[Claim], better: Mapping[str, str]) -> Iterator[Edit]:
    """Yield what is cited anew: sentences that shared citations and no longer do get theirs each."""
    for run, group in groupby(claims, key=lambda claim: claim.run):
        shared = list(group)
        names = [better.get(claim.id, "") for claim in shared]
        old = text[slice(*run)]
        own = old.lstrip()
        space = old[: len(old) - len(own)]
        for claim, (name, following) in zip(shared, pairwise(names), strict=False):
            if name != following:
                yield claim.span[1], claim.span[1], (" " if space else "") + (cite(name) if name else own)
        if names[-1]:
            yield *run, space + cite(names[-1])
