"""Kills runs by a model at random moments and resumes them: `python model_kills.py TRIALS SEED FOLDER PORT [SETTINGS]`.

The emulator at that port counts by content what it served. A reply is repeated that stood in the journal when the run
was killed, and was asked for again by the session after it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import kills  # type: ignore[import-not-found]  # beside this script

from leadline._hosting.catalog import PluginCatalog
from leadline._runtime.journal.journal import Journal
from leadline_plugins.observers import jsonl

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from emulator_use import Emulator, client, question

jsonl.GATHERED = 0.0  # the emulator may answer sooner than lines are written, and what was kept is known by its events
SETTINGS = json.loads(sys.argv[5]) if len(sys.argv) > 5 else {}


async def start(world: Emulator, folder: Path, number: int) -> None:
    async with client(world, folder, SETTINGS) as runs:
        await runs.research(question(number))


async def resume(world: Emulator, folder: Path) -> None:
    async with client(world, folder, SETTINGS) as runs:
        handle = await runs.resume(next((folder / "runs").iterdir()))
        result = await handle.result()
        assert result.status == "complete", result.reason


async def kept(folder: Path, out: Path) -> None:
    """Write down the spans of the chats whose replies stand in a journal: the emulator knows calls by them."""
    journal = await Journal.open(folder / "journal.sqlite", mode="read")
    keys = {row.key for row in journal.rows() if row.kind == "chat" and row.outcome == "reply"}
    await journal.close()
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines() if line.endswith("}")]
    started = [event for event in events if event["kind"] == "call.started" and event["data"]["key"] in keys]
    assert len(started) == len(keys), "a call was kept of whose start there is no event"
    out.write_text(json.dumps([event["span_id"] for event in started]))


def trial(world: Emulator, folder: Path, number: int, seconds: float) -> dict[str, Any]:
    """Start a run, kill it, resume it."""
    folder.mkdir(parents=True)
    child = kills.in_child(lambda: start(world, folder, number))
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    runs, keys = list((folder / "runs").glob("*/journal.sqlite")), folder / "kept.json"
    if not runs or not kills.finished(kills.in_child(lambda: kept(runs[0].parent, keys))):
        return {"begun": False}
    book = world.tally()
    asked, before = book["asked"], {book["spans"][span] for span in json.loads(keys.read_text())}
    ended = kills.finished(kills.in_child(lambda: resume(world, folder)))
    now = world.tally()["asked"]
    repeated = sum(now[content] > asked[content] for content in before)
    return {"begun": True, "ended": ended, "kept": len(before), "repeated": repeated}


def main(trials: int, seed: int, folder: Path, port: int) -> dict[str, Any]:
    world, chance = Emulator(port), random.Random(seed)
    PluginCatalog.discover().entries()  # once here, and not in every child
    began = time.monotonic()
    assert kills.finished(kills.in_child(lambda: start(world, folder / "undisturbed", 0)))
    whole = time.monotonic() - began
    rows: list[dict[str, Any]] = []
    begun: list[dict[str, Any]] = []
    while len(begun) < trials and len(rows) < 3 * trials:
        number = len(rows) + 1
        rows.append(trial(world, folder / str(number), number, chance.uniform(0.1, 1.0) * whole))
        begun = [row for row in rows if row["begun"]]
    return {
        "begun": len(begun),
        "ended": sum(row["ended"] for row in begun),
        "kept": sum(row["kept"] for row in begun),
        "repeated": sum(row["repeated"] for row in begun),
        "seconds undisturbed": round(whole, 2),
    }


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))))
