"""Contract of vector stores."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from math import sin
from typing import Any, ClassVar

import pytest

from leadline._hosting.context import PluginContext
from leadline._settings.secrets import Secrets
from leadline.contracts import Context
from leadline.hookspecs import Offer, PluginSettings
from leadline.records import (
    DocumentVectors,
    VectorBatch,
    VectorCollection,
    VectorCount,
    VectorListing,
    VectorMatches,
    VectorQuery,
    VectorRemoval,
)
from leadline.testing.context import FakeCall, NewCall
from leadline.testing.contracts.base import AT_ONCE, PluginContract, Subject
from leadline.testing.contracts.checks import Failure, accepted, must, outcome

Storing = Subject[VectorQuery, VectorMatches]

_SIZE = 16
# Cosines may differ by this much: stores round their vectors.
_TOLERANCE = 0.02
_SHARED, _OTHER = "contract-shared", "contract-other"
_ODD = ("", "a/b", "../c", "港口", "d'e\"f;--", "x" * 500, "knowledge://shared/0a/é.pdf")


def _vector(index: int) -> tuple[float, ...]:
    """Return one of many vectors of length 1 that lie far from each other."""
    numbers = [sin((index + 1) * (axis + 1) ** 2) for axis in range(_SIZE)]
    length = sum(number * number for number in numbers) ** 0.5
    return tuple(number / length for number in numbers)


def _document(name: str, *places: int) -> DocumentVectors:
    return DocumentVectors(document=name, vectors=tuple(map(_vector, places)))


# The documents of the collection, each with the places of its vectors.
_DOCUMENTS = {"one": (0, 1, 2), "two": (3,), "three": tuple(range(4, 24)), "empty": ()}


class VectorStoreContract(PluginContract[VectorQuery, VectorMatches]):
    """Contract of vector stores. Set `tested`; fixture: `settings` of a store that is empty at the start."""

    kind = "vector_stores"
    record = VectorMatches
    verb = "search"
    lasting: ClassVar[bool] = True
    """False if it forgets its vectors at its end."""

    @pytest.fixture
    def requests(self) -> Sequence[VectorQuery]:
        """Return ten queries."""
        return [VectorQuery(collections=(_SHARED,), vector=_vector(index), limit=3) for index in range(AT_ONCE)]

    @asynccontextmanager
    async def entered(self, offer: Offer[Any], settings: PluginSettings, context: Context) -> AsyncIterator[Any]:
        """Create the store and put the documents of the test into it."""
        async with super().entered(offer, settings, context) as plugin:
            documents = tuple(_document(name, *places) for name, places in _DOCUMENTS.items())
            await plugin.put(VectorBatch(collection=_SHARED, documents=documents), FakeCall())
            await plugin.put(VectorBatch(collection=_OTHER, documents=(_document("one", 30),)), FakeCall())
            yield plugin

    def check(self, request: VectorQuery, reply: VectorMatches, call: FakeCall) -> None:
        """Check number, order, scores and collections of the matches."""
        scores = [match.score for match in reply.matches]
        must(len(scores) <= request.limit, f"returns {len(scores)} matches for a limit of {request.limit}")
        must(scores == sorted(scores, reverse=True), f"the best match must come first: {scores}")
        must(all(abs(score) <= 1 + _TOLERANCE for score in scores), f"scores are cosines, from -1 to 1: {scores}")
        strange = {match.collection for match in reply.matches} - {*request.collections}
        must(not strange, f"finds passages of collections that were not asked for: {sorted(strange)}")

    async def _search(
        self, subject: Storing, index: int, *collections: str, limit: int = 3
    ) -> list[tuple[str, str, int]]:
        request = VectorQuery(collections=collections or (_SHARED,), vector=_vector(index), limit=limit)
        return [(match.collection, match.document, match.passage) for match in (await subject.reply(request)).matches]

    async def _put(self, subject: Storing, *documents: DocumentVectors, into: str = _SHARED) -> None:
        request = VectorBatch(collection=into, documents=documents)
        accepted(await subject.outcome(subject.plugin.put(request, FakeCall())), VectorCount)

    async def _contents(self, subject: Storing, of: str = _SHARED) -> VectorCollection:
        request = VectorListing(collection=of)
        return accepted(await subject.outcome(subject.plugin.describe(request, FakeCall())), VectorCollection)

    # --- the tests ---

    async def test_the_nearest_passage_comes_first(self, subject: Storing) -> None:
        for name, indexes in _DOCUMENTS.items():
            for passage, index in enumerate(indexes):
                request = VectorQuery(collections=(_SHARED,), vector=_vector(index), limit=2)
                best = (await subject.reply(request)).matches[0]
                must((best.document, best.passage) == (name, passage), f"the nearest of {name}[{passage}] is {best}")
                must(abs(best.score - 1) <= _TOLERANCE, f"a vector and itself have the cosine 1, not {best.score}")

    async def test_a_search_covers_the_collections_that_it_names(self, subject: Storing) -> None:
        matches = await self._search(subject, 30, _SHARED, _OTHER)
        must(matches[:1] == [(_OTHER, "one", 0)], f"the nearest passage of two collections is missing: {matches}")
        must(len(matches) == 3, f"a search in two collections has {len(matches)} matches for a limit of 3")
        matches = await self._search(subject, 0, _OTHER)
        must(matches == [(_OTHER, "one", 0)], f"finds passages of another collection: {matches}")
        must(not await self._search(subject, 0, "contract-unknown"), "finds passages in an unknown collection")
        must(not (await self._contents(subject, "contract-unknown")).documents, "lists an unknown collection")

    async def test_it_lists_what_it_has(self, subject: Storing) -> None:
        contents = await self._contents(subject)
        expected = {name: len(places) for name, places in _DOCUMENTS.items() if places}
        listed = {name: count for name, count in contents.documents.items() if count}
        must(listed == expected, f"lists {listed} instead of {expected}")
        must(contents.size == _SIZE, f"says that its vectors have {contents.size} numbers; they have {_SIZE}")

    async def test_new_vectors_replace_those_of_a_document(self, subject: Storing) -> None:
        await self._put(subject, _document("one", 40))
        must((await self._contents(subject)).documents["one"] == 1, "keeps old vectors of a replaced document")
        must((await self._search(subject, 40))[0] == (_SHARED, "one", 0), "does not find the new vector")
        stale = [match for match in await self._search(subject, 1, limit=50) if match == (_SHARED, "one", 1)]
        must(not stale, "finds a vector that was replaced")

    async def test_documents_and_collections_can_be_removed(self, subject: Storing) -> None:
        for documents, left in ((("one", "nobody"), {"two", "three"}), (None, set())):
            request = VectorRemoval(collection=_SHARED, documents=documents)
            accepted(await subject.outcome(subject.plugin.remove(request, FakeCall())), VectorCount)
            listed = {name for name, count in (await self._contents(subject)).documents.items() if count}
            must(listed == left, f"after removing {documents} it lists {sorted(listed)}, not {sorted(left)}")
            matched = {document for _, document, _ in await self._search(subject, 0, limit=50)}
            must(matched == left, f"after removing {documents} it finds {sorted(matched)}, not {sorted(left)}")
        must(bool(await self._search(subject, 30, _OTHER)), "removing a collection removes another one, too")
        short = DocumentVectors(document="short", vectors=((1.0, 0.0), (0.0, 1.0)))
        await self._put(subject, short)
        must(
            (await self._contents(subject)).size == 2,
            "a removed collection cannot have vectors of another size",
        )

    async def test_vectors_of_another_size_are_refused(self, subject: Storing) -> None:
        short = DocumentVectors(document="one", vectors=((1.0, 0.0),))
        for work in (
            subject.plugin.put(VectorBatch(collection=_SHARED, documents=(short,)), FakeCall()),
            subject.plugin.search(VectorQuery(collections=(_SHARED,), vector=(1.0, 0.0)), FakeCall()),
        ):
            result = await subject.outcome(work)
            must(isinstance(result, Failure), f"accepts a vector of 2 numbers among vectors of {_SIZE}: {result!r:.80}")
        must(bool(await self._search(subject, 0)), "a refused document removes vectors")

    async def test_documents_may_have_any_name(self, subject: Storing) -> None:
        for index, name in enumerate(_ODD, start=50):
            await self._put(subject, _document(name, index), into=name or _SHARED)
            matches = await self._search(subject, index, name or _SHARED, limit=1)
            must(matches == [(name or _SHARED, name, 0)], f"does not find a document called {name!r:.40}: {matches}")

    async def test_an_interrupted_replacement_leaves_one_version_whole(self, subject: Storing) -> None:
        for turns in (1, 2, 4, 8, 16, 64):
            request = VectorBatch(collection=_SHARED, documents=(_document("one", *range(60, 65)),))
            task = asyncio.create_task(outcome(subject.plugin.put(request, FakeCall()), subject.secrets))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task})
            count = (await self._contents(subject)).documents.get("one")
            must(count in (3, 5), f"an interrupted replacement of 3 passages by 5 leaves {count}")
        await self._put(subject, _document("one", *_DOCUMENTS["one"]))

    async def test_it_keeps_its_vectors(
        self, offer: Offer[Any], settings: PluginSettings, context: PluginContext, new_call: NewCall, secrets: Secrets
    ) -> None:
        if not self.lasting:
            pytest.skip("it forgets its vectors at its end")
        async with self.entered(offer, settings, context) as plugin:
            await self._put(Subject(self, plugin, new_call, secrets), _document("kept", 70))
        async with super().entered(offer, settings, context) as plugin:
            matches = await self._search(Subject(self, plugin, new_call, secrets), 70, limit=1)
            must(matches == [(_SHARED, "kept", 0)], f"does not find what it kept before: {matches}")
