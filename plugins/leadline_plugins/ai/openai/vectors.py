"""The vectors of an answer: as many as there were texts, in their order, of one length, and numbers all of them."""

from __future__ import annotations

import base64
from array import array
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from leadline.errors import BadReply

Vectors = tuple[tuple[float, ...], ...]


def vectors_of(rows: Sequence[Mapping[str, Any]], count: int, who: str) -> Vectors:
    """Return the vectors of rows that may come in another order. Raises `BadReply`, naming `who`, for what is none."""
    try:
        placed = {_place(row, place): row for place, row in enumerate(rows)}
        vectors = tuple(_vector(placed[place]["embedding"]) for place in sorted(placed))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BadReply(f"{who}: the answer holds no embeddings ({type(error).__name__})") from error
    if len(placed) != len(rows):
        raise BadReply(f"{who}: two embeddings came for the same text")
    if len(vectors) != count or len({len(vector) for vector in vectors}) > 1 or not all(vectors):
        raise BadReply(f"{who}: {len(vectors)} embeddings came for {count} texts, or not all of one length")
    if not all(isfinite(number) for vector in vectors for number in vector):
        raise BadReply(f"{who}: an embedding holds what is no number")
    return vectors


def _place(row: Mapping[str, Any], place: int) -> int:
    """Return the number of the text that a row belongs to; where none is told, its own."""
    index = row.get("index")
    return place if index is None else int(index)


def _vector(value: Any) -> tuple[float, ...]:
    """Read a vector: numbers, or their base64 as little-endian 32-bit floats."""
    if isinstance(value, str):
        return tuple(array("f", base64.b64decode(value)))
    return tuple(float(number) for number in value)
