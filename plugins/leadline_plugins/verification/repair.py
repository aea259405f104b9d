"""Repair claims that their passages do not support: cite other passages, reword, or drop them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from leadline.citations import CITATION, cite, uncitable, uncited
from leadline.contracts import Run
from leadline.errors import CallFailed
from leadline.records import Claim, Report, Section, Verdict
from leadline.research_findings import FAILED, Repair
from leadline_plugins.passages.ranking import OverlapIndex
from leadline_plugins.verification.blocks import blocks, visible_text
from leadline_plugins.verification.claims import section_statements
from leadline_plugins.verification.tasks import REPAIR_TASK, batches, claims_request
from leadline_plugins.verification.verdicts import Library, judge

# Passages to try for a claim.
_TRIED = 3
_DONE = {"recite": "recited", "weaken": "weakened", "drop": "dropped"}


@dataclass(frozen=True)
class _Change:
    """The new text and citations of a claim; None as text drops it."""

    text: str | None
    ids: tuple[str, ...]


async def repair_claims(run: Run, report: Report, verdicts: Sequence[Verdict]) -> tuple[Report, tuple[Repair, ...]]:
    """Return the report with its failed claims handled according to `verify.unsupported`, and the repairs."""
    how = run.settings.verify.unsupported
    bad = [one for one in verdicts if one.verdict in FAILED]
    library = Library.of(report)
    changes: Mapping[str, _Change] = {}
    if how == "recite":
        changes = await _other_citations(run, [one.claim for one in bad], library)
    elif how == "weaken":
        changes = await _new_wordings(run, bad, library)
    elif how == "drop":
        changes = {one.claim.id: _Change(None, ()) for one in bad}
    if not changes:
        return report, ()
    claims = _claims_by_section(one.claim for one in verdicts)
    sections = (_changed_section(one, claims[one.id], changes) for one in report.sections)
    kept = tuple(one for one in sections if (one.text or "").strip())
    done = [
        Repair.model_validate(
            {
                "section_id": one.claim.section_id,
                "claim": one.claim.text,
                "verdict": one.verdict,
                "done": _DONE[how],
                "now": (changes[one.claim.id].text or "") if how == "weaken" else "",
            }
        )
        for one in bad
        if one.claim.id in changes
    ]
    return report.model_copy(update={"sections": kept}), tuple(done)


def without_failed(sections: Sequence[Section], verdicts: Sequence[Verdict]) -> tuple[Section, ...]:
    """Return sections without the claims that their passages contradict or do not support."""
    dropped = {one.claim.id: _Change(None, ()) for one in verdicts if one.verdict in FAILED}
    claims = _claims_by_section(one.claim for one in verdicts)
    return tuple(_changed_section(one, claims[one.id], dropped) for one in sections)


def without_claims(sections: Sequence[Section], ids: Collection[str]) -> tuple[Section, ...]:
    """Return sections without the claims with these ids, which are those of `section_statements`."""
    dropped = {name: _Change(None, ()) for name in ids}
    claims = _claims_by_section(section_statements(sections).claims)
    return tuple(_changed_section(one, claims[one.id], dropped) for one in sections)


def _claims_by_section(claims: Iterable[Claim]) -> Mapping[str, Sequence[Claim]]:
    found: defaultdict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        found[claim.section_id].append(claim)
    return found


# --- changes ---------------------------------------------------------------------------------------------------------


async def _other_citations(run: Run, claims: Sequence[Claim], library: Library) -> dict[str, _Change]:
    """Return passages of the run that support claims; the judges decide about each."""
    near = OverlapIndex(library.evidence)
    trials = [
        claim.model_copy(update={"id": f"{claim.id}@{other.id}", "evidence_ids": (other.id,), "findings": ()})
        for claim in claims
        for other in near.nearest(claim.text, _TRIED, without=claim.evidence_ids)
    ]
    found: dict[str, _Change] = {}
    for verdict in await judge(run, trials, library):
        if verdict.verdict == "supported":
            claim_id, _, other_id = verdict.claim.id.partition("@")
            found.setdefault(claim_id, _Change(verdict.claim.text, (other_id,)))
    return found


async def _new_wordings(run: Run, bad: Sequence[Verdict], library: Library) -> dict[str, _Change]:
    """Return a model's wordings that the cited passages support; table rows and quotations stay unchanged."""
    if not await run.by_chat(REPAIR_TASK.name):
        return {}
    claims = [
        one.claim.model_copy(update={"findings": (f"{one.verdict}: {one.reason}",)})
        for one in bad
        if one.claim.evidence_ids and "; " not in one.claim.text
    ]
    groups = list(batches(claims, library.evidence, run.settings.verify.claims_per_call))
    replies = await run.each(groups, lambda group: _model_wordings(run, group, library))
    new = {name: text for reply in replies for name, text in reply.items()}
    trials = [
        claim.model_copy(update={"id": f"{claim.id}@", "text": new[claim.id], "findings": ()})
        for claim in claims
        if claim.id in new
    ]
    verdicts = await judge(run, trials, library)
    return {
        one.claim.id.removesuffix("@"): _Change(one.claim.text, one.claim.evidence_ids)
        for one in verdicts
        if one.verdict == "supported"
    }


