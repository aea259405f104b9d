"""What the next session of a run takes over from the earlier ones: its request, the calls to repeat, event numbers."""

from __future__ import annotations

import json
from pathlib import Path

from leadline._runtime.calls.outcomes import SHUTDOWN
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.lineage import with_consequences
from leadline._runtime.runs.folder import JOURNAL
from leadline._runtime.runs.run_request import RunRequest
from leadline.pipeline import Pipeline
from leadline.records import Answer, Failure


async def load_request(folder: Path) -> RunRequest:
    """Return the request of the run in a folder. Raises `LeadlineError` if the run never started."""
    journal = await Journal.open(folder / JOURNAL, mode="read")
    try:
        return await RunRequest.load(journal)
    finally:
        await journal.close()


async def has_request(folder: Path) -> bool:
    """Return whether the run in a folder can be resumed; a crash may come before its request was stored."""
    if not (folder / JOURNAL).is_file():
        return False
    journal = await Journal.open(folder / JOURNAL, mode="read")
    try:
        return await RunRequest.is_stored(journal)
    finally:
        await journal.close()


async def forget_failures(journal: Journal, pipeline: Pipeline, *, everything: bool = False) -> None:
    """Remove failed calls from the journal, so that the next session repeats them.

    `everything`, or a last session that ended by itself and not by a failed call: all failures, and the calls of
    closing stages that did without them. Otherwise the calls whose failure ended a session. Calls that were refused
    because a session was to end are always removed. Searches and pages stay: all later work depends on them.
    """
    escaped = {row.key for row in journal.rows() if row.escaped}
    last = journal.sessions()[-2:-1]
    ended = bool(last) and last[0].status in ("no_evidence", "partial", "failed")
    closing = pipeline.closing_stages()
    if last and last[0].status == "failed":
        await _forget_refused_answers(journal)
    if everything or (ended and not escaped):
        await journal.forget(repeated_stages=closing)
        return
    if escaped:
        await journal.forget(escaped)
    if refused := await _refused_by_shutdown(journal):
        await journal.forget(refused, repeated_stages=closing)


async def _forget_refused_answers(journal: Journal) -> None:
    """Ask again what a person declined or cancelled: that may be why the run failed."""
    for row in journal.rows():
        if (row.kind, row.outcome) == ("ask", "reply"):
            body = await journal.body(row)
            if body and Answer.model_validate_json(body).action != "accept":
                await journal.drop([row.key])


def interrupted_notice(journal: Journal) -> tuple[str, ...]:
    """Return the notice about calls in flight at the end of the last session. It is no part of the report."""
    count = 0 if journal.readonly else sum(session.interrupted for session in journal.sessions()[-2:-1])
    if not count:
        return ()
    calls = "1 call was" if count == 1 else f"{count} calls were"
    again = "it is" if count == 1 else "they are"
    return (f"{calls} in flight when the last session was interrupted: {again} made again, and may be paid for again",)


async def _refused_by_shutdown(journal: Journal) -> set[str]:
    """Return the keys of calls that were refused because a session was to end, and of calls that failed for that."""
    refused = [row for row in journal.rows() if row.outcome == "refusal"]
    bodies = {row.body: await journal.body(row) for row in refused}
    by_shutdown = {name for name, body in bodies.items() if body and Failure.model_validate_json(body).type == SHUTDOWN}
    return with_consequences(journal.rows(), (row.key for row in refused if row.body in by_shutdown))


def next_seq(path: Path) -> int:
    """Return the number of the next event: a resumed run continues the numbers in its file of events."""
    if not path.exists():
        return 0
    last = -1
    with path.open("rb") as lines:
        for line in lines:
            try:
                last = max(last, int(json.loads(line)["seq"]))
            except (ValueError, KeyError, TypeError):
                continue  # a torn line, which the observer cuts off
    return last + 1
