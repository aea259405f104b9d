"""Runs over several engines of which some fail, page or rest; and the cache across runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, cast

import pytest

import leadline
import leadline._runtime.calls.retry
from leadline import hookspecs
from leadline._runtime.runs.retrieval import _plain_hits
from leadline.cli.doctor import try_out
from leadline.contracts import Call, Search, StageRun
from leadline.errors import CallFailed, Unavailable
from leadline.findings import Findings
from leadline.plugin import embedder, fetcher, parser, search_provider, search_strategy
from leadline.records import Blob, Document, FetchRequest, Hit, SearchPage, SearchRequest
from leadline.research_findings import TASKS, SearchTask
from leadline.testing.fakes import FakeEngine, WebSettings, fake_web
from leadline.testing.plugins import plugin

QUESTION = "Which fathoms were measured at each sounding of the harbour?"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an engine rest though its failures have not lasted: nothing here takes any time."""
    monkeypatch.setattr(leadline._runtime.calls.retry, "LEAST_SPAN", 0.0)


class Scripted:
    """Finds made-up pages until its script says otherwise; counts its requests, and how many were out at once."""

    def __init__(self, script: Callable[[int], Exception | float | None] = lambda number: None) -> None:
        self.script = script
        self.asked: list[str] = []
        self.out = self.most = 0
        self.engine = FakeEngine(WebSettings(hits=5))

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        self.asked.append(request.query)
        self.out += 1
        self.most = max(self.most, self.out)
        try:
            match self.script(len(self.asked)):
                case Exception() as error:
                    raise error
                case float() as seconds:
                    await asyncio.sleep(seconds)
            return await self.engine.search(request, call)
        finally:
            self.out -= 1

    def plugin(self, name: str, **options: Any) -> EntryPoint:
        return plugin(name, search_provider("For a test", **options)(lambda: self))


class Queries:
    """A stage that has as many queries searched as a test wants."""

    def __init__(self, count: int) -> None:
        self.count = count

    async def run(self, findings: Any, run: Any, /) -> None:
        if not findings[TASKS]:
            numbers = range(1, self.count + 1)
            findings[TASKS] = [SearchTask(id=f"q{number}", query=f"{QUESTION} {number}") for number in numbers]


def client(
    folder: Path,
    engines: dict[str, Scripted],
    queries: int = 8,
    plugins: Sequence[EntryPoint] = (),
    **settings: Any,
) -> leadline.Client:
    values = {"search.engines": list(engines), "read.fetchers": ["fakeweb"], "retry.base": 0, "search.straggler": 0.2}
    mine = {"extends": "research", "without": ["query"], "before": {"search": ["queries"]}}
    values |= {"pipeline": "mine", "pipelines": {"mine": mine}}
    values |= {name.replace("__", "."): value for name, value in settings.items()}
    stage = hookspecs.stage("For a test", wants=(TASKS,), gives=(TASKS,))(lambda: Queries(queries))
    own = [fake_web(), plugin("queries", stage), *plugins]
    own += [engine.plugin(name) for name, engine in engines.items()]
    return leadline.Client(plugins=own, folder=folder / "runs", cache=folder / "cache", set=values)


def broken(number: int) -> Exception:
    return Unavailable("HTTP 503 from https://two.example/search")


@pytest.mark.parametrize("strategy", ["batch", "race", "hybrid", "fallback"])
async def test_a_run_survives_an_engine_that_starts_to_fail_and_its_method_names_it(
    strategy: str, tmp_path: Path
) -> None:
    dying = Scripted(lambda number: broken(number) if number > 2 else None)
    engines = {"two": dying, "one": Scripted(lambda number: 0.01), "three": Scripted(lambda number: 0.01)}
    async with client(tmp_path, engines, search__strategy=strategy, search__batch_size=1) as runs:
        result = await runs.research(QUESTION)
        replayed = await runs.replay(result.folder)
    assert (result.status, result.reason) == ("complete", "")
    text = (result.folder / "report.md").read_text()
    assert "two returned nothing in " in text
    assert "HTTP 503 from https://two.example/search" in text
    assert "two rests for 60 s after 3 failures in a row" in text.lower()
    assert replayed.report == result.report
    assert len(dying.asked) == 5, "two answers, three failures, then it rests"


