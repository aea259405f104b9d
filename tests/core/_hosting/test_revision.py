"""Replies of other runs after a plugin was edited: asked anew, and notices come with what is not."""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline._hosting import loading
from leadline.hookspecs import GROUP
from leadline.testing.fakes import fake_web

STRATEGY = """
from leadline.plugin import search_strategy

asked = []


@search_strategy("Asks the first engine")
class First:
    async def search(self, request, engines, call):
        asked.append(request.query)
        await call.run.emit("notice", {"message": "nobody else was asked"})
        return await next(iter(engines.values()))(request)
"""


async def test_cached_replies_have_notices_and_are_not_those_of_an_edited_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "first_strategy.py"

    async def research(source: str, *, anew: bool = False) -> tuple[bool, int]:
        """Return whether the strategy was called, and how many replies came from other runs."""
        file.write_text(source)
        sys.modules.pop("first_strategy", None)
        importlib.invalidate_caches()
        loading._digest.cache_clear()
        values: dict[str, Any] = {
            "search.engines": ["fakeweb"],
            "search.strategy": "first",
            "ai.providers": ["embedded"],
        }
        values["cache.enabled"] = not anew
        plugins = [fake_web(), EntryPoint("first", "first_strategy", GROUP)]
        async with leadline.Client(plugins=plugins, folder=tmp_path / "runs", cache=tmp_path / "c", set=values) as runs:
            result = await runs.research("How deep is the harbour?")
        assert "nobody else was asked" in result.metadata.notices
        return bool(sys.modules["first_strategy"].asked), result.metadata.cached

    assert await research(STRATEGY) == (True, 0)
    called, cached = await research(STRATEGY)
    assert not called
    assert cached > 0
    assert await research(STRATEGY, anew=True) == (True, 0)
    assert (await research(f"{STRATEGY}\n# edited\n"))[0]
