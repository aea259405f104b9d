"""Middleware that writes every outside call to a file, and holds one of them back for ever."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from leadline.plugin import Call, PluginSettings, middleware


class GateSettings(PluginSettings):
    log: Path
    hold: int = 0
    """The number of the call that is held back, from 1; 0 for none."""


@middleware("Writes calls down, and holds one back", settings=GateSettings)
class Gate:
    live = True

    def __init__(self, settings: GateSettings) -> None:
        self._settings = settings
        self._calls = 0

    async def around(self, request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
        self._calls += 1
        if self._calls == self._settings.hold:
            self._write("held", call.key)
            await asyncio.Event().wait()
        self._write("begun", call.key)
        reply = await proceed(request)
        self._write("returned", call.key)
        return reply

    def _write(self, what: str, key: str) -> None:
        with self._settings.log.open("a", encoding="utf-8") as file:
            file.write(f"{what} {key}\n")