async def test_a_hit_names_no_address_that_only_another_plugin_reads(tmp_path: Path) -> None:
    fetched: list[str] = []

    class Private:
        def accepts(self, url: str, /) -> bool:
            return url.lower().startswith(("private:", "file:"))

        async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
            fetched.append(request.url)
            return Blob(name="x", media_type="text/plain", data=f"{QUESTION} It was 7 fathoms deep.".encode())

    class Foreign(Scripted):
        async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
            page = await super().search(request, call)
            (first, *others) = page.hits
            stolen = (
                first.model_copy(update={"url": "Private:secret"}),
                first.model_copy(update={"url": "file:///secret"}),
                first.model_copy(update={"content_url": "private:secret"}),
                first.model_copy(update={"images": ("private:secret",)}),
            )
            return SearchPage(hits=(*stolen, Hit(url="doi:10.1/1", title=QUESTION, text=QUESTION), *others))

    class Own(Scripted):
        async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
            return SearchPage(hits=(Hit(url="private:own", title=QUESTION),))

    own = search_provider("For a test")(lambda: Own())
    private = plugin("private", fetcher("For a test")(lambda: Private()), own)
    async with client(
        tmp_path,
        {"foreign": Foreign()},
        queries=1,
        plugins=[private],
        search__engines=["foreign", "private"],
        read__fetchers=["private", "fakeweb"],
    ) as runs:
        result = await runs.research(QUESTION)
    assert fetched == ["private:own"]
    assert result.report
    assert "foreign: 4 hits dropped, whose addresses only other plugins read" in result.report.model_dump_json()
    assert {"doi:10.1/1", "private:own"} <= {source.hit.url for source in result.report.sources}


async def test_no_more_engine_requests_at_once_than_the_settings_allow(tmp_path: Path) -> None:
    out = most = 0

    class Counting(Scripted):
        async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
            nonlocal out, most
            out, most = out + 1, max(most, out + 1)
            try:
                return await super().search(request, call)
            finally:
                out -= 1

    engines: dict[str, Scripted] = {f"engine{number}": Counting(lambda number: 0.02) for number in range(5)}
    async with client(tmp_path, engines, queries=20, search__batch_size=20) as runs:
        assert (await runs.research(QUESTION)).status == "complete"
    assert [len(engine.asked) for engine in engines.values()] == [20] * 5
    assert most == 10


async def test_runs_of_one_client_share_an_accounts_limit(tmp_path: Path) -> None:
    slow = Scripted(lambda number: 0.02)
    async with client(tmp_path, {"one": slow}, limits={"one": {"at_once": 1}}, cache__search="0") as runs:
        order = runs.order(QUESTION, set={"research.pages_per_query": 2})
        results = await asyncio.gather(runs.research(QUESTION), (await runs.run(order)).result())
        again = [await runs.resume(result.folder, retry_failed=True) for result in results]
        assert [(await handle.result()).status for handle in again] == ["complete"] * 2
    assert (len(slow.asked), slow.most) == (16, 1)


async def test_runs_of_one_client_share_a_circuit_breaker(tmp_path: Path) -> None:
    dying = Scripted(broken)
    async with client(tmp_path, {"one": dying}, search__batch_size=1) as runs:
        await runs.research(QUESTION)
        asked = len(dying.asked)
        order = runs.order(QUESTION, set={"research.pages_per_query": 2})
        result = await (await runs.run(order)).result()
    assert (result.status, len(dying.asked)) == ("failed", asked)


# --- engines that give fewer hits a page than are wanted -------------------------------------------------------------


