"""Repair claims that their passages do not support, and remove citations that support nothing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from leadline.citations import CITATION, CITATIONS, cite, cited, uncited, unenclosed
from leadline.contracts import StageRun
from leadline.records import Claim, Correction, Judgement, Report, Section, Verdict
from leadline.research_findings import FAILED, GROUNDED, Repair
from leadline_plugins.documents.ranking import indexed, nearest
from leadline_plugins.documents.text_index import IndexReader
from leadline_plugins.verification.blocks import blocks, row_cells, visible_text
from leadline_plugins.verification.claims import row_text, section_statements
from leadline_plugins.verification.judges.model import judge_by_chat
from leadline_plugins.verification.tasks import VERIFY_TASK
from leadline_plugins.verification.verdicts import Library, judge_batch, verdict_of

# What ends a sentence: its citations stand before it.
_END = re.compile(r"[.!?。！？]$")
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
# Other passages that a correction may cite: those nearest to the claim.
_TRIED = 3
# The judge that corrects.
_MODEL = "model"


@dataclass(frozen=True)
class _Change:
    """The new text and citations of a claim, and the new row of a table; None as text drops the claim."""

    text: str | None
    ids: tuple[str, ...]
    row: str = ""


async def repair_claims(
    run: StageRun, report: Report, verdicts: Sequence[Verdict]
) -> tuple[Report, tuple[Repair, ...], list[Verdict]]:
    """Return the report with its failed claims handled according to `verify.unsupported`, the repairs, all verdicts.

    Those on corrected claims are among the verdicts.
    """
    bad = [v for v in verdicts if v.verdict in FAILED and v.asserts and v.claim.evidence_ids]
    corrected: list[Verdict] = []
    changes: dict[str, _Change] = {}
    if run.settings.verify.unsupported == "recite":
        corrected, rows = await _corrections(run, report, bad)
        changes = {
            verdict.claim.id: _Change(verdict.claim.text, verdict.claim.evidence_ids, rows.get(verdict.claim.id, ""))
            for verdict in corrected
        }
    elif run.settings.verify.unsupported == "drop":
        changes = {verdict.claim.id: _Change(None, ()) for verdict in bad}
    if not changes:
        return report, (), [*verdicts]
    quoting = (
        verdict.claim.model_copy(update={"evidence_ids": verdict.quoted or verdict.claim.evidence_ids})
        for verdict in verdicts
        if verdict.claim.evidence_ids
    )
    claims = _claims_by_section(quoting)
    sections = (_changed_section(section, claims[section.id], changes) for section in report.sections)
    filled = tuple(section for section in sections if (section.text or "").strip())
    done = tuple(_repair(verdict, changes[verdict.claim.id]) for verdict in bad if verdict.claim.id in changes)
    return report.model_copy(update={"sections": filled}), done, [*verdicts, *corrected]


def _repair(verdict: Verdict, change: _Change) -> Repair:
    claim, now = verdict.claim, change.text
    done: Literal["dropped", "recited", "reworded"] = "reworded"
    if now is None or _letters(now) == _letters(claim.text):
        done, now = "dropped" if now is None else "recited", ""
    return Repair(section_id=claim.section_id, claim=claim.text, verdict=verdict.verdict, done=done, now=now)


def without_unquoted(report: Report, verdicts: Sequence[Verdict]) -> tuple[Report, list[Verdict]]:
    """Return the report without citations that no judge quoted beside others that support the same claims.

    Citations of unknown passages stay. The claims of the verdicts returned cite what is left.
    """
    known = {item.id for item in report.evidence}
    left: dict[str, tuple[str, ...]] = {}
    sections = []
    for section in report.sections:
        text, edits = section.text or "", []
        here = [v for v in verdicts if v.claim.section_id == section.id and v.claim.evidence_ids]
        own = {verdict.claim.id for verdict in here if CITATION.search(text, *verdict.claim.span)}
        for verdict in here:
            ids = verdict.claim.evidence_ids
            # Claims without a citation of their own rely on those of another.
            sharing = [other for other in here if {*ids} <= {*other.claim.evidence_ids} and other.claim.id not in own]
            sharing += [verdict] if verdict.claim.id in own else []
            quoted = tuple(name for name in ids if name not in known or any(name in other.quoted for other in sharing))
            supported = all(other.verdict == "supported" and other.quoted for other in sharing)
            if verdict.claim.id in own and supported and len(quoted) < len(ids):
                start, end = verdict.claim.span
                edits.append((start, end, _citing_only(text[start:end], quoted)))
                for other in sharing:
                    rest = left.get(other.claim.id, other.claim.evidence_ids)
                    left[other.claim.id] = tuple(name for name in rest if name in quoted or name not in ids)
        sections.append(section.model_copy(update={"text": _apply_edits(text, edits)}) if edits else section)
    cites = {name: {"evidence_ids": ids} for name, ids in left.items()}
    changed = (v.model_copy(update={"claim": v.claim.model_copy(update=cites.get(v.claim.id, {}))}) for v in verdicts)
    return report.model_copy(update={"sections": tuple(sections)}), list(changed)


def _citing_only(text: str, ids: Collection[str]) -> str:
    def kept(match: re.Match[str]) -> str:
        names = [cite(name) for name in cited(match[0]) if name in ids]
        space = match[0][: len(match[0]) - len(match[0].lstrip())]
        return space + "".join(names) if names else ""

    return CITATIONS.sub(kept, unenclosed(text))


def without_claims(sections: Sequence[Section], ids: Collection[str]) -> tuple[Section, ...]:
    """Return sections without the claims with these ids, which are those of `section_statements`."""
    dropped = {name: _Change(None, ()) for name in ids}
    claims = _claims_by_section(section_statements(sections).claims)
    return tuple(_changed_section(section, claims[section.id], dropped) for section in sections)


def _claims_by_section(claims: Iterable[Claim]) -> Mapping[str, Sequence[Claim]]:
    by_section: defaultdict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        by_section[claim.section_id].append(claim)
    return by_section


# --- changes ---------------------------------------------------------------------------------------------------------


async def _corrections(run: StageRun, report: Report, bad: Sequence[Verdict]) -> tuple[list[Verdict], dict[str, str]]:
    """Return the verdicts on corrected claims, and the new rows of those that are rows of a table, by their ids.

    The judge that found a fault proposes the correction in the same reply. For claims without a proposal the chat model
    judges once more, with the nearest other passages. The other judges of the settings decide on the corrections.
    """
    library = Library.of(report)
    proposals = [(verdict, verdict.correction) for verdict in bad if verdict.correction]
    left = [verdict for verdict in bad if not verdict.correction]
    proposals += await _judged_with_nearest(run, left, library)
    texts = {section.id: section.text or "" for section in report.sections}
    rows: dict[str, str] = {}
    trials: list[Verdict] = []
    corrected: list[Verdict] = []
    for verdict, correction in proposals:
        claim, text, whole = verdict.claim, correction.text, texts[verdict.claim.section_id]
        raw = whole[slice(*claim.span)]
        if raw.lstrip().startswith((">", "|")):
            head = next((block.head for block in blocks(whole) if (block.start, block.end) == claim.span), ())
            if row := _row(raw, text, head):
                rows[claim.id], text = row, row_text(row, head)
            elif _letters(text) != _letters(claim.text):
                continue
        update = {"text": text, "evidence_ids": correction.evidence_ids, "findings": ()}
        trial = claim.model_copy(update=update)
        kind = "supported" if verdict.verdict in FAILED else verdict.verdict
        judgement = Judgement(claim_id=trial.id, verdict=kind, quote=correction.quote, confidence=verdict.confidence)
        trials.append(verdict_of(trial, judgement, library, verdict.judge))
    for judge in dict.fromkeys(trial.judge for trial in trials):
        mine = [trial for trial in trials if trial.judge == judge]
        others = [name for name in run.settings.verify.judges if name != judge]
        by_others = await judge_batch(run, [trial.claim for trial in mine], library, others)
        for own, other in zip(mine, by_others, strict=True):
            decided = own if other.verdict == "not_judged" else other
            corrected += [decided] if decided.verdict in GROUNDED else []
    return corrected, rows


async def _judged_with_nearest(
    run: StageRun, bad: Sequence[Verdict], library: Library
) -> list[tuple[Verdict, Correction]]:
    """Return the verdicts on claims by the nearest other passages, with corrections."""
    if not bad or not await run.by_chat(VERIFY_TASK.name):
        return []
    index = indexed(library.evidence, {})
    claims = {verdict.claim.id: _with_nearest_passages(verdict, index) for verdict in bad}
    proposals = []
    for judgement in await judge_by_chat(library.request([*claims.values()]), run):
        claim = claims[judgement.claim_id]
        verdict = verdict_of(claim, judgement, library, _MODEL)
        correction = verdict.correction
        if verdict.verdict in GROUNDED:
            quoted = [library.by_id[name] for name in verdict.quoted]
            correction = library.correction(claim.text, judgement, quoted)
        if correction:
            proposals.append((verdict, correction))
    return proposals


def _row(old: str, text: str, head: Sequence[str]) -> str:
    """Return a table row with the cells of a claim `header: cell; header: cell`; empty if it has other headers."""
    before = row_cells(old)
    names = [name for name, cell in zip(head, before, strict=False) if name and cell]
    pattern = "; ".join(f"{re.escape(name)}: (.+?)" for name in names)
    match = re.fullmatch(pattern, text) if len(names) == sum(map(bool, before)) else None
    if not match:
        return ""
    new = (_with_code(cell.replace("|", "\\|"), old) for cell in match.groups())
    return f"| {' | '.join(next(new) if cell else '' for cell in before)} |"


def _with_nearest_passages(verdict: Verdict, index: IndexReader) -> Claim:
    """Return a claim with its fault as a finding, which cites the nearest other passages, too."""
    claim = verdict.claim
    others = (passage.id for passage in nearest(index, claim.text, _TRIED, claim.evidence_ids))
    fault = f"{verdict.verdict}: {verdict.reason}"
    return claim.model_copy(update={"evidence_ids": (*claim.evidence_ids, *others), "findings": (fault,)})


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
            # The clause after a semicolon is dropped: this one ends the sentence.
            ends = text[end - 1] == "；" and changes[following.id].text is None
            sentence = f"{text[start : end - 1]}。" if ends else text[start:end]
            edits.append((start, end, sentence if own else _with_citations(sentence, claim.evidence_ids)))
    return section.model_copy(update={"text": tidy_markdown(_apply_edits(text, edits))})


def _replacement(old: str, change: _Change) -> str:
    if change.text is None:
        return ""
    marks = "".join(map(cite, change.ids))
    plain = uncited(old).strip()
    if plain.startswith("|"):
        return f"{(change.row or plain).removesuffix('|').rstrip()} {marks} |"
    # With other citations a claim keeps its Markdown.
    same = _letters(visible_text(plain)) == _letters(visible_text(change.text))
    text = plain if same else _with_code(change.text, plain)
    return _with_citations(text, change.ids)


def _with_citations(text: str, ids: Iterable[str]) -> str:
    """Return a sentence with citations before its end."""
    marks, ends = "".join(map(cite, ids)), _END.search(text)
    return f"{text[: ends.start()]} {marks}{ends[0]}" if ends else f"{text} {marks}"


def _with_code(text: str, old: str) -> str:
    """Return a text in which what was code in the old one is code again."""
    for code in dict.fromkeys(_CODE.findall(old)):
        text = text if f"`{code}`" in text else text.replace(code, f"`{code}`")
    return text


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
    parts = list(blocks(text))
    gone: list[tuple[int, int, str]] = []
    for index, block in enumerate(parts):
        after = parts[index + 1] if index + 1 < len(parts) else None
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
    parts = list(blocks(text))
    empty = [
        (block.start, block.end, "")
        for index, block in enumerate(parts)
        if block.kind == "heading"
        and (index + 1 == len(parts) or (parts[index + 1].kind == "heading" and parts[index + 1].level <= block.level))
        and not text[block.end : parts[index + 1].start if index + 1 < len(parts) else len(text)].strip()
    ]
    return _apply_edits(text, empty) if empty else ""
