"""The recorded model: the same question gives the same report; another one is told where it differs."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.plugin import ai_provider
from leadline.records import ChatReply, ChatRequest, Message, ModelTraits, Usage
from leadline.testing.context import FakeCall, fake_context
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_plugins.ai.recorded import Recorded, RecordedSettings

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
SECTIONS = [
    {"id": "s1", "title": "Soundings", "goal": "depths", "questions": ["How many fathoms did the harbour measure?"]}
]


class Planner:
    """A model that knows one answer."""

    def __init__(self, title: str = "The harbour, sounded") -> None:
        self.asked, self.title = 0, title

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits(json_schema=True)

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        self.asked += 1
        call.spend(Usage(input_tokens=70, output_tokens=30))
        text = json.dumps({"title": self.title, "sections": SECTIONS})
        return ChatReply(message=Message(role="assistant", text=text), model="planner-1")


class Writer(Planner):
    """A model that writes a section, and cites what it was shown first."""

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        self.asked += 1
        assert "\nToday: " in request.messages[-1].text
        parts = [{"id": name, "text": "It was sounded [1]."} for name in ("1", "2", "summary", "conclusion")]
        text = json.dumps({"sections": parts, "unanswered": [{"section": "1", "question": "Who did it?"}]})
        return ChatReply(message=Message(role="assistant", text=text), model="planner-1")


class Babbler(Planner):
    """A model whose replies are of no use."""

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        return ChatReply(message=Message(role="assistant", text="Well, well."), model="babbler-1")


class Absent(Planner):
    """A model that is not to be had."""

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        raise Unsupported("no such model")


async def run(folder: Path, planner: Planner, plan_by: str, task: str = "plan", **section: Any) -> leadline.Result:
    offer = ai_provider("Plans", priced=True)(lambda: planner)
    settings = {
        "search.engines": ["fakeweb"],
        "read.fetchers": ["fakeweb"],
        "retry.base": 0,
        "ai.providers": ["embedded"],
        "ai.tasks": {task: plan_by},
        **{f"plugins.recorded.{name}": str(value) for name, value in section.items()},
    }
    plugins = [fake_web(), plugin("planner", offer)]
    async with leadline.Client(plugins=plugins, folder=folder, cache=folder.parent / "cache", set=settings) as client:
        return await client.research(QUESTION)


@pytest.mark.parametrize("first_of_all", [Babbler(), Absent()])
async def test_a_task_of_another_provider_is_repeated_under_its_name(tmp_path: Path, first_of_all: Planner) -> None:
    """The first of the chain is of no use, and the next does what it could not."""

    def offer(model: Planner) -> Any:
        return ai_provider("Plans", priced=True)(lambda: model)

    async def go(folder: str, providers: list[str], **more: Any) -> leadline.Result:
        settings = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "ai.providers": providers, **more}
        models = {"aaa": first_of_all, "zzz": Planner()}
        plugins = [fake_web(), *(plugin(name, offer(model)) for name, model in models.items())]
        async with leadline.Client(plugins=plugins, folder=tmp_path / folder, set=settings) as client:
            return await client.research(QUESTION)

    first = await go("first", ["aaa", "zzz", "embedded"])
    again = await go("again", ["recorded", "embedded"], **{"plugins.recorded.run": str(first.folder)})
    assert first.report is not None
    assert again.report is not None
    assert again.report.title == first.report.title == "The harbour, sounded"
    told = [notice for notice in first.metadata.notices if notice.startswith("plan was done by zzz (chat by aaa: ")]
    assert told == [notice for notice in again.metadata.notices if notice.startswith("plan was done by")]
    absent = [notice for notice in first.metadata.notices if notice.startswith("aaa is left out of this run")]
    assert len(told) + len(absent) == 1


async def test_a_recording_answers_on_another_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer()
    first = await run(tmp_path / "first", writer, "planner:big", "synthesize")
    asked = writer.asked
    later = datetime.now(UTC) + timedelta(days=9)
    monkeypatch.setattr("leadline._runtime.runs.run_request.utc_now", lambda: later)
    again = await run(tmp_path / "again", writer, "recorded", "synthesize", run=first.folder)
    assert writer.asked == asked > 0
    assert again.metadata.notices == first.metadata.notices
    assert first.report is not None
    assert again.report is not None
    assert again.report.sections == first.report.sections
    assert "It was sounded [1]." in first.text


async def test_each_recording_answers_only_its_own_requests(tmp_path: Path) -> None:
    titles = []
    for place, title in enumerate(("One", "Two")):
        said = await run(tmp_path / f"said{place}", Planner(title), f"planner:{title}")
        again = await run(tmp_path / f"again{place}", Planner("none"), "recorded", run=said.folder)
        assert again.report is not None
        titles.append(again.report.title)
    assert titles == ["One", "Two"]


@pytest.mark.parametrize(
    ("damage", "words"), [("body", "reply to this request is damaged"), ("all", "1 recorded ones")]
)
async def test_a_damaged_recording_leaves_the_task_to_the_next(tmp_path: Path, damage: str, words: str) -> None:
    first = await run(tmp_path / "first", Planner(), "planner:big")
    with sqlite3.connect(first.folder / "journal.sqlite") as journal:
        rows = journal.execute('select value from entries where value like \'%"kind":"chat"%\'').fetchall()
        for (digest,) in journal.execute("select digest from blobs").fetchall():
            row = json.loads(rows[0][0])
            if digest in (row.values() if damage == "all" else [row["body"]]):
                journal.execute("update blobs set data = ? where digest = ?", (b"garbage", digest))
    journal.close()
    again = await run(tmp_path / "again", Planner(), "recorded", run=first.folder)
    assert again.report is not None
    assert words in (again.folder / "events.jsonl").read_text()


async def test_an_unrecorded_question_is_reported_with_the_nearest_request(tmp_path: Path) -> None:
    first = await run(tmp_path / "first", Planner(), "planner:big")
    settings = RecordedSettings(run=first.folder / "journal.sqlite")
    request = ChatRequest(model="", messages=(Message(role="user", text="Something else?"),))
    async with Recorded(settings, fake_context(tmp_path)) as recorded:
        assert recorded.traits("").json_schema
        with pytest.raises(Unsupported, match=r"the nearest of 1 recorded ones differs at messages\[0\]"):
            await recorded.chat(request, FakeCall())


async def test_a_run_without_a_model_is_no_recording(tmp_path: Path) -> None:
    first = await run(tmp_path / "first", Planner(), "embedded")
    request = ChatRequest(model="", messages=(Message(role="user", text="Hello?"),))
    async with Recorded(RecordedSettings(run=first.folder), fake_context(tmp_path)) as recorded:
        with pytest.raises(Unsupported, match="that run called no language model"):
            await recorded.chat(request, FakeCall())


async def test_a_missing_journal_is_reported_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(leadline.ConfigError, match="no journal of a run at"):
        await run(tmp_path / "again", Planner(), "recorded", run=tmp_path / "nowhere")
