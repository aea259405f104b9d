"""Chats and embeddings of one vendor, in OpenAI's form, which litellm translates both ways."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager, suppress
from decimal import Decimal
from importlib import import_module
from typing import Any, TypeVar

from leadline.contracts import Call, Context
from leadline.errors import BadReply, Unavailable, Unsupported
from leadline.records import ChatReply, ChatRequest, Embeddings, EmbedRequest, ModelTraits, Usage
from leadline_plugins.ai.litellm.errors import is_of_litellm, refusal_of, translated, vendor_of
from leadline_plugins.ai.litellm.settings import LitellmSettings
from leadline_plugins.ai.openai.chat_completions import FINISH, ChatReplyReader, request_body
from leadline_plugins.ai.openai.endpoint_quirks import Forms, Quirks, RefusedError
from leadline_plugins.ai.openai.provider import parse_vectors
from leadline_plugins.ai.openai.replies import parse_usage
from leadline_plugins.ai.openai.settings import ModelSettings

# Tables that litellm would otherwise fetch from GitHub, at import and during a request.
_LOCAL = ("LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS")
# Read at import. Embeddings by OpenAI's SDK respect no other setting, and Leadline does the retries.
_IMPORTED_WITH = {"DEFAULT_MAX_RETRIES": "0"}
# To check whether a tool belongs to its MCP proxy, litellm would import that, which needs further packages.
_WITHOUT_MCP = {"_skip_mcp_handler": True}
_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")


def load() -> Any:
    """Import litellm without its telemetry, its downloads and its output to the terminal."""
    for name in _LOCAL:
        os.environ.setdefault(name, "True")
    with _set(_IMPORTED_WITH):
        litellm: Any = import_module("litellm")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.disable_aiohttp_transport = True  # httpx takes proxies and certificates from the environment
    litellm.disable_hf_tokenizer_download = True  # for counting the tokens of some streams
    for name in _LOGGERS:  # its handlers would write between the lines of a run
        logging.getLogger(name).handlers = [logging.NullHandler()]
    return litellm


@contextmanager
def _set(variables: Mapping[str, str]) -> Iterator[None]:
    """Set the environment variables that are not set, until the end of the block."""
    fresh = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(fresh)
    try:
        yield
    finally:
        for name in fresh:
            os.environ.pop(name, None)


class LitellmLibrary:
    """Starts the import when the plugin is created, so that the first call waits less."""

    def __init__(self, context: Context) -> None:
        self._loading = asyncio.ensure_future(context.in_thread(load))

    async def get(self) -> Any:
        """Return the imported library."""
        return await asyncio.shield(self._loading)


def account(settings: LitellmSettings, silence: float = 0.0) -> dict[str, Any]:
    """Return the arguments for address, account and timeouts; `silence` is the shortest read timeout in seconds."""
    import httpx

    arguments: dict[str, Any] = {
        "timeout": httpx.Timeout(max(settings.read_timeout, silence), connect=settings.connect_timeout),
        "num_retries": 0,
        "max_retries": 0,
    }
    if settings.api_base:
        arguments["api_base"] = settings.api_base
    if key := settings.api_key.get_secret_value():
        arguments["api_key"] = key
    if settings.headers:
        arguments["extra_headers"] = {name: value.get_secret_value() for name, value in settings.headers.items()}
    return arguments | {name: value.get_secret_value() for name, value in settings.credentials.items()}


# Seconds between two times that the pieces of a stream are passed on.
_PASS_ON = 0.1
# Seconds in which usage may follow the end of a reply. Some servers leave the connection open after it.
_USAGE_DELAY = 1.5
T = TypeVar("T")


class Litellm:
    """Chats with the models of any vendor that litellm knows."""

    def __init__(self, settings: LitellmSettings, context: Context) -> None:
        self._settings = settings
        self._library = LitellmLibrary(context)
        self._forms = Forms(settings.stream)

    def traits(self, model: str, /) -> ModelTraits:
        """Return the capabilities of a model: all, except those that the settings deny."""
        name = model or self._settings.model
        return ModelTraits(model=name, **self._settings.models.get(name, ModelSettings()).model_dump())

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        """Return the reply; if vendor or litellm refuse the form of the request, try another one at once."""
        model = request.model or self._settings.model
        if not model:
            raise Unsupported("litellm: no model is set; set model in its section, as VENDOR/MODEL")
        library = await self._library.get()

        def body_of(quirks: Quirks) -> dict[str, Any]:
            return request_body(request, model, quirks)

        async def send(body: dict[str, Any], quirks: Quirks) -> ChatReply:
            try:
                return await self._send(library, body, call)
            except Exception as error:
                if not is_of_litellm(error):
                    raise
                raise RefusedError(refusal_of(error)) from error

        try:
            return await self._forms.send(model, _usual_quirks(library, model), body_of, send, followed=call.followed)
        except RefusedError as refused:
            error = refused.__cause__
            assert isinstance(error, Exception)
            raise translated(error, model, self._settings) from error

    async def _send(self, library: Any, body: dict[str, Any], call: Call) -> ChatReply:
        reader, model = ChatReplyReader(call), body["model"]
        try:
            if body.get("stream"):
                await self._stream(library, body, reader)
            else:
                answer = await library.acompletion(**self._arguments(body, call.remaining()))
                reader.read(_plain(answer, _native_finish(answer)))
            if not reader.finished:
                raise BadReply(f"{model}: the reply was cut off before its end")
            return reader.reply()
        finally:
            if reader.usage is not None and (usage := _usage(library, model, reader.usage)):
                call.spend(usage)

    async def _stream(self, library: Any, body: dict[str, Any], reader: ChatReplyReader) -> None:
        """Read a stream. litellm raises if it ends without a finish reason, but does not limit silence everywhere."""
        silence, vendor = self._settings.read_timeout, vendor_of(body["model"]) or "litellm"
        request = library.acompletion(**self._arguments(body))
        answer = await _within(request, silence + self._settings.connect_timeout, vendor)
        gemini_ends = _watch_gemini(answer)
        chunks, end, passed_on = aiter(answer), "", time.monotonic()
        try:
            while True:
                reader.read(
                    _plain(await _within(anext(chunks), min(_USAGE_DELAY, silence) if end else silence, vendor))
                )
                end = str(getattr(answer, "received_finish_reason", None) or "")
                if time.monotonic() - passed_on > _PASS_ON:
                    reader.pass_on()
                    passed_on = time.monotonic()
        except StopAsyncIteration:
            end = str(getattr(answer, "received_finish_reason", None) or "")
        except Unavailable:
            if not end:
                raise
        finally:
            reader.pass_on()
            wrapper_chunks = getattr(answer, "chunks", None)
            if wrapper_chunks is not None and not any(getattr(chunk, "usage", None) for chunk in wrapper_chunks):
                reader.usage = None  # litellm's own count
            if close := getattr(answer, "aclose", None):
                with suppress(Exception):  # the chunks that arrived are valid
                    await close()
        if not end and not gemini_ends and hasattr(answer, "received_finish_reason"):
            raise BadReply(f"{body['model']}: the reply was cut off before its end")
        if end and not reader.finished:  # litellm reports the end only when the connection closes
            reader.read({"choices": [{"finish_reason": end}]})

    def _arguments(self, body: Mapping[str, Any], silence: float = 0.0) -> dict[str, Any]:
        """Return the arguments of litellm's completion; the setting `extra` overrides all others."""
        messages = [_message(message) for message in body["messages"]]
        tools = _WITHOUT_MCP if body.get("tools") else {}
        account_ = account(self._settings, silence)
        return {**body, "messages": messages, **account_, **tools, "drop_params": True, **self._settings.extra}


