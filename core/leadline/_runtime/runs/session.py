"""A session takes a run from its journal to its end: started, resumed after a crash or a stop, or replayed offline.

A run has one or more sessions over one journal. Each walks the pipeline from its beginning; calls that returned before
are answered from the journal, so a resumed session continues where the last one stopped.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from leadline._runtime.calls.outcomes import SHUTDOWN
from leadline._runtime.calls.retry import RetryPolicy
from leadline._runtime.event_bus import Bus
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.rows import with_consequences, with_descendants
from leadline._runtime.plugins import PluginRuntime
from leadline._runtime.runs.answer_cache import AnswerCache
from leadline._runtime.runs.conversations import pipeline_of, read_conversation, write_conversation
from leadline._runtime.runs.engine import Engine
from leadline._runtime.runs.folder import EVENTS, JOURNAL, LOCK
from leadline._runtime.runs.metadata import recovered_failures, report_files, summarize
from leadline._runtime.runs.outcome import could_not_look, middleware_refusal, no_evidence_reason, outcome, rejection
from leadline._runtime.runs.previous_output import PreviousOutput
from leadline._runtime.runs.questions import Asker
from leadline._runtime.runs.run_context import RunContext, secrets_of_run
from leadline._runtime.runs.run_request import RunRequest
from leadline._runtime.runs.run_state import MetadataWriter
from leadline.contracts import Middleware, Observer
from leadline.encoding import digest
from leadline.errors import CallFailed, ConfigError, LeadlineError, ModelUnreachable, NeedsClarification, NoEvidence
from leadline.pipeline import Pipeline
from leadline.records import Answer, Conversation, Failure, Notice
from leadline.research_findings import CONVERSATION, QUESTION, REPORT, ROUTE, Question, Route
from leadline.runs import EXIT_CODES, KEPT_NOTICE, Metadata, Result, Status, StepError

# The exit code if the audit decides and rejects the report.
REJECTED = 3
# The exit code of a run that was stopped, even if it wrote a report.
INTERRUPTED = 130

T = TypeVar("T")


@dataclass(frozen=True)
class SessionOptions:
    """Those who answer the questions of a session, observe it, and have the plugins of other pipelines."""

    asker: Asker | None = None
    # Further observers than those of the settings; only these follow a replay.
    observers: Mapping[str, Observer] = field(default_factory=dict)
    # Returns the plugins for another pipeline of a run.
    switch: Callable[[RunRequest, str], PluginRuntime] | None = None


class Session:
    """One session of a run. Create it with `start`, `resume`, `replay` or `open`, then await `walk`."""

    def __init__(
        self,
        request: RunRequest,
        folder: Path,
        plugins: PluginRuntime,
        journal: Journal,
        bus: Bus,
        *,
        middleware: Mapping[str, Middleware],
        options: SessionOptions,
        conversation: Conversation | None = None,
    ) -> None:
        self.conversation = conversation
        self.journal = journal
        self.pipeline = pipeline_of(request.pipeline, plugins, conversation)
        self.engine: Engine | None = None
        self._answer: AnswerCache | None = None
        self.result: Result | None = None
        self.cancel_reason = "cancelled"
        # The output of an earlier session that completed the run.
        self._previous: PreviousOutput | None = None
        self._stopped = False
        self._exit_code: int | None = None
        self._metadata = MetadataWriter(self._summary, None if journal.readonly else folder)
        self._switch = options.switch
        # The plugins of the pipeline with which the run continued; the client releases them.
        self.switched: PluginRuntime | None = None
        writer, asker = self._metadata, options.asker
        self.run = RunContext(
            request, folder, plugins, journal, bus, self.pipeline, metadata=writer, middleware=middleware, asker=asker
        )

    @classmethod
    async def start(
        cls,
        request: RunRequest,
        folder: Path,
        plugins: PluginRuntime,
        *,
        options: SessionOptions,
        conversation: Conversation | None = None,
    ) -> Session:
        """Return the first session of a run, which keeps its earlier turns."""
        pipeline_of(request.pipeline, plugins, conversation)
        with _folder_removed_on_failure(folder):
            journal = await Journal.open(folder / JOURNAL)
        async with _closed_on_failure(journal):
            if conversation:
                await asyncio.to_thread(write_conversation, folder, conversation)
            await request.store(journal)
            return await cls.open(request, folder, plugins, journal, options)

    @classmethod
    async def resume(
        cls,
        request: RunRequest,
        folder: Path,
        plugins: PluginRuntime,
        *,
        options: SessionOptions,
        retry_failed: bool = False,
    ) -> Session:
        """Return the next session of a run; with `retry_failed` it repeats all failed calls.

        The settings of `plugins` become those of the run; if the run is complete, only once this session is, too.
        """
        journal = await Journal.open(folder / JOURNAL)
        async with _closed_on_failure(journal):
            request = request.with_settings(plugins.loaded)
            pipeline = plugins.pipeline(request.pipeline)
            await forget_failures(journal, pipeline, everything=retry_failed)
            session = await cls.open(request, folder, plugins, journal, options)
            session._previous = await asyncio.to_thread(PreviousOutput.back_up, folder)
            if session._previous is None:
                await request.store(journal)
            return session

    @classmethod
    async def replay(
        cls, request: RunRequest, folder: Path, plugins: PluginRuntime, options: SessionOptions
    ) -> Session:
        """Return a session that is offline and writes nothing."""
        journal = await Journal.open(folder / JOURNAL, mode="read")
        async with _closed_on_failure(journal):
            return await cls.open(request.with_settings(plugins.loaded), folder, plugins, journal, options)

    @classmethod
    async def open(
        cls,
        request: RunRequest,
        folder: Path,
        plugins: PluginRuntime,
        journal: Journal,
        options: SessionOptions = SessionOptions(),
    ) -> Session:
        """Return a session over an open journal. Raises `ConfigError`."""
        conversation = await asyncio.to_thread(read_conversation, folder)
        if conversation is None and (request.follows or request.turns):
            raise LeadlineError(f"{folder / CONVERSATION.file} is missing, which has the earlier turns of this run")
        pipeline_of(request.pipeline, plugins, conversation)  # before anything is opened
        replaying, chosen = journal.readonly, plugins.chosen
        configured: dict[str, Observer] = {
            name: await plugins.instance("observers", name).open()
            for name in (() if replaying else chosen["observers"])
        }
        bus = Bus(
            request.run_id,
            request.trace_id,
            {**configured, **options.observers},
            first_seq=0 if replaying else await asyncio.to_thread(next_seq, folder / EVENTS),
            secrets=secrets_of_run(request, plugins),
        )
        await plugins.open()
        return cls(
            request,
            folder,
            plugins,
            journal,
            bus,
            middleware=await _middleware(plugins),
            options=options,
            conversation=conversation,
        )

    def stop(self, reason: str) -> None:
        """Stop searching and write up the findings so far.

        Closing stages make no new model calls once they have started; calls in flight are awaited.
        """
        self._stopped = True
        writing = self.run.state.current_step in self.pipeline.closing_stages()
        self.run.calls.shutdown.begin(reason, writing=writing)

    async def walk(self) -> Result:
        """Walk the pipeline and return the result. If it is cancelled, nothing keeps running."""
        try:
            await self._begin()
            await self._walk_pipeline()
            if self.engine and (route := self.engine.board.get(ROUTE)):
                await self._continue_with(route)
                await self._walk_pipeline()
            await self._decide_outcome()
        except NoEvidence as error:
            await self._end_without_evidence(no_evidence_reason(error, self.engine, self.run.calls.shutdown.reason))
        except NeedsClarification as error:
            self._end("waiting", str(error), NeedsClarification.exit_code)
        except asyncio.CancelledError:
            self._end("cancelled", self.cancel_reason)
            raise
        except Exception as error:  # noqa: BLE001 - any error of a stage ends the run and is reported
            step_error = self.run.state.add_error(error)
            self._end("failed", step_error.message, getattr(error, "exit_code", None))
            await self.run.bus.emit("error", step_error.model_dump(include={"message", "category", "step"}))
        finally:
            result = await _uncancelled(self._finish())
        return result

    async def _begin(self) -> None:
        run, loaded = self.run, self.run.plugins.loaded
        run.state.status = "running"
        run.state.notices.extend(loaded.notices)
        await self._metadata.write()
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
                "previous": self._previous_session(),
            },
            span_id=self._span(self.journal.session),
        )
        for notice in (*loaded.notices, *interrupted_notice(self.journal)):
            await run.bus.emit("notice", {"message": notice})

    def _span(self, number: int) -> str:
        """Return the id of a session's span. It is derived, so that the next session can name it after a crash."""
        name = f"{'replay' if self.run.readonly else 'session'} {number} of {self.run.request.trace_id}"
        return digest(name.encode(), size=8)

    def _previous_session(self) -> dict[str, Any] | None:
        earlier = [] if self.run.readonly else self.journal.sessions()[-2:-1]
        dumped = [session.model_dump(mode="json", include={"began", "ended"}) for session in earlier]
        return {"span_id": self._span(earlier[0].id), **dumped[0]} if earlier else None

    async def _walk_pipeline(self) -> None:
        """Walk the pipeline; a run of level `agent` walks it again after a temporary failure."""
        run, retry, attempt = self.run, RetryPolicy(base=self.run.settings.retry.base), 0
        while True:
            self.engine = Engine(self.pipeline, run)
            self.engine.board.put(QUESTION, Question(text=run.question))
            if self.conversation:
                self.engine.board.put(CONVERSATION, self.conversation)
            self._answer = AnswerCache(run, self.pipeline, self.conversation)
            rest = await self._answer.find(self.engine.board)
            try:
                return await self.engine.walk(rest)
            except (CallFailed, ModelUnreachable) as failed:
                keys = run.calls.failed_keys(failed)
                if run.readonly:
                    raise
                await self.journal.mark_escaped(keys)
                # A failure of an earlier session is repeated at once; it may succeed now.
                replayed = bool(keys & run.calls.store.replayed)
                pause = None
                if isinstance(failed, CallFailed) and self.pipeline.level == "agent":
                    pause = retry.run_delay(attempt + 1, failed.record)
                if not replayed and pause is None:
                    raise
                before = self.journal.spent()
                await self.journal.forget(keys)
                run.budget.restore(self.journal.spent() - before)  # the repetition takes their place
                if not replayed and pause is not None:
                    run.state.add_error(failed)
                    attempt += 1
                    await asyncio.sleep(pause)

    async def _continue_with(self, route: Route) -> None:
        """Continue with the pipeline that was chosen, over the same journal and events. Raises `ConfigError`.

        Observers are those of the beginning. What the first pipeline spent counts in the budget of the second.
        """
        assert self._switch is not None
        before = self.run
        try:
            self.switched = plugins = self._switch(before.request, route.pipeline)
            sentence = f"pipeline: {route.pipeline} ({route.reason})"
            request = before.request.with_settings(plugins.loaded).model_copy(update={"route": sentence})
            self.pipeline = pipeline_of(request.pipeline, plugins, self.conversation)
            await plugins.open()
            middleware = await _middleware(plugins)
        except ConfigError as error:
            raise ConfigError(
                f"the pipeline {route.pipeline} was chosen ({route.reason}) and cannot run: {error}; "
                "choose another pipeline"
            ) from error
        await before.close()
        folder, bus, asker = before.folder, before.bus, before.questions.asker
        self.run = run = RunContext(
            request,
            folder,
            plugins,
            self.journal,
            bus,
            self.pipeline,
            metadata=self._metadata,
            middleware=middleware,
            asker=asker,
        )
        run.state.continue_from(before.state)
        run.budget.keep_time(before.budget)
        run.state.notices.extend(text for text in plugins.loaded.notices if text not in run.state.notices)
        if not run.readonly:
            await request.store(self.journal)
        about = route.model_dump(include={"pipeline", "reason", "by"})
        await run.bus.emit("route", {**about, "steps": list(run.stages)})
        earlier = before.plugins.loaded.choices
        for text in (sentence, *(choice for choice in plugins.loaded.choices if choice not in earlier)):
            await run.bus.emit("notice", {"message": text})
        await self._metadata.update()

    async def _decide_outcome(self) -> None:
        run, engine, rows = self.run, self.engine, self.journal.rows()
        assert engine is not None
        if run.readonly:  # without the calls that only other sessions made
            rows = with_descendants(rows, run.calls.store.replayed)
        for failed in run.state.format_failures.values():
            run.state.add_error(failed)
        formats = {name: failed.record.message for name, failed in run.state.format_failures.items()}
        status, reason = await outcome(engine, run.plugins, self.journal, rows, run.calls.shutdown.reason, formats)
        rejected = rejection(engine.board, decides=True)
        if status == "no_evidence":
            await self._end_without_evidence(reason)
        elif rejected and status in ("complete", "partial"):
            self._end("failed", Notice.several(filter(None, (*rejected, reason))), REJECTED)
        else:
            self._end(status, reason)
        if run.state.status == "complete" and self._answer:
            self._answer.keep(engine.board)

    async def _end_without_evidence(self, reason: str) -> None:
        """End a run that found nothing; if a middleware refused calls, or all searches failed, it could not look."""
        refusal = await middleware_refusal(self.journal, self.journal.rows())
        status: Status = "failed" if refusal or could_not_look(self.engine) else "no_evidence"
        self._end(status, reason if refusal in reason else Notice.several((refusal, reason)))

    def _end(self, status: Status, reason: str, exit_code: int | None = None) -> None:
        self.run.state.end(status, reason)
        self._exit_code = INTERRUPTED if self._stopped else exit_code

    @property
    def exit_code(self) -> int:
        """The exit code for the current status."""
        return EXIT_CODES.get(self.run.state.status, 1) if self._exit_code is None else self._exit_code

    async def _finish(self) -> Result:
        """Close everything and write the final metadata."""
        run, state = self.run, self.run.state
        await self._metadata.settle()
        # Calls in flight may still add notices and usage, so they end before the metadata is written.
        await run.close()
        if self._previous and state.status != "complete" and state.add_notice(KEPT_NOTICE):
            await run.bus.emit("notice", {"message": KEPT_NOTICE})
        metadata = await self._final_metadata()
        ended = {"status": state.status, "reason": state.reason, "claims": metadata.verification.get("claims", {})}
        await run.bus.emit("run.finished", ended, span_id=self._span(self.journal.session))
        await run.bus.close()
        if run.bus.faults:  # of the last events
            metadata = await self._final_metadata()
        # Observers write files, too, so files are restored only after the bus is closed.
        if self._previous:
            if state.status == "complete":
                await run.request.store(self.journal)
            await self._previous.settle(metadata)
            metadata = metadata.model_copy(update={"files": report_files(run.folder)})
        await self.journal.close(state.status)
        self._metadata.close()
        # A failed run may have a draft of its report, which was not checked; a rejected one was.
        has_report = state.status in ("complete", "partial") or self.exit_code == REJECTED
        report = self.engine.board.get(REPORT) if self.engine and has_report else None
        self.result = Result(state.status, state.reason, self.exit_code, run.folder, metadata, report)
        return self.result

    async def _final_metadata(self) -> Metadata:
        """Write the metadata; if that fails, the run fails, but everything else is still closed."""
        state, bus = self.run.state, self.run.bus
        state.errors += [StepError(message=text, category="BUSINESS") for text in bus.faults]
        bus.faults.clear()
        try:
            state.errors += await recovered_failures(self.journal, state.errors)
            return await self._metadata.write(ended=True)
        except (LeadlineError, OSError) as error:
            state.add_error(error)
            self._end("failed", str(error))
            return self._summary(ended=True)

    def _summary(self, *, ended: bool = False) -> Metadata:
        return summarize(self.run, self.engine, self.journal, self.exit_code if ended else None)

    def snapshot(self) -> Metadata:
        """Return the summary of the run as of now."""
        return self.result.metadata if self.result else self._summary()


async def _middleware(plugins: PluginRuntime) -> dict[str, Middleware]:
    return {name: await plugins.instance("middleware", name).open() for name in plugins.chosen["middleware"]}


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
    except BaseException:
        with suppress(OSError):
            (folder / LOCK).unlink(missing_ok=True)
            folder.rmdir()
        raise


@asynccontextmanager
async def _closed_on_failure(journal: Journal) -> AsyncIterator[None]:
    try:
        yield
    except BaseException:
        await journal.close()
        raise


# --- what a session takes over from the earlier ones ------------------------------------------------------------------


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
