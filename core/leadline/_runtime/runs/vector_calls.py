"""The vector store of a run: each of its methods is one call on the call path."""

from __future__ import annotations

from typing import TypeVar

from leadline._runtime.calls.call_path import CallPath
from leadline._runtime.calls.job import Kind
from leadline._runtime.plugins import ProviderInstance
from leadline.records import (
    Record,
    VectorBatch,
    VectorCollection,
    VectorCount,
    VectorListing,
    VectorMatches,
    VectorQuery,
    VectorRemoval,
)

R = TypeVar("R", bound=Record)


class VectorCalls:
    """Implements `leadline.contracts.Vectors` over one chosen store."""

    def __init__(self, store: ProviderInstance, calls: CallPath) -> None:
        self._store = store
        self._calls = calls

    async def put(self, request: VectorBatch, /) -> VectorCount:
        return await self._call("put", request, VectorCount, effect=True)

    async def remove(self, request: VectorRemoval, /) -> VectorCount:
        return await self._call("remove", request, VectorCount, effect=True)

    async def search(self, request: VectorQuery, /) -> VectorMatches:
        return await self._call("search", request, VectorMatches)

    async def describe(self, request: VectorListing, /) -> VectorCollection:
        return await self._call("describe", request, VectorCollection)

    async def _call(self, method: str, request: Record, reply: type[R], *, effect: bool = False) -> R:
        """Make one call; only searches are journalled: the others belong to no report."""
        kept = method == "search" and self._store.offer.keep
        kind = Kind(name=f"vectors.{method}", reply=reply, keep=kept, unshared=effect)
        do = self._store.method(method)
        return await self._calls.call(kind, request, do, provider=self._store.identity, task="vectors")
