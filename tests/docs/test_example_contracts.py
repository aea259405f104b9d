"""The examples of the pages of the kinds keep the contracts that the built-in plugins keep."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.hookspecs import Offer, PluginSettings
from leadline.records import Blob, Code, FetchRequest, SearchRequest
from leadline.research_findings import EVIDENCE, REPORT
from leadline.testing.contracts import (
    AIProviderContract,
    ChartRunnerContract,
    ClaimJudgeContract,
    CommandContract,
    EmbedderContract,
    FetcherContract,
    MapStageContract,
    MiddlewareContract,
    ObserverContract,
    ParserContract,
    PluginContract,
    ReportFormatterContract,
    RerankerContract,
    SandboxContract,
    SearchProviderContract,
    SearchStrategyContract,
    StageContract,
    SynthesizerContract,
    VectorStoreContract,
)
from leadline.testing.fakes import quoting
from leadline.testing.servers import ScriptedAnswer, json_answer, scripted_server

MAIL = b"Subject: Depths\nContent-Type: text/plain\n\nThe harbour is nine fathoms deep.\n"


class Example(PluginContract[Any, Any]):
    """The example of a kind; its plugin's name is what it is called by in the settings."""

    name = ""

    @pytest.fixture
    def offer(self, example_plugins: PluginCatalog) -> Offer[Any]:
        return example_plugins.offer(self.kind, self.name)

    async def before(self, offer: Offer[Any], said: ScriptedAnswer) -> AsyncIterator[PluginSettings]:
        """Give the settings that reach a server of the test's."""
        async with scripted_server(said) as server:
            yield cast("Any", offer.settings)(url=server.url)


class TestCommand(CommandContract):
    @pytest.fixture
    def command(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        folder = Path(__file__).parents[2] / "examples" / "commands"
        info = tmp_path / "leadline_cited-1.0.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_text("[leadline.commands]\ncited = leadline_cited\n", encoding="utf-8")
        for path in (folder, tmp_path):
            monkeypatch.syspath_prepend(str(path))
        return "cited"


class TestChat(Example, AIProviderContract):
    name = "house_model"

    @pytest.fixture
    async def settings(self, offer: Offer[Any]) -> AsyncIterator[PluginSettings]:
        said = {"choices": [{"message": {"content": "Nine fathoms."}}]}
        async for settings in self.before(offer, json_answer(said)):
            yield settings


class TestSearch(Example, SearchProviderContract):
    name = "glossary"

    @pytest.fixture
    def settings(self, offer: Offer[Any], tmp_path: Path) -> PluginSettings:
        file = tmp_path / "glossary.csv"
        file.write_text("term,url,text\nfathom,https://a.example/,Six feet.\nfath,https://b.example/,Short.\n")
        made: PluginSettings = cast("Any", offer.settings)(file=file)
        return made

    @pytest.fixture
    def requests(self) -> Sequence[SearchRequest]:
        return [SearchRequest(query="How long is a fathom?")]


class TestStrategy(Example, SearchStrategyContract):
    name = "take_turns"


class TestSynthesizer(Example, SynthesizerContract):
    name = "bullets"


class TestFormat(Example, ReportFormatterContract):
    name = "quotes_csv"


class TestFetcher(Example, FetcherContract):
    name = "archive"
    heeds = False

    @pytest.fixture
    async def settings(self, offer: Offer[Any]) -> AsyncIterator[PluginSettings]:
        async for settings in self.before(
            offer, ScriptedAnswer(b"nine fathoms", headers={"content-type": "text/plain"})
        ):
            yield settings

    @pytest.fixture
    def requests(self) -> Sequence[FetchRequest]:
        return [FetchRequest(url="https://example.org/depths")]


class TestParser(Example, ParserContract):
    name = "mail"

    @pytest.fixture
    def requests(self) -> Sequence[Blob]:
        return [Blob(name="depths.eml", media_type="message/rfc822", data=MAIL)]


class TestEmbedder(Example, EmbedderContract):
    name = "trigrams"


class TestVectorStore(Example, VectorStoreContract):
    name = "memory_store"
    lasting = False


class TestReranker(Example, RerankerContract):
    name = "overlap"


class TestJudge(Example, ClaimJudgeContract):
    name = "careful"


class TestChart(Example, ChartRunnerContract):
    name = "bars"


class TestSandbox(Example, SandboxContract):
    name = "postfix"

    @pytest.fixture
    def requests(self) -> Sequence[Code]:
        return [Code(language="postfix", text="3 4 + 2 *")]

    @pytest.fixture
    def failing(self) -> Sequence[Code]:
        return [Code(language="postfix", text=text) for text in ("1 0 /", "+", "many")]


REPORT_OF_1871 = quoting("Built in 1871 [@e1].", quotes=["The mole was built in 1871.", "It is nine fathoms deep."])


class TestMapStage(Example, MapStageContract):
    name = "years"

    @pytest.fixture
    def requests(self) -> Sequence[Any]:
        return [{EVIDENCE: REPORT_OF_1871.evidence}]


class TestStage(Example, StageContract):
    name = "timeline"

    @pytest.fixture
    def requests(self, example_plugins: PluginCatalog) -> Sequence[Any]:
        years: Any = example_plugins.offer("stages", "years")
        return [{REPORT: REPORT_OF_1871, years.gives: [years.gives.type(id="e1", year=1871)]}]


class TestMiddleware(Example, MiddlewareContract):
    name = "redact"


class TestObserver(Example, ObserverContract):
    name = "webhook"

    @pytest.fixture
    async def settings(self, offer: Offer[Any]) -> AsyncIterator[PluginSettings]:
        async for settings in self.before(offer, json_answer({})):
            yield settings
