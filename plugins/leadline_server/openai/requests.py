"""What clients of OpenAI's API send, as far as it means something to a run."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue, StringConstraints

from leadline_server.problems import Problem
from leadline_server.requests import Name, NewRun, RequestBody, Words, order

# The tag of runs whose stream of events can be continued.
BACKGROUND = "background"
# The name of the store of `file_search` that has all documents of the user and the server.
ALL_DOCUMENTS = "documents"
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
# Types of items of an input; those that are no message come from earlier responses.
_ITEMS = ("message", "reasoning", "web_search_call")


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
    figures: Literal["links", "data"] = "links"
    """How the text has the figures of the report: as links to their files, or as pictures in the text."""


class QuestionRequest(_Open):
    """What requests of both kinds have. Sampling parameters mean nothing to a run and are accepted."""

    model: Name
    stream: bool = False
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    max_output_tokens: Count | None = None
    tools: list[dict[str, JsonValue]] = Field([], max_length=100, fail_fast=True)
    tool_choice: str | dict[str, Any] | None = None
    leadline: Extras = Extras()

    @property
    def pipeline(self) -> str:
        """The pipeline that the model names."""
        return self.model.removeprefix(MODEL_PREFIX)

    def refuse_what_no_run_gives(self) -> None:
        """Raise `Problem` for what a run cannot do, before one is paid for."""
        if self.tool_choice not in (None, "auto", "none"):
            raise unsupported("tool_choice: a run decides itself when it searches", 'send "auto" or "none"')
        if self.tokens is not None and self.tokens < _LEAST_TOKENS:
            hint = f"send {_LEAST_TOKENS} or more, or leave the limit out"
            raise unsupported(f"max_tokens: no report fits into {self.tokens} tokens", hint)

    @property
    def tokens(self) -> int | None:
        """The limit of tokens; None for no limit, for which clients of local servers send -1."""
        limits = (self.max_output_tokens, self.max_completion_tokens, self.max_tokens)
        return next((limit for limit in limits if limit not in (None, -1)), None)

    @property
    def all_tools(self) -> list[dict[str, JsonValue]]:
        """The tools that a run must have."""
        return self.tools

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The settings of the run. A limit of tokens limits the length of the report."""
        changed = dict(self.leadline.set)
        if self.tokens is not None:
            changed.setdefault("report.length", round(self.tokens * _WORDS_PER_TOKEN))
        return changed

    @property
    def sources(self) -> dict[str, Any]:
        """What `file_search` asks a run to search: documents, all or some, and the web only beside `web_search`."""
        files = [tool for tool in self.tools if str(tool.get("type", "")).startswith("file_search")]
        stores = [tool.get("vector_store_ids") for tool in files]
        if not stores or self.tool_choice == "none":
            return {}
        names = [name for store in stores if isinstance(store, list) for name in store]
        web = any(str(tool.get("type", "")).startswith("web_search") for tool in self.tools)
        return {"documents": None if ALL_DOCUMENTS in names else names, "web": web}

    def order(self, question: str, tags: dict[str, str]) -> NewRun:
        """Return the request as an order."""
        return order(
            **self.sources,
            question=question,
            pipeline=self.pipeline,
            set=self.settings,
            formats=self.leadline.formats,
            tags={**self.leadline.tags, **tags},
        )


class ChatRequest(QuestionRequest):
    """A chat completion."""

    messages: list[Message] = Field(min_length=1, max_length=10_000, fail_fast=True)  # each error takes a kilobyte
    stream_options: StreamOptions | None = None
    n: int | None = None
    response_format: dict[str, Any] | None = None
    web_search_options: dict[str, JsonValue] | None = None

    @property
    def wants_json(self) -> bool:
        """Whether the reply must be an object of the client's own form."""
        return self.response_format is not None and self.response_format.get("type") != "text"

    @property
    def all_tools(self) -> list[dict[str, JsonValue]]:
        """The tools, with the search that this kind of request has a field of its own for."""
        search = [] if self.web_search_options is None else [{"type": "web_search", **self.web_search_options}]
        return [*self.tools, *search]

    def refuse_what_no_run_gives(self) -> None:
        """Raise `Problem` for what a run cannot do, before one is paid for."""
        if self.n not in (None, 1):
            raise unsupported("n: a request starts one run", "send n requests")
        if self.wants_json:
            raise unsupported("response_format: a report is text", "leave response_format out")
        super().refuse_what_no_run_gives()


class TextFormat(_Open):
    """The form of a text."""

    type: str = "text"


class TextOptions(_Open):
    """Options of the text of a response."""

    format: TextFormat = TextFormat()


class Item(Message):
    """An item of the input of a response: a message, or what an earlier response returned beside its message."""

    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] = "user"


class ResponseRequest(QuestionRequest):
    """A response of OpenAI's newer API."""

    input: Text | Annotated[list[Item], Field(min_length=1, max_length=10_000, fail_fast=True)]
    background: bool = False
    previous_response_id: Name = ""
    max_tool_calls: Annotated[Count, Field(ge=1)] | None = None
    metadata: dict[Name, Words] = Field({}, max_length=16, fail_fast=True)
    store: bool = True
    text: TextOptions = TextOptions()
    conversation: JsonValue = None
    prompt: JsonValue = None

    @property
    def messages(self) -> list[Message]:
        """The messages of the input. Raises `Problem` for an item that is nothing to a run."""
        if isinstance(self.input, str):
            return [Message(role="user", content=self.input)]
        if other := next((item.type for item in self.input if item.type not in _ITEMS), None):
            raise unsupported(
                f"input: items of the type {other!r} are not supported", f"choose from: {', '.join(_ITEMS)}"
            )
        return [item for item in self.input if item.type == "message"]

    def refuse_what_no_run_gives(self) -> None:
        """Raise `Problem` for what a run cannot do, before one is paid for."""
        if self.text.format.type != "text":
            raise unsupported("text.format: a report is text", "leave it out")
        if not self.store:
            hint = "leave store out; DELETE /v1/runs/ID removes a run with all its files"
            raise unsupported("store: every run is stored", hint)
        for name in ("conversation", "prompt"):
            if getattr(self, name) is not None:
                raise unsupported(f"{name}: it is not supported", "previous_response_id continues a conversation")
        if self.leadline.reasoning == "think":
            raise unsupported("leadline.reasoning: a response has its progress in items", "choose from: fields, off")
        super().refuse_what_no_run_gives()

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The settings of the run. A limit of tool calls limits its searches."""
        changed = super().settings
        if self.max_tool_calls is not None:
            changed.setdefault("research.max_queries", self.max_tool_calls)
        return changed

    def order(self, question: str, tags: dict[str, str]) -> NewRun:
        """Return the request as an order, with its metadata as tags."""
        background = {BACKGROUND: "stream"} if self.background and self.stream else {}
        return super().order(question, {**self.metadata, **background, **tags})


def unsupported(message: str, hint: str = "") -> Problem:
    """Return the error for what no run can do."""
    return Problem(422, "unsupported", message, hint)
