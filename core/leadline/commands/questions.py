"""Questions to the user at the terminal."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from leadline.commands.output import say
from leadline.errors import UsageError
from leadline.records import Answer, Json
from leadline.schemas import value_fault

# Seconds that the progress display needs to clear the screen when it sees the event of the question.
STEP_ASIDE = 0.05


class Terminal:
    """Asks the user at the terminal, one question at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        # A line that is being read. If its question was closed meanwhile, it belongs to the next one.
        self._line: asyncio.Future[str] | None = None

    async def ask(self, message: str, json_schema: Json) -> Answer:
        """Ask for the fields of the schema one by one; the choices of a field are numbered.

        An empty line leaves out an optional field, and declines at a required one; the end of the input cancels.
        """
        async with self._turn:
            await asyncio.sleep(STEP_ASIDE)
            say(message)
            content: dict[str, Any] = {}
            for field in _fields(json_schema):
                for number, name in enumerate(field.names(), start=1):
                    say(f"  {number}. {name}")
                answered, value = await self._value(field)
                if not answered:
                    return Answer(action=value)
                if value is not None:
                    content[field.name] = value
            return Answer(action="accept", content=content)

    async def _value(self, field: _Field) -> tuple[bool, Any]:
        """Return True and the value of a field (None: left out), or False and the action that ends the question."""
        while True:
            line = await self._read_line(field.prompt)
            if line is None:
                say("")  # end the line of the prompt
                return False, "cancel"
            if not line.strip():
                return (False, "decline") if field.required else (True, None)
            try:
                return True, field.parse(line.strip(), files=True)
            except ValueError as error:
                say(str(error))

    async def _read_line(self, prompt: str) -> str | None:
        """Read a line from the terminal; None at the end of the input."""
        sys.stderr.write(prompt)
        sys.stderr.flush()
        if self._line is None:
            self._line = _next_line()
        line = await asyncio.shield(self._line)
        self._line = None
        return line or None


@dataclass(frozen=True)
class _Field:
    """A field of the form: a property of the schema of the answer."""

    name: str
    schema: Mapping[str, Any]
    required: bool

    @property
    def choices(self) -> list[Any]:
        """The values that are allowed; empty for any."""
        if self.schema.get("type") == "boolean":
            return [True, False]
        listed = self.schema.get("enum")
        return listed if isinstance(listed, list) else []

    def names(self) -> list[str]:
        """Return the names of the choices."""
        names = self.schema.get("enumNames")
        if isinstance(names, list) and len(names) == len(self.choices):
            return list(map(str, names))
        return [{True: "yes", False: "no"}.get(choice, str(choice)) for choice in self.choices]

    @property
    def has_lines(self) -> bool:
        """Whether the value is a text of several lines, which `@FILE` reads from a file."""
        return "\n" in str(self.schema.get("default", ""))

    @property
    def prompt(self) -> str:
        """The text before the answer."""
        title = str(self.schema.get("title") or self.schema.get("description") or self.name)
        span = f" (1-{len(self.choices)})" if self.choices else ""
        if self.has_lines:
            span = " (@FILE, or Enter to go on without answering)"
        return f"{title}{span}{'' if self.required else ', or nothing'}: "

    def parse(self, text: str, *, files: bool) -> Any:
        """Return the value that a text stands for. Raises `ValueError` with a message for the user."""
        if self.choices:
            names = [name.casefold() for name in self.names()]
            if text.isdecimal() and 1 <= int(text) <= len(names):
                return self.choices[int(text) - 1]
            if text.casefold() in names:
                return self.choices[names.index(text.casefold())]
            raise ValueError(f"Please enter a number from 1 to {len(names)}.")
        kind = self.schema.get("type")
        value: Any = text
        if files and self.has_lines and text.startswith("@"):
            try:
                value = Path(text[1:].strip()).expanduser().read_text("utf-8")
            except (OSError, ValueError) as error:
                raise ValueError(f"{text[1:]} cannot be read: {error}") from None
        if kind in ("integer", "number"):
            try:
                value = int(text) if kind == "integer" else float(text)
            except ValueError:
                raise ValueError(f"Please enter {'a whole' if kind == 'integer' else 'a'} number.") from None
        elif kind == "array":
            value = [part.strip() for part in text.split(",")]
        if fault := value_fault(self.schema, value):
            raise ValueError(f"Please enter another value: {fault}.")
        return value


def content_of(schema: Json, text: str, *, files: bool = False) -> Json:
    """Return an answer in words as the content that a schema asks for: JSON, or the value of its only field.

    With `files`, `@FILE` is the text of a file of this machine. Raises `UsageError`.
    """
    if text.lstrip().startswith("{"):
        try:
            content: Json = from_json(text, allow_inf_nan=False)
            return content
        except ValueError as error:  # also for lone surrogates, which cannot be stored
            raise UsageError(f"the answer is not JSON: {error}") from None
    fields = _fields(schema)
    required = [field for field in fields if field.required]
    if len(required or fields) != 1:
        names = ", ".join(field.name for field in fields)
        raise UsageError(f"the question has the fields {names}; write a JSON object of them")
    [field] = required or fields
    try:
        return {field.name: field.parse(text, files=files)}
    except ValueError as error:
        raise UsageError(str(error)) from None


def _fields(schema: Json) -> list[_Field]:
    properties, required = schema.get("properties"), schema.get("required")
    known = properties if isinstance(properties, Mapping) else {}
    needed = required if isinstance(required, list | tuple) else list(known)
    return [
        _Field(str(name), field if isinstance(field, Mapping) else {}, name in needed) for name, field in known.items()
    ]


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
