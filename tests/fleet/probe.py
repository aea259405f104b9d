"""The plugin `probe` of the tests of a fleet: it writes down each outside call of a run, and slows it.

A line is `+ PID RUN KEY SECONDS REQUEST` when a call begins, and `-` or `x` when it returns or is cancelled or fails.
The time is `time.monotonic()`, which all processes of one Linux machine share, whatever clocks they are given.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any

from leadline.plugin import Call, middleware


@middleware("Writes calls down, and slows them")
class Probe:
    live = True

    def __init__(self) -> None:
        # Not settings: a run is told of those that differ between two machines.
        self._file = os.open(os.environ["FLEET_PROBE_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._delay = float(os.environ["FLEET_PROBE_DELAY"])  # the same call always waits as long

    async def around(self, request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
        self._write("+", call, request)
        try:
            await asyncio.sleep(int(call.key[:4], 16) / 0xFFFF * self._delay)
            reply = await proceed(request)
        except BaseException:
            self._write("x", call, request)
            raise
        self._write("-", call, request)
        return reply

    def _write(self, sign: str, call: Call, request: Any) -> None:
        line = f"{sign} {os.getpid()} {call.run.id} {call.key} {time.monotonic():.6f} {type(request).__name__}\n"
        os.write(self._file, line.encode())
