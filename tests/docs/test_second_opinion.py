"""The task of one's own of the documentation: with a model, with one that fails, and without any."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.errors import Denied
from leadline.hookspecs import GROUP
from leadline.plugin import ai_provider
from leadline.records import Message
from leadline.testing.fakes import ScriptedChat, fake_web
from leadline.testing.plugins import plugin

ROOT = Path(__file__).parents[2]
GAPS = Message(role="assistant", text=json.dumps({"is_sufficient": True, "priority_gaps": ["the mole"]}))


@pytest.fixture
def opinion(monkeypatch: pytest.MonkeyPatch) -> EntryPoint:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    return EntryPoint("second_opinion", "second_opinion", GROUP)


async def run(folder: Path, opinion: EntryPoint, *replies: Any) -> leadline.Result:
    chat = ScriptedChat(replies)
    asked = {"ai.tasks": {"second_opinion": "scripted"}} if replies else {}
    model = plugin("scripted", ai_provider("Says its script")(lambda: chat))
    settings = {
        "search.engines": ["fakeweb"],
        "read.fetchers": ["fakeweb"],
        "ai.providers": ["embedded"],
        "pipelines.mine": {"extends": "research", "after": {"review": ["second_opinion"]}},
        **asked,
    }
    plugins = [model, opinion, fake_web()]
    async with leadline.Client(plugins=plugins, set=settings, pipeline="mine", folder=folder, cache=folder) as client:
        return await client.research("How many fathoms did the harbour measure at sounding 3?")


async def test_without_a_model_the_first_review_stands(tmp_path: Path, opinion: EntryPoint) -> None:
    result = await run(tmp_path, opinion)
    assert result.status == "complete", result.reason


@pytest.mark.parametrize("reply", [GAPS, Denied("no such account")])
async def test_with_a_model(reply: Any, tmp_path: Path, opinion: EntryPoint) -> None:
    result = await run(tmp_path, opinion, reply)
    events = (result.folder / "events.jsonl").read_text(encoding="utf-8")
    assert result.report is not None, result.reason
    assert ("there is no second opinion" in events) == isinstance(reply, Denied)
