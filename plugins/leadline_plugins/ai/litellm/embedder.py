"""Embeddings by litellm."""

from __future__ import annotations

from leadline.contracts import Call, Context
from leadline.errors import BadReply, Unsupported
from leadline.records import Embeddings, EmbedRequest
from leadline_plugins.ai.litellm.errors import is_of_litellm, translated
from leadline_plugins.ai.litellm.library import Library, account
from leadline_plugins.ai.litellm.settings import LitellmSettings
from leadline_plugins.ai.openai.usage import read_usage


class LitellmEmbedder:
    """Turns texts to vectors with the models of any vendor that litellm knows."""

    def __init__(self, settings: LitellmSettings, context: Context) -> None:
        self._settings = settings
        self._library = Library(context)

    async def embed(self, request: EmbedRequest, call: Call, /) -> Embeddings:
        """Return one vector a text."""
        model = request.model or self._settings.embedding_model
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
            raise translated(error, model, [self._settings.api_key.get_secret_value()]) from error
        if usage := getattr(answer, "usage", None):
            call.spend(read_usage(usage.model_dump()))
        vectors = tuple(tuple(float(number) for number in row["embedding"]) for row in answer.data)
        if len(vectors) != len(request.texts):
            raise BadReply(f"{model}: {len(vectors)} embeddings came for {len(request.texts)} texts")
        return Embeddings(vectors=vectors)
