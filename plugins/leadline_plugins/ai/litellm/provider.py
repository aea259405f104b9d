"""The AI provider: one request to one vendor, in OpenAI's words, which litellm translates both ways."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import Any

from leadline.contracts import Call, Context
from leadline.errors import BadReply, ProviderError, Unsupported
from leadline.records import ChatReply, ChatRequest, ModelTraits, Usage
from leadline_plugins.ai.litellm.errors import is_of_litellm, refusal_of, translated, vendor_of
from leadline_plugins.ai.litellm.library import Library, account, without_mcp
from leadline_plugins.ai.litellm.settings import LitellmSettings
from leadline_plugins.ai.litellm.streams import Stream, within
from leadline_plugins.ai.openai import chat
from leadline_plugins.ai.openai.chat_reading import FINISH, ChatReading
from leadline_plugins.ai.openai.lessons import learn
from leadline_plugins.ai.openai.manner import Manner, Manners, streams
from leadline_plugins.ai.openai.settings import ModelSettings
from leadline_plugins.ai.openai.usage import read_usage

_LESSONS = 6
_GATHER = 0.1
"""Seconds for which pieces of a stream are gathered before they are passed on."""


class Litellm:
    """Chats with the models of any vendor that litellm knows."""

    def __init__(self, settings: LitellmSettings, context: Context) -> None:
        self._settings = settings
        self._library = Library(context)
        self._manners = Manners(context.cache_dir / "manners.json")

    def traits(self, model: str, /) -> ModelTraits:
        """Return what a model can do: all of it, but for what the settings deny."""
        name = model or self._settings.model
        return ModelTraits(model=name, **self._settings.models.get(name, ModelSettings()).model_dump())

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        """Return the reply; what the vendor or litellm does not know of a request is said otherwise at once."""
        model = request.model or self._settings.model
        if not model:
            raise Unsupported("litellm: no model is named; set model in its section, as VENDOR/MODEL")
        library = await self._library.get()
        begun = manner = self._manners.get(model, _usual(library, model))
        for _ in range(_LESSONS):
            streamed = streams(self._settings.stream, manner, followed=call.followed)
            body = chat.body(request, model, replace(manner, stream=streamed))
            try:
                reply = await self._ask(library, body, call)
            except Exception as error:
                better = self._taught(manner, error, body)
                if better is None:
                    raise self._ours(error, model) from error
                manner = better
            else:
                if manner is not begun:  # what was learnt proved right
                    self._manners.put(model, manner)
                return reply
        raise Unsupported(f"litellm: every form of the request to {model!r} is refused")

    def _taught(self, manner: Manner, error: Exception, body: Mapping[str, Any]) -> Manner | None:
        if not is_of_litellm(error):
            return None
        return learn(manner, refusal_of(error), body, may_stream=self._settings.stream == "auto")

    def _ours(self, error: Exception, model: str) -> Exception:
        if isinstance(error, ProviderError) or not is_of_litellm(error):
            return error
        return translated(error, model, self._settings)

    async def _ask(self, library: Any, body: dict[str, Any], call: Call) -> ChatReply:
        reading, model = ChatReading(call), body["model"]
        try:
            if body.get("stream"):
                await self._stream(library, body, reading)
            else:
                answer = await library.acompletion(**self._arguments(library, body, call.remaining()))
                reading.take(_plain(answer, _native(answer)))
            if not reading.finished:
                raise BadReply(f"{model}: the reply was cut off before its end")
            return reading.reply()
        finally:
            if reading.usage is not None and (used := _spent(library, model, reading.usage)):
                call.spend(used)

    async def _stream(self, library: Any, body: dict[str, Any], reading: ChatReading) -> None:
        model, silence = body["model"], self._settings.read_timeout
        vendor = vendor_of(model) or "litellm"
        begun = library.acompletion(**self._arguments(library, body))
        stream = Stream(await within(begun, silence + self._settings.connect_timeout, vendor), silence, vendor)
        passed = time.monotonic()
        try:
            async for chunk in stream:
                reading.take(_plain(chunk, stream.reason))
                if time.monotonic() - passed > _GATHER:
                    reading.pass_on()
                    passed = time.monotonic()
        finally:
            reading.pass_on()
            if not stream.counted:
                reading.usage = None
        if not stream.finished:
            raise BadReply(f"{model}: the reply was cut off before its end")
        if not reading.finished:  # litellm tells the end once the connection is closed
            reading.take({"choices": [{"finish_reason": stream.end}]})

    def _arguments(self, library: Any, body: Mapping[str, Any], silence: float = 0.0) -> dict[str, Any]:
        """Return all that litellm is given; what the settings say in `extra` is the last word."""
        asked = {**body, "messages": [_turn(message) for message in body["messages"]]}
        tools = without_mcp(library) if asked.get("tools") else {}
        return {**asked, **account(self._settings, silence), **tools, "drop_params": True, **self._settings.extra}


def _turn(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with `None` for text that is not there beside calls: litellm fills empty text with its own."""
    empty = message.get("tool_calls") and not message["content"]
    return {**message, "content": None} if empty else dict(message)


def _usual(library: Any, model: str) -> Manner:
    known = library.supports_response_schema(model=model)
    return Manner(form="schema" if known else "plain", limit="max_tokens", choice=False)


def _plain(chunk: Any, reason: str) -> dict[str, Any]:
    """Return a chunk, or the whole, as plain data; its end by the vendor's word, where that says more than litellm."""
    data: dict[str, Any] = chunk.model_dump(exclude_none=True, warnings=False)
    if usage := getattr(chunk, "usage", None):
        data["usage"] = usage.model_dump(exclude_none=True, warnings=False)
    for choice in data.get("choices") or ():
        if choice.get("finish_reason") == "stop" and reason.lower() in FINISH:
            choice["finish_reason"] = reason
    return data


def _native(answer: Any) -> str:
    """Return why a whole reply ended, in the vendor's own word, where litellm kept it."""
    for choice in getattr(answer, "choices", None) or ():
        own = getattr(choice, "provider_specific_fields", None)
        if isinstance(own, Mapping):
            return str(own.get("native_finish_reason") or "")
    return ""


def _spent(library: Any, model: str, data: Mapping[str, Any]) -> Usage | None:
    """Return the usage with its cost by litellm's table, which has the prices of caches and long contexts too.

    None where it is nothing but zeros, which litellm puts where the vendor told none.
    """
    usage = read_usage(data)
    if not usage.input_tokens and not usage.output_tokens:
        return None
    if usage.cost is not None:
        return usage
    # It raises whatever it likes for a model that is not in its table: then the cost is unknown.
    with suppress(Exception):
        prompt, output = library.cost_per_token(
            model=model,
            prompt_tokens=usage.input_tokens,
            completion_tokens=usage.output_tokens,
            cache_read_input_tokens=usage.cached_tokens,
            cache_creation_input_tokens=_written(data),
        )
        return usage.model_copy(update={"cost": Decimal(f"{prompt + output:.10f}").normalize()})
    return usage


def _written(data: Mapping[str, Any]) -> int:
    """Return the input tokens that were written to a cache, for which some vendors bill more."""
    written = data.get("cache_creation_input_tokens")
    return written if isinstance(written, int) else 0
