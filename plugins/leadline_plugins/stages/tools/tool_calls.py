"""The execution of a model's tool calls: those of a reply run in parallel; the model reads why a call was refused."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Collection, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from leadline.errors import CallFailed
from leadline.records import Json, ToolCall
from leadline.tasks import as_json, fenced
from leadline_plugins.stages.tools.exploration import Exploration
from leadline_plugins.stages.tools.exploration_tools import RESPOND, TOOLS

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
