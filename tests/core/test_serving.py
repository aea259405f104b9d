"""A process that serves many runs: memory of ended runs, garbage collection."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

import leadline
from leadline.errors import ConfigError
from leadline.testing.fakes import fake_web

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"]}


async def test_a_client_releases_a_run_that_has_ended(tmp_path: Path) -> None:
    async with leadline.Client(plugins=[fake_web()], folder=tmp_path / "r", cache=tmp_path / "c", set=WEB) as client:
        handle = await client.start(QUESTION)
        run = weakref.ref(handle)
        assert (await handle.result()).status == "complete"
        del handle
        gc.collect()
        assert run() is None


async def test_a_client_keeps_a_running_run_that_nobody_awaits(tmp_path: Path) -> None:
    async with leadline.Client(plugins=[fake_web()], folder=tmp_path / "r", cache=tmp_path / "c", set=WEB) as client:
        run = weakref.ref(await client.start(QUESTION))
        gc.collect()
        held = run()
        assert held is not None
        assert held.ended is None
        del held
    gc.collect()
    assert run() is None


def test_tune_gc_freezes_objects_and_collects_less_often() -> None:
    code = "import gc, leadline; leadline.tune_gc(); print(gc.get_freeze_count() > 1000, gc.get_threshold()[0] > 700)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


async def test_pipelines_tell_what_they_lack_and_cost_of_those_that_can_run_is_estimated(tmp_path: Path) -> None:
    settings = WEB | {"pipelines.mine.extends": "research", "ai.providers": ["embedded"]}
    async with leadline.Client(
        plugins=[fake_web()], folder=tmp_path / "r", cache=tmp_path / "c", set=settings
    ) as client:
        found = {one.name: one for one in client.describe_pipelines()}
        assert found["chat"].lacks == ("ai_providers",)
        assert "needs a language model" in found["chat"].problem
        assert "ai_providers" in found["code"].lacks
        assert not found["mine"].problem
        mine, oneshot = [await client.estimate(pipeline=name) for name in ("mine", "oneshot")]
        assert mine.queries > oneshot.queries == 1
        with pytest.raises(ConfigError, match="needs a language model"):
            await client.estimate(pipeline="chat")
