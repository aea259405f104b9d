"""How a run ended that went through its pipeline: with the whole report, a part of it, or none; and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leadline.assemble import House
from leadline.door.counts import models
from leadline.errors import NoEvidence
from leadline.findings import AUDIT, FOUND, REPORT
from leadline.journal.journal import Journal
from leadline.journal.rows import Row
from leadline.printable import shortened
from leadline.records import Report
from leadline.runs.board import Board
from leadline.runs.engine import Engine
from leadline.runs.state import Status
from leadline.runs.undone import lacking


async def ending(
    engine: Engine,
    house: House,
    journal: Journal,
    rows: Sequence[Row],
    winding_down: str | None,
    unformatted: Mapping[str, str],
) -> tuple[Status, str]:
    """Return the status, and the reason where it is not complete.

    `rows` are the calls of the run, of a replay those that it asked for; `winding_down` is why calls were refused,
    `unformatted` are the formats in which the report is not written, each with the reason.
    """
    report = engine.board.get(REPORT)
    reasons = _lost(engine.lost, winding_down)
    reasons += await lacking(journal, rows, engine.pipeline, house, told=bool(reasons))
    reasons += _unwritten(report)
    reasons += [] if models(rows) else _not_found(report)
    reasons += [f"not written: {name} ({shortened(why)})" for name, why in sorted(unformatted.items())]
    why = "; ".join(dict.fromkeys(reasons))
    if report is None and any(key.name == REPORT.name for step in engine.pipeline.steps() for key in step.writes):
        found = any(item.hits for item in engine.board.get(FOUND))
        return "failed" if found or why else "no_evidence", why or "no report was written"
    if report is not None and not report.sources:
        return "no_evidence", "the report rests on no source"
    if report is not None and len(_empty(report)) == len(report.sections):
        return "failed", why
    return "partial" if reasons else "complete", why


def rejected(board: Board) -> bool:
    """Return whether the audit decides, and decided against the report."""
    audit = board.get(AUDIT)
    return audit is not None and audit.decides and not audit.accepted


def in_vain(error: NoEvidence, engine: Engine | None, winding_down: str | None) -> str:
    """Return why there is no evidence: what was never asked can have brought none."""
    lost = engine.lost if engine and not winding_down else {}
    why = _lost(lost, winding_down)
    return f"{'; '.join(why)}; until then {error}" if why else str(error)


def _unwritten(report: Report | None) -> list[str]:
    """Return which of the sections have no text, in words."""
    empty = _empty(report) if report else []
    if report and report.sources and len(empty) == len(report.sections):
        return ["the report is empty: no section has a text"]
    return [f"nothing was written under {', '.join(map(repr, empty))}"] if empty else []


def _not_found(report: Report | None) -> list[str]:
    """Return the questions for which a report without a model has no passage.

    A model tells the gaps of its text to the reader; a brief leaves them out, so the run must not look complete.
    """
    gaps = [gap for section in report.sections for gap in section.unanswered] if report else []
    return [f"not found: {'; '.join(dict.fromkeys(gaps))}"] if gaps else []


def _empty(report: Report) -> list[str]:
    """Return the titles of the sections that have no text."""
    return [section.title for section in report.sections if not (section.text or "").strip()]


def _lost(lost: Mapping[str, str], winding_down: str | None) -> list[str]:
    """Return what kept stages from giving anything: a reason that the whole run had, once for all of them."""
    refused = [name for name, reason in lost.items() if winding_down and winding_down in reason]
    own = [f"{name}: {reason}" for name, reason in lost.items() if name not in refused]
    run = [winding_down] if winding_down else []
    return [*run, *([f"without {', '.join(refused)}"] if refused else []), *own]
