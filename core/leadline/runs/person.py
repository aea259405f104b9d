"""How a run asks a person: once, for the answer stands in the journal as every other does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from leadline.contracts import Call
from leadline.door.calls import Door
from leadline.door.kinds import Kind, Maker
from leadline.errors import NeedsClarification
from leadline.events import Bus
from leadline.records import Answer, Json, Record
from leadline.runs.state import RunState

Asker = Callable[[str, Json], Awaitable[Answer]]
"""Asks a person: a message and the JSON schema of the answer."""


class Asking(Record):
    """A question to a person, as the journal keeps it."""

    message: str
    json_schema: Json


@dataclass(frozen=True)
class Person:
    """Whoever can be asked, by `asker`, within so many seconds; None: nobody can."""

    asker: Asker | None
    timeout: float
    door: Door
    bus: Bus
    state: RunState

    async def ask(self, message: str, json_schema: Json, default: Json | None) -> Answer:
        """Ask; where nobody can be asked, `default` is the answer. Raises NeedsClarification without one."""
        if self.asker is None:
            if default is None:
                raise NeedsClarification(message)
            return Answer(action="accept", content=default)
        maker = Maker(name="person", timeout=self.timeout)
        request = Asking(message=message, json_schema=json_schema)
        return await self.door.call(Kind(name="ask", reply=Answer), request, self._asked, maker=maker, task="ask")

    async def _asked(self, request: Asking, call: Call) -> Answer:
        assert self.asker is not None
        self.state.status = "waiting"
        await self.bus.emit("question", {"message": request.message, "schema": dict(request.json_schema)})
        try:
            return await self.asker(request.message, request.json_schema)
        finally:
            self.state.status = "running"
