"""Built-in stages that need no model keep the contracts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.hookspecs import Offer
from leadline.records import Document, Hit, Source
from leadline.research_findings import QUESTION, SOURCES, Question
from leadline.testing.contracts import MapStageContract

TEXT = "The harbour of Port Ellery is nine fathoms deep at the mole. A cable further out it is twelve fathoms deep."
DOCUMENT = Document(text=TEXT)


class TestExtract(MapStageContract):
    @pytest.fixture
    def offer(self) -> Offer[Any]:
        offer: Any = PluginCatalog.discover().offer("stages", "extract")
        return offer  # type: ignore[no-any-return]

    @pytest.fixture
    def requests(self) -> Sequence[Any]:
        question = Question(text="How deep is the harbour?", language="en")
        pages = [Hit(url=f"https://example.org/{place}", title="Depths") for place in range(2)]
        sources = [Source(id=f"s{place}", hit=hit, document=DOCUMENT) for place, hit in enumerate(pages)]
        return [{QUESTION: question, SOURCES: sources}]
