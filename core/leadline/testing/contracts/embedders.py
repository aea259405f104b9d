"""The contracts of embedders and rerankers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import pytest

from leadline.door.secrets import Secrets
from leadline.records import Embeddings, EmbedRequest, Ranking, RerankRequest
from leadline.testing.context import FakeCall
from leadline.testing.contracts.base import PluginContract
from leadline.testing.contracts.conduct import must

_TEXTS = ("How deep is the harbour?", "The harbour is nine fathoms deep.", "海底", "", "Grain was dear in spring.")


class EmbedderContract(PluginContract[EmbedRequest, Embeddings]):
    """What every embedder does. Fixture: `offer`; `requests`, where the empty model is not its default."""

    kind = "embedders"
    record = Embeddings
    verb = "embed"

    @pytest.fixture
    def requests(self) -> Sequence[EmbedRequest]:
        """Return several texts, each one alone and all of them together."""
        return [EmbedRequest(model="", texts=texts) for texts in (_TEXTS, *((text,) for text in _TEXTS))]

    def check(self, request: EmbedRequest, reply: Embeddings, call: FakeCall) -> None:
        """Check that there is one vector a text, all of one length, of plain numbers."""
        wanted, given = len(request.texts), len(reply.vectors)
        must(given == wanted, f"gives {given} vectors for {wanted} texts: one a text, in their order")
        sizes = {len(vector) for vector in reply.vectors}
        must(len(sizes) <= 1 and 0 not in sizes, f"gives vectors of {sorted(sizes)} numbers: all are of one length")
        must(all(isfinite(place) for vector in reply.vectors for place in vector), "gives numbers that are none")

    async def test_no_texts_have_no_vectors(
        self, plugin: Any, requests: Sequence[EmbedRequest], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        await self.reply(plugin, requests[0].model_copy(update={"texts": ()}), new_call(), secrets)

    async def test_vectors_are_as_long_whatever_the_text(
        self, plugin: Any, requests: Sequence[EmbedRequest], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        replies = [await self.reply(plugin, request, new_call(), secrets) for request in requests]
        sizes = {len(vector) for reply in replies for vector in reply.vectors}
        must(len(sizes) == 1, f"gives vectors of {sorted(sizes)} numbers: those of one model can be compared")


class RerankerContract(PluginContract[RerankRequest, Ranking]):
    """What every reranker does. Fixture: `offer`."""

    kind = "rerankers"
    record = Ranking
    verb = "rerank"

    @pytest.fixture
    def requests(self) -> Sequence[RerankRequest]:
        """Return several texts, together and each alone."""
        asked = ((_TEXTS[0], texts) for texts in (_TEXTS[1:], *((text,) for text in _TEXTS[1:])))
        return [RerankRequest(query=query, texts=texts) for query, texts in asked]

    def check(self, request: RerankRequest, reply: Ranking, call: FakeCall) -> None:
        """Check that there is one score a text, each a plain number."""
        wanted, given = len(request.texts), len(reply.scores)
        must(given == wanted, f"gives {given} scores for {wanted} texts: one a text, in their order")
        must(all(map(isfinite, reply.scores)), "gives scores that are no numbers")

    async def test_no_texts_have_no_scores(
        self, plugin: Any, new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        await self.reply(plugin, RerankRequest(query=_TEXTS[0], texts=()), new_call(), secrets)
