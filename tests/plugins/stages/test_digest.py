"""The digest: what a model is shown of a round, and how its reply is merged with what was known."""

from __future__ import annotations

import json
import re
from pathlib import Path

import leadline
from leadline.hookspecs import Offer, PluginSettings
from leadline.records import ChatRequest, Message
from leadline.research_findings import Digest, Plan, PlannedSection
from leadline.testing.fakes import ScriptedChat, fake_web
from leadline.testing.plugins import plugin
from leadline_plugins.prompting.research_tasks import DigestReply
from leadline_plugins.stages.digest import merge_reply

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
PLAN = {
    "title": "Depth",
    "sections": [{"id": "1", "title": "Depth", "goal": "How deep it is", "questions": ["How deep?"], "domain": ""}],
    "queries": [{"query": "harbour fathoms", "goal": "depth", "priority": "high", "section": "1"}],
}
OUTLINE = Plan(title="Bay", sections=(PlannedSection(id="1", title="Depth"), PlannedSection(id="2", title="Tolls")))


async def prompts(folder: Path, *, repeat: bool = False) -> list[str]:
    """Return the prompts of the digests of a run; each proposes another search, or with `repeat` the same."""
    asked: list[str] = []

    def reply(request: ChatRequest) -> Message:
        text = request.messages[-1].text
        if "knowledge_gaps" in text or '"synthesis"' in request.messages[0].text:
            asked.append(text)
            query = "harbour depth winter" + ("" if repeat else f" {len(asked)}")
            gaps = ["How deep in winter?"]
            queries = [{"query": query, "goal": "", "priority": "high", "section": "1"}]
            said = {
                "is_sufficient": False,
                "sections": [],
                "gaps": gaps,
                "queries": queries,
                "synthesis": "It is deep.",
            }
            return Message(role="assistant", text=json.dumps(said | {"cross_links": []}))
        return Message(role="assistant", text=json.dumps(PLAN))

    chat = Offer(lambda s, c: ScriptedChat([reply] * 20), PluginSettings, "A chat")
    stages = ["plan", {"loop": ["query", "search", "fetch", "extract", "digest", "review"], "at_most": 3}]
    values = {
        "ai.providers": ["scripted"],
        "search.engines": ["fakeweb"],
        "read.fetchers": ["fakeweb"],
        "pipeline": "loop",
        "pipelines.loop.stages": stages,
    }
    plugins = [fake_web(), plugin("scripted", ai_providers=chat)]
    async with leadline.Client(plugins=plugins, folder=folder / "r", cache=folder / "c", set=values) as runs:
        await runs.research(QUESTION)
    return asked


async def test_a_digest_sees_searches_and_numbered_passages(tmp_path: Path) -> None:
    first, *_ = await prompts(tmp_path)
    assert '"harbour fathoms": 3 new pages' in first
    assert "[1] The harbour of page" in first
    assert (
        len(re.findall(r"^# Source: \S+: On ", first, re.MULTILINE))
        == sum(map(int, re.findall(r'": (\d+) new pages', first)))
        > 0
    )


async def test_a_later_digest_sees_the_last_one_and_only_new_passages(tmp_path: Path) -> None:
    first, second, *last = await prompts(tmp_path)
    assert "Known so far: It is deep." in second
    assert "- How deep in winter?" in second
    assert not set(first.split("# Source: ")[1:]) & set(second.split("# Source: ")[1:])
    assert not last, "no search can follow the last round"


async def test_without_a_new_search_no_digest_follows(tmp_path: Path) -> None:
    assert len(await prompts(tmp_path, repeat=True)) == 2


def test_sections_that_a_reply_does_not_name_are_covered() -> None:
    reply = DigestReply.model_validate({"sections": [{"id": "section 2", "coverage": "missing"}], "gaps": ["x?"]})
    digest = merge_reply(reply, Digest(), OUTLINE)
    assert digest.section_coverage == {"1": "covered", "2": "missing"}
    assert digest.review is not None
    assert not digest.review.is_sufficient
    assert digest.knowledge_gaps == ("x?",)


def test_a_reply_without_a_synthesis_keeps_the_last() -> None:
    assert merge_reply(DigestReply(), Digest(synthesis="deep"), OUTLINE).synthesis == "deep"