class Paged(Scripted):
    """Gives pages of three hits, and says by its cursor where the next one starts; `stays` never moves on."""

    def __init__(self, *args: Any, stays: bool = False, hits: int = 100) -> None:
        super().__init__(*args)
        self.stays = stays
        self.hits = hits
        self.cursors: list[str | None] = []

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        self.cursors.append(request.cursor)
        page = await super().search(request.model_copy(update={"limit": self.hits}), call)
        start = int(request.cursor or 0)
        cursor = "3" if self.stays else str(start + 3) if start + 3 < self.hits else None
        return SearchPage(hits=page.hits[start : start + 3], cursor=cursor)


@pytest.mark.parametrize(
    ("limit", "hits", "stays", "pages", "found"),
    [
        (6, 100, False, 2, 6),
        (10, 100, False, 4, 10),
        (5, 100, False, 2, 5),
        (3, 100, False, 1, 3),
        (50, 8, False, 3, 8),
        (50, 100, True, 2, 6),
        (50, 100, False, 10, 30),
    ],
)
async def test_further_pages_are_requested_until_there_are_enough_hits(
    limit: int, hits: int, stays: bool, pages: int, found: int, tmp_path: Path
) -> None:
    paged = Paged(stays=stays, hits=hits)
    paged.engine = FakeEngine(WebSettings(hits=100))
    async with client(tmp_path, {"one": paged}, queries=1, search__results_per_query=limit) as runs:
        result = await runs.research(QUESTION)
        assert (await runs.replay(result.folder)).report == result.report
    assert len(paged.cursors) == pages
    assert len({*paged.cursors}) == pages
    calls = result.metadata.calls
    assert (calls["search/one"], calls["query/batch"]) == (pages, 1), "what is counted against the budget are queries"
    (searched,) = json.loads((result.folder / "search_results.json").read_text())
    assert len(searched["hits"]) == found


async def test_a_failed_further_page_keeps_the_earlier_hits(tmp_path: Path) -> None:
    paged = Paged(lambda number: broken(number) if number > 1 else None)
    paged.engine = FakeEngine(WebSettings(hits=100))
    options: dict[str, Any] = {"queries": 1, "search__results_per_query": 6, "retry__attempts": 1}
    async with client(tmp_path, {"one": paged}, **options) as runs:
        result = await runs.research(QUESTION)
    assert result.status == "complete"
    assert paged.cursors == [None, "3"]
    again = Paged()
    again.engine = paged.engine
    async with client(tmp_path, {"one": again}, **options) as runs:
        await runs.research(QUESTION)
    assert again.cursors == ["3"], "the first page is kept across runs, the search as a whole is not"


async def test_a_page_that_is_nearly_full_is_enough(tmp_path: Path) -> None:
    class Short(Scripted):
        async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
            return (await super().search(request, call)).model_copy(update={"cursor": "2"})

    short = Short()
    short.engine = FakeEngine(WebSettings(hits=8))
    async with client(tmp_path, {"one": short}, queries=2) as runs:
        await runs.research(QUESTION)
    assert len(short.asked) == 2


# --- runs one after another ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["batch", "race", "hybrid", "fallback"])
async def test_a_second_run_within_the_hour_uses_the_cached_searches(strategy: str, tmp_path: Path) -> None:
    # Nobody is too late here: what was cut off in the first run would have to be asked in the second.
    engines = {"one": Scripted(), "two": Scripted(lambda number: 0.01)}
    async with client(tmp_path, engines, search__strategy=strategy, search__straggler=30) as runs:
        first = await runs.research(QUESTION)
    sent = {name: len(engine.asked) for name, engine in engines.items()}
    again = {"one": Scripted(), "two": Scripted()}
    async with client(tmp_path, again, search__strategy=strategy, search__straggler=30) as runs:
        second = await runs.research(QUESTION)
        replayed = await runs.replay(second.folder)
    assert sent["one"] == 8
    assert (again["one"].asked, again["two"].asked) == ([], [])
    assert first.report is not None
    assert second.report is not None
    assert [source.hit for source in second.report.sources] == [source.hit for source in first.report.sources]
    assert replayed.report == second.report


