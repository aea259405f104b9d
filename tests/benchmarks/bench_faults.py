"""Research runs through a faulty world: `python bench_faults.py [RUNS]`, 100 by default.

10 % of 500s and of 429s, 5 % malformed JSON, 2 % cut streams, and one of two search engines never answers. How the
runs ended, whether every fault that cost something is told in the metadata, and whether a reply was paid for twice.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from emulator_manners import FAULTY
from emulator_use import Emulator, client, emulator, question

import leadline

AT_ONCE = 10
SETTINGS = {
    "search.engines": ["alpha", "beta"],
    "search.straggler": 0.2,
    "retry.base": 0.05,
    "limits.beta.timeout": 1,
}
"""Pauses are short here, for nothing hangs on their length."""


# The errors of the metadata count the attempts in a field of their own.
_ATTEMPTS = re.compile(r" \(after \d+ attempts\)")


async def main(count: int, folder: Path, world: Emulator) -> dict[str, Any]:
    """Return what became of so many runs."""
    world.behave(**FAULTY, retry_after=0, seed=7)
    began, gate = time.perf_counter(), asyncio.Semaphore(AT_ONCE)
    async with client(world, folder, SETTINGS) as runs:

        async def one(number: int) -> leadline.Result:
            async with gate:
                return await runs.research(question(number))

        results = await asyncio.gather(*map(one, range(count)))
    book = world.tally()
    return {
        "runs": count,
        "ended": Counter(result.status for result in results),
        "no model answered first": sum("no AI provider answered the first task" in one.reason for one in results),
        "hidden": sum(map(hidden, results)),
        "told in the method section": sum(map(in_method, results)),
        "unknown citations": sum(len(unknown(result)) for result in results),
        "faults": book["faults"],
        "paid": sum(book["whole"].values()),
        "paid twice": sum(times - 1 for times in book["whole"].values()),
        "wall s": round(time.perf_counter() - began, 1),
    }


def hidden(result: leadline.Result) -> int:
    """Return how many failures of a run its reader is not told.

    By the events: engines, failed searches stand in the method, pages among the unread, tasks in the notices;
    a chat is part of its task, fetch and parse of the reading of a page.
    """
    lines = map(json.loads, (result.folder / "events.jsonl").read_text().splitlines())
    return sum(not _told(line["data"], result) for line in lines if line["kind"] == "error")


def _told(error: dict[str, Any], result: leadline.Result) -> bool:
    data, kind = result.metadata, error.get("kind")
    method: Any = result.report.metadata["method"] if result.report else {}
    words = error["message"].partition(": ")[2]
    match kind if result.report else "":  # without a report there is no method section, only the metadata
        case "chat" | "fetch" | "parse" | "perform":
            return True
        case "search":
            names = {engine["engine"] for engine in method.get("failed_engines", ())}
            reasons = " ".join(search["reason"] for search in method.get("failed_searches", ()))
            return error["provider"] in names or error["provider"] in reasons
        case "query":
            return any(words in search["reason"] for search in method.get("failed_searches", ()))
        case "read":
            return any(words in page["reason"] for page in method.get("unread", ()))
    told = "\n".join([*data.notices, *(one.message for one in data.errors), data.reason])
    return _ATTEMPTS.sub("", words) in _ATTEMPTS.sub("", told)


def in_method(result: leadline.Result) -> bool:
    """Return whether every notice of a run stands in its report's account of the method."""
    if result.report is None:
        return False
    method: Any = result.report.metadata["method"]
    return set(method["notices"]) <= set(result.metadata.notices)


def unknown(result: leadline.Result) -> list[str]:
    """Return the citations that point nowhere."""
    checks: Any = result.metadata.verification or {}
    return list(checks.get("unknown_ids", ()))


if __name__ == "__main__":
    with emulator() as started, tempfile.TemporaryDirectory() as runs_folder:
        runs_count = int(sys.argv[1]) if sys.argv[1:] else 100
        print(json.dumps(asyncio.run(main(runs_count, Path(runs_folder), started)), indent=1))
