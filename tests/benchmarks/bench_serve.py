"""Many runs through the server: `python bench_serve.py [RUNS [PRINCIPALS [WORKERS]]]`, against the emulator.

The principals queue all runs at once. Prints as JSON: how they ended, by how many started runs two principals that
waited ever differed, the throughput beside that of the same runs of as many clients in as many processes without a
server, the times of `GET /v1/runs/ID` meanwhile, the delay from an order to `run.started` on an idle server, that of
events through the disk, the time until the server answers, and the memory of all processes.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
from emulator_manners import REALISTIC
from emulator_use import Emulator, client, emulator, question

PATIENCE = 600.0
# An installed plugin for the processes of this benchmark: the emulator's engines.
_PLUGIN = """
import os, sys
sys.path.insert(0, os.environ["BENCHMARKS"])
from emulator_use import _engine

alpha = _engine(f"http://127.0.0.1:{os.environ['EMULATOR']}/search/alpha")
alpha.__module__ = __name__
"""


def install(folder: Path, port: int) -> None:
    """Install the engine `alpha` for the processes that are started from here."""
    info = folder / "plugins" / "alpha-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: alpha\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[leadline.v2]\nalpha = alpha_of_a_benchmark\n")
    (folder / "plugins" / "alpha_of_a_benchmark.py").write_text(_PLUGIN)
    os.environ |= {
        "PYTHONPATH": str(folder / "plugins"),
        "BENCHMARKS": str(Path(__file__).parent),
        "EMULATOR": str(port),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


def options(world: Emulator) -> list[str]:
    values: dict[str, Any] = {
        "ai.providers": "openai",
        "plugins.openai.base_url": world.base_url,
        "plugins.openai.model": "emulated",
        "search.engines": "alpha",
        "read.fetchers": "web",
        "plugins.web.allow": "127.0.0.0/8",
        "plugins.web.ports": str(world.port),
        "plugins.web.per_host": 500,
        "limits.web.at_once": 500,
        "limits.openai.at_once": 500,
        "plugins.clarify.mode": "off",
    }
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


@contextmanager
def server(folder: Path, world: Emulator, workers: int, runs: int) -> Iterator[tuple[str, int, float]]:
    """Run a server; yields its address, its process and the seconds until it answered."""
    command = [sys.executable, "-m", "leadline", "serve", "--port", "0", "--folder", str(folder / "runs")]
    limits = ["--max-runs", "1000", "--max-requests", "1000000", "--max-streams", "1000"]
    began = time.monotonic()
    process = subprocess.Popen(
        [*command, *limits, "--workers", str(workers), "--runs", str(runs), *options(world)],
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    try:
        assert process.stderr
        text = ""
        while not (found := re.search(r"http://\S+", text)):
            line = process.stderr.readline()
            assert line, text
            text += line
        httpx.get(f"{found[0]}/healthz", trust_env=False, timeout=60).raise_for_status()
        yield found[0], process.pid, time.monotonic() - began
    finally:
        process.terminate()
        process.communicate(timeout=60)


def token(folder: Path, name: str) -> str:
    made = subprocess.run(
        [sys.executable, "-m", "leadline", "serve", "token", "add", name, "--folder", str(folder / "runs")],
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout.strip()


def memory(pid: int) -> dict[str, int]:
    """Return the megabytes that each process below this one has for itself, with its part of what is shared."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and _is_below(int(folder.name), pid):
            try:
                rollup = (folder / "smaps_rollup").read_text()
                name = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            match = re.search(r"^Pss:\s+(\d+)", rollup, re.MULTILINE)
            kind = "worker" if " worker " in name else "server" if " serve " in name else "computation"
            found[f"{kind} {folder.name}"] = int(match[1]) // 1024 if match else 0
    return found


def _is_below(pid: int, top: int) -> bool:
    while pid > 1:
        if pid == top:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            return False
    return False


def record_claims(database: sqlite3.Connection) -> None:
    """Have the database of the queue record who waits and whose order is taken."""
    database.executescript(
        """
        CREATE TABLE steps (principal TEXT, waiting INTEGER);
        CREATE TRIGGER ordered AFTER INSERT ON leadline_orders
        BEGIN INSERT INTO steps VALUES (NEW.principal, 1); END;
        CREATE TRIGGER taken AFTER UPDATE OF begun ON leadline_orders WHEN NEW.begun > OLD.begun
        BEGIN INSERT INTO steps VALUES (NEW.principal, -1); END;
        """
    )


def unfairness(steps: Iterable[tuple[str, int]]) -> int:
    """Return by how many started runs two principals differed at most since both began to wait."""
    waiting, ahead, most = Counter[str](), Counter[tuple[str, str]](), 0
    for principal, change in steps:
        waiting[principal] += change
        for other in waiting.keys() - {principal}:
            pair = (principal, other) if principal < other else (other, principal)
            if change < 0 and waiting[other]:
                ahead[pair] += 1 if pair[0] == principal else -1
                most = max(most, abs(ahead[pair]))
            elif not waiting[other] or not waiting[principal]:
                ahead[pair] = 0
    return most


