"""Kills runs at random moments and resumes them: `python kills.py TRIALS SEED FOLDER`, prints what happened as JSON.

The runs are whole ones over made-up pages, every outside call slowed and written down before it is made. "Returned"
means committed: between a provider's reply and its commit lie some tenths of a millisecond, in which a kill costs that
one call. So what counts as repeated is a call made after the kill whose reply stood in the journal at the kill.
Each session is a forked child: a real process with a real `kill -9`, without the second that imports take.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import leadline
from leadline._hosting.catalog import PluginCatalog
from leadline._runtime.journal.journal import Journal
from leadline.contracts import Call
from leadline.plugin import middleware
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"


class Slow:
    """Writes each call down, then lets it wait a little, the same call the same time."""

    live = True

    def __init__(self, log: Path) -> None:
        self._log = log.open("a", buffering=1)

    async def around(self, request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
        self._log.write(f"{os.getpid()} {call.key}\n")
        await asyncio.sleep(int(call.key[:4], 16) / 0xFFFF * 0.02)
        return await proceed(request)


def client(folder: Path, log: Path) -> leadline.Client:
    slow = plugin("slow", middleware("Slows every call")(lambda: Slow(log)))
    return leadline.Client(
        plugins=[fake_web(), slow],
        folder=folder / "runs",
        cache=folder / "cache",
        set={"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "middleware": ["slow"], "observers": []},
    )


def in_child(work: Callable[[], Awaitable[Any]]) -> int:
    """Do it in a child process; returns its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        asyncio.run(work())  # type: ignore[arg-type]
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(code)


def finished(child: int) -> bool:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def report_of(folder: Path) -> Any:
    report = json.loads((folder / "report.json").read_text())
    report["metadata"].pop("created")
    return report


async def start(folder: Path, log: Path) -> None:
    async with client(folder, log) as runs:
        await runs.research(QUESTION)


async def resume(folder: Path, log: Path) -> None:
    async with client(folder, log) as runs:
        handle = await runs.resume(next((folder / "runs").iterdir()))
        result = await handle.result()
        assert result.status == "complete", result.reason
        replayed = await runs.replay(result.folder)
        assert replayed.report == result.report, "the replay is another report"


async def committed(folder: Path, out: Path) -> None:
    """Write down what had returned; nothing where the run was killed before its order was kept: it had not begun."""
    journal = await Journal.open(folder / "journal.sqlite", mode="read")
    if await journal.get_meta("order") is not None:
        out.write_text(json.dumps(sorted(journal.keys())))
    await journal.close()


def trial(folder: Path, seconds: float, undisturbed: Any) -> dict[str, Any]:
    """Start a run, kill it, resume it."""
    log, keys = folder / "calls.log", folder / "keys.json"
    folder.mkdir(parents=True)
    child = in_child(lambda: start(folder, log))
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    runs = [path for path in (folder / "runs").glob("*") if (path / "journal.sqlite").exists()]
    if not runs or not finished(in_child(lambda: committed(runs[0], keys))) or not keys.exists():
        return {"begun": False}
    before = set(json.loads(keys.read_text()))
    second = in_child(lambda: resume(folder, log))
    ended = finished(second)
    lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    again = {key for pid, key in lines if int(pid) == second} & before
    return {
        "begun": True,
        "ended": ended,
        "kept": len(before),
        "repeated": len(again),
        "same": ended and report_of(runs[0]) == undisturbed,
    }


def main(trials: int, seed: int, folder: Path) -> dict[str, Any]:
    chance = random.Random(seed)
    PluginCatalog.discover().entries()  # once here, and not in every child
    (folder / "undisturbed").mkdir(parents=True)
    began = time.monotonic()
    assert finished(in_child(lambda: start(folder / "undisturbed", folder / "undisturbed.log")))
    whole = latest = time.monotonic() - began
    undisturbed = report_of(next((folder / "undisturbed" / "runs").iterdir()))
    rows: list[dict[str, Any]] = []
    begun: list[dict[str, Any]] = []
    while len(begun) < trials and len(rows) < 3 * trials:
        rows.append(trial(folder / str(len(rows)), chance.uniform(0.02, 1.05 * latest), undisturbed))
        begun = [row for row in rows if row["begun"]]
        if not rows[-1]["begun"]:  # killed before it began: where the machine has grown busier, runs begin later
            latest = min(1.1 * latest, 8 * whole)
    return {
        "trials": len(rows),
        "begun": len(begun),
        "ended": sum(row["ended"] for row in begun),
        "same": sum(row["same"] for row in begun),
        "repeated": sum(row["repeated"] for row in begun),
        "kept": sum(row["kept"] for row in begun),
        "seconds undisturbed": round(whole, 2),
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
