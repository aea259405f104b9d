"""Kills and pauses workers at random moments: `python worker_kills.py KILLS SEED FOLDER [wakes]`.

A supervisor keeps two workers on a queue. Again and again one worker is stopped; the journals of its runs then tell
what had returned, because nobody else can work on them. It is killed at once, or left for the supervisor to find. A
call is repeated if it is made again after its reply stood in the journal; one that was in flight may be made again, and
is counted.

With `wakes`, nobody kills it, as if it were in another container: its runs are given back, others take them over, and
then it wakes up. Its calls that begin and its writes from then on are counted. Prints what happened as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import leadline
from leadline._runtime.journal.journal import Journal
from leadline.contracts import Call
from leadline.errors import LeadlineError
from leadline.plugin import middleware
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_server import dispatchers, supervisor
from leadline_server.processes import name_of
from leadline_server.queue import QueueUnavailable, open_queue, sql
from leadline_server.worker import Worker

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
WORKERS, RUNS = 2, 4
# Seconds without a beat after which a worker is killed here, and between two beats.
LIMIT, dispatchers.BEAT = 2.0, 0.25
# Seconds between two strikes at most: the runs of a queue that is left alone for longer have all ended.
MOST_PAUSE = 4.0


class Slow:
    """Writes each call down with its run, then lets it wait a little, the same call the same time."""

    live = True

    def __init__(self, log: Path) -> None:
        self._log = log.open("a", buffering=1)

    async def around(self, request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
        self._log.write(f"{os.getpid()} {call.run.id} {call.key}\n")
        await asyncio.sleep(int(call.key[:4], 16) / 0xFFFF * 0.2)
        return await proceed(request)


def client(folder: Path) -> leadline.Client:
    log = folder / "calls.log"
    slow = plugin("slow", middleware("Slows every call")(lambda: Slow(log)))
    used = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "middleware": ["slow"], "cache.search": 0}
    return leadline.Client(plugins=[fake_web(), slow], folder=folder / "runs", cache=folder / "cache", set=used)


async def work(folder: Path) -> None:
    """Be a worker."""
    queue = open_queue("", folder / "runs")
    async with client(folder) as runs:
        runs.plugins.pipeline()
        name = name_of(os.getpid())
        own = Worker(runs, queue, dispatchers.Embedded(queue, name), name)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, own.closing.set)
        loop.add_reader(sys.stdin, own.closing.set)
        await own.work(RUNS)


async def patiently(function: Callable[..., Any], *values: object) -> Any:
    """Ask the queue until its database is back."""
    while True:
        with suppress(QueueUnavailable):
            return await asyncio.to_thread(function, *values)


async def returned(folder: Path) -> set[str]:
    """Return the keys of the calls whose outcomes are in a journal."""
    if not (folder / "journal.sqlite").exists():
        return set()
    try:
        journal = await Journal.open(folder / "journal.sqlite", mode="read")
    except LeadlineError:  # it was stopped while it made the file: nothing was called yet
        return set()
    keys = set(journal.keys())
    await journal.close()
    return keys


class Trial:
    """The kills of one test."""

    def __init__(self, folder: Path, seed: int, *, wakes: bool = False) -> None:
        self.folder, self.chance, self.wakes = folder, random.Random(seed), wakes
        self.log = folder / "calls.log"
        self.counts: Counter[str] = Counter()
        self.stages: Counter[str] = Counter()
        # For each kill: how far the log was, the process, and what had returned by run.
        self.known: list[tuple[int, int, dict[str, set[str]]]] = []
        # For each process that woke up: how far the log was, the process, and the last session of each of its runs.
        self.woken: list[tuple[int, int, dict[str, int]]] = []

    async def strike(self, queue: Any) -> bool:
        """Stop a worker that has runs, and kill it or not; return False if there is none."""
        held: dict[str, list[str]] = {}
        for run in await patiently(queue.active):
            if run.worker:
                held.setdefault(run.worker, []).append(run.run_id)
        if not held:
            return False
        name = self.chance.choice(sorted(held))
        pid = int(name.split(".")[1])
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
        if not await asyncio.to_thread(_stopped, pid):
            if self.wakes:
                _wake_up(pid)
            return False
        lines = self._lines()
        journals = {run: await returned(self.folder / "runs" / run) for run in held[name]}
        self.known.append((lines, pid, journals))
        for run in held[name]:
            with suppress(OSError, ValueError):
                self.stages[json.loads((self.folder / "runs" / run / "metadata.json").read_text())["current_step"]] += 1
        if self.wakes:
            await self._wake(queue, name, pid, held[name])
        elif self.chance.random() < 0.7:
            os.kill(pid, signal.SIGKILL)
            self.counts["kills"] += 1
        else:
            self.counts["pauses"] += 1
            end = time.monotonic() + 60
            while _exists(pid):
                assert time.monotonic() < end, "a paused worker was not killed"
                await asyncio.sleep(0.05)
        return True

    async def _wake(self, queue: Any, name: str, pid: int, held: list[str]) -> None:
        """Leave a stopped worker until others have its runs, then let it go on until it has ended."""
        await asyncio.sleep(LIMIT)
        try:
            await asyncio.to_thread(lambda: queue.leave(name, died=True))
        except QueueUnavailable:  # it has the lock of the queue
            self.counts["paused in a transaction"] += 1
            _wake_up(pid)
            return
        end = time.monotonic() + 15
        sessions = {run: await self._session(run) for run in held}
        while True:
            active = {
                run.run_id for run in await patiently(queue.active)
            }  # one may have ended, and was not crossed out
            waiting = [run for run in held if run in active and await self._session(run) <= sessions[run]]
            if not waiting or time.monotonic() > end:
                break
            await asyncio.sleep(0.05)
        # One was paused within a transaction, so that others cannot write: its run goes on when it wakes up.
        self.counts["paused in a transaction"] += len(waiting)
        held = [run for run in held if await self._session(run) > sessions[run]]
        before = {run: await self._rows(run, sessions[run]) for run in held}
        lines, began = self._lines(), time.monotonic()
        _wake_up(pid)
        self.counts["pauses"] += 1
        while _exists(pid):
            assert time.monotonic() < began + 60, "a worker whose runs belong to others goes on"
            await asyncio.sleep(0.05)
        self.counts["longest end, ms"] = max(self.counts["longest end, ms"], int(1000 * (time.monotonic() - began)))
        for run in held:
            self.counts["written after the takeover"] += len(await self._rows(run, sessions[run]) - before[run])
        self.woken.append((lines, pid, sessions))

    async def _session(self, run: str) -> int:
        """Return the number of the last session of a run."""
        with suppress(LeadlineError):
            journal = await Journal.open(self.folder / "runs" / run / "journal.sqlite", mode="read")
            await journal.close()
            return journal.session
        return 0

    async def _rows(self, run: str, session: int) -> set[str]:
        """Return what a session, and those before it, have written into a journal."""
        journal = await Journal.open(self.folder / "runs" / run / "journal.sqlite", mode="read")
        await journal.close()
        ends = {f"{item.id} {item.status}" for item in journal.sessions() if item.id <= session}
        return ends | {row.key for row in journal.rows() if row.session <= session}

    def _lines(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def judge(self) -> None:
        """Count what was made again."""
        calls = [(int(pid), run, key) for pid, run, key in map(str.split, self.log.read_text().splitlines())]
        for lines, pid, journals in self.known:
            made = {(run, key) for maker, run, key in calls[:lines] if maker == pid}
            later = {(run, key) for _, run, key in calls[lines:]}
            for run, keys in journals.items():
                self.counts["returned"] += len(keys)
                self.counts["repeated"] += len({(run, key) for key in keys} & later)
                flying = {one for one in made if one[0] == run and one[1] not in keys}
                self.counts["in flight"] += len(flying)
                self.counts["in flight, made again"] += len(flying & later)
        for lines, pid, runs in self.woken:
            self.counts["begun after the takeover"] += sum(
                maker == pid and run in runs for maker, run, _ in calls[lines:]
            )


def _wake_up(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def _stopped(pid: int) -> bool:
    for _ in range(200):
        with suppress(OSError):
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state in "TZX":
                return state == "T"
        if not _exists(pid):
            return False
        time.sleep(0.005)
    return False


def _exists(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def report_of(folder: Path) -> Any:
    report = json.loads((folder / "report.json").read_text())
    report["metadata"].pop("created")
    return report


def wrong_events(folder: Path) -> int:
    """Return how many events of a run are missing, or stand in its file twice or in the wrong order."""
    numbers = [json.loads(line)["seq"] for line in (folder / "events.jsonl").read_text().splitlines()]
    return sum(number != expected for expected, number in enumerate(numbers))


async def main(kills: int, seed: int, folder: Path, *, wakes: bool) -> dict[str, Any]:
    sql.MOST_DEATHS = sql._PATIENT_DEATHS = 10**9  # no run of this test is to blame
    supervisor._FIRST_PAUSE = 0.0
    (folder / "plain").mkdir(parents=True)
    async with client(folder / "plain") as plain:
        began = time.monotonic()
        undisturbed = report_of((await plain.research(QUESTION)).folder)
        alone = time.monotonic() - began
    began = time.monotonic()
    queue = open_queue("", folder / "runs")
    command = [sys.executable, __file__, "worker", str(folder)]
    watching = asyncio.create_task(supervisor.Supervisor(queue, command, WORKERS, limit=1e9 if wakes else LIMIT).run())
    trial, runs = Trial(folder, seed, wakes=wakes), list[str]()
    async with client(folder) as orders:
        while trial.counts["kills"] + trial.counts["pauses"] < kills:
            assert not watching.done(), watching.result()
            while len(await patiently(queue.active)) < WORKERS * RUNS + 2:
                order = orders.order(QUESTION)
                await patiently(queue.put, order, None)
                runs.append(order.run_id)
            await asyncio.sleep(trial.chance.uniform(0.0, min(MOST_PAUSE, 1.5 * alone)))
            await trial.strike(queue)
        while left := await patiently(queue.active):
            assert not watching.done(), watching.result()
            assert time.monotonic() - began < 60 + 30 * kills, f"{len(left)} runs do not end"
            await asyncio.sleep(0.1)
    watching.cancel()
    await asyncio.wait({watching})
    trial.judge()
    ends = [json.loads((folder / "runs" / run / "metadata.json").read_text()) for run in runs]
    same = sum(
        end["status"] == "complete" and report_of(folder / "runs" / end["run_id"]) == undisturbed for end in ends
    )
    problems = [one.problem for run in runs if (one := await patiently(queue.get, run, None)) and one.problem]
    queue.close()
    return {
        **{name: trial.counts[name] for name in ("kills", "pauses", "returned", "repeated")},
        **{
            name: trial.counts[name]
            for name in ("in flight", "in flight, made again", "longest end, ms", "paused in a transaction")
        },
        **{name: trial.counts[name] for name in ("begun after the takeover", "written after the takeover")},
        "wrong events": sum(wrong_events(folder / "runs" / run) for run in runs),
        "runs": len(runs),
        "as undisturbed": same,
        "problems": problems,
        "sessions": sum(end["sessions"] for end in ends),
        "stages": dict(trial.stages.most_common()),
        "seconds": round(time.monotonic() - began, 1),
    }


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        asyncio.run(work(Path(sys.argv[2])))
    else:
        kills, seed, folder, *wakes = sys.argv[1:]
        print(json.dumps(asyncio.run(main(int(kills), int(seed), Path(folder), wakes=bool(wakes)))))
