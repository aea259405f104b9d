"""Prompt prefixes that calls of one run share, which vendors' prompt caches can serve: `python bench_prompt_prefix.py`.

Runs `research` and the same with `explore` (default, and with each switch of its context off) against the emulator. For
every model call: the longest prefix that an earlier call of the run had, in characters of all messages. `pairs` lists
the calls of `explore` one by one; the other rows are sums by task. Vendors cache from about 1,024 tokens (4,000
characters) on, so shorter prefixes are worth nothing; `cached` counts the others.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from emulator_use import Emulator, client, emulator, question

from leadline.contracts import Call
from leadline.plugin import middleware
from leadline.records import ChatRequest
from leadline.testing.plugins import plugin

CACHED = 4_000
EXPLORING = {
    "pipeline": "exploring",
    "pipelines.exploring": {
        "extends": "research",
        "replace": {"query": ["explore"]},
        "without": ["search", "fetch"],
    },
}
SWITCHES = ("append_only", "recite", "keep_errors")


class Recorder:
    """Notes the prompts of all model calls in their order."""

    live = True

    def __init__(self) -> None:
        self.prompts: list[tuple[str, str]] = []

    async def around(self, request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
        if isinstance(request, ChatRequest):
            turns = [turn.model_dump_json(exclude={"opaque", "by"}, exclude_defaults=True) for turn in request.messages]
            self.prompts.append((call.task, "\n".join(turns)))
        return await proceed(request)


def shared_prefix(one: str, other: str) -> int:
    """Return the number of characters that two texts begin with alike."""
    least = min(len(one), len(other))
    return next((place for place in range(least) if one[place] != other[place]), least)


def rows(prompts: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return for each call its length and the longest prefix that it shares with an earlier one, and with whose."""
    found = []
    for place, (task, text) in enumerate(prompts):
        shared = [(shared_prefix(text, earlier), name) for name, earlier in prompts[:place]]
        longest, whose = max(shared, default=(0, ""))
        found.append({"task": task, "characters": len(text), "shared": longest, "with": whose})
    return found


def by_task(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the sums of each task."""
    sums: dict[str, dict[str, Any]] = {}
    for row in found:
        one = sums.setdefault(row["task"], {"calls": 0, "characters": 0, "shared": 0, "cached": 0, "with": set()})
        one["calls"] += 1
        one["characters"] += row["characters"]
        one["shared"] += row["shared"]
        one["cached"] += row["shared"] if row["shared"] >= CACHED else 0
        one["with"] |= {row["with"]} - {""}
    return {name: one | {"with": sorted(one["with"])} for name, one in sorted(sums.items())}


async def measured(world: Emulator, folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of one run."""
    recorder = Recorder()
    watching = plugin("recorder", middleware("Notes prompts")(lambda: recorder))
    values = {"middleware": ["recorder"], "cache.search": "0", "cache.plan": "0", **settings}
    async with client(world, folder, values, [watching]) as runs:
        result = await runs.research(question())
    found = rows(recorder.prompts)
    pairs = [[row["characters"], row["shared"]] for row in found if row["task"] == "explore"]
    total = sum(row["characters"] for row in found)
    return {
        "status": result.status,
        "by task": by_task(found),
        "explore pairs": pairs,
        "cached share": round(sum(row["shared"] for row in found if row["shared"] >= CACHED) / total, 3),
    }


async def main() -> dict[str, Any]:
    """Return all figures."""
    off = {f"explore without {name}": {**EXPLORING, f"plugins.explore.{name}": False} for name in SWITCHES}
    with emulator() as world, tempfile.TemporaryDirectory() as folder:
        return {
            name: await measured(world, Path(folder) / name.replace(" ", "-"), settings)
            for name, settings in ({"research": {}, "explore": EXPLORING} | off).items()
        }


if __name__ == "__main__":
    json.dump(asyncio.run(main()), sys.stdout, indent=1)
