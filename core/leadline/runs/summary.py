"""What is told of a run when it is over, or stands still: `metadata.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadline.citations import number
from leadline.door.counts import models, spent, untold, used
from leadline.door.kinds import CHAT
from leadline.events import utc_now
from leadline.findings import AUDIT, EVIDENCE, FOUND, REPORT, SECTIONS, SOURCES, VERIFICATION
from leadline.journal.rows import Row
from leadline.records import Usage
from leadline.runs.board import Board
from leadline.runs.folder import JOURNAL, METADATA, write_whole
from leadline.runs.state import Metadata, StepState

if TYPE_CHECKING:
    from leadline.journal.rows import Session as JournalSession
    from leadline.runs.session import Session

TARGET_SECONDS = 60
TARGET_STEPS = 0.95
TARGET_TOKENS_PER_QUERY = 10_000
TARGET_QUERIES = 20
TARGET_RETENTION = 0.16
"""The figures a run aims at: whole seconds, share of steps that succeed, tokens a search query, queries, and the share
of what was fetched that models write from."""


def summarize(session: Session, *, ended: bool) -> Metadata:
    """Return what is known of the run now."""
    order, state, engine = session.order, session.state, session.engine
    board = engine.board if engine else Board()
    counts = session.door.counts()
    now = utc_now()
    seconds = wall(session.journal.sessions(), now)
    rows = session.journal.rows()
    usage, kept, replied = usage_of(rows), retention(board), models(rows)
    return Metadata(
        run_id=order.run_id,
        trace_id=order.trace_id,
        question=order.question,
        pipeline=order.pipeline,
        status=state.status,
        reason=state.reason,
        exit_code=session.exit_code if ended else 0,
        began=order.began,
        ended=now if ended else None,
        seconds=round(seconds, 3),
        sessions=max(1, session.journal.session),
        steps=state.steps,
        current_step="" if ended else state.current,
        iterations=engine.rounds if engine else 0,
        choices=session.house.loaded.choices,
        notices=tuple(dict.fromkeys(state.notices)),
        providers=session.house.loaded.chosen.get("ai.providers", ()),
        models=replied,
        engines=session.house.loaded.chosen.get("search.engines", ()),
        calls={f"{kind}/{name}": row["calls"] for kind, rows in counts.items() for name, row in rows.items()},
        usage=usage,
        budget=session.budget.spent(),
        retention=kept,
        citations=citations(board),
        verification=_dumped(board.get(VERIFICATION), exclude={"verdicts", "uncited", "evidence_index"}),
        audit=_dumped(board.get(AUDIT)),
        targets=targets(seconds, state.steps, usage, len(board.get(FOUND)), kept if replied else None),
        files=tuple(files_of(session.folder)),
        errors=tuple(state.errors),
        versions=order.versions,
        tags=order.tags,
    )


def wall(sessions: Sequence[JournalSession], now: datetime) -> float:
    """Return the seconds of all sessions, the last one until now; of one that was killed nobody knows the end."""
    spans = [(item.began, item.ended) for item in sessions[:-1] if item.ended]
    spans += [(item.began, now) for item in sessions[-1:]]
    return sum((ended - began).total_seconds() for began, ended in spans)


def _dumped(record: Any, exclude: set[str] | None = None) -> dict[str, Any]:
    return {} if record is None else record.model_dump(mode="json", exclude=exclude)


def files_of(folder: Path) -> Iterable[str]:
    """Return the names of the files of a run's folder that are meant for people and programs."""
    if not folder.is_dir():
        return []
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted({METADATA, *(name for name in names if not name.startswith((".", JOURNAL)) and ".lock" not in name)})


def usage_of(rows: Sequence[Row]) -> dict[str, Any]:
    """Return tokens and cost in all, by provider, by task and by stage, and how many replies models gave.

    `untold`: how many of these are in none of the figures.
    """
    leaves = [row for row in rows if row.usage != Usage()]
    return {
        **spent([row.usage for row in leaves]),
        "replies": sum((row.kind, row.outcome) == (CHAT, "reply") and not row.cached for row in rows),
        "untold": len(untold(rows)),
        "by_provider": used(leaves, lambda row: row.provider),
        "by_task": used(leaves, lambda row: row.task),
        "by_stage": used(leaves, lambda row: row.step),
    }


def retention(board: Board) -> float | None:
    """Return the share of the fetched characters that reached whoever wrote; None where nothing was fetched."""
    fetched = sum(len(source.document.text) for source in board.get(SOURCES))
    chosen = {name for section in board.get(SECTIONS) for name in {*section.evidence_ids} - {*section.unsent}}
    written = sum(len(item.quote) for item in board.get(EVIDENCE) if item.id in chosen)
    return round(written / fetched, 4) if fetched else None


def citations(board: Board) -> dict[str, Any]:
    """Return how many of the sources are cited."""
    report = board.get(REPORT)
    if report is None:
        return {}
    cited, total = len(number(report).cited), len(report.sources)
    return {"cited": cited, "total": total, "share": round(cited / total, 4) if total else 0.0}


def targets(
    seconds: float, steps: Iterable[StepState], usage: Mapping[str, Any], queries: int, kept: float | None = None
) -> dict[str, Any]:
    """Return where the run stands against the figures it aims at; `kept` is its retention where a model wrote."""
    entered = [step for step in steps if step.times]
    share = sum(step.status == "finished" for step in entered) / len(entered) if entered else 1.0
    tokens = usage["tokens"] / queries if queries else 0.0
    rows = {
        "seconds": (seconds, TARGET_SECONDS, seconds < TARGET_SECONDS),
        "steps_succeeded": (share, TARGET_STEPS, share > TARGET_STEPS),
        "tokens_per_query": (tokens, TARGET_TOKENS_PER_QUERY, tokens < TARGET_TOKENS_PER_QUERY),
        "queries": (queries, TARGET_QUERIES, queries <= TARGET_QUERIES),
        **({} if kept is None else {"retention": (kept, TARGET_RETENTION, kept >= TARGET_RETENTION)}),
    }
    return {
        name: {"value": round(value, 3), "target": target, "met": met} for name, (value, target, met) in rows.items()
    }


def write_metadata(folder: Path, metadata: Metadata) -> None:
    """Write `metadata.json`."""
    text = json.dumps(metadata.model_dump(mode="json"), ensure_ascii=False, indent=1)
    write_whole(folder / METADATA, (text + "\n").encode("utf-8", "replace"))


def read_metadata(folder: Path) -> Metadata:
    """Read `metadata.json`; raises OSError or ValueError where there is none that can be read."""
    return Metadata.model_validate_json((folder / METADATA).read_bytes())
