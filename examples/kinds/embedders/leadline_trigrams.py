from math import sqrt
from zlib import crc32

from leadline.plugin import Call, Embeddings, EmbedRequest, embedder


def vector(text: str) -> tuple[float, ...]:
    counts = [0] * 256
    for start in range(len(text) - 2):
        counts[crc32(text[start : start + 3].lower().encode()) % 256] += 1
    length = sqrt(sum(count * count for count in counts)) or 1.0
    return tuple(count / length for count in counts)


@embedder("Hashed trigrams, 256 numbers a text")
class Trigrams:
    async def embed(self, request: EmbedRequest, call: Call, /) -> Embeddings:
        return Embeddings(vectors=tuple(vector(text) for text in request.texts))
