"""Whole research runs by a language model, over the emulator of tests/benchmarks: faults, kills, swaps, recordings."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.contracts import Call
from leadline.plugin import ai_provider
from leadline.records import ChatReply, ChatRequest, Message, ModelTraits
from leadline.testing.plugins import plugin

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def world(tools: Any) -> Iterator[Any]:
    with tools.emulator() as started:
        yield started


def report_of(result: leadline.Result) -> Any:
    report = json.loads((result.folder / "report.json").read_text())
    report["metadata"].pop("created")
    return report


async def test_a_run_by_a_model_keeps_to_its_figures(tools: Any, world: Any, tmp_path: Path) -> None:
    world.behave()
    async with tools.client(world, tmp_path) as runs:
        result = await runs.research(tools.question())
    data, book = result.metadata, world.tally()
    assert (result.status, data.notices) == ("complete", ())
    assert data.iterations == 2
    assert data.calls["chat/openai"] == sum(book["whole"].values())
    checks = book["tasks"].get("ClaimVerdicts", 0)  # by the number of claims, twenty a call
    assert 9 <= data.calls["chat/openai"] - checks <= 16
    assert data.calls["query/batch"] <= 20
    # Six writing calls begin with the same passages, which vendors bill once.
    assert data.usage["tokens"] / data.calls["query/batch"] < 14_000
    assert result.report
    assert len(result.report.sources) >= 24
    assert len(result.text.split()) >= 3000
    assert data.retention
    assert data.retention > 0.05, "sections have a budget of passages: the share is aimed at with preset full"
    assert data.verification
    assert not data.verification["unknown_ids"]


@pytest.mark.slow
async def test_a_full_run_sends_the_aimed_share_of_what_it_read_to_its_writers(
    tools: Any, world: Any, tmp_path: Path
) -> None:
    world.behave()
    async with tools.client(world, tmp_path, {"preset": "full"}) as runs:
        result = await runs.research(tools.question(5))
    data = result.metadata
    assert result.status == "complete"
    assert data.calls["chat/openai"] == sum(world.tally()["whole"].values())
    assert data.retention
    assert data.retention >= 0.16
    assert data.targets["retention"] == {"value": round(data.retention, 3), "target": 0.16, "met": True}


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("count", [5, 100])
def test_faults_are_survived_told_and_paid_once(count: int) -> None:
    command = [sys.executable, str(BENCHMARKS / "bench_faults.py"), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    counts = json.loads(done.stdout)
    # At 20 % of faults a run in a hundred gets three of them for its first task, and stops by rule.
    stopped = counts["no model answered first"]
    assert stopped <= count * 0.05, counts
    assert sum(counts["ended"].get(status, 0) for status in ("complete", "partial")) == count - stopped, counts
    assert counts["faults"]["error"] > 0
    assert counts["faults"]["limit"] > 0
    assert (counts["hidden"], counts["unknown citations"], counts["paid twice"]) == (0, 0, 0)
    assert counts["told in the method section"] == count - stopped


@pytest.mark.slow
async def test_a_hanging_engine_is_told_and_costs_no_query(tools: Any, world: Any, tmp_path: Path) -> None:
    world.behave(hanging=["beta"])
    settings = {"search.engines": ["alpha", "beta"], "search.straggler": 0.1}
    async with tools.client(world, tmp_path, settings) as runs:
        result = await runs.research(tools.question(1))
    assert result.status == "complete"
    assert all(
        "beta" not in item["failure"] for item in json.loads((result.folder / "search_results.json").read_text())
    )
    assert result.report
    method: Any = result.report.metadata["method"]
    assert [engine["engine"] for engine in method["failed_engines"]] == ["beta"]


async def test_a_model_is_swapped_by_one_line(tools: Any, world: Any, tmp_path: Path) -> None:
    world.behave()
    async with tools.client(world, tmp_path, {"ai.providers": ["embedded"]}) as runs:
        result = await runs.research(tools.question(2))
    assert result.status == "complete"
    assert (result.metadata.providers, result.metadata.models) == (("embedded",), ())
    assert not world.tally()["asked"]


async def test_a_recorded_run_gives_the_same_report_byte_for_byte(tools: Any, world: Any, tmp_path: Path) -> None:
    world.behave()
    async with tools.client(world, tmp_path) as runs:
        first = await runs.research(tools.question(3))
    world.behave()
    settings = {"ai.providers": ["recorded"], "plugins.recorded.run": str(first.folder)}
    async with tools.client(world, tmp_path, settings) as runs:
        again = await runs.research(tools.question(3))
    assert again.status == "complete", again.reason
    assert report_of(again) == report_of(first)
    assert first.metadata.models == ("openai:emulated",)
    assert again.metadata.models == ("recorded:emulated",)
    assert not world.tally()["asked"]


SECTION = """The repairs of the bridge cost 45 million crowns [1].

