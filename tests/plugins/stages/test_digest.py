"""What the digest is told of the searches so far: it proposes the next ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import leadline
from leadline.contracts import Call
from leadline.errors import Unavailable
from leadline.hookspecs import Offer, PluginSettings
from leadline.records import ChatRequest, Message, SearchPage, SearchRequest
from leadline.testing.chat import ScriptedChat
from leadline.testing.plugins import plugin
from leadline.testing.web import FakeEngine, WebSettings, fake_web
from leadline_plugins.stages.material import BEST

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
PLAN = {
    "title": "Depth",
    "queries": [{"query": "harbour fathoms", "section": "1"}, {"query": "broken sounding", "section": "1"}],
    "sections": [{"id": "1", "title": "Depth", "goal": "How deep it is", "questions": ["How deep?"]}],
}
DIGEST = {
    "synthesis": "It is deep.",
    "review": {"sections": [], "is_sufficient": False, "priority_gaps": ["How deep in winter?"]},
    "queries": [{"query": "harbour depth winter", "section": "1"}],
}


class Moody:
    """Finds made-up pages, but for one query."""

    def __init__(self) -> None:
        self.engine = FakeEngine(WebSettings(hits=5))

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        if "broken" in request.query:
            raise Unavailable("HTTP 503")
        return await self.engine.search(request, call)


async def digested(folder: Path, *, anew: bool = True) -> list[dict[str, Any]]:
    """Return the inputs of each digest of a run; `anew`: each proposes another search."""
    asked: list[dict[str, Any]] = []

    def say(request: ChatRequest) -> Message:
        text = request.messages[-1].text
        data = json.loads(text[text.index("{") : text.rindex("</data>")])
        if "plan" not in data:
            return Message(role="assistant", text=json.dumps(PLAN))
        asked.append(data)
        queries = [{"query": f"harbour depth winter{' again' * anew * (len(asked) - 1)}", "section": "1"}]
        return Message(role="assistant", text=json.dumps(DIGEST | {"queries": queries}))

    chat = Offer(lambda s, c: ScriptedChat([say] * 20), PluginSettings, "A chat")
    moody = Offer(lambda s, c: Moody(), PluginSettings, "An engine")
    values = {
        "ai.providers": ["embedded", "scripted"],
        "ai.tasks": {"plan": "scripted", "digest": "scripted"},
        "search.engines": ["moody"],
        "read.fetchers": ["fakeweb"],
        "retry.base": 0,
    }
    plugins = [fake_web(), plugin("scripted", ai_providers=chat), plugin("moody", search_providers=moody)]
    async with leadline.Client(plugins=plugins, folder=folder / "r", cache=folder / "c", set=values) as runs:
        await runs.research(QUESTION)
    return asked


async def test_it_is_told_what_was_searched_and_what_failed(tmp_path: Path) -> None:
    first, second, *last = await digested(tmp_path)
    searched = {one["query"]: one for one in first["past"]}
    assert searched.keys() == {QUESTION, "harbour fathoms", "broken sounding"}
    assert "HTTP 503" in searched["broken sounding"]["failure"]
    assert searched["harbour fathoms"]["pages"] > 0
    assert searched["harbour fathoms"]["passages"] > 0
    assert [one["query"] for one in second["past"]][len(searched) :] == ["harbour depth winter"]
    assert not {"queries", "domains"} & first["plan"].keys(), "they stand in the past and in the sections"
    assert second["last"].keys() == {"review", "synthesis"}, "coverage and gaps stand in the review"
    assert not last, "no search can follow the last round"


async def test_where_no_search_is_new_it_is_not_asked_again(tmp_path: Path) -> None:
    assert [data["round"] for data in await digested(tmp_path, anew=False)] == [1, 2]


async def test_it_is_shown_the_passages_of_the_round_by_their_sources(tmp_path: Path) -> None:
    first, second, *_ = await digested(tmp_path)
    assert not {"evidence", "fresh"} & first.keys(), "they are for an algorithm"
    assert all(source["title"] for source in first["sources"])
    shown = [item for source in first["sources"] for item in source["quotes"]]
    assert 0 < len(shown) <= min(BEST, first["passages"])
    assert all(item.keys() <= {"id", "quote", "under"} for item in shown)
    assert not {item["id"] for source in second["sources"] for item in source["quotes"]} & {one["id"] for one in shown}


async def test_it_is_told_the_day_on_which_the_run_began(tmp_path: Path) -> None:
    data = await digested(tmp_path)
    (run,) = (tmp_path / "r").iterdir()
    assert {one["today"].replace("-", "") for one in data} == {run.name.split("_")[1]}
