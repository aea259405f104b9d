"""Each strategy under each condition of its engines: results, time, requests sent, cost; and its promises.

    python tests/benchmarks/bench_strategies.py

Three made-up engines, each request at 0.01 $, over the real door and journal, eight queries by `batch_size` 5; what is
wrong is wrong with the first engine. Exits with 1 where a promise is broken. Times are of this machine.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import leadline
from leadline import hookspecs
from leadline.contracts import Call
from leadline.errors import CallFailed, RateLimited, Unavailable
from leadline.plugin import search_provider
from leadline.records import Hit, SearchPage, SearchRequest, Usage
from leadline.research_findings import TASKS, SearchTask
from leadline.testing.plugins import plugin

STRATEGIES = ("batch", "race", "hybrid", "fallback")
QUERIES = 8
SPEED = {"one": 0.10, "two": 0.15, "three": 0.20}
"""Seconds an engine takes when it is well."""
PRICE = Decimal("0.01")


@dataclass
class Engine:
    """Answers with ten hits of its own after its time, unless its manner says otherwise."""

    name: str
    manner: Callable[[int], Any] = lambda number: None
    sent: int = 0
    out: int = 0
    most: int = 0

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Answer one request, in the engine's manner."""
        self.sent += 1
        self.out += 1
        self.most = max(self.most, self.out)
        call.spend(Usage(cost=PRICE))
        try:
            manner = self.manner(self.sent)
            await asyncio.sleep(manner if isinstance(manner, float) else SPEED.get(self.name, 0.1))
            if isinstance(manner, Exception):
                raise manner
            count = 0 if manner == "empty" else 10
            urls = (f"https://{self.name}.example/{request.query}/{place}" for place in range(count))
            return SearchPage(hits=tuple(Hit(url=url.replace(" ", "-"), title=url) for url in urls))
        finally:
            self.out -= 1


CONDITIONS: dict[str, dict[str, Callable[[int], Any]]] = {
    "all well": {},
    "one slow (5 s)": {"one": lambda number: 5.0},
    "one hanging": {"one": lambda number: 3600.0},
    "one failing": {"one": lambda number: Unavailable("HTTP 503")},
    "one empty": {"one": lambda number: "empty"},
    "one rate-limited": {"one": lambda number: RateLimited("HTTP 429") if number % 2 else None},
    "one dies midway": {"one": lambda number: Unavailable("HTTP 503") if number > 3 else None},
    "all failing": dict.fromkeys(SPEED, lambda number: Unavailable("HTTP 503")),
}


@dataclass
class Searched:
    """A stage that searches all queries, and measures."""

    queries: int = QUERIES
    times: list[float] = field(default_factory=list)
    hits: list[int] = field(default_factory=list)
    took: float = 0.0

    async def run(self, findings: Any, run: Any, /) -> None:
        """Search, all at once as far as the settings let it."""
        began = asyncio.get_running_loop().time()
        await run.each([SearchRequest(query=f"query {number}") for number in range(self.queries)], self._one(run))
        self.took = asyncio.get_running_loop().time() - began
        findings[TASKS] = [SearchTask(id="q", query="q")]

    def _one(self, run: Any) -> Any:
        async def search(request: SearchRequest) -> None:
            began = asyncio.get_running_loop().time()
            try:
                self.hits.append(len((await run.search(request)).hits))
            except CallFailed:
                self.hits.append(-1)
            self.times.append(asyncio.get_running_loop().time() - began)

        return search


def _given(engine: Engine, settings: Any, context: Any) -> Engine:
    return engine