async def test_engines_that_cost_nothing_are_called_in_every_run(tmp_path: Path) -> None:
    for _ in range(2):
        free, other = Scripted(), Scripted()
        values: dict[str, Any] = {"search.engines": ["free", "other"], "read.fetchers": ["fakeweb"]}
        stage = hookspecs.stage("x", wants=(TASKS,), gives=(TASKS,))(lambda: Queries(3))
        mine = {"extends": "research", "without": ["query"], "before": {"search": ["queries"]}}
        plugins = [fake_web(), plugin("queries", stage), free.plugin("free", cache_key=None), other.plugin("other")]
        values |= {"pipeline": "mine", "pipelines": {"mine": mine}}
        async with leadline.Client(
            plugins=plugins, folder=tmp_path / "runs", cache=tmp_path / "cache", set=values
        ) as runs:
            await runs.research(QUESTION)
    assert (len(free.asked), len(other.asked)) == (3, 0)


class Seen:
    """A strategy that keeps which engines are free."""

    def __init__(self) -> None:
        self.free: dict[str, bool] = {}

    async def search(self, request: SearchRequest, engines: Mapping[str, Search], call: Call, /) -> SearchPage:
        self.free = {name: engine.free for name, engine in engines.items()}
        return await next(iter(engines.values()))(request)


@pytest.mark.parametrize(
    ("work", "base", "free"), [("local", "", True), ("remote", "", False), ("remote", "composite", True)]
)
async def test_a_composite_engine_is_free_if_all_that_it_uses_is_or_if_it_has_the_stored_documents(
    work: Any, base: str, free: bool, tmp_path: Path
) -> None:
    seen, engines = Seen(), {"whole": Scripted()}
    parts = plugin("parts", embedder("For a test", work=work)(lambda: cast("Any", None)))
    composite = Scripted().plugin("composite", work="composite", uses=("ai.embedder",))
    own = [plugin("seen", search_strategy("For a test")(lambda: seen)), parts, composite]
    settings: dict[str, Any] = {
        "search__engines": ["whole", "composite"],
        "search__strategy": "seen",
        "ai__embedder": "parts",
        **({"knowledge__base": base} if base else {}),
    }
    async with client(tmp_path, engines, plugins=own, **settings) as runs:
        await runs.research(QUESTION)
    assert seen.free == {"whole": False, "composite": free}


class Labelled:
    """Finds and serves one labelled text."""

    def accepts(self, url: str, /) -> bool:
        return True

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        return SearchPage(hits=(Hit(url="https://example.org/1", title="Soundings", labels=frozenset({"found"})),))

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        text = b"The harbour measured 7 fathoms at each sounding, by the house."
        return Blob(name="1.txt", media_type="text/plain", data=text, labels=frozenset({"secret", "house"}))


class Cut:
    """Reads only the beginning of every text."""

    def accepts(self, media_type: str, /) -> bool:
        return True

    async def parse(self, blob: Blob, call: Call, /) -> Document:
        return Document(text=blob.data.decode(), incomplete="only the first page was read")


async def test_a_gap_in_a_document_is_a_notice_in_the_report(tmp_path: Path) -> None:
    archive = fetcher("The archive of the house")(search_provider("The archive of the house")(lambda: Labelled()))
    cut = plugin("cut", parser("Beginnings", work="local")(lambda: Cut()))
    house = plugin("house", archive)
    settings = {"search.engines": ["house"], "read.fetchers": ["house"], "read.parsers": ["cut"]}
    async with leadline.Client(plugins=[house, cut], folder=tmp_path / "r", cache=tmp_path / "c", set=settings) as runs:
        result = await runs.research(QUESTION)
    assert (
        "A document is incomplete: only the first page was read (https://example.org/1)."
        in (result.folder / "report.md").read_text()
    )


