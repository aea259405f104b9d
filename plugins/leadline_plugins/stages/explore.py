"""Stage `explore`: a model searches and reads with tools until it has enough.

It replaces `query`, `search` and `fetch` and sets the same findings. Without a model that calls tools it does what they
do, and emits a notice.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Collection, Sequence
from dataclasses import dataclass

from pydantic import Field, ValidationError

from leadline.contracts import StageRun
from leadline.errors import CallFailed, CallRefused
from leadline.estimates import Expected, Scope
from leadline.findings import Findings
from leadline.plugin import PluginSettings, stage
from leadline.records import Json, Message, Notice, Source, ToolCall
from leadline.research_findings import (
    DIGEST,
    EVIDENCE,
    FOUND,
    PLAN,
    QUESTION,
    REVIEW,
    SOURCES,
    TASKS,
    UNREAD,
    Digest,
    Found,
    Unread,
)
from leadline.tasks import TaskKind, as_json, fenced
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.fallback import notify
from leadline_plugins.prompting.inputs import past_searches, template
from leadline_plugins.prompting.research_tasks import ExploreRequest
from leadline_plugins.prompting.shrinking import drop_older_results, without_calls, without_results
from leadline_plugins.stages import query
from leadline_plugins.stages.fetch import FetchStage
from leadline_plugins.stages.query import answered
from leadline_plugins.stages.search import SearchStage
from leadline_plugins.stages.tools.exploration import Exploration
from leadline_plugins.stages.tools.exploration_tools import RESPOND, TOOLS, WEB_FETCH

# Calls of one reply that are executed.
MAX_CALLS = 10
_BY_NAME = {kind.name: kind for kind in TOOLS}


@dataclass(frozen=True)
class ToolResult:
    """The result of a call as the model reads it."""

    text: str
    failed: bool = False


class ToolCalls:
    """Executes tool calls of an exploration; `mask` names the tools of the pipeline, empty for all."""

    def __init__(self, exploration: Exploration, mask: Collection[str]) -> None:
        self._exploration = exploration
        self._mask = mask or tuple(_BY_NAME)
        usable = (kind.name for kind in TOOLS if not kind.unusable(exploration.run))
        self._usable = tuple(name for name in usable if name in self._mask)
        self._misused: set[str] = set()

    def allowed(self, left: int) -> tuple[str, ...]:
        """Return the tools that a reply may call if `left` replies follow; the last may only call `respond`."""
        return self._usable if left else tuple(name for name in self._usable if name == RESPOND.name)

    async def execute(self, calls: Sequence[ToolCall], left: int) -> list[ToolResult]:
        """Return the results of the calls, in their order."""
        started = [self._start(call, left, index) for index, call in enumerate(calls)]
        return await self._exploration.run.each(started, lambda work: work)

    def _start(self, call: ToolCall, left: int, index: int) -> Awaitable[ToolResult]:
        """Start a call, or refuse it with a reason for the model."""
        if index >= MAX_CALLS:
            return _refused(f"Not done: {MAX_CALLS} calls in one reply are carried out at most.")
        kind = _BY_NAME.get(call.name)
        if kind is None or call.name not in self._mask:
            names = ", ".join(self._usable)
            return _refused(f"Refused: {json.dumps(call.name)} is no tool of this pipeline. It has: {names}.")
        if reason := kind.unusable(self._exploration.run):
            return _refused(f"Refused: {reason}.")
        if call.name not in self.allowed(left):
            return _refused(f"Refused: the replies are spent, and only {RESPOND.name} was left.")
        try:
            arguments = kind.arguments.model_validate(None if call.unread else dict(call.arguments))
        except ValidationError as error:
            return _refused(self._wrong_arguments(call.name, error))
        self._misused.discard(call.name)
        return _result(kind.do(arguments, self._exploration))

    def _wrong_arguments(self, name: str, error: ValidationError) -> str:
        """Return the fault of the arguments; the second time in a row the call is only dropped."""
        if name in self._misused:
            return f"Dropped: the arguments of {name} are unusable again."
        self._misused.add(name)
        first = error.errors(include_url=False, include_input=False)[0]
        location = ".".join(map(str, first["loc"]))
        problem = f"{location}: {first['msg']}" if location else "the arguments are no JSON object"
        form = json.dumps(_BY_NAME[name].form, ensure_ascii=False)
        return f"Not done: {problem}. Call it once more with arguments of this schema: {form}"


async def _refused(reason: str) -> ToolResult:
    return ToolResult(reason, failed=True)


async def _result(work: Awaitable[Json]) -> ToolResult:
    """Return the result of a tool as fenced data, also a failure, whose message may come from outside."""
    try:
        data = await work
    except CallFailed as failed:
        data = {"error": failed.record.text}
    return ToolResult(fenced(as_json(data)), failed="error" in data)


_TOOLS = tuple(kind.tool for kind in TOOLS)
_PLAIN_SEARCH = Notice("the queries of the plan were searched instead of an exploration by the model", "as_usual")
_NO_MODEL = Notice("no language model is configured for it", "no_first_model")


class ExploreSettings(PluginSettings):
    """Limits of the exploration, and what each of its prompts keeps."""

    steps: int = Field(8, ge=1, le=50, description="Maximum number of model replies.")
    page: int = Field(4_000, ge=200, description="Characters of a page that the model reads at once.")
    append_only: bool = Field(
        True, description="Never change earlier messages, so that prompt caches hit; else old results are left out."
    )
    recite: bool = Field(True, description="Repeat the open points of the plan at the end of each prompt.")
    keep_errors: bool = Field(True, description="Keep failed tool calls in view; else later prompts omit them.")


class ExploreStage:
    """Runs the exploration and stores its searches and pages in the findings."""

    def __init__(self, settings: ExploreSettings) -> None:
        self._settings = settings

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Set search tasks, results and sources, and add the model's answer to the digest."""
        if not findings[TASKS] and answered(findings.get(DIGEST)):
            findings[TASKS], findings[FOUND], findings[SOURCES] = (), (), ()
            findings.end_loop("earlier sources answer the question")
            return
        exploration = Exploration(
            run,
            findings[QUESTION],
            findings[PLAN],
            findings[TASKS],
            findings[FOUND],
            findings[SOURCES],
            self._settings.page,
        )
        if not await run.by_chat(TASK.name, TASK.role):
            await self._search_plainly(findings, run, _NO_MODEL)
            return
        reason, refused = Notice("the model made no search", "no_search"), False
        try:
            tool_calls = ToolCalls(exploration, run.settings.tools)
            await _ToolLoop(exploration, tool_calls, self._settings).run(await self._opening(exploration, findings))
        except CallFailed as failed:
            reason, refused = failed.record.text, isinstance(failed, CallRefused)
            if refused and exploration.untouched:
                raise
            if not exploration.untouched:
                ended = "the exploration ended before the model had finished ({reason})"
                await notify(run, ended, "broken_off", reason=reason)
        if exploration.untouched:
            await self._search_plainly(findings, run, reason)
            return
        if not exploration.tasks and not exploration.pages:
            findings.end_loop("the exploration added nothing new")
        await self._store(exploration, findings, () if refused else await self._read_if_unread(exploration, findings))

    async def _read_if_unread(self, exploration: Exploration, findings: Findings) -> Sequence[Source | Unread]:
        """Return the best pages if the model read none although it could: weak models forget to read."""
        mask = exploration.run.settings.tools
        hits = any(search.hits for search in exploration.found)
        if exploration.sources or exploration.read_before or not hits or (mask and WEB_FETCH.name not in mask):
            return ()
        none_read = "the model read none of the pages it found: the best were read as usual"
        await notify(exploration.run, none_read, "read_nothing")
        return await _best_pages(exploration.found, findings, exploration.run)

    async def _opening(self, exploration: Exploration, findings: Findings) -> ExploreRequest:
        review, digest = findings.get(REVIEW), findings.get(DIGEST)
        gaps = review.priority_gaps if review else digest.knowledge_gaps if digest else ()
        return ExploreRequest(
            question=exploration.question,
            plan=exploration.plan,
            steps=self._settings.steps,
            searches=exploration.searches_left,
            past=past_searches(exploration.before, findings[SOURCES]),
            gaps=gaps,
        )

    async def _store(self, exploration: Exploration, findings: Findings, others: Sequence[Source | Unread]) -> None:
        findings[TASKS], findings[FOUND] = tuple(exploration.tasks), exploration.found
        _store_pages((*exploration.sources, *exploration.unread, *others), findings)
        if exploration.answer is None:
            return
        if exploration.answer.strip():
            await exploration.run.emit("message", {"kind": "learning", "text": exploration.answer})
        last = findings.get(DIGEST) or Digest()
        update = {
            "synthesis": f"{last.synthesis}\n\n{exploration.answer}".strip(),
            "knowledge_gaps": exploration.missing,
        }
        findings[DIGEST] = last.model_copy(update=update | {"review": None, "queries": ()})

    async def _search_plainly(self, findings: Findings, run: StageRun, reason: Notice) -> None:
        """Search and read as the stages `query`, `search` and `fetch` do."""
        await notify(run, _PLAIN_SEARCH.because(reason))
        tasks = await query.next_tasks(findings, run)
        results = [
            result
            for many in await run.each(tasks, lambda task: SearchStage().map(task, findings, run))
            for result in many
        ]
        findings[TASKS], findings[FOUND] = tasks, tuple(results)
        _store_pages(await _best_pages(results, findings, run), findings)


