"""Vectors of passages in a vector store, and the queries for the nearest ones."""

from __future__ import annotations

from collections.abc import Mapping

from leadline.records.base import Record


class DocumentVectors(Record):
    """The vectors of one document: one for each of its passages, in their order."""

    document: str
    vectors: tuple[tuple[float, ...], ...]


class VectorBatch(Record):
    """Documents of a collection to store; the vectors replace those that the documents had."""

    collection: str
    documents: tuple[DocumentVectors, ...]


class VectorRemoval(Record):
    """Documents to remove from a collection; None removes the whole collection."""

    collection: str
    documents: tuple[str, ...] | None = None


class VectorCount(Record):
    """How many passages were stored or removed."""

    passages: int = 0


class VectorQuery(Record):
    """A vector, and how many of the nearest passages of some collections are wanted."""

    collections: tuple[str, ...]
    vector: tuple[float, ...]
    limit: int = 10


class VectorMatch(Record):
    """A passage near the vector of a query."""

    collection: str
    document: str
    passage: int
    """The place of the passage in its document, from 0."""
    score: float
    """The cosine of the angle between the two vectors: 1 for the same direction."""


class VectorMatches(Record):
    """The nearest passages, best first."""

    matches: tuple[VectorMatch, ...] = ()


class VectorListing(Record):
    """A collection whose contents are asked for."""

    collection: str


class VectorCollection(Record):
    """The contents of a collection; empty if the store has none of that name."""

    documents: Mapping[str, int] = {}
    """The number of passages of each document."""
    size: int = 0
    """The numbers of each vector."""
