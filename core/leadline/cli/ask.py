"""Questions to the user at the terminal."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from leadline.cli.terminal import say
from leadline.records import Answer, Json

# Seconds that the progress display needs to clear the screen when it sees the event of the question.
STEP_ASIDE = 0.05


class Terminal:
    """Asks the user at the terminal, one question at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        # A line that is being read. If its question was closed meanwhile, it belongs to the next one.
        self._line: asyncio.Future[str] | None = None

    async def ask(self, message: str, json_schema: Json) -> Answer:
        """Ask for each field of the schema on a separate line; an empty line declines, the end of the input cancels."""
        async with self._turn:
            await asyncio.sleep(STEP_ASIDE)
            say(message)
            content: dict[str, Any] = {}
            for name, field in _fields(json_schema):
                line = await self._read_line(f"{field.get('title') or name}: ")
                if line is None:
                    say("")  # end the line of the prompt
                    return Answer(action="cancel")
                if not line.strip():
                    return Answer(action="decline")
                content[name] = line.strip()
            return Answer(action="accept", content=content)

    async def _read_line(self, prompt: str) -> str | None:
        """Read a line from the terminal; None at the end of the input."""
        sys.stderr.write(prompt)
        sys.stderr.flush()
        if self._line is None:
            self._line = _next_line()
        line = await asyncio.shield(self._line)
        self._line = None
        return line or None


def _fields(schema: Json) -> list[tuple[str, Mapping[str, Any]]]:
    properties = schema.get("properties")
    return [(str(name), field) for name, field in properties.items()] if isinstance(properties, Mapping) else []  # type: ignore[misc]


def _next_line() -> asyncio.Future[str]:
    """Return the next line of standard input, empty at its end.

    It is read by a daemon thread, which does not keep the process alive if the run ends without an answer.
    """
    loop = asyncio.get_running_loop()
    read: asyncio.Future[str] = loop.create_future()

    def wait() -> None:
        line = ""
        with suppress(OSError, ValueError):  # the terminal is gone
            line = sys.stdin.readline()
        with suppress(RuntimeError):  # the loop is closed because the run is over
            loop.call_soon_threadsafe(read.set_result, line)

    threading.Thread(target=wait, name="answer", daemon=True).start()
    return read
