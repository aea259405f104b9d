"""The run as its stages see it (`leadline.contracts.Run`): methods that reach models, engines, pages and other plugins.

Each method names the plugins that the settings chose and makes one call through the run's call path.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from leadline._hosting.faults import is_cancellation, words
from leadline._runtime.calls.budget import Budget, Limits
from leadline._runtime.calls.call_path import CallPath
from leadline._runtime.calls.context import current_call, current_stage, new_span, stage_span
from leadline._runtime.calls.job import Kind, ProviderIdentity
from leadline._runtime.calls.retry import RetryPolicy
from leadline._runtime.event_bus import Bus
from leadline._runtime.journal.journal import Journal
from leadline._runtime.models.task_performer import TaskPerformer
from leadline._runtime.plugins import PluginRuntime
from leadline._runtime.runs.call_statistics import models
from leadline._runtime.runs.folder import path_inside, write_atomically
from leadline._runtime.runs.provider_calls import ProviderCalls
from leadline._runtime.runs.questions import Asker, Questions, UserQuestion
from leadline._runtime.runs.retrieval import DocumentReader, EngineSearch
from leadline._runtime.runs.run_request import RunRequest
from leadline._runtime.runs.run_state import RunState
from leadline._runtime.task_groups import Prefetch, each
from leadline._settings.secrets import Secrets
from leadline.contracts import Call, Middleware
from leadline.encoding import json_bytes
from leadline.errors import (
    AlreadyAnswered,
    CallFailed,
    LeadlineError,
    NeedsClarification,
    PluginFault,
    Unanswered,
)
from leadline.findings import Key
from leadline.pipeline import Pipeline, Step
from leadline.records import (
    Answer,
    Blob,
    Document,
    Failure,
    FetchRequest,
    Json,
    Principal,
    Record,
    SearchPage,
    SearchRequest,
)
from leadline.runs import OpenQuestion
from leadline.settings import Settings
from leadline.tasks import Task

T = TypeVar("T")
U = TypeVar("U")
Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)


_ASK = Kind(name="ask", reply=Answer)
# Without a time limit: `Questions` has it, because a question is not asked again when the time is over.
_PERSON = ProviderIdentity(name="person", timeout=math.inf, local=True)


class RunContext(ProviderCalls):
    """One session of a run. `leadline.contracts.Run` documents the methods for stages; the engine uses the others."""

    def __init__(
        self,
        request: RunRequest,
        folder: Path,
        plugins: PluginRuntime,
        journal: Journal,
        bus: Bus,
        pipeline: Pipeline,
        *,
        middleware: Mapping[str, Middleware],
        asker: Asker | None = None,
    ) -> None:
        self.request = request
        self.id = request.run_id
        self.question = request.question
        self.tags: Mapping[str, str] = request.tags
        self.principal: Principal | None = request.principal
        self.folder = folder
        self.plugins = plugins
        self.settings = plugins.settings
        self.choices = (*((request.route,) if request.route else ()), *plugins.loaded.choices)
        self.journal = journal
        self.bus = bus
        self.rounds_left = 0
        # A replay writes nothing.
        self.readonly = journal.readonly
        self.stages = tuple(step.name for step in pipeline.steps())
        self.finds_sources = pipeline.finds_sources
        secrets, retry = secrets_of_run(request, plugins), plugins.settings.retry
        self.state = RunState(secrets, self.stages)
        self.budget = budget_for(plugins.settings, pipeline)
        self.calls = CallPath(
            self,
            journal,
            self.budget,
            bus,
            retry=RetryPolicy(retry.attempts, retry.base),
            secrets=secrets,
            middleware=middleware,
            offline=journal.readonly,
            answers=None if journal.readonly else plugins.answers,
            principal=request.principal.id if request.principal else "",
        )
        self.questions = Questions(self._questions_changed, self._asked, asker)
        # Write the summary, now and soon; set by the session.
        self.status_changed: Callable[[], Awaitable[None]]
        self.step_changed: Callable[[], object]
        self.forget_session()
        # The spans of the running stages, by name.
        self._stage_spans: dict[str, str] = {}
        self._prefetch = Prefetch()
        self._models = TaskPerformer(plugins, self.calls, self._notice, lambda: self.budget.in_closing_stage)
        self._search = EngineSearch(plugins, self.calls, self._notice)
        self._reader = DocumentReader(plugins, self.calls, self._notice)

    # --- models, engines, documents ----------------------------------------------------------------------------------

    async def perform(self, task: Task[R], /) -> R:
        return await self._models.perform(task)

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return await self._models.by_chat(task, role)

    async def model_of(self, task: str) -> str:
        """Return the model that comes first for a task, as PROVIDER:MODEL; empty if an algorithm does it."""
        return await self._models.model_of(task)

    async def search(self, request: SearchRequest, /) -> SearchPage:
        # Findings are files for others: only `metadata.json`, which is the operator's, has tracebacks and folders.
        try:
            page = await self._search.search(request)
        except CallFailed as error:
            raise type(error)(self._without_folder(error.record), error.key, error.causes) from error
        told = (one.model_copy(update={"detail": "", "traceback": ""}) for one in page.failures)
        return page.model_copy(update={"failures": tuple(map(self._without_folder, told))})

    def _without_folder(self, failure: Failure) -> Failure:
        return failure.model_copy(update={"message": failure.message.replace(str(self.folder.parent), "…")})

    async def fetch(self, request: FetchRequest, /) -> Document:
        return await self._reader.read(request)

    async def parse(self, blob: Blob) -> Document:
        """Parse a file with the first parser that accepts it."""
        return await self._reader.parse(blob)

    async def download(self, request: FetchRequest, /) -> Blob:
        return await self._reader.fetch(request)

    # --- questions, own calls ----------------------------------------------------------------------------------------

    async def ask(self, message: str, json_schema: Json, default: Json | None = None, *, wait: float = 300) -> Answer:
        question = UserQuestion(message=message, json_schema=json_schema)
        # An answer that was given in an earlier session needs nobody.
        if self.questions.asker is None and not self.calls.is_stored(_ASK, question, provider=_PERSON):
            if default is None:
                raise NeedsClarification(message)
            return Answer(action="accept", content=default)

        async def do(question: UserQuestion, call: Call) -> Answer:
            return await self.questions.ask(question, call, wait)

        try:
            return await self.calls.call(_ASK, question, do, provider=_PERSON, task="ask")
        except CallFailed as failed:
            if default is None or failed.record.type != Unanswered.__name__:
                raise
            return Answer(action="accept", content=default)

    async def answer(self, question_id: str, answer: Answer) -> None:
        """Answer an open question and wait until the answer is stored. Raises `UsageError` and `LeadlineError`."""
        if any((row.key, row.kind, row.outcome) == (question_id, _ASK.name, "reply") for row in self.calls.rows()):
            raise AlreadyAnswered(question_id)
        self.questions.answer(question_id, answer)
        await self.calls.ended(question_id)
        if not any(row.key == question_id for row in self.calls.rows()):
            raise LeadlineError(f"the run ended before the answer to question {question_id} was stored")

    async def _questions_changed(self) -> None:
        if self.state.status in ("running", "waiting"):
            self.state.status = "waiting" if self.questions.open else "running"
            await self.status_changed()

    async def _asked(self, question: OpenQuestion) -> None:
        data = {"id": question.id, "message": question.message, "schema": dict(question.json_schema)}
        await self.bus.emit("question", {**data, "seconds": question.seconds})

    async def call(
        self,
        kind: str,
        request: Q,
        do: Callable[[Q, Call], Awaitable[R]],
        reply: type[R],
        *,
        sample: int = 0,
        effect: bool = False,
    ) -> R:
        form = Kind(name=kind, reply=reply, effect=effect)
        return await self.calls.call(form, request, do, provider=ProviderIdentity(name=kind), sample=sample, task=kind)

    # --- the run itself ----------------------------------------------------------------------------------------------

    def now(self) -> datetime:
        return self.request.began

    async def fact(self, name: str, make: Callable[[], Any]) -> Any:
        return await self.calls.fact(name, make)

    async def each(self, items: Sequence[T], do: Callable[[T], Awaitable[U]]) -> list[U]:
        return await each(items, do)

    def prefetch(self, work: Coroutine[Any, Any, object], /) -> None:
        self._prefetch.start(work)

    async def close(self) -> None:
        """Cancel prefetched work and calls in flight."""
        await self._prefetch.stop()
        await self.calls.close()

    async def save(self, file: Blob, /) -> Path:
        return await asyncio.to_thread(self._save, file)

    def _save(self, file: Blob) -> Path:
        path = path_inside(self.folder, file.name)
        return path if self.readonly else write_atomically(path, file.data)

    async def emit(self, kind: str, data: Json) -> None:
        """Send an event to every observer. A notice is sent once, and stored with the current call for replays."""
        if kind == "notice":
            message = str(data.get("message", ""))
            if call := current_call.get():
                call.notices.append(message)
            if not self.state.add_notice(message):
                return
        await self.bus.emit(kind, data)

    async def _notice(self, message: str) -> None:
        await self.emit("notice", {"message": message})

    @property
    def notices(self) -> tuple[str, ...]:
        """The notices of the run so far, without those of the settings; sorted, because their order varies."""
        return tuple(sorted({*self.state.notices} - {*self.plugins.loaded.notices}))

    @property
    def models(self) -> tuple[str, ...]:
        return models(self.calls.rows())

    # --- for the engine ----------------------------------------------------------------------------------------------

    async def shuts_down_before(self, number: int) -> bool:
        """Return whether the run winds down, or did when it was recorded, before this round of the loop."""
        return await self.calls.shuts_down_before(f"round {number}")

    async def stage(self, step: Step) -> Any:
        """Return the stage plugin."""
        return await self.plugins.instance("stages", step.name).open()

    @contextmanager
    def in_stage(self, step: Step) -> Iterator[None]:
        """Attribute calls and faults of this context to the stage; a closing stage may use the reserved budget."""
        name, span = current_stage.set(step.name), stage_span.set(self._stage_spans.get(step.name, ""))
        try:
            if step.closing:
                with self.budget.closing():
                    yield
            else:
                yield
        except BaseException as error:
            if isinstance(error, LeadlineError) or is_cancellation(error):
                raise
            plugin = str(self.plugins.loaded.plugins[step.name]).removeprefix("plugin ")
            raise PluginFault(f"stage {plugin} raised {words(error)}; this is a bug in the plugin") from error
        finally:
            current_stage.reset(name)
            stage_span.reset(span)

    def forget_session(self) -> None:
        """Let go of the session, which holds the findings."""
        self.status_changed, self.step_changed = _nothing, lambda: None

    async def report_progress(self, step: str, status: Any, data: dict[str, Any]) -> None:
        """Record and emit the progress of a stage, which is a span from its start to its end."""
        self.state.set_step(step, "idle" if data.get("idle") else status, str(data.get("reason", "")))
        self.step_changed()
        if status == "started":
            self._stage_spans[step] = new_span()
        # A stage that could not start has no span.
        span = self._stage_spans.get(step, "") if status == "started" else self._stage_spans.pop(step, "")
        await self.bus.emit("progress", {"step": step, "status": status, "data": data}, span_id=span)

    async def save_finding(self, key: Key[Any], value: Any) -> None:
        """Save a finding as JSON in the file that its key names."""
        data = json_bytes(value, indent=1) + b"\n"
        await self.save(Blob(name=key.file, media_type="application/json", data=data))


async def _nothing() -> None:
    return


def secrets_of_run(request: RunRequest, plugins: PluginRuntime) -> Secrets:
    """Return the secrets of the settings and the credential of the principal."""
    credential = request.principal.credential if request.principal else None
    own = [credential.get_secret_value()] if credential else []
    return Secrets([*plugins.loaded.secrets, *own], plugins.loaded.private)


def budget_for(settings: Settings, pipeline: Pipeline) -> Budget:
    """Return the budget of the settings; its reserve is for the closing stages."""
    limits = Limits(
        model_calls=settings.budget.model_calls,
        tokens=settings.budget.tokens,
        queries=settings.research.max_queries,
        money=settings.budget.money,
        seconds=settings.budget.seconds,
    )
    ask_models = any(step.closing and step.offer.tasks for step in pipeline.steps())
    return Budget(limits, reserve=settings.budget.reserve, ask_models=ask_models)
