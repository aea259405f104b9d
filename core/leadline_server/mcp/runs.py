"""The runs that MCP clients start and watch, over the public API of `leadline`.

The server owns the runs: they go on when a client is gone. A run whose process was killed is continued by whoever waits
for its result.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from leadline import Client
from leadline.api import RunHandle
from leadline.citations import number
from leadline.errors import LeadlineError, UsageError
from leadline.records import Answer, Evidence, Report, Verdict
from leadline.runs import Metadata, Result
from leadline_server.mcp.records import AskedQuestion, PassageView, RunState, Verdicts, VerdictView

# Anything else never becomes a path.
_RUN_ID = re.compile(r"[0-9a-f]{8}_[0-9]{8}_[0-9]{6}")
# Seconds between looks at a run; that of this process is noticed at once when it ends.
_POLL = 0.5
# Seconds that an interrupted run has to ask its question again.
_REOPEN = 30.0
_MARKDOWN = "report.md"

Beat = Callable[[RunState, float], Awaitable[None]]


class Runs:
    """The runs of one principal, or those without one."""

    def __init__(self, client: Client, principal: str | None = None) -> None:
        self._client = client
        self._principal = principal
        self._handles: dict[str, RunHandle] = {}
        self._ended: dict[str, asyncio.Event] = {}

    async def start(self, question: str, pipeline: str = "") -> str:
        """Start a run and return its id. Raises `LeadlineError`."""
        order = self._client.order(
            question, set={"pipeline": pipeline} if pipeline else None, principal=self._principal
        )
        self._keep(await self._client.run(order, interactive=True))
        return order.run_id

    async def resume(self, run_id: str) -> None:
        """Continue a run that was interrupted, cancelled or failed. Raises `LeadlineError`."""
        if run_id not in self._handles:
            folder = await self._folder(run_id)
            self._keep(await self._client.resume(folder, interactive=True, principal=self._principal))

    async def state(self, run_id: str) -> RunState:
        """Return a run as of now. Raises `UsageError` if there is none."""
        if handle := self._handles.get(run_id):
            metadata = handle.snapshot()
            return _state(metadata, metadata.status)
        found = await asyncio.to_thread(self._client.find, await self._folder(run_id))
        if found.metadata is None:
            raise LeadlineError(f"the state of the run {run_id} cannot be read; `leadline resume {run_id}` restores it")
        return _state(found.metadata, found.status)

    async def wait(self, run_id: str, seconds: float, every: float, beat: Beat) -> RunState:
        """Return the run when it ended, when it asks a question, or after `seconds`; call `beat` at intervals."""
        clock = asyncio.get_running_loop().time
        begin, next_beat = clock(), every
        while True:
            state = await self.state(run_id)
            passed = clock() - begin
            if not state.works or passed >= seconds:
                return state
            if passed >= next_beat:
                await beat(state, passed)
                next_beat = passed + every
            await self._pause(run_id, min(_POLL, max(0.0, seconds - passed)))

    async def result(self, run_id: str) -> RunState:
        """Return a run, with its report if it has one."""
        state = await self.state(run_id)
        if state.status not in ("complete", "partial"):
            return state
        return state.model_copy(update={"report": await self.markdown(run_id), "resources": _resources(run_id)})

    async def answer(self, run_id: str, question_id: str, answer: Answer | str) -> None:
        """Answer a question; without an id the only open one. An interrupted run is continued to ask it again.

        Raises `UsageError` if no such question is open.
        """
        state = await self.state(run_id)
        if state.status == "interrupted":
            await self.resume(run_id)
            state = await self.wait(run_id, _REOPEN, _REOPEN, _silent)
        asked = [one for one in state.questions if question_id in ("", one.id)]
        if len(asked) != 1:
            names = ", ".join(one.id for one in state.questions) or f"none; the run is {state.status}"
            raise UsageError(f"name the question that is answered; open questions: {names}")
        given = answer if isinstance(answer, Answer) else Answer(action="accept", content=_content(asked[0], answer))
        await self._client.answer(await self._folder(run_id), asked[0].id, given, principal=self._principal)

    async def cancel(self, run_id: str, reason: str) -> None:
        """Cancel a run of this or another process; nothing happens if it has ended. Raises `LeadlineError`."""
        if handle := self._handles.get(run_id):
            await handle.cancel(reason)
        elif (await self.state(run_id)).status in ("pending", "running", "waiting"):
            await self._client.cancel(await self._folder(run_id), reason, principal=self._principal)

    def cancel_soon(self, run_id: str, reason: str) -> None:
        """Cancel a run of this process without waiting, in code that is being cancelled itself."""
        if handle := self._handles.get(run_id):
            handle.cancel_soon(reason)

    async def all_ended(self) -> None:
        """Return when no run of this process is left."""
        while events := tuple(self._ended.values()):
            await asyncio.gather(*(event.wait() for event in events))

    async def report(self, run_id: str) -> Report:
        """Return the report of a run as data. Raises `LeadlineError` if it has none."""
        state = await self.state(run_id)
        if state.works:
            raise UsageError(f"the run {run_id} is {state.status}: it has no report yet")
        return await self._client.report(await self._folder(run_id), principal=self._principal)

    async def markdown(self, run_id: str) -> str:
        """Return the report of a run as Markdown with numbered sources."""
        file = await self._folder(run_id) / _MARKDOWN
        if await asyncio.to_thread(file.is_file):
            return await asyncio.to_thread(file.read_text, encoding="utf-8")
        report = await self.report(run_id)  # the settings do not name the format `markdown`
        found = await asyncio.to_thread(self._client.find, await self._folder(run_id))
        assert found.metadata is not None
        text = Result(found.metadata.status, "", 0, found.folder, found.metadata, report).text
        sources = [
            f"{key}. {source.hit.title or source.hit.url} {source.hit.url}" for key, source in number(report).cited
        ]
        return "\n\n".join([text, "## Sources", "\n".join(sources)])

    async def passage(self, run_id: str, evidence_id: str) -> PassageView:
        """Return a passage of a report. Raises `UsageError` if it has no such passage."""
        report = await self.report(run_id)
        found = next((one for one in report.evidence if one.id == evidence_id), None)
        source = next((one for one in report.sources if found and one.id == found.source_id), None)
        if found is None or source is None:
            raise UsageError(f"the report of {run_id} has no passage {evidence_id!r:.80}")
        return PassageView(
            **found.model_dump(include={"id", "quote", "path", "page"}),
            title=source.hit.title or source.document.title,
            url=source.hit.url,
            published=source.hit.published or source.document.published,
            verdicts=tuple(_verdict(one) for one in report.verdicts if _concerns(one, found)),
        )

    async def verdicts(self, run_id: str) -> Verdicts:
        """Return the verdicts of a report."""
        report = await self.report(run_id)
        known: Any = report.metadata.get("verification") or {}
        return Verdicts(
            passed=bool(known.get("passed")),
            claims=known.get("claims") or {},
            verdicts=tuple(map(_verdict, report.verdicts)),
            uncited=tuple(one.text for one in report.uncited),
        )

    async def _folder(self, run_id: str) -> Path:
        if not _RUN_ID.fullmatch(run_id):
            raise UsageError(f"{run_id!r:.80} is not the id of a run, such as 1a2b3c4d_20260131_120000")
        folder = self._client.runs_folder(principal=self._principal).absolute() / run_id
        if not await asyncio.to_thread(folder.is_dir):
            raise UsageError(f"there is no run {run_id}")
        return folder

    def _keep(self, handle: RunHandle) -> None:
        handle.events().close()  # without a reader they would be kept until the end
        self._handles[handle.id] = handle
        self._ended.setdefault(handle.id, asyncio.Event())
        handle.when_ended(self._forget)

    def _forget(self, handle: RunHandle) -> None:
        if self._handles.get(handle.id) is handle:
            del self._handles[handle.id]
            self._ended.pop(handle.id).set()

    async def _pause(self, run_id: str, seconds: float) -> None:
        if event := self._ended.get(run_id):
            try:
                await asyncio.wait_for(event.wait(), seconds)
            except TimeoutError:
                return
        else:
            await asyncio.sleep(seconds)


async def _silent(state: RunState, seconds: float) -> None:
    """Report no progress."""


def _state(metadata: Metadata, status: str) -> RunState:
    done = sum(step.status == "finished" for step in metadata.steps)
    asked = tuple(
        AskedQuestion(id=one.id, message=one.message, json_schema=one.json_schema, seconds=one.seconds)
        for one in metadata.questions
    )
    if status == "waiting" and not asked:
        status = "running" if metadata.ended is None else status
    claims: Any = metadata.verification.get("claims") or {}
    return RunState(
        id=metadata.run_id,
        status=status,
        question=metadata.question,
        step=metadata.current_step,
        steps=f"{done}/{len(metadata.steps)}",
        seconds=round(metadata.seconds, 1),
        reason=metadata.reason,
        notices=metadata.notices,
        questions=asked if status == "waiting" else (),
        claims=claims,
        hint=_hint(status, metadata.run_id),
    )


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


def _content(question: AskedQuestion, text: str) -> dict[str, Any]:
    """Return the content of an answer in words: the only property of its schema. Raises `UsageError`."""
    properties: Any = question.json_schema.get("properties") or {}
    if len(properties) != 1:
        raise UsageError(f"the answer has the fields {', '.join(properties)}: pass it as an object")
    return {next(iter(properties)): text}


def _concerns(verdict: Verdict, passage: Evidence) -> bool:
    return passage.id in (verdict.evidence_id, *verdict.claim.evidence_ids)


def _verdict(verdict: Verdict) -> VerdictView:
    return VerdictView(
        claim=verdict.claim.text,
        evidence=verdict.claim.evidence_ids,
        **verdict.model_dump(include={"verdict", "quote", "reason", "judge", "confidence"}),
    )
