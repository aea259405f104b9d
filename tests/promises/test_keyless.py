"""Every pipeline without a language model: an answer, or one sentence that says what is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.errors import ConfigError
from leadline.testing.servers import ScriptedServer, json_answer, scripted_server

QUESTION = "How deep is the harbour of Port Ellery at the mole?"
PROGRAM = "Write a Python program that prints the first ten primes"
GREETINGS = ("Hello!", "你好")
NEEDS_MODEL = ("audited", "chat", "code", "requirements", "thinking")
PIPELINES = ("auto", "knowledge", "longform", "oneshot", "research", "search")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "depths.md").write_text("# Depths\n\nThe harbour of Port Ellery is nine fathoms deep at the mole.\n")
    return folder


def client(folder: Path, pipeline: str = "research", settings: dict[str, Any] | None = None, **options: Any) -> Any:
    values = {"ai.providers": ["embedded"], "retry.base": 0, "plugins.knowledge.folder": str(folder / "knowledge")}
    places: dict[str, Any] = {"folder": folder / "runs", "cache": folder / "cache"}
    return leadline.Client(pipeline=pipeline, set=values | (settings or {}), **places, **options)


async def outcomes(runs: leadline.Client) -> AsyncIterator[tuple[str, leadline.Result]]:
    for words in (*GREETINGS, QUESTION, PROGRAM):
        result = await runs.research(words)
        assert not [error for error in result.metadata.errors if error.traceback], words
        assert not [step for step in result.metadata.steps if step.status == "failed" and "missing" in step.reason]
        if words in GREETINGS:
            assert (result.status, result.exit_code) == ("failed", 64), words
            assert "only a language model answers a greeting" in result.reason
        else:
            yield words, result


@pytest.mark.parametrize("pipeline", PIPELINES)
async def test_documents_are_asked_and_a_greeting_is_no_question(tmp_path: Path, docs: Path, pipeline: str) -> None:
    async with client(tmp_path, pipeline, docs=docs) as runs:
        if pipeline == "knowledge":
            assert "knowledge add PATH" in (await runs.research(QUESTION)).reason
            await runs.knowledge.add(docs / "depths.md")
        async for words, result in outcomes(runs):
            if words == QUESTION:
                assert (result.status, result.reason) == ("complete", "")
                assert "nine fathoms deep" in result.text
            elif pipeline != "knowledge":  # which finds the nearest passages of any words
                assert (result.status, result.exit_code) == ("no_evidence", 5)
                assert PROGRAM in result.reason


@pytest.mark.parametrize("pipeline", [name for name in PIPELINES if name != "knowledge"])
async def test_a_network_that_is_down_is_a_failure_and_no_lack_of_evidence(tmp_path: Path, pipeline: str) -> None:
    settings = {"search.engines": ["searxng"], "plugins.searxng.base_url": "http://127.0.0.1:9"}
    async with client(tmp_path, pipeline, settings) as runs:
        async for _, result in outcomes(runs):
            assert (result.status, result.exit_code) == ("failed", 1)
            assert result.reason.startswith("every search failed")
            assert "no connection" in result.reason


@pytest.mark.parametrize("pipeline", NEEDS_MODEL)
async def test_what_only_a_model_does_is_refused_with_the_way_to_one_first(tmp_path: Path, pipeline: str) -> None:
    async with client(tmp_path, pipeline) as runs:
        with pytest.raises(ConfigError, match=rf"^pipeline '{pipeline}' needs a language model"):
            await runs.research(QUESTION)
        with pytest.raises(ConfigError, match="needs a language model"):
            runs.explain()
    assert not (tmp_path / "runs").exists()


async def test_a_check_of_claims_is_refused_where_a_report_only_quotes(tmp_path: Path, docs: Path) -> None:
    async with client(tmp_path, settings={"verify.require_support": True}, docs=docs) as runs:
        with pytest.raises(ConfigError, match="verify.require_support is on: without one a report quotes passages"):
            await runs.research(QUESTION)
    assert not (tmp_path / "runs").exists()


async def test_every_pipeline_is_in_these_tests(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        assert {one.name for one in runs.describe_pipelines()} == {*PIPELINES, *NEEDS_MODEL}


async def test_a_run_without_any_setting_can_continue_with_another_pipeline(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(docs)
    async with leadline.Client(pipeline="auto") as runs:
        assert (await runs.research("Hello!")).exit_code == 64
        result = await runs.research("Calculate the sum of 1 and 2")
    assert result.exit_code == 78
    assert "needs a language model" in result.reason


# --- nobody is told of private documents -----------------------------------------------------------------------------


@pytest.fixture
async def vendor(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ScriptedServer]:
    """A search engine with a key in the environment, as on the machine of somebody who uses it elsewhere."""
    async with scripted_server(json_answer({"results": []})) as server:
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-0123456789")
        monkeypatch.setenv("LEADLINE_PLUGINS__TAVILY__BASE_URL", server.url)
        yield server


async def test_docs_alone_tell_no_vendor_and_say_how_to_ask_one(
    tmp_path: Path, docs: Path, vendor: ScriptedServer
) -> None:
    async with client(tmp_path, docs=docs) as runs:
        result = await runs.research(QUESTION)
        assert runs.load().chosen["read.fetchers"] == ("local",), "a page may be a vendor, too"
    assert (result.status, result.metadata.engines, vendor.asked) == ("complete", ("local",), [])
    (choice,) = [one for one in result.metadata.choices if one.startswith("search.engines")]
    assert choice.endswith("only the documents; to search elsewhere too: --set search.engines=local,tavily)")


@pytest.mark.parametrize("engines", [["auto"], ["tavily"], ["local", "tavily"]])
async def test_docs_with_engines_that_the_settings_name_ask_them_too(
    tmp_path: Path, docs: Path, vendor: ScriptedServer, engines: list[str]
) -> None:
    async with client(tmp_path, settings={"search.engines": engines}, docs=docs) as runs:
        result = await runs.research(QUESTION)
        assert runs.load().chosen["read.fetchers"] == ("local", "web")
    assert result.metadata.engines == ("local", "tavily")
    assert vendor.asked
