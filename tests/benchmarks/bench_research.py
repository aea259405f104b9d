"""Whole research runs against the emulator at realistic latencies: `python bench_research.py [RUNS AT ONCE]`.

0.4 s to the first token, 100 tokens a second, searches 0.6 s, pages 0.5 s. One run: calls, queries, tokens a query,
words, pages, wall time over the critical path, CPU of this process and of those it has beside it. Then the same beside
a search engine that hangs, and many at once in one process: wall time over that of one, memory, the longest stall of
the event loop. A first run at no latency warms up imports and connections.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bench_overhead import megabytes, stalls, workers
from emulator_manners import REALISTIC
from emulator_path import critical, leaves
from emulator_use import Emulator, client, emulator, question

import leadline

KINDS = {"search": REALISTIC["search"], "fetch": REALISTIC["page"]}


async def main(count: int) -> dict[str, Any]:
    """Return all figures."""
    with emulator() as world, tempfile.TemporaryDirectory() as folder:
        one, hung = Path(folder) / "one", Path(folder) / "hung"
        async with client(world, one) as runs:
            await runs.research(question())
            leadline.tune_gc()
            world.behave(**REALISTIC, seed=1)
            single = await measured(runs, world, 1)
            crowd = await crowded(runs, count, single["wall s"])
        async with client(world, hung, {"search.engines": ["alpha", "beta"]}) as runs:
            await runs.research(question(2))
            world.behave(**REALISTIC, hanging=["beta"])
            hanging = await measured(runs, world, 3)
        hanging["costs s"] = round(hanging["wall s"] - single["wall s"], 2)
        return {"one run": single, "with a hanging engine": hanging, f"{count} runs at once": crowd}


async def measured(runs: leadline.Client, world: Emulator, number: int) -> dict[str, Any]:
    """Return the figures of one run."""
    cpu, others, wall = time.process_time(), beside(), time.perf_counter()
    result = await runs.research(question(number))
    cpu, others, wall = time.process_time() - cpu, beside() - others, time.perf_counter() - wall
    data, lines = result.metadata, (result.folder / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    path = critical(leaves(events, KINDS, world.tally()))
    assert result.status == "complete", (result.reason, data.errors, data.calls)
    queries = data.calls["query/batch"]
    assert result.report
    return {
        "status": result.status,
        "notices": data.notices,
        "rounds": data.iterations,
        "model calls": data.calls["chat/openai"],
        "search queries": queries,
        "pages read": len(result.report.sources),
        "words": len(result.text.split()),
        "tokens a query": round(json.loads(data.model_dump_json())["usage"]["tokens"] / queries),
        "retention": data.retention,
        "wall s": round(wall, 2),
        "first searches s": first_searches(events),
        "critical path s": round(path, 2),
        "wall / critical path": round(wall / path, 3),
        "CPU s": round(cpu, 2),
        "CPU s of its processes": round(others, 2),
    }


def first_searches(events: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return when the first two searches began, in seconds: that of the question, and the first that was planned."""
    times = [
        datetime.fromisoformat(event["time"]).timestamp()
        for event in events
        if event["kind"] == "call.started" and event["data"]["kind"] == "query"
    ]
    begin = datetime.fromisoformat(events[0]["time"]).timestamp()
    return [round(one - begin, 2) for one in times[:2]]


def beside() -> float:
    """Return the seconds of CPU that the worker processes of this one have used."""
    fields = ((worker / "stat").read_text().rpartition(")")[2].split() for worker in workers())
    return sum(int(user) + int(system) for *_, user, system in (one[:13] for one in fields)) / os.sysconf("SC_CLK_TCK")


async def crowded(runs: leadline.Client, count: int, alone: float) -> dict[str, Any]:
    """Return the figures of many runs at once."""
    longest = [0.0]
    watch = asyncio.create_task(stalls(longest))
    cpu, others, wall = time.process_time(), beside(), time.perf_counter()
    results = await asyncio.gather(*(runs.research(question(100 + place)) for place in range(count)))
    cpu, others, wall = time.process_time() - cpu, beside() - others, time.perf_counter() - wall
    watch.cancel()
    return {
        "not complete": sum(result.status != "complete" for result in results),
        "wall s": round(wall, 2),
        "over one": round(wall / alone, 2),
        "CPU s a run": round(cpu / max(1, count), 2),
        "CPU s of its processes a run": round(others / max(1, count), 2),
        "memory MB": round(megabytes()),
        "longest stall s": round(longest[0], 3),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(int(sys.argv[1]) if sys.argv[1:] else 32)), indent=1))