async def load(folder: Path, world: Emulator, runs: int, principals: int, workers: int) -> dict[str, Any]:
    tokens = {f"user{number}": token(folder, f"user{number}") for number in range(principals)}
    each = -(-runs // principals)
    with server(folder, world, workers, max(1, -(-runs // (2 * workers)))) as (url, pid, start):
        clients = {
            name: httpx.AsyncClient(
                base_url=url, headers={"Authorization": f"Bearer {secret}"}, timeout=PATIENCE, trust_env=False
            )
            for name, secret in tokens.items()
        }
        delays = await idle(clients["user0"])
        database = sqlite3.connect(folder / "runs" / ".queue.sqlite")
        record_claims(database)
        orders: dict[str, list[str]] = {name: [] for name in tokens}
        began = time.monotonic()
        for number in range(each):
            for name, http in clients.items():
                body = {"question": question(100 + number * principals + int(name[4:]))}
                orders[name].append((await http.post("/v1/runs", json=body)).json()["id"])
        times, largest, left = (
            list[float](),
            dict[str, int](),
            {run: name for name, all_ in orders.items() for run in all_},
        )
        views: dict[str, Any] = {}
        looked = 0.0
        while left:
            for run, name in tuple(left.items()):
                asked = time.perf_counter()
                view = (await clients[name].get(f"/v1/runs/{run}")).json()
                times.append(1e3 * (time.perf_counter() - asked))
                if view["status"] not in ("pending", "running", "waiting"):
                    views[run] = view
                    del left[run]
                await asyncio.sleep(0.1)
            if time.monotonic() - looked > 2:
                looked, found = time.monotonic(), memory(pid)
                if sum(found.values()) > sum(largest.values()):
                    largest = found
        seconds = time.monotonic() - began
        for http in clients.values():
            await http.aclose()
    with closing(database):
        steps = database.execute("SELECT principal, waiting FROM steps ORDER BY rowid").fetchall()
    times.sort()
    return {
        "ended": dict(Counter(view["status"] for view in views.values())),
        "started runs differ by at most": unfairness(steps),
        "runs a minute": round(60 * len(views) / seconds, 1),
        "GET /v1/runs/ID ms, p50 and p95": [round(times[len(times) // 2], 1), round(times[int(0.95 * len(times))], 1)],
        "server answers after s": round(start, 2),
        **delays,
        "memory MB": largest,
        "memory MB in all": sum(largest.values()),
    }


async def idle(http: httpx.AsyncClient) -> dict[str, Any]:
    """Return the seconds from orders to their first event, and from events to their arrival."""
    starts, delays = list[float](), list[float]()
    for number in range(3):
        ordered = time.time()
        run = (await http.post("/v1/runs", json={"question": question(number)})).json()["id"]
        async with http.stream("GET", f"/v1/runs/{run}/events") as events:
            async for line in events.aiter_lines():
                if line.startswith("data: ") and number:  # the first run waits for the worker to be loaded
                    event = json.loads(line[6:])
                    if event["kind"] == "run.started":
                        starts.append(datetime.fromisoformat(event["time"]).timestamp() - ordered)
                    if event["kind"] not in ("run.finished", "session.finished"):
                        delays.append(time.time() - datetime.fromisoformat(event["time"]).timestamp())
    delays.sort()
    return {
        "order to run.started s, median": round(sorted(starts)[len(starts) // 2], 2),
        "event to client s, p50 and p95": [
            round(delays[len(delays) // 2], 2),
            round(delays[int(0.95 * len(delays))], 2),
        ],
    }


async def alone(folder: Path, world: Emulator, numbers: list[int], at_once: int) -> None:
    """Make runs without a server, so many at once."""
    places = asyncio.Semaphore(at_once)
    async with client(world, folder, {"plugins.clarify.mode": "off"}) as runs:

        async def one(number: int) -> None:
            async with places:
                await runs.research(question(number))

        await asyncio.gather(*map(one, numbers))


def without_server(folder: Path, world: Emulator, runs: int, workers: int) -> float:
    """Return the runs a minute of as many processes without a server."""
    began = time.monotonic()
    at_once = max(1, -(-runs // (2 * workers)))
    children = []
    for worker in range(workers):
        numbers = [str(1_000 + number) for number in range(worker, runs, workers)]
        command = [sys.executable, __file__, "alone", str(folder / f"alone{worker}"), str(world.port), str(at_once)]
        # Without the installed engine: that of `client` has the same name.
        plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        children.append(subprocess.Popen([*command, *numbers], env=plain))
    for child in children:
        assert child.wait() == 0
    return 60 * runs / (time.monotonic() - began)


def main(runs: int = 50, principals: int = 5, workers: int = 2) -> None:
    with tempfile.TemporaryDirectory() as top, emulator(**REALISTIC) as world:
        folder = Path(top)
        install(folder, world.port)
        plain = without_server(folder, world, runs, workers)
        found = asyncio.run(load(folder, world, runs, principals, workers))
    found |= {"runs a minute without a server": round(plain, 1)}
    found |= {"throughput beside it": round(found["runs a minute"] / plain, 2)}
    print(json.dumps({"runs": runs, "principals": principals, "workers": workers, **found}, indent=1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["alone"]:
        where, port, many, *rest = sys.argv[2:]
        asyncio.run(alone(Path(where), Emulator(int(port)), [int(one) for one in rest], int(many)))
    else:
        main(*map(int, sys.argv[1:]))
