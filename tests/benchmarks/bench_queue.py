"""What the queue costs: put, claim and end of an order on SQLite and Postgres. `python bench_queue.py [ORDERS]`.

Median and 95th percentile in milliseconds, claims per second of four workers at once, and the size of psycopg.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leadline.runs import Order
from leadline_server.queue import Queue, open_queue

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.server.queue.cluster import cluster, programs

_NUMBERS = itertools.count()


def an_order() -> Order:
    """Return an order with the settings of a usual one."""
    number = next(_NUMBERS)
    settings: dict[str, Any] = {f"key{one}": "x" * 40 for one in range(100)}
    return Order(
        run_id=f"{number:08x}_20261128_120000",
        trace_id=f"{number:032x}",
        question="How many feet is a fathom?",
        pipeline="research",
        began=datetime.now(UTC),
        settings=settings,
    )


def timed(times: list[float], function: Any, *values: Any) -> Any:
    began = time.perf_counter()
    result = function(*values)
    times.append(1e3 * (time.perf_counter() - began))
    return result


def measure(url: str, folder: Path, count: int) -> dict[str, Any]:
    """Measure one database."""
    puts, claims, ends = list[float](), list[float](), list[float]()
    with closing(open_queue(url, folder)) as queue:
        for number in range(count):
            timed(puts, queue.put, an_order(), f"p{number % 5}")
        while claim := timed(claims, queue.claim, "w"):
            timed(ends, queue.done, claim)
        for number in range(count):
            queue.put(an_order(), f"p{number % 5}")
    workers = [open_queue(url, folder) for _ in range(4)]
    began = time.perf_counter()
    with ThreadPoolExecutor(4) as pool:
        taken = sum(pool.map(drain, workers))
    seconds = time.perf_counter() - began
    for one in workers:
        one.close()
    rows = {"put": puts, "claim": claims[:-1], "end": ends}
    figures = {
        name: [round(statistics.median(row), 2), round(sorted(row)[int(0.95 * len(row))], 2)]
        for name, row in rows.items()
    }
    return {"p50 and p95 ms": figures, "claims and ends a second, 4 workers": round(taken / seconds)}


def drain(queue: Queue) -> int:
    taken = 0
    while claim := queue.claim("w"):
        queue.done(claim)
        taken += 1
    return taken


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = {"sqlite": measure("", Path(folder), count)}
    if programs():
        with cluster() as running:
            found["postgres"] = measure(running.database("bench"), Path("/nowhere"), count)
    print(json.dumps({"orders": count, **found}, indent=1))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
