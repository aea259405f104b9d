"""Promises of the contracts that no other test covers: events, declared findings, the form of replies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline import events, hookspecs
from leadline.contracts import Call, StageRun
from leadline.errors import CallFailed, Unavailable
from leadline.findings import Findings, Key
from leadline.plugin import embedder, search_provider
from leadline.records import Embeddings, EmbedRequest, Hit, Record, Report, SearchPage, SearchRequest, Section
from leadline.research_findings import REPORT, SOURCES
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "retry.base": 0}


class Note(Record):
    text: str


NOTE: Key[Note] = Key("tested.note", Note)
Do = Callable[[Findings, StageRun], Awaitable[None]]


class Doing:
    """A stage made of a function."""

    def __init__(self, do: Do) -> None:
        self._do = do

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        await self._do(findings, run)


async def run_stage(folder: Path, do: Do, *plugins: Any, settings: Any = None, **offer: Any) -> leadline.Result:
    """Run a pipeline of one stage."""
    stage = hookspecs.stage("Tested", **offer)(lambda: Doing(do))
    values = {"pipeline": "mine", "pipelines": {"mine": {"stages": ["tested"]}}, **(settings or {})}
    entries = [plugin("tested", stage), *plugins]
    async with leadline.Client(plugins=entries, folder=folder / "r", cache=folder / "c", set=values) as client:
        return await client.research(QUESTION)


async def test_every_event_has_a_documented_kind_and_documented_data(tmp_path: Path) -> None:
    class Failing:
        async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
            raise Unavailable("gone")

    failing = plugin("failing", search_provider("Fails")(lambda: Failing()))
    settings = WEB | {"search.engines": ["fakeweb", "failing"], "clarify.mode": "ask"}
    options: Any = {"plugins": [fake_web(), failing], "folder": tmp_path / "r", "cache": tmp_path / "c"}
    seen: dict[str, set[str]] = {}
    async with leadline.Client(**options, set=settings) as client:
        run = await client.start("How about it", interactive=True)
        async for event in run.events():
            seen.setdefault(event.kind, set()).update(event.data)
            if event.kind == "question":
                await run.answer(str(event.data["id"]), {"answer": QUESTION})
    documented = {kind: set(data.__annotations__) for kind, data in events.DATA.items()}
    assert {"question", "error", "source", "message", "call.started", "call.finished"} <= seen.keys()
    assert seen.keys() <= documented.keys()
    assert {kind: keys - documented[kind] for kind, keys in seen.items() if keys - documented[kind]} == {}
    whole = ("question", "source", "progress", "run.finished")  # the others have keys for some runs and calls only
    assert {kind: documented[kind] - seen[kind] for kind in whole if documented[kind] - seen[kind]} == {}


async def test_the_event_of_a_fault_has_no_traceback(tmp_path: Path) -> None:
    async def fail(findings: Findings, run: StageRun) -> None:
        raise ZeroDivisionError("deep")

    result = await run_stage(tmp_path, fail)
    assert "ZeroDivisionError" in result.metadata.errors[0].traceback
    assert "Traceback" not in (result.folder / "events.jsonl").read_text()


async def test_a_stage_that_does_not_set_what_it_gives_ends_the_run_by_name(tmp_path: Path) -> None:
    async def nothing(findings: Findings, run: StageRun) -> None:
        return

    result = await run_stage(tmp_path, nothing, gives=(NOTE,))
    assert result.status == "failed"
    assert "stage 'tested' set no 'tested.note', which its offer gives" in result.reason
    assert (await run_stage(tmp_path, nothing, may_give=(NOTE,))).status == "complete"


@pytest.mark.parametrize("declared", [True, False])
async def test_only_a_stage_that_declares_it_ends_a_loop(declared: bool, tmp_path: Path) -> None:
    async def end(findings: Findings, run: StageRun) -> None:
        findings.end_loop("enough")

    result = await run_stage(tmp_path, end, ends_loop=declared)
    assert result.status == ("complete" if declared else "failed")
    assert declared or "its offer does not declare ends_loop=True" in result.reason


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [
        (((1.0, 2.0),), "it returned 1 vectors for 2 texts"),
        (((1.0, 2.0), (1.0,)), "it returned vectors of different lengths"),
        (((1.0, 2.0), (2.0, 1.0)), ""),
    ],
)
async def test_an_embedder_returns_one_vector_for_each_text(
    vectors: tuple[tuple[float, ...], ...], reason: str, tmp_path: Path
) -> None:
    class Embedder:
        async def embed(self, request: EmbedRequest, call: Call, /) -> Embeddings:
            return Embeddings(vectors=vectors)

    told: list[str] = []

    async def embed(findings: Findings, run: StageRun) -> None:
        try:
            told.append("" if (await run.embed(["one", "two"])).vectors == vectors else "others")
        except CallFailed as failed:
            told.append(failed.record.message)

    offer = embedder("Embeds")(lambda: Embedder())
    await run_stage(tmp_path, embed, plugin("vectors", offer), settings={"ai.embedder": "vectors"})
    assert reason in told[0]
    assert bool(reason) is bool(told[0])


async def test_the_core_sets_the_engine_and_the_tier_of_a_hit(tmp_path: Path) -> None:
    class Lying:
        async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
            return SearchPage(hits=(Hit(url="https://blog.example/", engine="who", tier=1),))

    found: list[Hit] = []

    async def search(findings: Findings, run: StageRun) -> None:
        found.extend((await run.search(SearchRequest(query="depth"))).hits)

    lying = plugin("lying", search_provider("Lies")(lambda: Lying()))
    settings = {"search.engines": ["lying"], "search.tiers": {"3": ["blog.example"]}}
    await run_stage(tmp_path, search, lying, settings=settings)
    assert [(hit.engine, hit.tier) for hit in found] == [("lying", 3)]


async def test_a_report_without_sources_is_no_evidence_if_a_stage_may_find_some(tmp_path: Path) -> None:
    async def answer(findings: Findings, run: StageRun) -> None:
        section = Section(id="answer", title="Answer", text="Nine fathoms.")
        findings[REPORT] = Report(title="Depth", language="en", sections=(section,), sources=(), evidence=())

    exported = {"pipelines": {"mine": {"stages": ["tested", "export"]}}}
    assert (await run_stage(tmp_path, answer, settings=exported, gives=(REPORT,))).status == "complete"
    result = await run_stage(tmp_path, answer, settings=exported, gives=(REPORT,), may_give=(SOURCES,))
    assert (result.status, result.reason) == ("no_evidence", "the report has no sources")


async def test_the_text_of_a_result_has_no_sections_without_text(tmp_path: Path) -> None:
    async with leadline.Client(plugins=[fake_web()], folder=tmp_path / "r", cache=tmp_path / "c", set=WEB) as client:
        result = await client.research(QUESTION)
    assert result.report is not None
    empty = Section(id="empty", title="Nothing here", text=" \n")
    changed = result.report.model_copy(update={"sections": (*result.report.sections, empty)})
    assert leadline.Result(**{**vars(result), "report": changed}).text == result.text