The test of the bridge gave a factor of 2 (95% CI [1, 3]) for loads in the range [18, 65] and a score of [0, 1] [1].

Rows [10-12] of the register name the two firms [1].

$$x_{[1]} + y[1]$$

The vote was as follows:

- [2] votes were against the toll [1]."""


@ai_provider("The emulator's model, whose sections are given")
class Bracketing:
    """Writes the section above wherever it is asked for one; all else as the emulator does."""

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits()

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        import emulator_chat

        turns = [{"role": message.role, "content": message.text} for message in request.messages]
        form = {"json_schema": {"schema": request.json_schema}} if request.json_schema else {}
        name, text, _ = emulator_chat._reply({"messages": turns, "response_format": form})
        if name == "Written":
            reply = json.loads(text)
            reply["sections"] = [section | {"text": SECTION} for section in reply["sections"]]
            text = json.dumps(reply)
        return ChatReply(message=Message(role="assistant", text=text))


@pytest.fixture
async def bracketed(tools: Any, tmp_path: Path) -> leadline.Result:
    """Return a run whose writer put brackets into its text that are no citations."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "bridge.md").write_text(
        "# The bridge of Ostrov\n\nThe bridge of Ostrov was opened in 1931 by the mayor.\n\n"
        "## Repairs\n\nThe repairs of the bridge cost 45 million crowns. They were paid by the region.\n"
    )
    question = "What did the repairs of the bridge of Ostrov cost?"
    options = {"pipeline": "search", "ai.providers": ["bracketing"], "report.formats": ["markdown", "html"]}
    extra, cache = [plugin("bracketing", Bracketing)], tmp_path / "cache"
    async with leadline.Client(plugins=extra, folder=tmp_path / "runs", cache=cache, docs=docs, set=options) as client:
        return await client.research(question)


async def test_brackets_that_are_no_citations_stay_in_all_formats(bracketed: leadline.Result) -> None:
    report = (bracketed.folder / "report.md").read_text().replace("\\", "")
    page = re.sub(r"<[^>]+>", "", (bracketed.folder / "report.html").read_text())
    for text in (
        "(95% CI [1, 3])",
        "range [18, 65]",
        "a score of [0, 1] [1]",
        "Rows [10-12]",
        "[2] votes were against",
    ):
        assert text in report
    for text in ("95% CI [1, 3]", "[2] votes"):
        assert text in page
    assert "[1] votes" not in report
    assert not re.search("@ ?p[a-z0-9]{6,}", page + report)


class Broken:
    """A chat that raises: in each call, or before the first."""

    def __init__(self, place: str) -> None:
        self.place = place

    def traits(self, model: str, /) -> ModelTraits:
        if self.place == "traits":
            raise ValueError("knows no model")
        return ModelTraits()

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        raise RuntimeError("no reply to be had")


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("chat", "synthesize was done by openai ("),
        pytest.param("traits", "broken is left out of this run: ", marks=pytest.mark.slow),
    ],
)
async def test_notices_of_a_chain_are_repeated_by_a_replay_and_a_resume(
    tools: Any, world: Any, tmp_path: Path, place: str, told: str
) -> None:
    world.behave()
    broken = plugin("broken", ai_provider("Breaks")(lambda: Broken(place)))
    settings = {"ai.providers": ["broken", "openai"]}
    async with tools.client(world, tmp_path, settings, plugins=[broken]) as runs:
        first = await runs.research(tools.question(6))
        replayed = await runs.replay(first.folder)
        resumed = await (await runs.resume(first.folder)).result()
    for result in (first, replayed, resumed):
        assert len([notice for notice in result.metadata.notices if notice.startswith(told)]) == 1
    assert first.report == replayed.report == resumed.report
    assert set(first.metadata.notices) == set(replayed.metadata.notices)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("trials", [3, 60])
async def test_after_a_kill_no_reply_that_was_kept_is_paid_again(
    tools: Any, world: Any, tmp_path: Path, trials: int
) -> None:
    script = Path(__file__).with_name("model_kills.py")
    world.behave(first_token=0.02, tokens_per_second=4000, search=0.02, page=0.02)
    command = [sys.executable, str(script), str(trials), "20260922", str(tmp_path), str(world.port)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=1100, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts["begun"] == counts["ended"] == trials, (counts, done.stderr[-2000:])
    assert counts["kept"] > 0
    assert counts["repeated"] == 0
