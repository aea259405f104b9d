"""The engine `recall`: what a language model remembers, where no engine answers. Nothing of it can ever be cited.

Its hits have no page behind them, so they are marked as unsourced: they tell later queries what to look for.
The model is one that speaks OpenAI's protocol, set in this plugin's own section: an engine may not ask the house's
models, since a call may not wait for another call.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, hookimpl
from leadline.records import ChatRequest, Hit, Message, Record, SearchPage, SearchRequest, Text, Usage
from leadline.schemas import TEXT, list_of, object_of
from leadline.tasks import parse
from leadline_plugins.ai.openai import ENV
from leadline_plugins.ai.openai.settings import OpenAISettings, ready
from leadline_plugins.search.results import hit

_SYSTEM = (
    "You help a researcher whose search engines do not answer. Say from memory what you know about the query, as "
    "separate statements: each with a short title and one to three sentences, the surest first. Name people, years, "
    "figures and the organisations or works where it could be checked. Leave out what you are not sure of; an empty "
    'list is a good answer. Reply with JSON only: {"statements": [{"title": "…", "text": "…"}]}'
)
_SCHEMA = object_of(statements=list_of(object_of(title=TEXT, text=TEXT)))
_TOKENS = 2000
_TIMEOUT = 120.0


class Statement(Record):
    """What a model remembers, with a title for it."""

    title: Text = ""
    text: Text = ""


def _objects(listed: object) -> object:
    """Return a list without what can be no statement: one odd thing among them shall not cost the others."""
    return [one for one in listed if isinstance(one, dict | Statement)] if isinstance(listed, list) else listed


class Statements(Record):
    """What a model remembers about a query, the surest first."""

    statements: Annotated[tuple[Statement, ...], BeforeValidator(_objects)]


class RecallSettings(OpenAISettings):
    """The model that is asked, as in the plugin `openai`."""

    stream: bool = Field(False, description="whether replies are streamed")


class _Quiet:
    """A call whose reply is not shown as it comes: it is no text of the report."""

    followed = False

    def __init__(self, call: Call) -> None:
        self._call = call
        self.run, self.task, self.key, self.traceparent = call.run, call.task, call.key, call.traceparent

    def remaining(self) -> float:
        return self._call.remaining()

    def emit(self, kind: Literal["text", "reasoning"], delta: str) -> None:
        """Show nothing."""

    def spend(self, usage: Usage) -> None:
        self._call.spend(usage)


class Recall:
    """Asks one model for what it remembers."""

    def __init__(self, settings: RecallSettings, context: Context) -> None:
        from leadline_plugins.ai.openai.provider import OpenAI

        self._model = OpenAI(settings, context)
        self._schema = _SCHEMA if self._model.traits(settings.model).json_schema else None

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return what the model remembers, as hits that nothing may be cited from."""
        wanted = f"Query: {request.query}\nAt most {request.limit} statements."
        messages = (Message(role="system", text=_SYSTEM), Message(role="user", text=wanted))
        asked = ChatRequest(model="", messages=messages, json_schema=self._schema, max_tokens=_TOKENS)
        reply = await self._model.chat(asked, _Quiet(call))
        hits = tuple(
            _hit(one, reply.model) for one in parse(reply.message.text, Statements).statements if one.text.strip()
        )
        return SearchPage(hits=hits[: request.limit])


def _hit(one: Statement, model: str) -> Hit:
    mark = blake2b(one.text.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
    title = f"{one.title or 'Statement'} (unsourced: from the memory of {model})"
    return hit(f"recall:{mark}", title, one.text, citable=False)


@hookimpl
def leadline_search_providers() -> Iterator[Offer[RecallSettings, Recall]]:
    """Offer the engine."""
    yield Offer(
        Recall,
        RecallSettings,
        "What a language model remembers: unsourced, never cited",
        env=ENV,
        ready=ready,
        answers=("base_url", "model", "models", "extra_body"),
        priced=True,
        timeout=_TIMEOUT,
    )
