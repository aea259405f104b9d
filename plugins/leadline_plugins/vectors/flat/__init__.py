"""The vector store `flat`: vectors in files of one folder, compared one by one, without a server.

A number takes one byte, so that 100,000 vectors of 1,024 numbers take 100 MB, which are mapped and not loaded. A query
is compared with all of them: docs/decisions/0025-knowledge-base.md has the figures.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from heapq import nlargest
from pathlib import Path
from sqlite3 import Error
from typing import TypeVar

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.errors import Denied
from leadline.plugin import Limits, PluginSettings, vector_store
from leadline.records import (
    VectorBatch,
    VectorCollection,
    VectorCount,
    VectorListing,
    VectorMatch,
    VectorMatches,
    VectorQuery,
    VectorRemoval,
)
from leadline_plugins.vectors import safe_name
from leadline_plugins.vectors.flat.collection import Collection

__all__ = ["FlatSettings"]

T = TypeVar("T")
# Collections whose vectors stay mapped.
_MAPPED = 32


class FlatSettings(PluginSettings):
    """Where the vectors are."""

    folder: Path = Field(Path("leadline-knowledge/vectors"), description="the folder of the vectors")


@vector_store(
    "Vectors in files, compared exactly: no server",
    settings=FlatSettings,
    requires=("simsimd=simsimd>=6.5,<7",),
    work="local",
    limits=Limits(timeout=300.0),
)
class FlatStore:
    """Keeps each collection in a folder of its own; several processes may use it at once."""

    def __init__(self, settings: FlatSettings, context: Context) -> None:
        self._folder = settings.folder.expanduser().absolute()
        self._context = context
        self._collections: OrderedDict[str, Collection] = OrderedDict()

    async def put(self, request: VectorBatch, call: Call, /) -> VectorCount:
        """Store the vectors of documents. Raises `Unsupported` for vectors of another size than the collection's."""
        vectors = {document.document: document.vectors for document in request.documents}
        return VectorCount(passages=await self._do(self._collection(request.collection).put, vectors))

    async def remove(self, request: VectorRemoval, call: Call, /) -> VectorCount:
        """Remove documents, or the collection."""
        return VectorCount(passages=await self._do(self._collection(request.collection).remove, request.documents))

    async def search(self, request: VectorQuery, call: Call, /) -> VectorMatches:
        """Return the nearest passages. Raises `Unsupported` for a vector of another size."""
        collections = [self._collection(name) for name in dict.fromkeys(request.collections)]
        results = await asyncio.gather(
            *(self._do(collection.nearest, request.vector, request.limit) for collection in collections)
        )
        matches = (
            VectorMatch(collection=collection.name, document=document, passage=passage, score=score)
            for collection, nearest in zip(collections, results, strict=True)
            for document, passage, score in nearest
        )
        return VectorMatches(matches=tuple(nlargest(request.limit, matches, key=lambda match: match.score)))

    async def describe(self, request: VectorListing, call: Call, /) -> VectorCollection:
        documents, size = await self._do(self._collection(request.collection).contents)
        return VectorCollection(documents=documents, size=size)

    def _collection(self, name: str) -> Collection:
        if name not in self._collections:
            self._collections[name] = Collection(name, self._folder / safe_name(name))
        self._collections.move_to_end(name)
        while len(self._collections) > _MAPPED:
            self._collections.popitem(last=False)
        return self._collections[name]

    async def _do(self, work: Callable[..., T], *arguments: object) -> T:
        try:
            return await self._context.in_thread(work, *arguments)
        except (OSError, Error) as error:
            raise Denied(f"the vectors in {self._folder} cannot be used: {error}") from error
