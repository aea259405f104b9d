"""The end of a run: complete, partial, failed or without evidence, with the reasons and the missing parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from leadline._runtime.calls.job import CHAT, TASK
from leadline._runtime.calls.outcomes import MIDDLEWARE
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.rows import Row, answering_models, refused_stages, useless_models
from leadline._runtime.models.task_performer import chain_of
from leadline._runtime.plugins import PluginRuntime
from leadline._runtime.runs.findings_board import FindingsBoard
from leadline._runtime.runs.run import Run
from leadline.display import shortened
from leadline.errors import JournalError, NoEvidence
from leadline.pipeline import Pipeline
from leadline.records import Failure, Notice, Report
from leadline.research_findings import AUDIT, FOUND, REPORT, SOURCES, UNREAD, VERIFICATION
from leadline.runs import Status
from leadline.tasks import TaskKind

# Characters of a failure that a reason quotes.
_MAX_QUOTE = 300


async def outcome(run: Run, rows: Sequence[Row]) -> tuple[Status, str]:
    """Return the status of a run that passed its pipeline, and the reason if it is not complete.

    `rows` are the calls of the run.
    """
    board, shutdown_reason = run.board, run.calls.shutdown.reason
    report = board.get(REPORT)
    reasons = _lost_stages(board.lost, shutdown_reason)
    reasons += await _missing_parts(run, rows, explained=bool(reasons))
    reasons += _empty_parts(report)
    reasons += report.lacks if report else ()
    reasons += rejection(board, decides=False)
    failures = sorted(run.state.format_failures.items())
    reasons += [f"not written: {name} ({shortened(failed.record.message)})" for name, failed in failures]
    reason = Notice.several(reasons)
    if report is None and any(key.name == REPORT.name for step in run.pipeline.steps() for key in step.writes):
        has_hits = any(item.hits for item in board.get(FOUND))
        return "failed" if has_hits or reason else "no_evidence", reason or "no report was written"
    if report is not None and not report.sources and run.finds_sources:
        return "no_evidence", "the report has no sources"
    if report is not None and len(_empty_sections(report)) == len(report.sections):
        return "failed", reason
    return "partial" if reasons else "complete", reason


def rejection(board: FindingsBoard, *, decides: bool) -> list[str]:
    """Return the reason for which the report was rejected by an audit that decides, or by another check."""
    audit, checks = board.get(AUDIT), board.get(VERIFICATION)
    if decides != bool(audit and audit.decides):
        return []
    rejected = audit.accepted is False if audit else checks is not None and checks.passed is False
    reasons = audit.reasons if audit else checks.reasons if checks else ()
    by = "rejected by the audit" if audit else "rejected by the verification"
    return [": ".join(filter(None, (by, "; ".join(reasons))))] if rejected else []


def no_evidence_reason(error: NoEvidence, run: Run) -> str:
    """Return the reason for missing evidence, with the stages that never ran."""
    shutdown_reason = run.calls.shutdown.reason
    reasons = _lost_stages({} if shutdown_reason else run.board.lost, shutdown_reason)
    return Notice.several([*reasons, f"until then {error}"]) if reasons else str(error)


def could_not_look(run: Run) -> bool:
    """Return whether a run has no source because searches or pages failed, and not because nothing matches."""
    board = run.board
    if board.get(SOURCES):
        return False
    searches = board.get(FOUND)
    lost = any(step.name in board.lost and {*step.writes} & {FOUND, SOURCES} for step in run.pipeline.steps())
    failed = [item.failure or (item.engine_failures and not item.hits) for item in searches]
    return lost or bool(board.get(UNREAD)) or bool(failed and all(failed))


async def middleware_refusal(journal: Journal, rows: Iterable[Row]) -> str:
    """Return the message of a middleware that refused a call of a run; empty if none did."""
    failures = [await _failure(journal, row) for row in rows if row.outcome == "refusal"]
    messages = [failure.message for failure in failures if failure and failure.type == MIDDLEWARE]
    # Composite calls repeat the message with the names of their calls, so the shortest is the middleware's own.
    return min(messages, key=lambda message: (len(message), message), default="")


async def _failure(journal: Journal, row: Row) -> Failure | None:
    try:
        body = await journal.body(row)
    except JournalError:  # a damaged journal has its own notice
        return None
    return Failure.model_validate_json(body) if body else None


def _lost_stages(lost: Mapping[str, str], shutdown_reason: str | None) -> list[str]:
    """Return the reasons of lost stages; the reason of the whole run appears once, for all stages it refused."""
    refused_stages = [name for name, reason in lost.items() if shutdown_reason and shutdown_reason in reason]
    reasons = [shutdown_reason] if shutdown_reason else []
    reasons += [f"without {', '.join(refused_stages)}"] if refused_stages else []
    others = ((name, reason) for name, reason in lost.items() if name not in refused_stages)
    return reasons + [Notice("{stage}: {reason}", "stage", stage=name, reason=reason) for name, reason in others]


def _empty_parts(report: Report | None) -> list[str]:
    empty = _empty_sections(report) if report else []
    if report and len(empty) == len(report.sections):
        return ["the report is empty: no section has a text"]
    return [f"nothing was written under {', '.join(map(repr, empty))}"] if empty else []


def _empty_sections(report: Report) -> list[str]:
    """Return the titles of the sections without text."""
    return [section.title for section in report.sections if not (section.text or "").strip()]


# --- parts that no model wrote ---------------------------------------------------------------------------------------


async def _missing_parts(run: Run, rows: Sequence[Row], *, explained: bool) -> list[str]:
    """Return reasons from the calls: refused calls, models that did no task, tasks that no model did.

    `explained`: the run has a reason already, of which refusals and failed tasks are consequences.
    """
    journal, pipeline, plugins = run.journal, run.pipeline, run.plugins
    reasons = []
    if not explained and (stages := refused_stages(rows)):
        why = await middleware_refusal(journal, rows) or "see the notices"
        reasons.append(f"calls were refused to {', '.join(stages)}: {why}")
    # A writer is the first provider of a task that writes the report.
    answering, tasks = answering_models(rows), undone_tasks(rows, pipeline, plugins)
    providers = plugins.chosen["ai.providers"]
    writers = {
        next(chain_of(plugins, providers, kind.name, kind.role)).instance.name
        for kind in _writing_tasks(pipeline, plugins)
    }
    task_done = any((row.kind, row.outcome) == (TASK, "reply") for row in rows)
    for name in useless_models(rows):
        # If an algorithm did all tasks of a model, the report is whole, unless that model was to write it.
        if not tasks and task_done and (name in answering or name not in writers):
            continue
        if name in answering:
            reasons.append(f"{name} did none of its tasks: see the notices")
        else:
            failure = await _most_frequent_failure(journal, rows, name)
            reasons.append(f"{name} did no task: {failure or 'see the notices'}")
    if not explained and not reasons and tasks:
        reasons.append(f"no model did {', '.join(tasks)}: see the notices")
    return reasons


async def _most_frequent_failure(journal: Journal, rows: Iterable[Row], provider: str) -> str:
    """Return the message of most failed chats of a provider; empty if the journal has none."""
    failed = Counter(row.body for row in rows if (row.kind, row.provider, row.outcome) == (CHAT, provider, "failure"))
    by_body = {row.body: row for row in rows if row.body in failed}
    failures = [await _failure(journal, by_body[body]) for body, _ in failed.most_common(1)]
    return "".join(shortened(failure.message, _MAX_QUOTE) for failure in failures if failure)


def undone_tasks(rows: Iterable[Row], pipeline: Pipeline, plugins: PluginRuntime) -> tuple[str, ...]:
    """Return the names of the tasks without which the report is incomplete and at which all models failed.

    These are tasks of the role `thinking`, in closing stages and in stages that other stages need. A stage that
    only adds to the report leaves it complete.
    """
    needed = {key.name for step in pipeline.steps() for key in step.needs}
    stages = {step.name for step in pipeline.steps() if any(key.name in needed for key in step.writes)}
    stages |= {*pipeline.closing_stages()}
    failed = {row.task for row in rows if (row.kind, row.outcome) == (TASK, "failure") and row.step in stages}
    return tuple(sorted(failed & {kind.name for kind in _writing_tasks(pipeline, plugins)}))


def _writing_tasks(pipeline: Pipeline, plugins: PluginRuntime) -> list[TaskKind[Any, Any]]:
    kinds = [kind for step in pipeline.steps() for kind in step.offer.tasks]
    kinds += plugins.instance("synthesizers", plugins.settings.research.synthesizer).offer.tasks
    return [kind for kind in kinds if kind.role == "thinking"]
