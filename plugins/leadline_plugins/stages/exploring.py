"""The loop of `explore`: the model's turns, and what its calls of tools brought, added one behind the other.

What was said stays as it was said, so that vendors' caches of prefixes hit, and failures stay in view. It all hangs on
replies and findings alone: a resumed run says the same, and is answered from the journal.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Collection
from typing import Any

from pydantic import ValidationError

from leadline.errors import CallFailed
from leadline.records import Json, Message, ToolCall
from leadline.tasks import Task, fenced
from leadline_plugins.tasks import ExploreRequest
from leadline_plugins.tools import TOOLS
from leadline_plugins.tools.desk import Desk
from leadline_plugins.tools.respond import RESPOND

AT_ONCE = 10
"""Calls of one reply that are carried out."""
_SHOWN = tuple(kind.tool for kind in TOOLS)
_BY_NAME = {kind.name: kind for kind in TOOLS}


class Exploring:
    """One exploration; `mask` names the tools that the pipeline has, none: all."""

    def __init__(self, desk: Desk, mask: Collection[str]) -> None:
        self._desk = desk
        self._mask = mask or tuple(_BY_NAME)
        usable = (kind.name for kind in TOOLS if not kind.lacking(desk.run))
        self._allowed = tuple(name for name in usable if name in self._mask)
        self._misused: set[str] = set()

    async def go(self, ask: Any, opening: ExploreRequest) -> None:
        """Go on until the model responds, or its steps are spent. Raises `CallFailed` where no model answers.

        `ask` is the kind of task by which the model is asked.
        """
        turns: tuple[Message, ...] = ()
        for left in reversed(range(opening.steps)):
            allowed = self._allowed if left else tuple(name for name in self._allowed if name == RESPOND.name)
            shown = {"turns": turns, "tools": _SHOWN, "allowed": None if len(allowed) == len(TOOLS) else allowed}
            task: Task[Message] = ask.of(opening.model_copy(update=shown))
            said = await self._desk.run.perform(task)
            if not said.tool_calls:
                self._desk.answer = said.text
                return
            turns += (said, *await self._carried_out(said.tool_calls, allowed, left))
            if self._desk.answer is not None:
                return

    async def _carried_out(self, calls: tuple[ToolCall, ...], allowed: Collection[str], left: int) -> list[Message]:
        begun = [self._begun(call, allowed, place) for place, call in enumerate(calls)]
        texts = await self._desk.run.each(begun, lambda work: work)
        texts[-1] += f"\n\n{self._open(left)}"
        return [Message(role="tool", text=text, tool_call_id=call.id) for call, text in zip(calls, texts, strict=True)]

    def _begun(self, call: ToolCall, allowed: Collection[str], place: int) -> Awaitable[str]:
        """Begin a call, or refuse it in words that the model can read."""
        if place >= AT_ONCE:
            return _said(f"Not done: {AT_ONCE} calls in one reply are carried out at most.")
        kind = _BY_NAME.get(call.name)
        if kind is None or call.name not in self._mask:
            there = ", ".join(self._allowed)
            return _said(f"Refused: {json.dumps(call.name)} is no tool of this pipeline. It has: {there}.")
        if reason := kind.lacking(self._desk.run):
            return _said(f"Refused: {reason}.")
        if call.name not in allowed:
            return _said(f"Refused: the steps are spent; only {RESPOND.name} is left.")
        try:
            arguments = kind.arguments.model_validate(dict(call.arguments))
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
        place = ".".join(map(str, first["loc"])) or "the arguments"
        form = json.dumps(_BY_NAME[name].arguments.model_json_schema(), ensure_ascii=False)
        return f"Not done: {place}: {first['msg']}. Call it once more with arguments of this schema: {form}"

    def _open(self, left: int) -> str:
        """Return what is open still: it stands last, where models heed it most."""
        sections = [
            f"{section.id} {json.dumps(section.title, ensure_ascii=False)}" for section in self._desk.open_points()
        ]
        points = (
            f"Nothing was read yet for: {'; '.join(sections)}." if sections else "Something was read for each section."
        )
        steps = f"Replies left: {left}; searches left: {max(0, self._desk.searches_left)}."
        return f"{points} {steps}" + (f" The next reply is the last: call {RESPOND.name}." if left == 1 else "")


async def _said(words: str) -> str:
    return words


async def _brought(work: Awaitable[Json]) -> str:
    """Return what a tool brought, fenced: also its failure, whose words may come from outside."""
    try:
        return fenced(await work)
    except CallFailed as failed:
        return fenced({"error": failed.record.text})
