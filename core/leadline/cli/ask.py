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


async def ask(message: str, json_schema: Json) -> Answer:
    """Ask for each field of the schema on a separate line; an empty line declines, the end of the input cancels."""
    await asyncio.sleep(STEP_ASIDE)
    say(message)
    content: dict[str, Any] = {}
    for name, field in _fields(json_schema):
        line = await read_line(f"{field.get('title') or name}: ")
        if line is None:
            say("")  # end the line of the prompt
            return Answer(action="cancel")
        if not line.strip():
            return Answer(action="decline")
        content[name] = line.strip()
    return Answer(action="accept", content=content)


def _fields(schema: Json) -> list[tuple[str, Mapping[str, Any]]]:
    properties = schema.get("properties")
    return [(str(name), field) for name, field in properties.items()] if isinstance(properties, Mapping) else []  # type: ignore[misc]


async def read_line(prompt: str) -> str | None:
    """Read a line from the terminal; None at the end of the input.

    Uses a daemon thread, which does not keep the process alive if the run ends without an answer.
    """
    loop = asyncio.get_running_loop()
    read: asyncio.Future[str] = loop.create_future()

    def take(line: str) -> None:
        if not read.done():  # the run may have continued without an answer
            read.set_result(line)

    def wait() -> None:
        line = sys.stdin.readline()
        with suppress(RuntimeError):  # the loop is closed because the run is over
            loop.call_soon_threadsafe(take, line)

    sys.stderr.write(prompt)
    sys.stderr.flush()
    threading.Thread(target=wait, name="answer", daemon=True).start()
    return await read or None
