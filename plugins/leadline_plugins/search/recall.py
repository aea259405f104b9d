"""The engine `recall`: statements from the memory of a language model, for runs without any other engine.

Its hits have no page, so they are marked as unsourced and can never be cited; they show later queries what to look for.
The model is set in the section of this plugin, because an engine cannot use the models of the run: a call may not wait
for another call.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from leadline.contracts import Call, Context
from leadline.errors import BadReply
from leadline.plugin import Limits, search_provider
from leadline.records import ChatRequest, Hit, Message, Record, SearchPage, SearchRequest, Text, Usage
from leadline.schemas import schema_of
from leadline_plugins.ai.openai import ENV
from leadline_plugins.ai.openai.settings import OpenAISettings, ready
from leadline_plugins.search.results import hit

_SYSTEM = (
    "You help a researcher whose search engines do not answer. Say from memory what you know about the query, as "
    "separate statements: each with a short title and one to three sentences, the surest first. Name people, years, "
    "figures and the organisations or works where it could be checked. Leave out what you are not sure of; an empty "
    'list is a good answer. Reply with JSON only: {"statements": [{"title": "…", "text": "…"}]}'
)
_TOKENS = 2000
_TIMEOUT = 120.0


class RecalledStatement(Record):
    """A statement from the memory of a model."""

    title: Text = ""
    text: Text = ""


def _objects(listed: object) -> object:
    """Return a list without items that cannot be statements."""
    if not isinstance(listed, list):
        return listed
    return [item for item in listed if isinstance(item, dict | RecalledStatement)]


class RecalledStatements(Record):
    """Statements about a query, the most certain first."""

    statements: Annotated[tuple[RecalledStatement, ...], BeforeValidator(_objects)]


class RecallSettings(OpenAISettings):
    """The model, as in the plugin `openai`."""

    stream: bool = Field(False, description="whether to stream replies")


class _Quiet:
    """A call that does not emit its reply, which is not part of the report."""

    followed = False

    def __init__(self, call: Call) -> None:
        self._call = call
        self.run, self.task, self.key, self.traceparent = call.run, call.task, call.key, call.traceparent

    def remaining(self) -> float:
        return self._call.remaining()

    def emit(self, kind: Literal["text", "reasoning"], delta: str) -> None:
        """Ignore the delta."""

    def spend(self, usage: Usage) -> None:
        self._call.spend(usage)


@search_provider(
    "Statements from the memory of a language model: unsourced, never cited",
    settings=RecallSettings,
    env=ENV,
    ready=ready,
    cache_key=("base_url", "api_version", "model", "models", "extra_body"),
    limits=Limits(timeout=_TIMEOUT),
    priced=True,
)
class Recall:
    """Asks one model for what it remembers."""

    def __init__(self, settings: RecallSettings, context: Context) -> None:
        from leadline_plugins.ai.openai.provider import OpenAI

        self._model = OpenAI(settings, context)
        self._schema = schema_of(RecalledStatements) if self._model.traits(settings.model).json_schema else None

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return the statements of the model as hits that cannot be cited."""
        wanted = f"Query: {request.query}\nAt most {request.limit} statements."
        messages = (Message(role="system", text=_SYSTEM), Message(role="user", text=wanted))
        asked = ChatRequest(model="", messages=messages, json_schema=self._schema, max_tokens=_TOKENS)
        reply = await self._model.chat(asked, _Quiet(call))
        hits = tuple(
            _hit(statement, reply.model) for statement in _statements(reply.message.text) if statement.text.strip()
        )
        return SearchPage(hits=hits[: request.limit])


def _statements(text: str) -> tuple[RecalledStatement, ...]:
    """Return the statements in a reply, which may have a fence, text or a wrapper around them. Raises `BadReply`."""
    try:
        data = json.loads(text[text.find("{") : text.rfind("}") + 1])
        while isinstance(data, dict) and "statements" not in data:
            data = next((value for value in data.values() if isinstance(value, dict)), None)
        return RecalledStatements.model_validate(data).statements
    except ValueError as error:  # ValidationError is a subclass
        raise BadReply("the reply has no list of statements") from error


def _hit(statement: RecalledStatement, model: str) -> Hit:
    mark = blake2b(statement.text.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
    title = f"{statement.title or 'Statement'} (unsourced: from the memory of {model})"
    return hit(f"recall:{mark}", title, statement.text, citable=False)