class _ToolLoop:
    """The loop: turns of the model and the results of its tool calls, each appended to the prompt.

    Earlier messages never change, so that providers' prefix caches work; errors stay visible; the open points come
    last. Each has a switch. Everything depends on replies and findings alone, so a resumed run is answered from the
    journal.
    """

    def __init__(self, exploration: Exploration, tool_calls: ToolCalls, settings: ExploreSettings) -> None:
        self._exploration = exploration
        self._tool_calls = tool_calls
        self._settings = settings
        self._turns: list[Message] = []
        # The places of the results of calls that failed; ids of calls may repeat from reply to reply.
        self._failed: set[int] = set()

    async def run(self, opening: ExploreRequest) -> None:
        """Repeat until the model responds or its steps are spent. Raises `CallFailed` if no model answers."""
        for left in reversed(range(self._settings.steps)):
            allowed = self._tool_calls.allowed(left)
            turn = {
                "turns": self._shown_turns(),
                "tools": _TOOLS,
                "allowed": None if len(allowed) == len(_TOOLS) else allowed,
            }
            reply = await self._exploration.run.perform(TASK.of(opening.model_copy(update=turn)))
            if not reply.tool_calls:
                self._exploration.answer = reply.text
            else:
                self._turns += [reply, *await self._results(reply, left)]
            if self._exploration.answer is not None:
                return

    def _shown_turns(self) -> tuple[Message, ...]:
        """Return the turns as the next prompt shows them; those since the last reply are always whole."""
        last = max((index for index, turn in enumerate(self._turns) if turn.role == "assistant"), default=0)
        earlier, latest = self._turns[:last], self._turns[last:]
        if not self._settings.append_only:
            earlier = without_results(earlier)
        if not self._settings.keep_errors:
            earlier = without_calls(earlier, self._failed)
        return (*earlier, *latest)

    async def _results(self, reply: Message, left: int) -> list[Message]:
        done = await self._tool_calls.execute(reply.tool_calls, left)
        begin = len(self._turns) + 1  # after the reply
        self._failed |= {begin + index for index, result in enumerate(done) if result.failed}
        results = [result.text for result in done]
        if self._settings.recite:
            results[-1] += f"\n\n{self._open_points(left)}"
        return [
            Message(role="tool", text=text, tool_call_id=call.id)
            for call, text in zip(reply.tool_calls, results, strict=True)
        ]

    def _open_points(self, left: int) -> str:
        """Return the open points; at the end of the prompt models pay most attention to them."""
        titles = [
            f"{section.id} {json.dumps(section.title, ensure_ascii=False)}"
            for section in self._exploration.open_points()
        ]
        points = f"Nothing was read yet for: {'; '.join(titles)}." if titles else "Something was read for each section."
        rest = f"Replies left: {left}; searches left: {max(0, self._exploration.searches_left)}."
        return f"{points} {rest}" + (f" The next reply is the last: call {RESPOND.name}." if left == 1 else "")


