"""Typed tasks: requests to language models with a record as input and a record as reply.

A plugin declares a `TaskKind` in `uses`, calls `kind.of(inputs)` for a `Task` and passes it to `run.perform`. A chat
vendor implements only `chat`: the core renders the prompt, and parses and repairs the reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from leadline.display import visible
from leadline.encoding import prompt_json
from leadline.errors import BadReply
from leadline.estimates import Expected, Scope
from leadline.records import Json, Message, Notice, Record, Tool
from leadline.schemas import schema_of

Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)
Role = Literal["thinking", "task"]


@dataclass(frozen=True)
class TaskKind(Generic[Q, R]):
    """The declaration of a task in `tasks` of an offer.

    The prompt:

    - `prompt`: the instructions, a template that `[prompts]` of the settings may replace.
    - `parts`: texts that stand in the template where it has their names in braces; `[prompts]` may replace each.
    - `schema`: the JSON schema of the reply, compact and written by hand (see `leadline.schemas`); None derives it from
      the record.
    - `example`: a short reply as JSON.
    - `show`: returns the inputs as plain text or Markdown; None shows them as JSON.

    Checks of the reply:

    - `check`: given inputs and reply, returns why the reply is unusable although it fits, such as the wrong language;
      empty if it is usable. The model is then asked once more.
    - `mend`: given inputs and the second reply if `check` refuses it too, returns its usable part and a notice (or an
      empty text); None if no part is usable.
    - `lacks`: given inputs and the second reply if it was cut off, returns what may be missing.
    - `continues`: the caller asks for what a reply lacks, so that one that was cut off is used as far as it is whole.

    Other fields:

    - `name`: the key in `[ai.tasks]` and `[prompts]`.
    - `shrink`: returns smaller inputs when they exceed the model's context, without the least relevant part; None if
      nothing can be left out.
    - `shows`: names the fields of a reply, at any depth, that people read while it is streamed.
    - `drafts`: they are text of the report, Markdown whose claims are not checked yet; the field `id` before one names
      its section. A page shows them as the draft of the report, and no other reply.
    - `answers`: they are the report as it stands, so that a chat may take them as the answer while they are streamed.
    - `expects`: estimates the cost for `leadline explain`; None: unknown.
    """

    __pydantic_config__ = {"strict": True, "revalidate_instances": "always"}  # fields are checked in offers
    name: str
    inputs: type[Q]
    reply: type[R]
    prompt: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    role: Role = "task"
    shrink: Callable[[Any], Record | None] | None = None
    check: Callable[[Any, Any], str] | None = None
    mend: Callable[[Any, Any], tuple[Any, str] | None] | None = None
    lacks: Callable[[Any, Any], str] | None = None
    continues: bool = False
    shows: tuple[str, ...] = ()
    drafts: bool = False
    answers: bool = False
    schema: Json | None = None
    example: str = ""
    show: Callable[[Any], str] | None = None
    expects: Callable[[Scope], Expected] | None = None

    def of(self, inputs: Q, *, sample: int = 0) -> Task[R]:
        """Return the task with these inputs."""
        return Task(self, inputs, sample)


@dataclass(frozen=True)
class Task(Generic[R]):
    """A typed request to a model: a kind of task with its inputs, which `TaskKind.of` returns.

    `sample` distinguishes deliberate repetitions. `heard` is called with the number of the attempt and each piece of a
    streamed reply; not for replayed and corrected replies.
    """

    kind: TaskKind[Any, R]
    inputs: Record
    sample: int = 0
    heard: Callable[[int, str], None] | None = None

    @property
    def name(self) -> str:
        """The name of the kind."""
        return self.kind.name

    @property
    def reply(self) -> type[R]:
        """The record of the reply."""
        return self.kind.reply


class TaskRequest(Record):
    """A task as middleware and the journal see it: its name and its inputs as plain JSON."""

    name: str
    inputs: Json = {}


class Talk(Record):
    """The base of the inputs of a task whose reply is a `Message`: the next turn of a conversation with tools.

    Fields of derived records are shown once, fenced, at the beginning. `turns` follow unchanged, so that the prompt
    prefix stays cacheable. The caller runs the tools that a reply calls, adds the reply and the results to `turns`, and
    performs the task again.
    """

    turns: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    """All tools, always in the same order."""
    allowed: tuple[str, ...] | None = None
    """Names of the tools that may be called now; None: all."""


class Performed(Record):
    """The result of a task from a chain of providers: the reply as JSON, and notices about what was done with less."""

    reply: Json = {}
    notices: tuple[Notice, ...] = ()


def template_of(task: TaskKind[Any, Any], prompts: Mapping[str, str]) -> str:
    """Return the instructions of a task with its parts; `prompts` replaces the template and parts by their names."""
    text = prompts.get(task.name, task.prompt)
    for name, part in task.parts.items():
        text = text.replace(f"{{{name}}}", prompts.get(name, part).strip())
    return text


def reply_schema(task: TaskKind[Any, Any]) -> Json:
    """Return the JSON schema of a task's reply, as the prompt shows it and as it is sent beside the prompt."""
    reply: type[Record] = task.reply
    return schema_of(reply) if task.schema is None else task.schema


# The name of the tag around data, which may contain text from anywhere.
FENCE = "data"
# The first character of such a tag, with or without white space and slashes after it.
_MARK = re.compile(rf"<(?=[^\w<>]{{0,9}}{FENCE}\b)", re.IGNORECASE)


def as_json(data: Json) -> str:
    """Return data as JSON for a prompt, with one field or item per line."""
    return prompt_json(data).decode()


def fenced(text: str) -> str:
    """Return visible text inside the tags of FENCE. Such tags in it are escaped, so that it cannot close the fence."""
    return f"<{FENCE}>\n{_MARK.sub('&lt;', visible(text))}\n</{FENCE}>"


def checked(reply: R, task: Task[R]) -> R:
    """Return the reply if it passes the check of the task. Raises `BadReply`."""
    check = task.kind.check
    problem = check(task.inputs, reply) if check else ""
    if problem:
        raise BadReply(problem)
    return reply
