"""The runs of one principal as the tools see them, over a `RunService`: waiting, results, answers in words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from leadline import Client
from leadline.citations import number
from leadline.commands.questions import content_of
from leadline.errors import JournalBusy, UsageError
from leadline.inventory import InstalledPipeline
from leadline.records import Answer, Report
from leadline.run_summary import ACTIVE
from leadline.runs import OpenQuestion, report_text
from leadline_server.evidence import evidence_view
from leadline_server.mcp.records import AskedQuestion, RunState, Verdicts
from leadline_server.pipelines import Pipelines
from leadline_server.problems import Problem
from leadline_server.requests import NewRun, order
from leadline_server.views import EvidenceView, RunView

# Seconds between looks at a run: the first, which grow to the last.
_POLLS = 0.05, 0.5
# Seconds that a run has to end, or to be let go by its process.
_REOPEN = 30.0
_MARKDOWN = "report.md"

Beat = Callable[[RunState, float], Awaitable[None]]


class RunService(Protocol):
    """The operations that the tools need: of `leadline_server.service.Service`, or of this process (`LocalService`).

    They raise `Problem` or `LeadlineError`.
    """

    client: Client
    pipelines: Pipelines

    async def order(self, body: NewRun, principal: str | None, key: str | None = None) -> str:
        """Accept a question and return the id of its run."""
        ...

    async def view(self, run_id: str, principal: str | None) -> RunView: ...

    async def report(self, run_id: str, principal: str | None) -> Report: ...

    async def file(self, run_id: str, name: str, principal: str | None) -> Path: ...

    async def answer(self, run_id: str, principal: str | None, question_id: str, answer: Answer) -> object: ...

    async def cancel(self, run_id: str, principal: str | None, reason: str) -> object:
        """End an active run at once."""
        ...

    async def resume(self, run_id: str, principal: str | None) -> None:
        """Continue a run that has ended."""
        ...


class Runs:
    """The runs of one principal, or those without one. `closing` tells that the server is about to end.

    With `only_reads`, nothing is started, continued, answered, cancelled or judged.
    """

    def __init__(
        self,
        service: RunService,
        principal: str | None = None,
        closing: Callable[[], bool] = lambda: False,
        *,
        only_reads: bool = False,
    ) -> None:
        self.closing, self._only_reads = closing, only_reads
        self._service, self._principal = service, principal
        self._cancelling: set[asyncio.Task[None]] = set()

    @property
    def client(self) -> Client:
        """The client whose settings hold for the runs."""
        return self._service.client

    def check_change(self) -> None:
        """Raise `Problem` for a reader."""
        if self._only_reads:
            raise Problem(403, "role", "readers start and change nothing")

    async def pipelines(self) -> dict[str, InstalledPipeline]:
        """Return the pipelines that can run, by name."""
        return await self._service.pipelines.able()

    async def start(self, question: str, pipeline: str = "") -> str:
        self.check_change()
        return await self._service.order(order(question=question, pipeline=pipeline), self._principal)

    async def resume(self, run_id: str) -> None:
        """Continue a run that was interrupted, cancelled or failed; one that is active goes on."""
        self.check_change()
        if (await self.state(run_id)).status in ACTIVE:
            return None
        until = asyncio.get_running_loop().time() + _REOPEN
        while True:
            try:
                return await self._service.resume(run_id, self._principal)
            except (JournalBusy, Problem) as error:  # it has ended, and its process is about to let it go
                busy = isinstance(error, JournalBusy) or error.body.code == "busy"
                if not busy or asyncio.get_running_loop().time() > until:
                    raise
                await asyncio.sleep(_POLLS[-1])

    async def state(self, run_id: str) -> RunState:
        return _state(await self._service.view(run_id, self._principal))

    async def wait(self, run_id: str, seconds: float, every: float, beat: Beat) -> RunState:
        """Return the run when it ended, when it asks a question, or after `seconds`; call `beat` at intervals."""
        clock = asyncio.get_running_loop().time
        begin, next_beat = clock(), every
        pause, longest = _POLLS
        while True:
            state = await self.state(run_id)
            passed = clock() - begin
            if not state.works or passed >= seconds or self.closing():
                return state
            if passed >= next_beat:
                await beat(state, passed)
                next_beat = passed + every
            await asyncio.sleep(min(pause, max(0.0, seconds - passed)))
            pause = min(longest, pause * 1.5)

    async def result(self, run_id: str) -> RunState:
        state = await self.state(run_id)
        if state.status not in ("complete", "partial"):
            return state
        return state.model_copy(update={"report": await self.markdown(run_id), "resources": _resources(run_id)})

    async def answer(self, run_id: str, question_id: str, answer: Answer | str) -> None:
        """Answer a question; without an id the only open one. Raises `UsageError` if no such question is open."""
        self.check_change()
        state = await self.state(run_id)
        asked = [question for question in state.questions if question_id in ("", question.id)]
        if len(asked) != 1:
            names = ", ".join(question.id for question in state.questions) or f"none; the run is {state.status}"
            raise UsageError(f"name the question that is answered; open questions: {names}")
        if isinstance(answer, str):
            answer = Answer(action="accept", content=content_of(asked[0].json_schema, answer))
        await self._service.answer(run_id, self._principal, asked[0].id, answer)

    async def cancel(self, run_id: str, reason: str) -> None:
        """Cancel a run, and return when it has ended or `_REOPEN` seconds later; nothing happens if it has ended."""
        self.check_change()
        if (await self.state(run_id)).status in ACTIVE:
            await self._service.cancel(run_id, self._principal, reason)
            await self.wait(run_id, _REOPEN, _REOPEN, _silent)

    def cancel_soon(self, run: Awaitable[str], reason: str) -> None:
        """Cancel the run with the awaited id without waiting, in code that is being cancelled itself."""

        async def cancel() -> None:
            await self.cancel(await run, reason)

        task = asyncio.create_task(cancel(), name="cancellation of a run")
        self._cancelling.add(task)
        task.add_done_callback(self._cancelled)

    def _cancelled(self, task: asyncio.Task[None]) -> None:
        self._cancelling.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved: the run had ended, or never began

    async def all_cancelled(self) -> None:
        """Return when every cancellation was carried out."""
        while self._cancelling:
            await asyncio.wait(self._cancelling)

    async def report(self, run_id: str) -> Report:
        """Return the report of a run as data. Raises `UsageError` while it is made."""
        state = await self.state(run_id)
        if state.works:
            raise UsageError(f"the run {run_id} is {state.status}: it has no report yet")
        return await self._service.report(run_id, self._principal)

    async def markdown(self, run_id: str) -> str:
        """Return the report of a run as Markdown with numbered sources."""
        view = await self._service.view(run_id, self._principal)
        if _MARKDOWN in view.files:
            file = await self._service.file(run_id, _MARKDOWN, self._principal)
            return await asyncio.to_thread(file.read_text, encoding="utf-8")
        report = await self.report(run_id)  # the settings do not name the format `markdown`
        sources = [
            f"{key}. {source.hit.title or source.hit.url} {source.hit.url}" for key, source in number(report).cited
        ]
        return "\n\n".join([report_text(report), "## Sources", "\n".join(sources)])

    async def passage(self, run_id: str, evidence_id: str) -> EvidenceView:
        """Return a passage of a report. Raises `Problem` if it has no such passage."""
        return evidence_view(await self.report(run_id), evidence_id, 0)

    async def verdicts(self, run_id: str) -> Verdicts:
        report = await self.report(run_id)
        known: Any = report.metadata.get("verification") or {}
        return Verdicts(
            passed=known.get("passed"),
            claims=known.get("claims") or {},
            verdicts=report.verdicts,
            uncited=tuple(statement.text for statement in report.uncited),
        )


async def _silent(state: RunState, seconds: float) -> None:
    """Report no progress."""


def _state(view: RunView) -> RunState:
    status = view.status
    claims: Any = view.verification.get("claims") or {}
    return RunState(
        run_id=view.id,
        status=status,
        question=view.question,
        pipeline=view.pipeline,
        step=view.current_step,
        steps_finished=sum(step.status in ("finished", "idle") for step in view.steps),
        steps_total=len(view.steps),
        seconds=round(view.seconds, 1),
        reason=view.reason,
        notices=view.notices,
        questions=tuple(map(_question, view.questions)),
        claims=claims,
        missing_words=view.missing_words,
        hint=_hint(status, view.id),
    )


def _question(question: OpenQuestion) -> AskedQuestion:
    return AskedQuestion(**question.model_dump(include=set(AskedQuestion.model_fields)))


def _hint(status: str, run_id: str) -> str:
    match status:
        case "pending" | "running":
            return f"the run goes on; call research_result with run_id {run_id} to wait for its end"
        case "waiting":
            return f"ask the user, then call research_answer with run_id {run_id}"
        case "interrupted":
            return f"its process ended; research_result with run_id {run_id} continues it"
        case "failed" | "cancelled":
            return f"research_start with run_id {run_id} continues it without repeating finished calls"
    return ""


def _resources(run_id: str) -> tuple[str, ...]:
    return f"leadline://runs/{run_id}/report.md", f"leadline://runs/{run_id}/verify.json"
