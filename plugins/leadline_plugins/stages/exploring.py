"""The loop of `explore`: the model's turns, and what its calls of tools brought, added one behind the other.

What was said stays as it was said, so that vendors' caches of prefixes hit; failures stay in view; what is open stands
last. Each is a switch. It all hangs on replies and findings alone: a resumed run says the same, and is answered from
the journal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import Field

from leadline.hookspecs import PluginSettings
from leadline.records import Message
from leadline.task_kinds import TaskKind
from leadline_plugins.shrinking import LEFT_OUT
from leadline_plugins.tasks.planning import ExploreRequest
from leadline_plugins.tools import TOOLS
from leadline_plugins.tools.calling import Calling
from leadline_plugins.tools.desk import Desk
from leadline_plugins.tools.respond import RESPOND

_SHOWN = tuple(kind.tool for kind in TOOLS)
_FAILED = "Failed."
"""What is left in view of a failure where its reason is not to be."""


class ExploreSettings(PluginSettings):
    """How far the model may go by itself, and what it is shown meanwhile."""

    steps: int = Field(8, ge=1, le=50, description="Replies of the model at most.")
    page: int = Field(4_000, ge=200, description="Characters of a page that it is shown at once.")
    append_only: bool = Field(True, description="Whether what was brought before the last reply stays in view.")
    recite: bool = Field(True, description="Whether it is told behind each result what is open still.")
    keep_errors: bool = Field(True, description="Whether the reasons of failures stay in view.")


@dataclass(frozen=True)
class _Turn:
    message: Message
    failed: bool = False


class Exploring:
    """One exploration at a desk."""

    def __init__(self, desk: Desk, calling: Calling, settings: ExploreSettings) -> None:
        self._desk = desk
        self._calling = calling
        self._settings = settings
        self._turns: list[_Turn] = []

    async def go(self, ask: TaskKind[ExploreRequest, Message], opening: ExploreRequest) -> None:
        """Go on until the model responds, or its steps are spent. Raises `CallFailed` where no model answers."""
        for left in reversed(range(self._settings.steps)):
            allowed = self._calling.allowed(left)
            shown = {
                "turns": tuple(self._in_view()),
                "tools": _SHOWN,
                "allowed": None if len(allowed) == len(_SHOWN) else allowed,
            }
            said = await self._desk.run.perform(ask.of(opening.model_copy(update=shown)))
            if not said.tool_calls:
                self._desk.answer = said.text
            else:
                self._turns += [_Turn(said), *await self._answered(said, left)]
            if self._desk.answer is not None:
                return

    async def _answered(self, said: Message, left: int) -> Sequence[_Turn]:
        brought = await self._calling.carry_out(said.tool_calls, left)
        texts = [one.text for one in brought]
        if self._settings.recite:
            texts[-1] += f"\n\n{self._open(left)}"
        return [
            _Turn(Message(role="tool", text=text, tool_call_id=call.id), one.failed)
            for call, text, one in zip(said.tool_calls, texts, brought, strict=True)
        ]

    def _in_view(self) -> Iterator[Message]:
        """Yield what was said as the model is shown it; the last results always as they are."""
        last = max((place for place, turn in enumerate(self._turns) if turn.message.role == "assistant"), default=0)
        for place, turn in enumerate(self._turns):
            old = turn.message.role == "tool" and place < last
            if old and turn.failed and not self._settings.keep_errors:
                yield turn.message.model_copy(update={"text": _FAILED})
            elif old and not turn.failed and not self._settings.append_only:
                yield turn.message.model_copy(update={"text": LEFT_OUT})
            else:
                yield turn.message

    def _open(self, left: int) -> str:
        """Return what is open still: it stands last, where models heed it most."""
        titles = [f"{one.id} {json.dumps(one.title, ensure_ascii=False)}" for one in self._desk.open_points()]
        points = f"Nothing was read yet for: {'; '.join(titles)}." if titles else "Something was read for each section."
        rest = f"Replies left: {left}; searches left: {max(0, self._desk.searches_left)}."
        return f"{points} {rest}" + (f" The next reply is the last: call {RESPOND.name}." if left == 1 else "")
