"""Two hundred runs at once in one process: what the door and the journal cost, and whether the loop ever stalls.

    python tests/benchmarks/bench_journal.py [RUNS] [CALLS]

A quarter of the answers are pages of 50 KB. First every provider answers at once, so that the house's own work is
measured and the loop is never idle; then within two seconds, as in a real run.
"""

from __future__ import annotations

import asyncio
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

from leadline._runtime.calls.job import Kind, ProviderIdentity
from leadline._runtime.journal.rows import Need
from leadline.contracts import Call
from leadline.records import Document, SearchRequest

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.call_paths import open_call_path

PRICED = Kind("chat", Document, need=lambda _: Need(model_calls=1, tokens=100))
FREE = Kind("fetch", Document)
PAGE = "".join(f"{number * 7919 % 10007} a line of lead, and a lead of line; " for number in range(1200))[:50_000]


SLOWEST = [0.0]
"""Seconds that a provider takes at most."""


async def answer(request: SearchRequest, call: Call) -> Document:
    await asyncio.sleep(random.uniform(0, SLOWEST[0]))
    return Document(text=PAGE if request.limit == 4 else request.query)


async def run(folder: Path, calls: int) -> None:
    """Make calls in groups of eight, as a research run does: a quarter pages, a quarter priced."""
    async with open_call_path(folder) as opened:
        for first in range(0, calls, 8):
            jobs = []
            for number in range(first, first + 8):
                request = SearchRequest(query=f"{folder.name} {number}", limit=number % 4 + 1)
                kind, maker = (
                    (PRICED, ProviderIdentity("model", priced=True))
                    if number % 4 == 0
                    else (FREE, ProviderIdentity("web"))
                )
                jobs.append(opened.calls.call(kind, request, answer, provider=maker))
            await asyncio.gather(*jobs)


async def longest_stall(stop: asyncio.Event) -> float:
    longest = 0.0
    while not stop.is_set():
        before = time.monotonic()
        await asyncio.sleep(0.005)
        longest = max(longest, time.monotonic() - before - 0.005)
    return longest


async def measure(name: str, root: Path, runs: int, calls: int) -> None:
    stop = asyncio.Event()
    watching = asyncio.create_task(longest_stall(stop))
    wall, cpu = time.monotonic(), time.process_time()
    await asyncio.gather(*(run(root / str(number), calls) for number in range(runs)))
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    stop.set()
    stall = await watching
    print(
        f"{name:<8} {runs} runs of {calls} calls: {wall:6.2f} s wall, {cpu / runs * 1000:6.1f} ms CPU a run, "
        f"longest stall {stall * 1000:5.0f} ms, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB peak"
    )


def main(runs: int, calls: int) -> None:
    with tempfile.TemporaryDirectory() as root:
        asyncio.run(measure("warm-up", Path(root) / "warm", 2, calls))
        asyncio.run(measure("live", Path(root) / "many", runs, calls))
        SLOWEST[0] = 2.0
        asyncio.run(measure("real", Path(root) / "real", runs, calls))
        asyncio.run(measure("replay", Path(root) / "many", runs, calls))
        size = sum(path.stat().st_size for path in (Path(root) / "many").rglob("*") if path.is_file())
        print(f"on disk  {size / runs / 1024:.0f} KB a run")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3])) if len(sys.argv) > 2 else main(200, 80)
