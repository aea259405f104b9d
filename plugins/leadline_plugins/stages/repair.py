"""What is done about claims that their sources do not bear: cite what does, say less, or leave them out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from leadline.citations import CITATIONS, cite
from leadline.findings import Repair, Verdict, VerdictKind
from leadline.records import Report
from leadline_plugins.checks.judge import judge
from leadline_plugins.checks.quotes import plain
from leadline_plugins.stages.claims import Claim, Library
from leadline_plugins.stages.hedges import hedge

Done = Literal["recited", "weakened", "dropped"]
_DONE: Mapping[str, Done] = {"recite": "recited", "weaken": "weakened", "drop": "dropped"}
_BAD: Sequence[VerdictKind] = ("contradicted", "unsupported")


def failed(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> list[tuple[Claim, VerdictKind]]:
    """Return the claims of which no citation bears even a part, with the worst verdict."""
    kinds: dict[str, set[VerdictKind]] = {}
    for verdict in verdicts:
        kinds.setdefault(verdict.claim_id, set()).add(verdict.verdict)
    bad = ((claim, kinds.get(claim.id, set())) for claim in claims)
    return [(claim, min(found, key=_BAD.index)) for claim, found in bad if found and found <= set(_BAD)]


def repaired(
    report: Report, bad: Sequence[tuple[Claim, VerdictKind]], library: Library, how: str
) -> tuple[Report, tuple[Repair, ...]]:
    """Return the report with its failed claims handled, and what was done; sections left empty go."""
    texts = {section.id: section.text or "" for section in report.sections}
    done = []
    for claim, verdict in bad:
        before = texts[claim.section_id]
        texts[claim.section_id] = after = _changed(before, claim, library, how, report.language)
        if after != before:
            said = plain(claim.text)
            done.append(Repair(section_id=claim.section_id, claim=said, verdict=verdict, done=_DONE[how]))
    sections = (section.model_copy(update={"text": texts[section.id]}) for section in report.sections)
    kept = tuple(section for section in sections if (section.text or "").strip())
    return report.model_copy(update={"sections": kept}), tuple(done)


def _changed(text: str, claim: Claim, library: Library, how: str, language: str) -> str:
    start = text.find(claim.text)
    if start < 0:
        return text
    end = start + len(claim.text)
    match how:
        case "recite":
            better = bearer(claim, library)
            return _recited(text, start, end, better) if better else text
        case "weaken":
            return text[:start] + hedge(claim.text, language) + text[end:]
        case "drop":
            return _dropped(text, start, end)
    return text


def bearer(claim: Claim, library: Library) -> str:
    """Return the id of the evidence that bears a claim best; empty where none does."""
    said = plain(claim.text)
    judged = ((judge(said, other.evidence.quote, around=other.around), other) for other in library.others(claim))
    fits = [(found.score, other.evidence.id) for found, other in judged if found.verdict == "supported"]
    return max(fits, default=(0.0, ""))[1]


def _recited(text: str, start: int, end: int, name: str) -> str:
    """Put another citation behind a claim; a sentence before it that shares its citations gets them for itself."""
    run = _run_behind(text, end)
    before = f"{text[:start].rstrip()}{run} " if _shared(text, start) else text[:start]
    rest = text[end + len(run) :] if text.startswith(run, end) else text[end:]
    return f"{before}{text[start:end]} {cite(name)}{rest}"


def _dropped(text: str, start: int, end: int) -> str:
    """Take a claim out, and its citations with it unless a sentence before it shares them."""
    run = _run_behind(text, end)
    own = run if text.startswith(run, end) else ""
    before = text[:start].rstrip(" ") + (own if _shared(text, start) else "")
    return re.sub(r"\n{3,}", "\n\n", before + text[end + len(own) :]).strip()


def _run_behind(text: str, end: int) -> str:
    """Return the next citations of the paragraph behind a place."""
    block = text.find("\n\n", end)
    run = CITATIONS.search(text, end, block if block >= 0 else len(text))
    return run.group() if run else ""


def _shared(text: str, start: int) -> bool:
    """Return whether a sentence of the paragraph stands between the last citations and this place."""
    block = text.rfind("\n\n", 0, start) + 1
    last = max((run.end() for run in CITATIONS.finditer(text, block, start)), default=block)
    return bool(re.search(r"\w", text[last:start]))
