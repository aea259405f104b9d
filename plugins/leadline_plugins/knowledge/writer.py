"""Writing to a collection: its lock, the order of the steps that makes additions durable, and embedding again.

What is added is stored under new keys first, and then counts by one transaction of the store. Whatever ends the
process, a search finds whole versions; the next writer removes what nothing names.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import ParamSpec, TypeVar
from uuid import uuid4

from leadline.contracts import Call, Context
from leadline.records import DocumentVectors, VectorBatch, VectorRemoval
from leadline_plugins.documents.store import Entry
from leadline_plugins.documents.text_index import full_text
from leadline_plugins.knowledge.shelf import PROBE, Shelf
from leadline_plugins.search.local.update import finish_in_thread

P = ParamSpec("P")
T = TypeVar("T")
# Passages of one request to the embedder, and of one to the vector store.
_EMBEDDED, _STORED = 64, 512
# A version of a document, and the texts of its passages.
Texts = tuple[str, Sequence[str]]


class ShelfWriter:
    """Changes one collection on behalf of one call."""

    def __init__(self, shelf: Shelf, context: Context, call: Call) -> None:
        self.shelf = shelf
        self._context = context
        self._run = call.run
        self._embedder = call.run.settings.knowledge.embedder
        self._store = call.run.settings.knowledge.store

    def in_thread(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        """Run blocking code in a thread, and wait for its end even if cancelled: it must not outlive the lock."""
        return finish_in_thread(self._context, work, *args, **kwargs)

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Hold the lock of the collection over all processes, and remove what an earlier writer left."""
        async with self.shelf.lock(self.in_thread):
            await self._sweep()
            yield

    async def check_vectors(self) -> None:
        """Note embedder and store at the first addition; later, raise `Denied` if they are others."""
        probe = await self._probe()
        await self.in_thread(self.shelf.check_vectors, self._run.settings, probe)
        if "probe" not in await self.in_thread(self.shelf.about):
            await self.in_thread(self.shelf.set_about, self._facts(probe))

    async def add(self, entries: Sequence[Entry], files: Sequence[tuple[str, bytes]]) -> None:
        """Add versions of documents with their files, given by digest and bytes; they replace those before."""
        shelf, before = self.shelf, await self.in_thread(self.shelf.states)
        await self.in_thread(shelf.expect, [entry.key for entry in entries])
        for digest, data in files:
            await self.in_thread(shelf.keep_file, digest, data)
        texts = [(entry.key, [full_text(entry.title, passage) for passage in entry.passages]) for entry in entries]
        await self._store_vectors(await self.in_thread(shelf.vectors), texts)
        await self.in_thread(shelf.add_texts, entries)
        await self.in_thread(shelf.replace, entries)
        await self._sweep()
        await self.in_thread(shelf.drop_files, [before[entry.id].digest for entry in entries if entry.id in before])

    async def remove(self, ids: Sequence[str]) -> None:
        """Remove documents with all that belongs to them."""
        states = await self.in_thread(self.shelf.states)
        await self.in_thread(self.shelf.remove, ids)
        await self._sweep()
        await self.in_thread(self.shelf.drop_files, [states[name].digest for name in ids if name in states])

    async def embed_again(self) -> int:
        """Embed all passages with the embedder of the settings, and return the number of documents.

        The vectors before serve until all new ones are there.
        """
        probe, number = await self._probe(), uuid4().hex[:8]
        before, after = await self.in_thread(self.shelf.vectors), f"{self.shelf.name} {number}"
        keys, done, waiting = await self.in_thread(self.shelf.keys), 0, list[Texts]()
        try:
            for key in keys:
                waiting.append(await self.in_thread(self._texts, key))
                done += 1
                if done == len(keys) or sum(len(texts) for _, texts in waiting) >= _STORED:
                    await self._store_vectors(after, waiting)
                    waiting = []
                    await self.progress(done, len(keys))
        except BaseException:
            await self._run.vectors.remove(VectorRemoval(collection=after))
            raise
        await self.in_thread(self.shelf.set_about, {**self._facts(probe), "embedded": number})
        await self._run.vectors.remove(VectorRemoval(collection=before))
        return len(keys)

    async def progress(self, done: int, total: int, problems: int = 0) -> None:
        """Tell whoever waits how many files, or documents, are done."""
        await self._run.emit("knowledge", {"done": done, "total": total, "problems": problems})

    # --- parts -------------------------------------------------------------------------------------------------------

    def _texts(self, key: str) -> Texts:
        return key, [full_text(passage.title, passage.evidence) for passage in self.shelf.reader().version(key)]

    def _facts(self, probe: Sequence[float]) -> dict[str, str]:
        return {"embedder": self._embedder, "store": self._store, "probe": json.dumps(list(probe))}

    async def _probe(self) -> tuple[float, ...]:
        return (await self._run.embed([PROBE], self._embedder, keep=False)).vectors[0]

    async def _store_vectors(self, collection: str, documents: Sequence[Texts]) -> None:
        """Embed the texts of documents and store the vectors, several documents at once."""
        texts = [text for _, texts in documents for text in texts]
        starts = range(0, len(texts), _EMBEDDED)
        parts = await self._run.each(
            [texts[start : start + _EMBEDDED] for start in starts],
            lambda part: self._run.embed(part, self._embedder, keep=False),
        )
        vectors = iter([vector for part in parts for vector in part.vectors])
        batch: list[DocumentVectors] = []
        waiting = 0
        for key, own in documents:
            batch.append(DocumentVectors(document=key, vectors=tuple(next(vectors) for _ in own)))
            waiting += len(own)
            if waiting >= _STORED:
                await self._run.vectors.put(VectorBatch(collection=collection, documents=tuple(batch)))
                batch, waiting = [], 0
        if batch:
            await self._run.vectors.put(VectorBatch(collection=collection, documents=tuple(batch)))

    async def _sweep(self) -> None:
        """Remove what is stored under keys that do not count."""
        shelf = self.shelf
        if not (keys := await self.in_thread(shelf.unused)):
            return
        collection = await self.in_thread(shelf.vectors)
        await self._run.vectors.remove(VectorRemoval(collection=collection, documents=tuple(keys)))
        await self.in_thread(shelf.drop, keys)
