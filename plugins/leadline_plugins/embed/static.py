"""The plugin `static`: embeddings on this machine, without key, network or model server.

`hashed` counts words and needs nothing; `wordllama` looks up trained vectors of word pieces (English, mostly); `both`
puts the two side by side, which finds most. docs/reference/models.md has the figures.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import Any, Literal, get_args
from zlib import crc32

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.errors import Unsupported
from leadline.plugin import Limits, PluginSettings, embedder
from leadline.records import Embeddings, EmbedRequest

Model = Literal["hashed", "wordllama", "both"]
# Digits of a number: a vector is stored as text, and the sixth digit changes no order.
_DIGITS = 5


class StaticSettings(PluginSettings):
    """Which vectors."""

    model: Model = Field("hashed", description="hashed (needs nothing), wordllama, both (leadline[static])")


def _ready(settings: StaticSettings) -> str | None:
    if settings.model == "hashed" or find_spec("wordllama"):
        return None
    return f"the model {settings.model} needs wordllama: leadline plugins install 'leadline[static]'"


@embedder(
    "Embeddings on this machine: no key, no network",
    settings=StaticSettings,
    ready=_ready,
    work="local",
    cache_key=None,
    limits=Limits(timeout=300.0),
)
class Static:
    """Turns texts to vectors of length 1, so that their product is their likeness."""

    def __init__(self, settings: StaticSettings, context: Context) -> None:
        self._model = settings.model
        self._context = context
        self._loading: asyncio.Future[Any] | None = None

    async def embed(self, request: EmbedRequest, call: Call, /) -> Embeddings:
        """Return one vector per text. Raises `Unsupported` for an unknown model."""
        model = request.model or self._model
        if model not in get_args(Model):
            raise Unsupported(f"static has no model {model!r}: choose from {', '.join(get_args(Model))}")
        words = await self._trained() if model != "hashed" else None
        rows = await self._context.in_thread(_vectors, model, request.texts, words)
        return Embeddings(vectors=rows)

    async def _trained(self) -> Any:
        """Return the trained vectors, loaded once."""
        if self._loading is None:
            self._loading = asyncio.ensure_future(self._context.in_thread(_load))
        return await asyncio.shield(self._loading)


def _load() -> Any:
    if find_spec("wordllama") is None:
        raise Unsupported("the model wordllama is not installed: leadline plugins install 'leadline[static]'")
    wordllama: Any = import_module("wordllama")
    package = Path(str(wordllama.__file__)).parent
    # Its weights lie in the package; without these two it asks a hub for them.
    return wordllama.WordLlama.load(cache_dir=package, disable_download=True)


def _vectors(model: str, texts: Sequence[str], words: Any) -> tuple[tuple[float, ...], ...]:
    """Return the vectors, rounded; most numbers of short texts are 0."""
    rows = _rows(model, texts, words)
    return tuple(tuple([value and round(value, _DIGITS) for value in row]) for row in rows)


def _rows(model: str, texts: Sequence[str], words: Any) -> list[list[float]]:
    if model == "hashed":
        return [hashed(text) for text in texts]
    trained = [unit([float(value) for value in row]) for row in words.embed(list(texts))] if texts else []
    if model == "wordllama":
        return trained
    pairs = zip(texts, trained, strict=True)
    return [[value / sqrt(2) for value in (*hashed(text), *row)] for text, row in pairs]


# Numbers of a vector: with 512 the first hit is right for 5-8 % fewer questions, with 2048 for 2-4 % more.
SIZE = 1024
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_WORD = re.compile(r"[^\W\d_]+|\d+")
# Characters of the parts of a word, whose ends are marked, so that its forms have similar vectors.
_PART = 4


def hashed(text: str) -> list[float]:
    """Return the vector of a text, of length 1; zero for a text without features."""
    places = [0.0] * SIZE
    for feature, count in Counter(features(text.lower())).items():
        digest = crc32(feature.encode("utf-8", "surrogatepass"))
        places[digest % SIZE] += sqrt(count) if digest >> 31 else -sqrt(count)
    return unit(places)


def unit(vector: list[float]) -> list[float]:
    """Return the vector scaled to length 1; zero stays zero."""
    length = sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def features(text: str) -> Iterator[str]:
    for run in _UNSPACED.findall(text):
        yield from run
        yield from (run[start : start + 2] for start in range(len(run) - 1))
    for word in _WORD.findall(_UNSPACED.sub(" ", text)):
        yield word
        marked = f"^{word}$"
        if len(word) >= _PART:
            yield from (marked[start : start + _PART] for start in range(len(marked) - _PART + 1))
