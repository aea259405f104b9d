"""Figures of a run for `metadata.json`: usage, targets, citations, files and recovered failures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from leadline._runtime.calls.job import CHAT
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.rows import Row, usage_by, usage_totals, without_usage
from leadline._runtime.journal.rows import Session as JournalSession
from leadline._runtime.runs.findings_board import FindingsBoard
from leadline._runtime.runs.folder import JOURNAL
from leadline.citations import number
from leadline.errors import JournalError
from leadline.records import Failure, Notice, Report, Usage
from leadline.research_findings import EVIDENCE, SECTIONS, SOURCES
from leadline.runs import METADATA, StepError, StepState

# Target figures: wall seconds, share of stages that succeed, tokens a search query, queries, and the share of fetched
# characters that writing prompts contain.
TARGET_SECONDS = 60
TARGET_STEPS = 0.95
TARGET_TOKENS_PER_QUERY = 10_000
TARGET_QUERIES = 20
TARGET_RETENTION = 0.16

# Errors listed for one step, provider and kind of call; the last one counts all further ones.
_LISTED_ERRORS = 3


def wall_seconds(sessions: Sequence[JournalSession], now: datetime) -> float:
    """Return the seconds of all sessions, the last one until now. The end of a session that was killed is unknown."""
    spans = [(item.began, item.ended) for item in sessions[:-1] if item.ended]
    spans += [(item.began, now) for item in sessions[-1:]]
    return sum((ended - began).total_seconds() for began, ended in spans)


def dump(record: Any, exclude: set[str] | None = None) -> dict[str, Any]:
    """Return a finding as JSON; empty without one."""
    return {} if record is None else record.model_dump(mode="json", exclude=exclude)


def report_files(folder: Path) -> tuple[str, ...]:
    """Return the names of the files in a run's folder that are meant for people and programs."""
    if not folder.is_dir():
        return ()
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    public = (name for name in names if not name.startswith((".", JOURNAL)) and ".lock" not in name)
    return tuple(sorted({METADATA, *public}))


def usage_of(rows: Sequence[Row]) -> dict[str, Any]:
    """Return tokens and cost in total, by provider, by task and by stage, and the number of replies of models.

    `untold` counts the replies whose provider reported no usage.
    """
    leaves = [row for row in rows if row.usage != Usage()]
    return {
        **usage_totals([row.usage for row in leaves]),
        "replies": sum((row.kind, row.outcome) == (CHAT, "reply") and not row.cached for row in rows),
        "untold": len(without_usage(rows)),
        "by_provider": usage_by(leaves, lambda row: row.provider),
        "by_task": usage_by(leaves, lambda row: row.task),
        "by_stage": usage_by(leaves, lambda row: row.step),
    }


def retention(board: FindingsBoard) -> float | None:
    """Return the share of the fetched characters that writing prompts contain; None if nothing was fetched."""
    fetched = sum(len(source.document.text) for source in board.get(SOURCES))
    sent = {name for section in board.get(SECTIONS) for name in {*section.evidence_ids} - {*section.unsent}}
    written = sum(len(item.quote) for item in board.get(EVIDENCE) if item.id in sent)
    return round(written / fetched, 4) if fetched else None


def citations(report: Report | None) -> dict[str, Any]:
    """Return how many of the report's sources are cited."""
    if report is None:
        return {}
    cited, total = len(number(report).cited), len(report.sources)
    return {"cited": cited, "total": total, "share": round(cited / total, 4) if total else 0.0}


def targets(
    seconds: float, steps: Iterable[StepState], usage: Mapping[str, Any], queries: int, retained: float | None = None
) -> dict[str, Any]:
    """Compare a run with its target figures; `retained` is its retention if a model wrote the report."""
    started = [step for step in steps if step.times]
    share = sum(step.status == "finished" for step in started) / len(started) if started else 1.0
    tokens = usage["tokens"] / queries if queries else 0.0
    rows = {
        "seconds": (seconds, TARGET_SECONDS, seconds < TARGET_SECONDS),
        "steps_succeeded": (share, TARGET_STEPS, share > TARGET_STEPS),
        "tokens_per_query": (tokens, TARGET_TOKENS_PER_QUERY, tokens < TARGET_TOKENS_PER_QUERY),
        "queries": (queries, TARGET_QUERIES, queries <= TARGET_QUERIES),
    }
    if retained is not None:
        rows["retention"] = (retained, TARGET_RETENTION, retained >= TARGET_RETENTION)
    return {
        name: {"value": round(value, 3), "target": target, "met": met} for name, (value, target, met) in rows.items()
    }


# --- recovered failures ----------------------------------------------------------------------------------------------


async def recovered_failures(journal: Journal, known: Sequence[StepError]) -> list[StepError]:
    """Return the failures and refusals in the journal that ended no step, equal ones as one with a count.

    `known` are the errors that ended a step. Reading the journal includes the earlier sessions of a resumed run.
    """
    read: list[tuple[Failure, list[Row]]] = []
    try:
        for rows in _equal_failures(journal.rows()):
            if body := await journal.body(rows[0]):
                read.append((Failure.model_validate_json(body), rows))
    except JournalError:  # a damaged journal has its own notice
        pass
    texts = {failure.text for failure, _ in read}
    errors: dict[tuple[str, Notice], StepError] = {}
    for failure, rows in read:
        if failure.message in texts:  # it only passes on a failure below it
            continue
        refusal = rows[0].outcome == "refusal"
        message = failure.message if refusal else failure.model_copy(update={"attempts": 1}).text
        key = (rows[0].step, message)
        errors[key] = _step_error(message, failure, rows, errors.get(key))
    return [error for (_, message), error in errors.items() if not any(message in other.message for other in known)]


def _step_error(message: Notice, failure: Failure, rows: Sequence[Row], before: StepError | None) -> StepError:
    detail = f" [{failure.detail}]" if failure.detail else ""
    return StepError(
        message=Notice.of(f"{message}{detail}", message.code, message.parameters),
        category=failure.category,
        retries=max(failure.attempts - 1, before.retries if before else 0),
        step=rows[0].step,
        times=len(rows) + (before.times if before else 0),
        traceback=failure.traceback or (before.traceback if before else ""),
    )


def _equal_failures(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield groups of failed calls: those with equal messages, then all further ones of their kind."""
    failed = {row.key: row for row in rows if row.outcome != "reply"}
    by_kind: dict[tuple[str, ...], dict[str, list[Row]]] = {}
    for row in failed.values():
        if failed.keys() & set(row.causes):
            continue
        # A spent budget refuses every kind of call, so refusals are not told apart by kind and provider.
        kind: tuple[str, ...] = (row.outcome, row.step)
        if row.outcome != "refusal":
            kind = (*kind, row.kind, row.provider)
        by_kind.setdefault(kind, {}).setdefault(row.body, []).append(row)
    for kind, by_body in by_kind.items():
        groups = list(by_body.values())
        listed = 1 if kind[0] == "refusal" else _LISTED_ERRORS
        yield from groups[: listed - 1]
        if rest := [row for group in groups[listed - 1 :] for row in group]:
            yield rest