class LitellmEmbedder:
    """Embeds texts with the models of any vendor that litellm knows."""

    def __init__(self, settings: LitellmSettings, context: Context) -> None:
        self._settings = settings
        self._library = LitellmLibrary(context)

    def model(self, model: str, /) -> str:
        """Return the model that serves a request for `model`."""
        return model or self._settings.embedding_model

    async def embed(self, request: EmbedRequest, call: Call, /) -> Embeddings:
        """Return one vector per text."""
        model = self.model(request.model)
        if not model:
            raise Unsupported("litellm: no embedding model is set; set embedding_model, as VENDOR/MODEL")
        if not request.texts:
            return Embeddings(vectors=())
        library = await self._library.get()
        try:
            answer = await library.aembedding(model=model, input=list(request.texts), **account(self._settings))
        except Exception as error:
            if not is_of_litellm(error):
                raise
            raise translated(error, model, self._settings) from error
        if usage := getattr(answer, "usage", None):
            parsed = parse_usage(usage.model_dump(warnings=False))
            if parsed.input_tokens:
                call.spend(parsed)
        rows = getattr(answer, "data", None) or ()
        # The rows of some vendors are objects.
        plain = [row.model_dump(warnings=False) if hasattr(row, "model_dump") else row for row in rows]
        return Embeddings(vectors=parse_vectors(plain, len(request.texts), model))


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message whose empty text beside tool calls is `None`: litellm would fill in text of its own."""
    empty = message.get("tool_calls") and not message["content"]
    return {**message, "content": None} if empty else dict(message)


def _usual_quirks(library: Any, model: str) -> Quirks:
    schema = library.supports_response_schema(model=model)
    return Quirks(form="schema" if schema else "plain", limit="max_tokens", choice=False)


def _watch_gemini(answer: Any) -> list[str]:
    """Return a list that receives the finish reasons of Gemini: for a stream that just ends, litellm makes one up."""
    ends: list[str] = []
    make: Any = getattr(answer, "make_call", None)
    if make is None:
        return ends

    async def watched(*args: Any, **named: Any) -> Any:
        events = await make(*args, **named)
        parse: Any = getattr(events, "chunk_parser", None)

        def parsed(chunk: Any, *args: Any, **named: Any) -> Any:
            match chunk:
                case {"candidates": [{"finishReason": str(reason)}, *_]} | {
                    "promptFeedback": {"blockReason": str(reason)}
                }:
                    ends.append(reason)
            return parse(chunk, *args, **named)

        if parse is not None:
            events.chunk_parser = parsed
        return events

    answer.make_call = watched
    return ends


async def _within(step: Awaitable[T], seconds: float, vendor: str) -> T:
    """Return the result of a step. Raises `Unavailable` if it takes longer: not every client respects timeouts."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(seconds):
            return await step
    except TimeoutError as error:
        if time.monotonic() - began < seconds:  # litellm's own timeout
            raise
        raise Unavailable(f"{vendor}: connected, then silent for {seconds:g} s (read_timeout)") from error


