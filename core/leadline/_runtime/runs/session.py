"""The life of a run, from its journal to its end: started, resumed after a crash or a stop, or replayed offline.

A run has one or more sessions over one journal. Each walks the pipeline from its beginning; calls that returned before
are answered from the journal, so a resumed session continues where the last one stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from leadline._runtime.event_bus import Bus
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.rows import Row, with_descendants
from leadline._runtime.plugins import PluginRuntime
from leadline._runtime.runs import engine
from leadline._runtime.runs.answer_cache import AnswerCache
from leadline._runtime.runs.conversations import pipeline_of, read_conversation, write_conversation
from leadline._runtime.runs.earlier_sessions import PreviousOutput, forget_failures, interrupted_notice, next_seq
from leadline._runtime.runs.findings_board import FindingsBoard
from leadline._runtime.runs.folder import EVENTS, JOURNAL, LOCK, detach, labels_of, read_metadata, write_metadata
from leadline._runtime.runs.interprocess import Message, receive
from leadline._runtime.runs.metadata import recovered_failures, report_files
from leadline._runtime.runs.outcome import could_not_look, middleware_refusal, no_evidence_reason, outcome, rejection
from leadline._runtime.runs.questions import ASK, check_answer
from leadline._runtime.runs.run import Run, RunOptions, secrets_of_run
from leadline._runtime.runs.run_request import RunRequest
from leadline.contracts import Middleware, Observer
from leadline.encoding import digest
from leadline.errors import (
    AlreadyAnswered,
    CallFailed,
    ConfigError,
    JournalBusy,
    LeadlineError,
    ModelUnreachable,
    NeedsClarification,
    NoEvidence,
    UsageError,
)
from leadline.pipeline import Pipeline
from leadline.records import Conversation, Notice
from leadline.research_findings import CONVERSATION, QUESTION, REPORT, ROUTE, Question, Route
from leadline.runs import EXIT_CODES, KEPT_NOTICE, Metadata, Result, Status, StepError
from leadline.stores import store_of

LOST = "another process continues the run"
# The exit code if the audit decides and rejects the report.
REJECTED = 3

T = TypeVar("T")


# --- the beginning ----------------------------------------------------------------------------------------------------


async def start(
    request: RunRequest,
    folder: Path,
    plugins: PluginRuntime,
    options: RunOptions,
    conversation: Conversation | None = None,
) -> Run:
    """Return a new run, which keeps its earlier turns."""
    pipeline_of(request.pipeline, plugins, conversation)
    with _folder_removed_on_failure(folder):
        journal = await Journal.open(folder / JOURNAL, owns=options.owns)
    async with _closed_on_failure(journal):
        if conversation:
            await journal.write_file(partial(write_conversation, folder, conversation))
        await request.store(journal)
        return await open_run(request, folder, plugins, journal, options)


async def resume(
    request: RunRequest, folder: Path, plugins: PluginRuntime, options: RunOptions, *, retry_failed: bool = False
) -> Run:
    """Return a run for its next session; with `retry_failed` it repeats all failed calls.

    The settings of `plugins` become those of the run; if the run is complete, only once this session is, too.
    """
    journal = await Journal.open(folder / JOURNAL, owns=options.owns)
    async with _closed_on_failure(journal):
        if options.owns:
            await journal.write_file(partial(detach, folder / EVENTS))
        request = request.with_settings(plugins.loaded)
        pipeline = plugins.pipeline(request.pipeline)
        await forget_failures(journal, pipeline, everything=retry_failed)
        run = await open_run(request, folder, plugins, journal, options)
        run.previous = await journal.write_file(partial(PreviousOutput.back_up, folder))
        if run.previous is None:
            await request.store(journal)
        return run


async def take(folder: Path, message: Message) -> None:
    """Do what a message asks for to a run that waits for an answer, and on which no process works.

    An answer is stored for the next session; anything else cancels the run. Raises the errors of `Run.answer`.
    """
    journal = await Journal.open(folder / JOURNAL)
    async with _closed_on_failure(journal):
        try:
            metadata = await asyncio.to_thread(read_metadata, folder)
        except FileNotFoundError:
            raise UsageError(f"the run {folder.name} was deleted") from None
        if message.action == "answer" and message.answer:
            if journal.has(message.question_id):
                raise AlreadyAnswered(message.question_id)
            check_answer(metadata.questions, message.question_id, message.answer)
            row = Row(key=message.question_id, kind=ASK, provider="person", task=ASK, outcome="reply")
            await journal.keep(row, message.answer.model_dump_json().encode(), b"{}", durable=True)
        elif metadata.status != "waiting":  # it went on before the lock was taken
            raise UsageError(f"the run {folder.name} is not active: it is {metadata.status}")
        else:
            ended: Any = {"status": "cancelled", "reason": Notice(message.reason), "exit_code": EXIT_CODES["cancelled"]}
            metadata = metadata.model_copy(update={**ended, "questions": ()})
            await journal.write_file(partial(write_metadata, folder, metadata))
        await journal.close(metadata.status)


async def open_replay(request: RunRequest, folder: Path, plugins: PluginRuntime, options: RunOptions) -> Run:
    """Return a run that is offline and writes nothing."""
    journal = await Journal.open(folder / JOURNAL, mode="read")
    async with _closed_on_failure(journal):
        return await open_run(request.with_settings(plugins.loaded), folder, plugins, journal, options)


async def open_run(
    request: RunRequest,
    folder: Path,
    plugins: PluginRuntime,
    journal: Journal,
    options: RunOptions = RunOptions(),  # noqa: B008 - it is frozen
) -> Run:
    """Return a run over an open journal. Raises `ConfigError`."""
    conversation = await asyncio.to_thread(read_conversation, folder)
    if conversation is None and (request.follows or request.turns):
        raise LeadlineError(f"{folder / CONVERSATION.file} is missing, which has the earlier turns of this run")
    pipeline_of(request.pipeline, plugins, conversation)  # before anything is opened
    replaying = journal.readonly
    configured: dict[str, Observer] = {
        name: await plugins.instance("observers", name).open()
        for name in (() if replaying else plugins.chosen["observers"])
    }
    if not replaying and (store := store_of(folder)):
        configured["store"] = store.observer(folder, journal.session)
    bus = Bus(
        request.run_id,
        request.trace_id,
        {**configured, **options.observers},
        first_seq=0 if replaying else await asyncio.to_thread(next_seq, folder / EVENTS),
        secrets=secrets_of_run(request, plugins),
    )
    bus.is_current = journal.is_current
    run = Run(request, folder, journal, bus, options, conversation)
    run.labels = await asyncio.to_thread(labels_of, folder)
    run.use(request, plugins, *await _opened(request, plugins, conversation))
    return run


async def _opened(
    request: RunRequest, plugins: PluginRuntime, conversation: Conversation | None
) -> tuple[Pipeline, dict[str, Middleware]]:
    """Open plugins; return the pipeline of the run and the middleware. Raises `ConfigError`."""
    pipeline = pipeline_of(request.pipeline, plugins, conversation)
    await plugins.open()
    return pipeline, {name: await plugins.instance("middleware", name).open() for name in plugins.chosen["middleware"]}


# --- the walk ---------------------------------------------------------------------------------------------------------


async def walk(run: Run) -> Result:
    """Walk the pipeline and return the result. If it is cancelled, nothing keeps running."""
    inbox = (
        None
        if run.readonly
        else asyncio.create_task(receive(run.folder, run.take, run.journal.is_current), name=f"inbox {run.id}")
    )
    try:
        await _begin(run)
        answers = await _walk_pipeline(run)
        if route := run.board.get(ROUTE):
            await _continue_with(run, route)
            answers = await _walk_pipeline(run)
        await _decide_outcome(run, answers)
    except NoEvidence as error:
        await _end_without_evidence(run, no_evidence_reason(error, run))
    except NeedsClarification as error:
        run.state.end("waiting", str(error), NeedsClarification.exit_code)
    except asyncio.CancelledError:
        run.state.end("cancelled", run.cancel_reason)
        raise
    except Exception as error:  # noqa: BLE001 - any error of a stage ends the run and is reported
        step_error = run.state.add_error(error)
        run.state.end("failed", step_error.message, getattr(error, "exit_code", None))
        await run.bus.emit("error", step_error.model_dump(include={"message", "category", "step"}))
    finally:
        try:
            async with _closed_on_failure(run.journal):
                result = await _uncancelled(_finish(run))
        finally:
            if inbox:
                inbox.cancel()
                await asyncio.wait({inbox})
    return result


async def _begin(run: Run) -> None:
    loaded = run.plugins.loaded
    run.state.status = "running"
    run.state.notices.extend(loaded.notices)
    await run.metadata.write()
    await run.bus.emit(
        "run.started",
        {
            "folder": str(run.folder),
            "question": run.question,
            "pipeline": run.request.pipeline,
            "steps": list(run.stages),
            "choices": list(loaded.choices),
            "replay": run.readonly,
            "principal": run.principal.id if run.principal else None,
            "previous": _previous_session(run),
        },
        span_id=_span(run, run.journal.session),
    )
    for notice in (*loaded.notices, *interrupted_notice(run.journal)):
        await run.bus.emit("notice", {"message": notice})


def _span(run: Run, number: int) -> str:
    """Return the id of a session's span. It is derived, so that the next session can name it after a crash."""
    name = f"{'replay' if run.readonly else 'session'} {number} of {run.request.trace_id}"
    return digest(name.encode(), size=8)