async def _model_wordings(run: Run, claims: Sequence[Claim], library: Library) -> dict[str, str]:
    wanted = library.request(claims)
    inputs = claims_request(claims, wanted.passages, wanted.sources, library.language)
    try:
        reply = await run.perform(REPAIR_TASK.of(inputs))
    except CallFailed as failed:
        await run.emit("notice", {"message": f"unsupported claims were not reworded ({failed.record.text})"})
        return {}
    numbered = dict(enumerate(claims, start=1))
    texts = {numbered[one.claim].id: _line(one.text) for one in reply.claims if one.claim in numbered}
    return {name: text for name, text in texts.items() if text}


def _line(text: str) -> str:
    """Return a model's sentence on one line, without citations."""
    return re.sub(r"\s*\[\d+\]", "", " ".join(uncitable(text).split()))


# --- changing the text -----------------------------------------------------------------------------------------------


def _changed_section(section: Section, claims: Sequence[Claim], changes: Mapping[str, _Change]) -> Section:
    """Return a section with some claims changed; claims that relied on their citations get their own."""
    if not any(claim.id in changes for claim in claims):
        return section
    text = section.text or ""
    edits: list[tuple[int, int, str]] = []
    opening = 0  # where a line begins, after the claims dropped there
    for claim, following in zip(claims, [*claims[1:], None], strict=True):
        start, end = claim.span
        own = bool(CITATION.search(text, start, end))
        if change := changes.get(claim.id):
            new = _replacement(text[start:end], change)
            if not new and (start == opening or text[start - 1] == "\n"):
                end = opening = end + len(text[end:]) - len(text[end:].lstrip(" "))
            edits.append((start, end, new))
        elif following is not None and following.id in changes:
            cites = "" if own else f" {''.join(map(cite, claim.evidence_ids))}"
            # The clause after a semicolon is dropped: this one ends the sentence.
            ends = text[end - 1] == "；" and changes[following.id].text is None
            edits.append((end - ends, end, f"{cites}。" if ends else cites))
    return section.model_copy(update={"text": tidy_markdown(_apply_edits(text, edits))})


def _replacement(old: str, change: _Change) -> str:
    if change.text is None:
        return ""
    marks = "".join(map(cite, change.ids))
    plain = uncited(old).strip()
    if plain.startswith("|"):
        return f"{plain.rstrip('| ')} {marks} |"
    # With other citations a claim keeps its Markdown; a new wording is plain text.
    return f"{plain if _letters(visible_text(plain)) == _letters(change.text) else change.text} {marks}"


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text)


def _apply_edits(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    parts, at = [], 0
    for start, end, new in sorted(edits):
        parts += [text[at:start], new]
        at = max(at, end)
    return "".join([*parts, text[at:]])


def tidy_markdown(text: str) -> str:
    """Return Markdown without items, quotations, tables and headings that dropped claims left empty.

    The lead-in of an empty list or table is removed with it.
    """
    text = re.sub(r"(?m)^[ \t]*(?:[-*+•]|\d{1,3}[.)]|>)[ \t]*$\n?", "", text)
    text = re.sub(r"[ \t]+$", "", re.sub(r"(?<=\S) {2,}(?=\S)", " ", text), flags=re.MULTILINE)
    found = list(blocks(text))
    gone: list[tuple[int, int, str]] = []
    for place, block in enumerate(found):
        after = found[place + 1] if place + 1 < len(found) else None
        line = text[block.start : block.end].rstrip()
        leads = block.kind == "paragraph" and line.endswith((":", "：")) and not CITATION.search(line)
        empty_table = block.kind == "head" and (after is None or after.kind != "row")
        if empty_table or (leads and (after is None or after.kind not in ("item", "row", "head", "quote"))):
            gone.append((block.start, _with_delimiter(text, block.end) if empty_table else block.end, ""))
    text = _apply_edits(text, gone)
    while cut := _without_empty_headings(text):
        text = cut
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _with_delimiter(text: str, end: int) -> int:
    """Return the end of the delimiter row below a table's header."""
    match = re.match(r"\n\s*\|?[\s:|-]+\|?(?=\n|$)", text[end:])
    return end + match.end() if match else end


def _without_empty_headings(text: str) -> str:
    """Return the text without empty headings; an empty text if there are none."""
    found = list(blocks(text))
    empty = [
        (block.start, block.end, "")
        for place, block in enumerate(found)
        if block.kind == "heading"
        and (place + 1 == len(found) or (found[place + 1].kind == "heading" and found[place + 1].level <= block.level))
        and not text[block.end : found[place + 1].start if place + 1 < len(found) else len(text)].strip()
    ]
    return _apply_edits(text, empty) if empty else ""