def _plain(chunk: Any, reason: str = "") -> dict[str, Any]:
    """Return a chunk, or a whole reply, as plain data, with the vendor's finish reason if it is more precise."""
    data: dict[str, Any] = chunk.model_dump(exclude_none=True, warnings=False)
    if usage := getattr(chunk, "usage", None):
        data["usage"] = usage.model_dump(exclude_none=True, warnings=False)
    for choice in data.get("choices") or ():
        if choice.get("finish_reason") == "stop" and reason.lower() in FINISH:
            choice["finish_reason"] = reason
    return data


def _native_finish(answer: Any) -> str:
    """Return the vendor's own finish reason of a whole reply, if litellm kept it."""
    for choice in getattr(answer, "choices", None) or ():
        fields = getattr(choice, "provider_specific_fields", None)
        if isinstance(fields, Mapping):
            return str(fields.get("native_finish_reason") or "")
    return ""


def _usage(library: Any, model: str, data: Mapping[str, Any]) -> Usage | None:
    """Return the usage, with its cost by litellm's table, which has prices of caches and long contexts.

    None if all counts are zero, which litellm inserts if the vendor reported none.
    """
    usage = parse_usage(data)
    if not usage.input_tokens and not usage.output_tokens:
        return None
    if usage.cost is not None:
        return usage
    cache_writes = data.get("cache_creation_input_tokens")  # some vendors charge more for them
    # Any exception may come for a model that is not in the table: then the cost is unknown.
    with suppress(Exception):
        prompt, output = library.cost_per_token(
            model=model,
            prompt_tokens=usage.input_tokens,
            completion_tokens=usage.output_tokens,
            cache_read_input_tokens=usage.cached_tokens,
            cache_creation_input_tokens=cache_writes if isinstance(cache_writes, int) else 0,
        )
        return usage.model_copy(update={"cost": Decimal(f"{prompt + output:.10f}").normalize()})
    return usage
