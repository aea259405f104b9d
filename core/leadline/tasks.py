"""Typed tasks: what a stage asks of a model, how it is put to a chat, and how the reply is read.

A chat vendor implements only `chat`; rendering, parsing and the one repair are here, behind the journal, so that a
better parser serves old journals too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from pydantic import ValidationError

from leadline.errors import BadReply
from leadline.lenient import objects
from leadline.records import Json, Message, Record

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Task(Generic[R]):
    """A typed request to a model.

    `name` is its key in `[ai.tasks]` and in `[prompts]`; `prompt` is the default template, the text a model is
    instructed with; `sample` tells wanted repetitions apart.
    """

    name: str
    inputs: Record
    reply: type[R]
    prompt: str = ""
    role: Literal["thinking", "task"] = "task"
    sample: int = 0


class TaskRequest(Record):
    """A task on its way through the door: its name and its inputs as JSON."""

    name: str
    inputs: Json = {}


def schema(reply: type[Record]) -> Json:
    """Return the JSON schema of a reply."""
    return reply.model_json_schema()


def render(prompt: str, request: TaskRequest, reply: type[Record]) -> tuple[Message, ...]:
    """Return the messages that put a task to a chat: instructions first, the changing inputs last."""
    form = json.dumps(schema(reply), ensure_ascii=False)
    instructions = f"{prompt.strip()}\n\nReply with one JSON object of this schema and nothing else:\n{form}"
    inputs = json.dumps(request.inputs, ensure_ascii=False, indent=1)
    return (Message(role="system", text=instructions), Message(role="user", text=inputs))


def repair(messages: tuple[Message, ...], said: str, error: BadReply) -> tuple[Message, ...]:
    """Return the messages that ask once more, with the error in hand."""
    asked = Message(role="user", text=f"That could not be read: {error}. Reply with the corrected JSON object only.")
    return (*messages, Message(role="assistant", text=said), asked)


def parse(text: str, reply: type[R]) -> R:
    """Read a reply: the first JSON object in the text that fits, repaired where need be. Raises `BadReply`."""
    problem = "there is no JSON object in it"
    for data in objects(text):
        try:
            return reply.model_validate(data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            problem = f"{'.'.join(map(str, first['loc'])) or 'the object'}: {first['msg']}"
    raise BadReply(f"the reply is no {reply.__name__}: {problem}")