async def measure(strategy: str, engines: list[Engine], searched: Searched, **settings: Any) -> None:
    """Let the stage run with these engines."""
    stage = hookspecs.stage("Searches", gives=(TASKS,))(lambda: searched)
    plugins = [plugin("searched", stage)]
    for engine in engines:
        offer = search_provider("Made up")(partial(_given, engine))
        plugins.append(plugin(engine.name, offer))
    values = {
        "search.engines": [engine.name for engine in engines],
        "search.strategy": strategy,
        "read.fetchers": ["web"],
        "pipeline": "mine",
        "pipelines": {"mine": {"stages": ["searched"]}},
        "cache.search": "0",
        "observers": [],
        **settings,
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        async with leadline.Client(plugins=plugins, folder=place, cache=place / "cache", set=values) as client:
            await client.research("How fast is each of the strategies when engines misbehave?")


async def table() -> dict[tuple[str, str], tuple[Searched, list[Engine]]]:
    """Measure every strategy under every condition, and print the table."""
    rows = {}
    print(f"{'condition':18}{'strategy':10}{'found':>6}{'failed':>7}{'hits':>6}{'all s':>7}{'median s':>9}", end="")
    print(f"{'sent':>6}{'a query':>8}{'cost $':>7}")
    for condition, manners in CONDITIONS.items():
        for strategy in STRATEGIES:
            engines = [Engine(name, manners.get(name, lambda number: None)) for name in SPEED]
            searched = Searched()
            # A hanging engine in a strict fallback is waited for: three seconds here in place of thirty.
            await measure(strategy, engines, searched, **{"search.timeout": 3} if strategy == "fallback" else {})
            rows[condition, strategy] = searched, engines
            print(_line(condition, strategy, searched, engines), flush=True)
    return rows


def _line(condition: str, strategy: str, searched: Searched, engines: list[Engine]) -> str:
    sent = sum(engine.sent for engine in engines)
    good = [hits for hits in searched.hits if hits > 0]
    return (
        f"{condition:18}{strategy:10}{len(good):6}{searched.hits.count(-1):7}{sum(good):6}{searched.took:7.2f}"
        f"{sorted(searched.times)[len(searched.times) // 2]:9.3f}{sent:6}{sent / QUERIES:8.2f}{sent * PRICE:7.2f}"
    )


async def races() -> list[tuple[float, float]]:
    """Return, query by query, how long a race took and how long its fastest engine alone, side by side in time."""
    pairs = []
    for _ in range(10):
        both = []
        for engines in (
            [Engine("two")],
            [Engine("one", CONDITIONS["one hanging"]["one"]), Engine("two"), Engine("three")],
        ):
            searched = Searched(queries=1)
            await measure("race", engines, searched)
            both.append(searched.times[0])
        pairs.append((both[1], both[0]))
    return pairs


async def crowd() -> int:
    """Return how many requests were out at once at most, with five engines and forty queries side by side."""
    out = most = 0

    class Counted(Engine):
        async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
            nonlocal out, most
            out, most = out + 1, max(most, out + 1)
            try:
                return await super().search(request, call)
            finally:
                out -= 1

    engines: list[Engine] = [Counted(f"engine{number}") for number in range(5)]
    settings = {"search.batch_size": 40, "research.max_queries": 40}
    await measure("batch", engines, Searched(queries=40), **settings)
    return most


async def main() -> int:
    """Print the table and the promises; returns the exit code."""
    rows = await table()
    pairs = sorted(await races(), key=lambda pair: pair[0] - pair[1])
    race, alone = pairs[len(pairs) // 2]
    most = await crowd()
    healthy, _ = rows["all well", "batch"]
    hanging, _ = rows["one hanging", "batch"]
    hybrid = sum(engine.sent for engine in rows["all well", "hybrid"][1]) / QUERIES
    promises = {
        f"race {race:.3f} s, its fastest engine {alone:.3f} s (median of 10): at most 5 % + 10 ms more": race
        <= alone * 1.05 + 0.010,
        f"hybrid sends {hybrid:.2f} requests a query when the first engine is well: at most 1.2": hybrid <= 1.2,
        f"a hanging engine costs a batch run {hanging.took - healthy.took:.2f} s: at most 3": hanging.took
        - healthy.took
        <= 3,
        f"{most} requests at once, 40 queries on 5 engines: at most 10": most <= 10,
    }
    print()
    for promise, kept in promises.items():
        print("kept  " if kept else "BROKEN", promise)
    return 0 if all(promises.values()) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
