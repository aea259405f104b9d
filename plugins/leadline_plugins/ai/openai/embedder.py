"""Embeddings of an endpoint."""

from __future__ import annotations

import base64
import json
from array import array
from typing import Any

from leadline.contracts import Call, Context
from leadline.errors import BadReply, Unsupported
from leadline.records import Embeddings, EmbedRequest
from leadline_plugins.ai.openai.causes import error_of
from leadline_plugins.ai.openai.endpoint import Endpoint
from leadline_plugins.ai.openai.failures import refusal, told
from leadline_plugins.ai.openai.settings import DEFAULT_EMBEDDING, OpenAISettings
from leadline_plugins.ai.openai.usage import read_usage


class OpenAIEmbedder:
    """Turns texts to vectors, all texts of a request in one."""

    def __init__(self, settings: OpenAISettings, context: Context) -> None:
        self._settings = settings
        self._endpoint = Endpoint(settings, context)

    async def embed(self, request: EmbedRequest, call: Call, /) -> Embeddings:
        """Return one vector a text."""
        if not request.texts:
            return Embeddings(vectors=())
        model = request.model or self._default()
        body: dict[str, Any] = {"model": model, "input": list(request.texts)}
        if self._settings.dimensions:
            body["dimensions"] = self._settings.dimensions
        data = await self._ask(body, model, call)
        if isinstance(usage := data.get("usage"), dict):
            call.spend(read_usage(usage))
        return Embeddings(vectors=_vectors(data, len(request.texts), self._endpoint.host))

    def _default(self) -> str:
        if self._settings.embedding_model or self._settings.at_openai:
            return self._settings.embedding_model or DEFAULT_EMBEDDING
        raise Unsupported(
            f"{self._endpoint.host}: no model for embeddings is named; set embedding_model in the section"
        )

    async def _ask(self, body: dict[str, Any], model: str, call: Call) -> dict[str, Any]:
        host = self._endpoint.host
        async with self._endpoint.post("embeddings", model, body, call) as answer:
            raw = await answer.aread()
            said = refusal(answer.status_code, raw, answer.headers) if answer.status_code != 200 else None
        try:
            data = None if said else json.loads(raw)
        except ValueError as error:
            raise BadReply(f"{host}: the answer is no JSON: {error}") from None
        if said := said or told(data):
            refused = error_of(said, host, model)
            raise type(refused)(self._endpoint.mask(str(refused)), retry_after=refused.retry_after)
        if not isinstance(data, dict):
            raise BadReply(f"{host}: the answer is no JSON object")
        return data


def _vectors(data: dict[str, Any], count: int, host: str) -> tuple[tuple[float, ...], ...]:
    try:
        rows = sorted(data["data"], key=lambda row: int(row.get("index", 0)))
        vectors = tuple(_vector(row["embedding"]) for row in rows)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadReply(f"{host}: the answer holds no embeddings ({type(error).__name__})") from error
    if len(vectors) != count or len({len(vector) for vector in vectors}) > 1 or not vectors[0]:
        raise BadReply(f"{host}: {len(vectors)} embeddings came for {count} texts, or not all of one length")
    return vectors


def _vector(value: Any) -> tuple[float, ...]:
    """Read a vector: numbers, or their base64 as little-endian 32-bit floats."""
    if isinstance(value, str):
        return tuple(array("f", base64.b64decode(value)))
    return tuple(float(number) for number in value)