def _previous_session(run: Run) -> dict[str, Any] | None:
    earlier = [] if run.readonly else run.journal.sessions()[-2:-1]
    dumped = [session.model_dump(mode="json", include={"began", "ended"}) for session in earlier]
    return {"span_id": _span(run, earlier[0].id), **dumped[0]} if earlier else None


async def _walk_pipeline(run: Run) -> AnswerCache:
    """Walk the pipeline; a run of level `agent` walks it again after a temporary failure."""
    attempt = 0
    while True:
        run.board = FindingsBoard()
        run.board.put(QUESTION, Question(text=run.question))
        if run.conversation:
            run.board.put(CONVERSATION, run.conversation)
        answers = AnswerCache(run)
        rest = await answers.find()
        try:
            await engine.walk(run, rest)
        except (CallFailed, ModelUnreachable) as failed:
            keys = run.calls.failed_keys(failed)
            if run.readonly:
                raise
            await run.journal.mark_escaped(keys)
            # A failure of an earlier session is repeated at once; it may succeed now.
            replayed = bool(keys & run.calls.store.replayed)
            pause = None
            if isinstance(failed, CallFailed) and run.pipeline.level == "agent":
                pause = run.retry.run_delay(attempt + 1, failed.record)
            if not replayed and pause is None:
                raise
            before = run.journal.spent()
            await run.journal.forget(keys)
            run.budget.restore(run.journal.spent() - before)  # the repetition takes their place
            if not replayed and pause is not None:
                run.state.add_error(failed)
                attempt += 1
                await asyncio.sleep(pause)
        else:
            return answers