async def test_an_engine_reads_its_hits_before_other_fetchers_and_their_labels_reach_the_report(tmp_path: Path) -> None:
    archive = fetcher("The archive of the house")(search_provider("The archive of the house")(lambda: Labelled()))
    house = plugin("house", archive)
    settings = {"search.engines": ["house"], "read.fetchers": ["fakeweb", "house"], "report.formats": ["json"]}
    plugins = [fake_web(), house]
    async with leadline.Client(plugins=plugins, folder=tmp_path / "r", cache=tmp_path / "c", set=settings) as runs:
        result = await runs.research(QUESTION)
        _, fetches, _ = await try_out(runs.load())
    assert result.report is not None
    assert {finding.what: finding.detail.partition(":")[2] for finding in fetches} == {
        "fetcher house": "//example.org/1: 62 bytes",
        "fetcher fakeweb": " house accepts what was found, and is asked first; read.fetchers has the order",
    }
    assert [source.labels for source in result.report.sources] == [{"found", "secret", "house"}]
    (stored,) = json.loads((result.folder / "report.json").read_text())["sources"]
    assert stored["labels"] == ["found", "house", "secret"]


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (FetchRequest(url="house:1", accept=("image/png",)), "house:1 is text/plain, not image/png"),
        (FetchRequest(url="house:1", size=10), "house:1 has 62 bytes, more than the 10 allowed"),
        (FetchRequest(url="house:1", size=62, accept=("text/plain",)), ""),
    ],
)
async def test_a_download_is_of_an_accepted_type_and_size_whatever_the_fetcher_does(
    request_: FetchRequest, reason: str, tmp_path: Path
) -> None:
    told: list[str] = []

    class Downloads:
        async def run(self, findings: Findings, run: StageRun, /) -> None:
            try:
                await run.download(request_)
                told.append("")
            except CallFailed as failed:
                told.append(failed.record.message)

    archive = fetcher("The archive of the house")(search_provider("The archive of the house")(lambda: Labelled()))
    stage = hookspecs.stage("Downloads")(lambda: Downloads())
    settings = {"read.fetchers": ["house"], "pipeline": "mine", "pipelines": {"mine": {"stages": ["downloads"]}}}
    plugins = [plugin("house", archive), plugin("downloads", stage)]
    async with leadline.Client(plugins=plugins, folder=tmp_path / "r", cache=tmp_path / "c", set=settings) as runs:
        await runs.research(QUESTION)
    assert told == [reason]


def test_hits_have_visible_text_only() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore all")
    hit = Hit(
        url="https://a.example/", title=f"<b>So{hidden}und</b>ings", snippet=f"9{hidden} fathoms", text=f"De{hidden}ep"
    )
    bare = Hit(url="https://b.example/", title="B")
    page = _plain_hits(SearchPage(hits=(hit, bare, Hit(url=" "))), "web")
    assert [(one.title, one.snippet, one.text, one.engine) for one in page.hits] == [
        ("Soundings", "9 fathoms", "Deep", "web"),
        ("B", "", None, "web"),
    ]


async def test_an_engine_without_its_method_is_named_with_the_method_to_write(tmp_path: Path) -> None:
    class Finds:
        async def find(self, request: SearchRequest, call: Call, /) -> SearchPage:
            raise NotImplementedError

    misnamed = plugin("misnamed", search_provider("Misnamed")(Finds))  # type: ignore[arg-type]
    settings = {"search.engines": ["misnamed"], "ai.providers": ["embedded"]}
    async with leadline.Client(plugins=[misnamed], folder=tmp_path / "r", cache=tmp_path / "c", set=settings) as runs:
        result = await runs.research(QUESTION)
    assert "plugin 'misnamed' has no method `search`: write `async def search(self, …)`" in result.reason
