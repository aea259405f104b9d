"""Chats and embeddings of one endpoint."""

from __future__ import annotations

import base64
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any

from leadline.contracts import Call, Context
from leadline.display import choose_from
from leadline.errors import BadReply, ProviderError, Unsupported
from leadline.records import ChatReply, ChatRequest, Embeddings, EmbedRequest, ModelTraits
from leadline_plugins.ai.openai import chat_completions, responses
from leadline_plugins.ai.openai.endpoint import Endpoint, parse_json, read_reply
from leadline_plugins.ai.openai.endpoint_quirks import Forms, Quirks, RefusedError
from leadline_plugins.ai.openai.replies import parse_usage
from leadline_plugins.ai.openai.settings import DEFAULT_EMBEDDING, DEFAULT_MODEL, ModelSettings, OpenAISettings
from leadline_plugins.service_errors import Refusal, find_refusal, read_refusal

Vectors = tuple[tuple[float, ...], ...]


class OpenAI:
    """Chats with the models of one endpoint, in the form that it supports."""

    def __init__(self, settings: OpenAISettings, context: Context) -> None:
        self._settings = settings
        self._endpoint = Endpoint(settings, context)
        self._forms = Forms(settings.stream, fixed_api=settings.api != "auto")
        self._only_model = ""

    def traits(self, model: str, /) -> ModelTraits:
        """Return the capabilities of a model: all, except those that the settings deny."""
        name = model or self._configured or (DEFAULT_MODEL if self._settings.at_openai else "")
        return ModelTraits(model=name, **self._settings.models.get(name, ModelSettings()).model_dump())

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        """Return the reply; if the endpoint refuses the form of the request, try another one at once."""
        model = request.model or await self._default_model()

        def body_of(quirks: Quirks) -> dict[str, Any]:
            api = responses if quirks.api == "responses" else chat_completions
            body: dict[str, Any] = api.request_body(request, model, quirks)
            return body | self._settings.extra_body

        async def send(body: dict[str, Any], quirks: Quirks) -> ChatReply:
            return await self._send(body, model, quirks, call)

        try:
            reply = await self._forms.send(model, self._usual_quirks(), body_of, send, followed=call.followed)
        except RefusedError as error:
            raise await self._error(error.refusal, model) from None
        return reply if reply.model else reply.model_copy(update={"model": model})

    def _usual_quirks(self) -> Quirks:
        official = self._settings.at_openai or self._settings.at_azure
        return Quirks(
            api="responses" if self._settings.api == "responses" else "chat",
            limit="max_completion_tokens" if official else "max_tokens",
            # Other servers refuse, ignore or misread a restriction of tools; a call of an excluded tool is answered.
            choice=official,
        )

    @property
    def _configured(self) -> str:
        return self._settings.model or self._settings.deployment

    async def _default_model(self) -> str:
        """Return the model of the settings, or the only one that the server has."""
        if self._configured or self._settings.at_openai:
            return self._configured or DEFAULT_MODEL
        if not self._only_model:
            models = await self._endpoint.models()
            if len(models) != 1:
                choice = f"choose from: {', '.join(models)}" if models else "the endpoint lists none"
                raise Unsupported(f"{self._endpoint.host}: no model is set; set model in the section ({choice})")
            self._only_model = models[0]
        return self._only_model

    async def _error(self, refusal: Refusal, model: str) -> ProviderError:
        error = self._endpoint.error(refusal, model)
        if refusal.fault == "no_model":
            with suppress(ProviderError):  # the list only improves the error
                if names := await self._endpoint.models():
                    return Unsupported(self._endpoint.mask(f"{error}; {choose_from(model, names[:20])}"))
        return error

    async def _send(self, body: dict[str, Any], model: str, quirks: Quirks, call: Call) -> ChatReply:
        """Send one request. Raises `RefusedError` if the endpoint refuses it."""
        use_responses = quirks.api == "responses"
        reader = responses.ResponsesReplyReader(call) if use_responses else chat_completions.ChatReplyReader(call)
        path = "responses" if use_responses else "chat/completions"
        try:
            async with self._endpoint.post(path, model, body, call) as answer:
                await read_reply(answer, reader)
            return reader.reply()
        except (BadReply, Unsupported) as error:
            prefix = f"{self._endpoint.host}: "
            raise type(error)(self._endpoint.mask(f"{prefix}{str(error).removeprefix(prefix)}")) from error
        finally:
            if reader.usage is not None:
                call.spend(parse_usage(reader.usage))


