"""Requests to language models, embedders, rerankers and sandboxes, and their replies."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from leadline.records.base import Json, Record, Text
from leadline.records.documents import Blob


class Tool(Record):
    """A tool that a model may call; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: Json


class ToolCall(Record):
    """A tool call that a model requests."""

    id: str
    name: str
    arguments: Json
    unread: Text = ""
    """The raw arguments if they are not a JSON object; the model is asked to correct them."""


class Message(Record):
    """One turn of a chat. `opaque` is data of the vendor, such as reasoning signatures, to send back unchanged."""

    role: Literal["system", "user", "assistant", "tool"]
    text: Text = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    opaque: JsonValue = None
    by: str = ""
    """The provider and model of the turn, set and removed by the core: `opaque` is only sent back to them."""


class ModelTraits(Record):
    """The capabilities of a model; settings can correct them for each model."""

    json_schema: bool = False
    """Supports replies constrained to a schema. The prompt shows the schema in any case."""
    tools: bool = False
    context_tokens: int | None = None
    model: str = ""
    """The real name of the model when the request named the provider's default; prices are listed by name."""


class ChatRequest(Record):
    """One chat request.

    `max_tokens`, `temperature` and `effort` (of reasoning) are None unless a middleware or the asking plugin sets them.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    allowed: tuple[str, ...] | None = None
    """Names of the tools that may be called now; None: all.

    The other tools stay defined, so that the prompt prefix stays cacheable. A provider whose endpoint does not support
    this ignores it.
    """
    json_schema: Json | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    effort: Literal["low", "medium", "high"] | None = None


class ChatReply(Record):
    """One chat reply; `model` is the model that answered."""

    message: Message
    reasoning: Text = ""
    model: str = ""
    finish_reason: Literal["stop", "length", "tool_calls", "content_filter"] = "stop"


class Code(Record):
    """Code to run, and the files it needs in its working directory."""

    language: str
    text: Text
    files: tuple[Blob, ...] = ()
    seconds: float | None = None
    """Time limit in seconds; None leaves it to the sandbox."""


class Execution(Record):
    """The result of running code. `seconds` is wall time."""

    stdout: Text = ""
    stderr: Text = ""
    value: JsonValue = None
    exit_code: int = 0
    seconds: float = 0.0
    files: tuple[Blob, ...] = ()


class EmbedRequest(Record):
    """Texts to embed with one model."""

    model: str
    texts: tuple[Text, ...]


class Embeddings(Record):
    """One vector per text, in the order of the texts."""

    vectors: tuple[tuple[float, ...], ...]


class RerankRequest(Record):
    """Texts to rate by how well they answer a query."""

    query: Text
    texts: tuple[Text, ...]


class Ranking(Record):
    """One score per text, in the order of the texts; larger is better."""

    scores: tuple[float, ...]
