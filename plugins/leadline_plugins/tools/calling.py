"""How a model's calls are carried out: those of a reply side by side, under the mask; what cannot be is told it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Collection, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from leadline.errors import CallFailed
from leadline.records import Json, ToolCall
from leadline.tasks import as_json, fenced
from leadline_plugins.tools import TOOLS
from leadline_plugins.tools.desk import Desk
from leadline_plugins.tools.respond import RESPOND

AT_ONCE = 10
"""Calls of one reply that are carried out."""
_BY_NAME = {kind.name: kind for kind in TOOLS}


@dataclass(frozen=True)
class Brought:
    """What came of a call, as the model reads it."""

    text: str
    failed: bool = False


class Calling:
    """The tools at a desk; `mask` names those that the pipeline has, none: all."""

    def __init__(self, desk: Desk, mask: Collection[str]) -> None:
        self._desk = desk
        self._mask = mask or tuple(_BY_NAME)
        usable = (kind.name for kind in TOOLS if not kind.lacking(desk.run))
        self._usable = tuple(name for name in usable if name in self._mask)
        self._misused: set[str] = set()

    def allowed(self, left: int) -> tuple[str, ...]:
        """Return the tools that may be called in a reply behind which so many are left: in the last only `respond`."""
        return self._usable if left else tuple(name for name in self._usable if name == RESPOND.name)

    async def carry_out(self, calls: Sequence[ToolCall], left: int) -> list[Brought]:
        """Return what came of the calls, in their order."""
        begun = [self._begun(call, left, place) for place, call in enumerate(calls)]
        return await self._desk.run.each(begun, lambda work: work)

    def _begun(self, call: ToolCall, left: int, place: int) -> Awaitable[Brought]:
        """Begin a call, or refuse it in words that the model can read."""
        if place >= AT_ONCE:
            return _said(f"Not done: {AT_ONCE} calls in one reply are carried out at most.")
        kind = _BY_NAME.get(call.name)
        if kind is None or call.name not in self._mask:
            there = ", ".join(self._usable)
            return _said(f"Refused: {json.dumps(call.name)} is no tool of this pipeline. It has: {there}.")
        if reason := kind.lacking(self._desk.run):
            return _said(f"Refused: {reason}.")
        if call.name not in self.allowed(left):
            return _said(f"Refused: the replies are spent, and only {RESPOND.name} was left.")
        try:
            arguments = kind.arguments.model_validate(None if call.unread else dict(call.arguments))
        except ValidationError as error:
            return _said(self._unusable(call.name, error))
        self._misused.discard(call.name)
        return _brought(kind.do(arguments, self._desk))

    def _unusable(self, name: str, error: ValidationError) -> str:
        """Return what is wrong with arguments; the second time in a row the call is only dropped."""
        if name in self._misused:
            return f"Dropped: the arguments of {name} are unusable again."
        self._misused.add(name)
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        problem = f"{place}: {first['msg']}" if place else "the arguments are no JSON object"
        form = json.dumps(_BY_NAME[name].form, ensure_ascii=False)
        return f"Not done: {problem}. Call it once more with arguments of this schema: {form}"


async def _said(words: str) -> Brought:
    return Brought(words, failed=True)


async def _brought(work: Awaitable[Json]) -> Brought:
    """Return what a tool brought, fenced: also its failure, whose words may come from outside."""
    try:
        brought = await work
    except CallFailed as failed:
        brought = {"error": failed.record.text}
    return Brought(fenced(as_json(brought)), failed="error" in brought)
