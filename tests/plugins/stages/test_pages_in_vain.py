"""Pages that were read, and of which nothing came: their quotes were made up, or the reply could not be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import leadline
from leadline.findings import Unread
from leadline.hookspecs import Offer, PluginSettings
from leadline.records import ChatRequest, Document, Evidence, Hit, Message, Source
from leadline.testing.chat import ScriptedChat
from leadline.testing.plugins import plugin
from leadline.testing.web import fake_web
from leadline_plugins.stages.extract import unused

MADE_UP = "This sentence was never written by anyone."


def read(count: int) -> tuple[Source, ...]:
    hit, document = Hit(url="https://example.org/"), Document(text="Ports pay.")
    return tuple(Source(id=f"s{place}", hit=hit, document=document) for place in range(count))


@pytest.mark.parametrize(("count", "lost", "said"), [(4, 4, True), (4, 1, True), (5, 1, False), (5, 0, False)])
def test_many_pages_in_vain_are_told(count: int, lost: int, said: bool) -> None:
    unread = tuple(Unread(id=f"s{place}", url="", reason=f"reason {place}") for place in range(lost))
    elsewhere = Unread(id="s99", url="", reason="HTTP 404")
    first = "of the first, " if lost > 1 else ""
    told = f"{lost} of {count} pages were read, but nothing usable came of them from the model: {first}reason 0"
    assert unused((elsewhere, *unread), read(count), ()) == (told if said else "")


def test_a_model_that_did_not_answer_is_not_said_to_have_made_something() -> None:
    unread = tuple(Unread(id=f"s{place}", url="", reason="chat by openai: HTTP 503") for place in range(2))
    assert unused(unread, read(2), ()) == (
        "2 of 2 pages were read, but nothing usable came of them from the model: chat by openai: HTTP 503"
    )


def test_a_page_that_gave_something_after_all_is_not_in_vain() -> None:
    unread = (Unread(id="s0", url="", reason="no"),)
    evidence = (Evidence(id="e", source_id="s0", quote="Ports", span=(0, 5), claim="Ports"),)
    assert unused(unread, read(1), evidence) == ""


async def researched(folder: Path, said: str) -> leadline.Result:
    def say(request: ChatRequest) -> Message:
        return Message(role="assistant", text=said)

    offer = Offer(lambda s, c: ScriptedChat([say] * 100), PluginSettings, "A chat")
    values = {
        "ai.providers": ["scripted"],
        "ai.tasks": {"extract": "scripted"},
        "search.engines": ["fakeweb"],
        "read.fetchers": ["fakeweb"],
        "retry.base": 0,
    }
    plugins = [fake_web(), plugin("scripted", ai_providers=offer)]
    async with leadline.Client(plugins=plugins, folder=folder / "r", cache=folder / "c", set=values) as runs:
        return await runs.research("How deep was the harbour measured at each sounding, in fathoms?")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("I cannot.", "the model's reply could not be used: it declines the task"),
        (
            json.dumps({"learnings": [{"claim": MADE_UP, "quote": MADE_UP}] * 2}),
            "none of the 2 quotes that were given stands on the page",
        ),
    ],
)
async def test_a_run_without_evidence_says_that_pages_were_read_in_vain(tmp_path: Path, said: str, why: str) -> None:
    result = await researched(tmp_path, said)
    assert result.status == "no_evidence"
    assert "pages were read, but nothing usable came of them from the model: " in result.reason
    assert why in result.reason
    assert result.reason in result.metadata.notices