async def _continue_with(run: Run, route: Route) -> None:
    """Continue with the pipeline that was chosen, over the same journal and events. Raises `ConfigError`.

    Observers are those of the beginning. What the first pipeline spent counts in the budget of the second.
    """
    assert run.options.switch is not None
    try:
        run.switched = plugins = run.options.switch(run.request, route.pipeline)
        sentence = f"pipeline: {route.pipeline} ({route.reason})"
        request = run.request.with_settings(plugins.loaded).model_copy(update={"route": sentence})
        pipeline, middleware = await _opened(request, plugins, run.conversation)
    except ConfigError as error:
        raise ConfigError(
            f"the pipeline {route.pipeline} was chosen ({route.reason}) and cannot run: {error}; "
            "choose another pipeline"
        ) from error
    await run.close()
    earlier, began = run.plugins.loaded.choices, run.budget
    run.use(request, plugins, pipeline, middleware)
    run.budget.keep_time(began)
    run.state.notices.extend(text for text in plugins.loaded.notices if text not in run.state.notices)
    if not run.readonly:
        await request.store(run.journal)
    about = route.model_dump(include={"pipeline", "reason", "by"})
    await run.bus.emit("route", {**about, "steps": list(run.stages)})
    for text in (sentence, *(choice for choice in plugins.loaded.choices if choice not in earlier)):
        await run.bus.emit("notice", {"message": text})
    await run.metadata.update()


