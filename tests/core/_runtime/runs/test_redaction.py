"""A stage that removes words from search results and sources removes them from everything that a run exports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import leadline
from leadline.contracts import Call
from leadline.findings import Findings
from leadline.plugin import map_stage, search_provider
from leadline.records import Hit, SearchPage, SearchRequest, Source
from leadline.research_findings import FOUND, SOURCES, Found
from leadline.testing.plugins import plugin

SECRET = "MERIDIAN"


class Engine:
    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        text = f"The code word of the harbour is {SECRET}. It is changed in May."
        return SearchPage(hits=(Hit(url="w:1", title="Harbour", text=text, snippet=text),))


class CleanHits:
    async def map(self, item: Found, findings: Findings, run: Any, /) -> Sequence[Found]:
        return [Found.model_validate_json(item.model_dump_json().replace(SECRET, "[removed]"))]


class CleanSources:
    async def map(self, item: Source, findings: Findings, run: Any, /) -> Sequence[Source]:
        return [Source.model_validate_json(item.model_dump_json().replace(SECRET, "[removed]"))]


def cleaner(make: type[Any], key: Any) -> Any:
    return map_stage("Removes a word", over=key, gives=key)(lambda: make())


async def research(tmp_path: Path, after: dict[str, list[str]]) -> leadline.Result:
    plugins = [
        plugin("own", search_provider("x")(lambda: Engine())),
        plugin("clean_hits", cleaner(CleanHits, FOUND)),
        plugin("clean_sources", cleaner(CleanSources, SOURCES)),
    ]
    values = {
        "search.engines": ["own"],
        "ai.providers": ["embedded"],
        "report.formats": ["markdown", "json", "html"],
        "pipeline": "clean",
        "pipelines.clean.extends": "research",
        "pipelines.clean.after": after,
    }
    async with leadline.Client(plugins=plugins, set=values, folder=tmp_path / "r", cache=tmp_path / "c") as client:
        return await client.research("What is the code word of the harbour?")


def leaks(result: leadline.Result) -> list[str]:
    files = (path for path in result.folder.rglob("*") if path.is_file() and not path.name.startswith("journal"))
    return sorted(path.name for path in files if SECRET.encode() in path.read_bytes())


async def test_words_removed_from_hits_and_sources_are_in_no_file_beside_the_journal(tmp_path: Path) -> None:
    result = await research(tmp_path, {"search": ["clean_hits"], "fetch": ["clean_sources"]})
    assert result.status == "complete", result.reason
    assert "[removed]" in result.text
    assert leaks(result) == []


async def test_words_removed_from_sources_alone_stay_in_the_list_of_hits(tmp_path: Path) -> None:
    result = await research(tmp_path, {"fetch": ["clean_sources"]})
    assert "[removed]" in result.text
    assert leaks(result) == ["search_results.json"]
