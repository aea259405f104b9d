"""Embeddings of an endpoint."""

from __future__ import annotations

from typing import Any

from leadline.contracts import Call, Context
from leadline.errors import BadReply, ProviderError, Unsupported
from leadline.records import Embeddings, EmbedRequest
from leadline_plugins.ai.openai.answer import decoded
from leadline_plugins.ai.openai.endpoint import Endpoint
from leadline_plugins.ai.openai.failures import refusal, told
from leadline_plugins.ai.openai.settings import DEFAULT_EMBEDDING, OpenAISettings
from leadline_plugins.ai.openai.usage import read_usage
from leadline_plugins.ai.openai.vectors import vectors_of


class OpenAIEmbedder:
    """Turns texts to vectors, all texts of a request in one."""

    def __init__(self, settings: OpenAISettings, context: Context) -> None:
        self._settings = settings
        self._endpoint = Endpoint(settings, context)

    async def embed(self, request: EmbedRequest, call: Call, /) -> Embeddings:
        """Return one vector a text."""
        if not request.texts:
            return Embeddings(vectors=())
        model = self.model(request.model) or self._none()
        body: dict[str, Any] = {"model": model, "input": list(request.texts)}
        if self._settings.dimensions:
            body["dimensions"] = self._settings.dimensions
        data = await self._ask(body, model, call)
        if isinstance(usage := data.get("usage"), dict):
            call.spend(read_usage(usage))
        rows = data.get("data")
        found = vectors_of(rows if isinstance(rows, list) else (), len(request.texts), self._endpoint.host)
        wanted = self._settings.dimensions
        if wanted and len(found[0]) != wanted:
            came = f"embeddings of {len(found[0])} numbers came, not of the {wanted} of the setting dimensions"
            raise Unsupported(f"{self._endpoint.host}: {came}")
        return Embeddings(vectors=found)

    def model(self, model: str, /) -> str:
        """Return the model that is asked where a request names this one; empty where none is known."""
        usual = DEFAULT_EMBEDDING if self._settings.at_openai else self._settings.deployment
        return model or self._settings.embedding_model or usual

    def _none(self) -> str:
        raise Unsupported(
            f"{self._endpoint.host}: no model for embeddings is named; set embedding_model in the section"
        )

    async def _ask(self, body: dict[str, Any], model: str, call: Call) -> dict[str, Any]:
        host = self._endpoint.host
        async with self._endpoint.post("embeddings", model, body, call) as answer:
            raw = await answer.aread()
            said = refusal(answer.status_code, raw, answer.headers) if answer.status_code != 200 else None
        try:
            data = None if said else decoded(raw, answer.headers.get("content-type", ""))
        except ProviderError as error:
            raise type(error)(f"{host}: {error}") from None
        if said := said or told(data):
            raise self._endpoint.error(said, model, setting="the section's embedding_model")
        if not isinstance(data, dict):
            raise BadReply(f"{host}: the answer is no JSON object")
        return data