# --- the end ----------------------------------------------------------------------------------------------------------


async def _decide_outcome(run: Run, answers: AnswerCache) -> None:
    rows = run.journal.rows()
    if run.readonly:  # without the calls that only other sessions made
        rows = with_descendants(rows, run.calls.store.replayed)
    for failed in run.state.format_failures.values():
        run.state.add_error(failed)
    status, reason = await outcome(run, rows)
    rejected = rejection(run.board, decides=True)
    if status == "no_evidence":
        await _end_without_evidence(run, reason)
    elif rejected and status in ("complete", "partial"):
        run.state.end("failed", Notice.several(filter(None, (*rejected, reason))), REJECTED)
    else:
        run.state.end(status, reason)
    if run.state.status == "complete":
        answers.keep()


async def _end_without_evidence(run: Run, reason: str) -> None:
    """End a run that found nothing; if a middleware refused calls, or all searches failed, it could not look."""
    refusal = await middleware_refusal(run.journal, run.journal.rows())
    status: Status = "failed" if refusal or could_not_look(run) else "no_evidence"
    run.state.end(status, reason if refusal in reason else Notice.several((refusal, reason)))


async def _finish(run: Run) -> Result:
    """Close everything and write the final metadata."""
    state = run.state
    if not run.journal.is_current():
        state.end("failed", str(run.journal.broken or LOST), JournalBusy.exit_code)
    await run.metadata.settle()
    # Calls in flight may still add notices and usage, so they end before the metadata is written.
    await run.close()
    if run.previous and state.status != "complete" and state.add_notice(KEPT_NOTICE):
        await run.bus.emit("notice", {"message": KEPT_NOTICE})
    metadata = await _final_metadata(run)
    await run.asks()
    ended = {"status": state.status, "reason": state.reason, "claims": metadata.verification.get("claims", {})}
    await run.bus.emit("run.finished", ended, span_id=_span(run, run.journal.session))
    await run.bus.close()
    if run.bus.faults:  # of the last events
        metadata = await _final_metadata(run)
    # Observers write files, too, so files are restored only after the bus is closed.
    if run.previous and run.journal.is_current():
        if state.status == "complete":
            await run.request.store(run.journal)
        await run.journal.write_file(partial(run.previous.settle, metadata))
        metadata = metadata.model_copy(update={"files": report_files(run.folder)})
    await run.journal.close(state.status)
    run.metadata.close()
    # A failed run may have a draft of its report, which was not checked; a rejected one was.
    has_report = state.status in ("complete", "partial") or state.exit_code == REJECTED
    report = run.board.get(REPORT) if has_report else None
    run.ended = Result(state.status, state.reason, state.exit_code, run.folder, metadata, report)
    return run.ended


async def _final_metadata(run: Run) -> Metadata:
    """Write the metadata; if that fails, the run fails, but everything else is still closed."""
    state, bus = run.state, run.bus
    state.errors += [StepError(message=text, category="BUSINESS") for text in bus.faults]
    bus.faults.clear()
    try:
        state.errors += await recovered_failures(run.journal, state.errors)
        return await run.metadata.write(ended=True)
    except (LeadlineError, OSError) as error:
        state.add_error(error)
        state.end("failed", str(error), getattr(error, "exit_code", None))
        return run.summary(ended=True)


async def _uncancelled(work: Coroutine[Any, Any, T]) -> T:
    """Await work that must finish; a cancellation meanwhile is raised afterwards."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


@contextmanager
def _folder_removed_on_failure(folder: Path) -> Iterator[None]:
    try:
        yield
    except JournalBusy:
        raise  # it is the folder of another process
    except BaseException:
        with suppress(OSError):
            (folder / LOCK).unlink(missing_ok=True)
            folder.rmdir()
        raise


@asynccontextmanager
async def _closed_on_failure(journal: Journal) -> AsyncIterator[None]:
    async with AsyncExitStack() as failing:
        failing.push_async_callback(journal.close)
        yield
        failing.pop_all()
