"""What clients of OpenAI's API send, as far as it means something to a run."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue, StringConstraints

from leadline_server.problems import Problem
from leadline_server.requests import Name, NewRun, RequestBody, Words, order

# The models are called after the pipelines.
MODEL_PREFIX = "leadline-"
# Bytes of a request: a conversation repeats all earlier reports.
BODY_LIMIT = 4 * 1024 * 1024
# Tokens below which no report fits.
_LEAST_TOKENS = 256
# Words of a report for each token that a client allows.
_WORDS_PER_TOKEN = 0.75
Text = Annotated[str, StringConstraints(max_length=BODY_LIMIT)]
# A number of tokens that a float can hold.
Count = Annotated[int, Field(le=2**53)]


class _Open(RequestBody):
    """The base of parts of requests. Fields of OpenAI's API that mean nothing to a run are accepted and not used."""

    model_config = ConfigDict(extra="ignore")


class Part(_Open):
    """A part of a message."""

    type: str
    text: Text = ""


class Message(_Open):
    """A message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Text | Annotated[list[Part], Field(max_length=1_000, fail_fast=True)] | None = None

    @property
    def text(self) -> str:
        """The text of all parts. Raises `Problem` for a picture or a file in a message of the user."""
        if not isinstance(self.content, list):
            return self.content or ""
        other = next((part.type for part in self.content if part.type not in ("text", "input_text")), None)
        if other and self.role == "user":
            raise Problem(422, "unsupported", f"messages: parts of the type {other!r} are not supported; send text")
        return "\n".join(part.text for part in self.content if part.text)


class StreamOptions(_Open):
    """Options of a streamed reply."""

    include_usage: bool = False


class Extras(RequestBody):
    """Leadline's own fields, in `leadline` (`extra_body` of the client)."""

    set: dict[Name, JsonValue] = Field({}, max_length=50, fail_fast=True)
    """Settings of the run by dotted key, as in `POST /v1/runs`."""
    formats: list[Name] = Field([], max_length=20)
    """Formats of the report's files."""
    tags: dict[Name, Words] = Field({}, max_length=20, fail_fast=True)
    """Tags of the run."""
    reasoning: Literal["fields", "think", "off"] = "fields"
    """Where progress is told: in the fields `reasoning` and `reasoning_content`, in the text between `<think>` tags,
    or nowhere."""
    on_disconnect: Literal["continue", "cancel"] = "continue"
    """What happens to the run if the client leaves before its end."""


class ChatRequest(_Open):
    """A chat completion. What no run can give is refused; sampling parameters mean nothing to a run."""

    model: Name
    messages: list[Message] = Field(min_length=1, max_length=10_000, fail_fast=True)  # each error takes a kilobyte
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = None
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    response_format: dict[str, Any] | None = None
    tool_choice: str | dict[str, Any] | None = None
    leadline: Extras = Extras()

    @property
    def pipeline(self) -> str:
        """The pipeline that the model names."""
        return self.model.removeprefix(MODEL_PREFIX)

    @property
    def wants_json(self) -> bool:
        """Whether the reply must be an object of the client's own form."""
        return self.response_format is not None and self.response_format.get("type") != "text"

    def refuse_what_no_run_gives(self) -> None:
        """Raise `Problem` for what a run cannot do, before one is paid for."""
        if self.n not in (None, 1):
            raise Problem(422, "unsupported", "n: a request starts one run", "send n requests")
        if self.wants_json:
            raise Problem(422, "unsupported", "response_format: a report is text", "leave response_format out")
        if self.tool_choice not in (None, "auto", "none"):
            raise Problem(422, "unsupported", "tool_choice: a run calls no tools of a client", 'send "auto" or "none"')
        if self._tokens is not None and self._tokens < _LEAST_TOKENS:
            message = f"max_tokens: no report fits into {self._tokens} tokens"
            raise Problem(422, "unsupported", message, f"send {_LEAST_TOKENS} or more, or leave max_tokens out")

    @property
    def _tokens(self) -> int | None:
        """The limit of tokens; None for no limit, for which clients of local servers send -1."""
        limits = (self.max_completion_tokens, self.max_tokens)
        return next((limit for limit in limits if limit not in (None, -1)), None)

    def order(self, question: str, tags: dict[str, str]) -> NewRun:
        """Return the request as an order. A limit of tokens limits the length of the report."""
        extras = self.leadline
        changed = dict(extras.set)
        if self._tokens is not None:
            changed.setdefault("report.length", round(self._tokens * _WORDS_PER_TOKEN))
        return order(
            question=question,
            pipeline=self.pipeline,
            set=changed,
            formats=extras.formats,
            tags={**extras.tags, **tags},
        )
