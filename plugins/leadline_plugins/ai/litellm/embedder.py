"""Embeddings by litellm."""

from __future__ import annotations

from typing import Any

from leadline.contracts import Call, Context
from leadline.errors import Unsupported
from leadline.records import Embeddings, EmbedRequest
from leadline_plugins.ai.litellm.errors import is_of_litellm, translated
from leadline_plugins.ai.litellm.library import Library, account
from leadline_plugins.ai.litellm.settings import LitellmSettings
from leadline_plugins.ai.openai.usage import read_usage
from leadline_plugins.ai.openai.vectors import vectors_of


class LitellmEmbedder:
    """Turns texts to vectors with the models of any vendor that litellm knows."""

    def __init__(self, settings: LitellmSettings, context: Context) -> None:
        self._settings = settings
        self._library = Library(context)

    def model(self, model: str, /) -> str:
        """Return the model that is asked where a request names this one."""
        return model or self._settings.embedding_model

    async def embed(self, request: EmbedRequest, call: Call, /) -> Embeddings:
        """Return one vector a text."""
        model = self.model(request.model)
        if not model:
            raise Unsupported("litellm: no model for embeddings is named; set embedding_model, as VENDOR/MODEL")
        if not request.texts:
            return Embeddings(vectors=())
        library = await self._library.get()
        try:
            answer = await library.aembedding(model=model, input=list(request.texts), **account(self._settings))
        except Exception as error:
            if not is_of_litellm(error):
                raise
            raise translated(error, model, self._settings) from error
        if (usage := getattr(answer, "usage", None)) and (
            used := read_usage(usage.model_dump(warnings=False))
        ).input_tokens:
            call.spend(used)
        rows = [_row(row) for row in getattr(answer, "data", None) or ()]
        return Embeddings(vectors=vectors_of(rows, len(request.texts), model))


def _row(row: Any) -> Any:
    """Return a row as plain data: some vendors' are objects."""
    return row.model_dump(warnings=False) if hasattr(row, "model_dump") else row