class OpenAIEmbedder:
    """Embeds texts, all texts of a request at once."""

    def __init__(self, settings: OpenAISettings, context: Context) -> None:
        self._settings = settings
        self._endpoint = Endpoint(settings, context)

    def model(self, model: str, /) -> str:
        """Return the model that serves a request for `model`; empty if none is known."""
        usual = DEFAULT_EMBEDDING if self._settings.at_openai else self._settings.deployment
        return model or self._settings.embedding_model or usual

    async def embed(self, request: EmbedRequest, call: Call, /) -> Embeddings:
        """Return one vector per text."""
        if not request.texts:
            return Embeddings(vectors=())
        host, model, dimensions = self._endpoint.host, self.model(request.model), self._settings.dimensions
        if not model:
            raise Unsupported(f"{host}: no embedding model is set; set embedding_model in the section")
        body: dict[str, Any] = {"model": model, "input": list(request.texts)}
        if dimensions:
            body["dimensions"] = dimensions
        data = await self._send(body, model, call)
        if isinstance(usage := data.get("usage"), dict):
            call.spend(parse_usage(usage))
        rows = data.get("data")
        vectors = parse_vectors(rows if isinstance(rows, list) else (), len(request.texts), host)
        if dimensions and len(vectors[0]) != dimensions:
            raise Unsupported(f"{host}: the embeddings have {len(vectors[0])} dimensions instead of {dimensions}")
        return Embeddings(vectors=vectors)

    async def _send(self, body: dict[str, Any], model: str, call: Call) -> dict[str, Any]:
        host = self._endpoint.host
        async with self._endpoint.post("embeddings", model, body, call) as answer:
            raw = await answer.aread()
        refusal = read_refusal(answer.status_code, raw, answer.headers) if answer.status_code != 200 else None
        try:
            data = None if refusal else parse_json(raw, answer.headers.get("content-type", ""))
        except ProviderError as error:
            raise type(error)(f"{host}: {error}") from None
        if refusal := refusal or find_refusal(data):
            raise self._endpoint.error(refusal, model, "the section's embedding_model")
        if not isinstance(data, dict):
            raise BadReply(f"{host}: the answer is not a JSON object")
        return data


def parse_vectors(rows: Sequence[Mapping[str, Any]], count: int, source: str) -> Vectors:
    """Return the vectors of rows in the order of the texts. Raises `BadReply`, naming `source`, if they do not fit."""
    try:
        # Without an index, a row belongs to the text at its own place.
        indexes = [row.get("index") for row in rows]
        ordered = {position if index is None else int(index): rows[position] for position, index in enumerate(indexes)}
        vectors = tuple(_vector(ordered[position]["embedding"]) for position in sorted(ordered))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BadReply(f"{source}: the answer has no embeddings ({type(error).__name__})") from error
    if len(vectors) != count or len(rows) != count or not all(vectors) or len(set(map(len, vectors))) > 1:
        raise BadReply(f"{source}: the embeddings do not match the {count} texts in number or length")
    if not all(isfinite(number) for vector in vectors for number in vector):
        raise BadReply(f"{source}: an embedding contains a value that is not a finite number")
    return vectors


def _vector(value: Any) -> tuple[float, ...]:
    """Return a vector from numbers, or from the base64 form of little-endian 32-bit floats."""
    if isinstance(value, str):
        return tuple(array("f", base64.b64decode(value)))
    return tuple(float(number) for number in value)