async def _best_pages(results: Sequence[Found], findings: Findings, run: StageRun) -> list[Source | Unread]:
    reading = FetchStage()
    read = [page for many in await run.each(results, lambda item: reading.map(item, findings, run)) for page in many]
    return [*read, *await reading.rest(results, findings, run)]


def _store_pages(read: Sequence[Source | Unread], findings: Findings) -> None:
    findings[SOURCES] = tuple(item for item in read if isinstance(item, Source))
    findings[UNREAD] = tuple(item for item in read if isinstance(item, Unread))


def _estimate(scope: Scope) -> Expected:
    settings = dict(scope.settings.plugins).get("explore", ExploreSettings())
    return estimates.explore(scope, settings.steps, settings.page)


TASK = TaskKind("explore", ExploreRequest, Message, template("explore"), shrink=drop_older_results, expects=_estimate)


stage(
    "Has the model search and read by itself, with tools, until it has enough",
    settings=ExploreSettings,
    needs=(QUESTION, PLAN),
    wants=(TASKS, FOUND, SOURCES, EVIDENCE, DIGEST, REVIEW),
    gives=(TASKS, FOUND, SOURCES),
    may_give=(UNREAD, DIGEST),
    ends_loop=True,
    uses=(TASK, *_TOOLS, "search.engines", "read.fetchers"),
)(ExploreStage)
