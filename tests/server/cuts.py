"""Cuts streams of events, and resumes runs beside pollers: `python cuts.py CUTS SEED [RESUMES]`; prints as JSON.

*Cuts.* `leadline serve` works on runs, which readers follow. Each leaves its stream after a random number of bytes or a
random time, and the server is killed (SIGKILL) and started again meanwhile, one time for twenty cuts; every reader
comes back with the number of its last event. What each received must equal the `events.jsonl` of its run.

*Resumes.* Runs are cancelled and resumed, over HTTP and by `Client.resume`, while two pollers ask the server for them
and two processes read their folders. None may be refused.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

import leadline
from leadline.errors import LeadlineError

# An installed plugin: a small fake web. Every call waits a little, the same call the same time, or while a file `hold`
# is there.
_PLUGIN = """
import asyncio, os
from leadline.plugin import fetcher, middleware, search_provider
from leadline.testing.fakes import FakeEngine, FakePages, WebSettings

@middleware("For cuts", settings=WebSettings)
class Slow:
    live = True
    async def around(self, request, call, proceed, /):
        await asyncio.sleep(int(call.key[:4], 16) / 0xFFFF * 0.3)
        while os.path.exists(os.environ["HOLD"]):
            await asyncio.sleep(0.05)
        return await proceed(request)

@search_provider("Finds made-up pages", settings=WebSettings)
class Engine(FakeEngine): pass

@fetcher("Serves made-up pages", settings=WebSettings)
class Pages(FakePages): pass
"""
_COMMAND = "serve --port 0 --workers 2 --runs 6 --max-runs 1000 --max-requests 1000000 --max-streams 1000"
_SETTINGS = {
    "middleware": "slow",
    "search.engines": "slow",
    "read.fetchers": "slow",
    "cache.search": "0",
    "plugins.clarify.mode": "off",
}
QUESTION = "How deep was the harbour measured at each sounding, in fathoms"
# Runs that are followed at a time, and the readers of each.
RUNS, READERS = 6, 4
# Cuts by readers for each restart of the server: of twenty cuts one is a restart.
CUTS_EACH = 19
# Restarts after which a further run is ordered, if the last one has not ended.
KILLS_EACH = 5
# Runs that are resumed side by side.
RESUMED = 8
PATIENCE = 120.0


def install(folder: Path) -> None:
    """Install the plugin for this process and those that it starts."""
    info = folder / "plugins" / "slow-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[leadline.v2]\nslow = slow_for_cuts\n")
    (folder / "plugins" / "slow_for_cuts.py").write_text(_PLUGIN)
    os.environ |= {"PYTHONPATH": str(folder / "plugins"), "XDG_CACHE_HOME": str(folder / "cache")}
    os.environ["HOLD"] = str(folder / "hold")
    sys.path.insert(0, str(folder / "plugins"))


@dataclass
class Server:
    """A server that can be killed and started again; `url` changes with it."""

    folder: Path
    url: str = ""
    kills: int = 0
    process: subprocess.Popen[str] | None = None
    up: asyncio.Event = field(default_factory=asyncio.Event)
    http: httpx.AsyncClient = field(
        default_factory=lambda: httpx.AsyncClient(timeout=PATIENCE, trust_env=False, verify=False)
    )

    def start(self) -> None:
        """Start, and return when it answers."""
        chosen = [word for key, value in _SETTINGS.items() for word in ("--set", f"{key}={value}")]
        command = [sys.executable, "-m", "leadline", *_COMMAND.split(), "--folder", "runs", *chosen]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        assert self.process.stderr
        lines: list[str] = []
        while not (found := re.search(r"http://\S+", lines[-1] if lines else "")):
            lines.append(self.process.stderr.readline())
            assert lines[-1], "".join(lines)
        self.url = found[0]
        self.up.set()

    async def restart(self) -> None:
        """Kill it, without a chance to tell anybody, and start another one."""
        self.up.clear()
        self.end(signal.SIGKILL)
        self.kills += 1
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return await asyncio.to_thread(self.start)
            except AssertionError:  # the folder may still be that of the old one's workers
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(0.2)

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it with a signal."""
        if self.process:
            self.process.send_signal(number)
            self.process.communicate()

    async def ask(self, method: str, path: str, **body: Any) -> httpx.Response:
        """Return its reply, when it is up."""
        while True:
            await self.up.wait()
            with suppress(httpx.TransportError):
                return await self.http.request(method, self.url + path, json=body or None)
            await asyncio.sleep(0.05)


@contextmanager
def server(folder: Path) -> Iterator[Server]:
    """Run a server until the block is left."""
    install(folder)
    found = Server(folder)
    found.start()
    try:
        yield found
    finally:
        found.end()


# --- cuts ------------------------------------------------------------------------------------------------------------


@dataclass
class Reader:
    """A client of one run's stream that leaves it again and again."""

    server: Server
    run: str
    chance: random.Random
    cuts: Counter[str]
    received: list[dict[str, Any]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        """Whether the last event of the run was received."""
        return bool(self.received) and self.received[-1]["kind"] == "run.finished"

    async def read(self, enough: Callable[[], bool]) -> None:
        """Follow the run to its end; once there are `enough` cuts, without leaving."""
        while not self.finished and not self.faults:
            await self.server.up.wait()
            kills = self.server.kills
            seconds = PATIENCE if enough() else self.chance.expovariate(2)
            size = 1 << 40 if enough() or self.chance.random() < 0.5 else int(10 ** self.chance.uniform(0, 4))
            try:
                why = await self._connect(seconds, size)
            except OSError:
                why = "restart"
            if self.finished:
                return
            if kills != self.server.kills or not self.server.up.is_set():
                why = "restart"
            if why == "refused":
                await asyncio.sleep(0.2)
            else:
                self.cuts[why] += 1

    async def _connect(self, seconds: float, size: int) -> str:
        """Read at most so many bytes for at most so many seconds; return what ended it."""
        host, _, port = self.server.url.removeprefix("http://").partition(":")
        try:
            reader, writer = await asyncio.open_connection(host, int(port))
        except OSError:
            return "refused"
        last = next((one["seq"] for one in reversed(self.received) if one["seq"] >= 0), -1)
        deltas = self.chance.randrange(2)
        writer.write(
            f"GET /v1/runs/{self.run}/events?deltas={deltas} HTTP/1.0\r\nHost: {host}:{port}\r\n"
            f"Last-Event-ID: {last}\r\n\r\n".encode()
        )
        data, until = b"", time.monotonic() + seconds
        try:
            while size > 0 and not self.finished:
                piece = await asyncio.wait_for(reader.read(min(size, 65_536)), until - time.monotonic())
                if not piece:
                    return "restart"
                size -= len(piece)
                data = self._take(data + piece)
                if data.startswith(b"HTTP/1.1 429"):  # the streams that were just left still count
                    return "refused"
            return "bytes"
        except TimeoutError:
            return "time"
        finally:
            writer.close()

    def _take(self, data: bytes) -> bytes:
        """Take the complete events of what was received, as browsers do, and return the rest."""
        if not self.faults and data.startswith(b"HTTP/") and len(data) > 15 and data[9:12] not in (b"200", b"429"):
            self.faults.append(data[:200].decode())
        *frames, rest = data.split(b"\n\n")
        for frame in frames:
            lines = dict(line.split(b": ", 1) for line in frame.split(b"\n") if b": " in line)
            if b"data" in lines and lines.get(b"event") != b"call.delta":
                event = json.loads(lines[b"data"])
                assert event["seq"] == int(lines.get(b"id", b"-1"))
                self.received.append(event)
        return rest

    def differs(self) -> str:
        """Return how what was received differs from the file of the run; empty if it does not."""
        if self.faults:
            return self.faults[0]
        lines = (self.server.folder / "runs" / self.run / "events.jsonl").read_text().splitlines()
        whole = [(one["seq"], one["time"], one["kind"]) for one in map(json.loads, lines)]
        kinds = {"session.finished": "run.finished"}
        got = [(one["seq"], one["time"], kinds.get(one["kind"], one["kind"])) for one in self.received]
        ends = [one["kind"] for one in self.received].count("run.finished")
        if ends != 1:
            return f"{self.run}: {ends} ends"
        at = next((place for place, pair in enumerate(zip(got, whole, strict=False)) if pair[0] != pair[1]), None)
        if at is None and len(got) == len(whole):
            return ""
        return f"{self.run}: {len(got)} of {len(whole)} events, at {at}: {got[at or -1]} for {whole[at or -1]}"


async def cut(server: Server, cuts: int, seed: int) -> dict[str, Any]:
    """Cut streams so many times, and compare what their readers received."""
    chance, counted, readers = random.Random(seed), Counter[str](), list[Reader]()
    began, runs, tasks = time.monotonic(), 0, set[asyncio.Task[None]]()

    def received() -> int:
        return sum(len(reader.received) for reader in readers)

    def enough() -> bool:
        return counted.total() >= cuts and server.kills >= cuts // (CUTS_EACH + 1)

    async def follow(place: int) -> None:
        nonlocal runs
        while not enough():
            question = f"{QUESTION} ({seed}, {runs})?"
            runs += 1
            run = (await server.ask("POST", "/v1/runs", question=question)).json()["id"]
            own = [Reader(server, run, random.Random(chance.random()), counted) for _ in range(READERS)]
            readers.extend(own)
            following = {asyncio.create_task(reader.read(enough)) for reader in own}
            tasks.update(following)
            kills = server.kills
            while server.kills < kills + KILLS_EACH and not enough():
                if not (await asyncio.wait(following, timeout=0.5))[1]:
                    break

    async def restart() -> None:
        while not enough():
            # Once the workers are at it again: a stream that is quiet shows nothing.
            quiet, until = received(), time.monotonic() + PATIENCE / 4
            while received() < quiet + 20 and time.monotonic() < until and not enough():
                await asyncio.sleep(0.05)
            await asyncio.sleep(chance.uniform(0, 1.5))
            if counted.total() >= server.kills * CUTS_EACH:
                await server.restart()

    restarting = asyncio.create_task(restart())
    await asyncio.gather(*map(follow, range(RUNS)))
    await restarting
    await asyncio.gather(*tasks)
    differing = [text for reader in readers if (text := reader.differs())]
    return {
        "cuts": counted.total(),
        "by": dict(counted),
        "kills": server.kills,
        "runs": runs,
        "readers": len(readers),
        "sessions": sum(one["kind"] == "run.started" for reader in readers for one in reader.received) // READERS,
        "events received": received(),
        "differing": differing,
        "seconds": round(time.monotonic() - began),
    }


# --- resumes ---------------------------------------------------------------------------------------------------------


def client(folder: Path) -> leadline.Client:
    return leadline.Client(folder=folder / "runs", cache=folder / "cache", set=_SETTINGS)


_POLL = """
import sys, time, leadline
client, looks = leadline.Client(folder=sys.argv[1]), 0
while True:
    looks += len([client.find(run.folder) for run in client.runs()])
    time.sleep(0.01)
"""


@contextmanager
def pollers(folder: Path) -> Iterator[None]:
    """Read the folders of all runs in two processes, as fast as they can."""
    command = [sys.executable, "-c", _POLL, str(folder / "runs")]
    started = [subprocess.Popen(command) for _ in range(2)]
    try:
        yield
        assert not [one.returncode for one in started if one.poll() is not None], "a poller has failed"
    finally:
        for one in started:
            one.kill()
            one.wait()


async def resume(server: Server, resumes: int, seed: int) -> dict[str, Any]:
    """Cancel and resume runs so many times, half over HTTP and half by `Client.resume`, beside the pollers."""
    began, left, refused, looks = time.monotonic(), [resumes // 2], list[str](), Counter[int]()
    ids: list[str] = []
    (server.folder / "hold").touch()

    async def state(run: str, wanted: str) -> None:
        until = time.monotonic() + PATIENCE
        while (view := (await server.ask("GET", f"/v1/runs/{run}")).json())["status"] != wanted:
            assert time.monotonic() < until, view
            await asyncio.sleep(0.02)

    async def poll() -> None:
        while True:
            for run in ids:
                looks[(await server.ask("GET", f"/v1/runs/{run}")).status_code] += 1
            await asyncio.sleep(0.01)

    async def over_http(number: int) -> None:
        question = {"question": f"{QUESTION} ({seed}, {number})?"}
        run = (await server.ask("POST", "/v1/runs", **question)).json()["id"]
        ids.append(run)
        while left[0] > 0:
            left[0] -= 1
            await state(run, "running")
            reply = await server.ask("POST", f"/v1/runs/{run}/cancel")
            assert reply.status_code == 200, reply.text
            await state(run, "cancelled")
            reply = await server.ask("POST", f"/v1/runs/{run}/resume")
            if reply.status_code != 202:
                refused.append(reply.text)

    async def in_process(number: int, count: int) -> None:
        handle = await runs.start(f"{QUESTION} ({seed}, {number}, here)?")
        for _ in range(count):
            await handle.cancel()
            try:
                handle = await runs.resume(handle.folder)
            except LeadlineError as error:
                refused.append(str(error))
            await asyncio.sleep(0.02)
        await handle.cancel()

    with pollers(server.folder):
        polling = [asyncio.create_task(poll()) for _ in range(2)]
        await asyncio.gather(*map(over_http, range(RESUMED)))
        async with client(server.folder) as runs:
            await asyncio.gather(*(in_process(number, resumes // 2 // RESUMED) for number in range(RESUMED)))
        for task in polling:
            task.cancel()
        await asyncio.wait(polling)
    return {
        "resumes": resumes,
        "refused": refused,
        "looks over HTTP": dict(looks),
        "seconds": round(time.monotonic() - began),
    }


async def main(cuts: int, seed: int, resumes: int, folder: Path) -> dict[str, Any]:
    """Return the figures of both."""
    with server(folder) as started:
        parts: dict[str, Callable[[], Awaitable[dict[str, Any]]]] = {
            "cuts": lambda: cut(started, cuts, seed),
            "resumes": lambda: resume(started, resumes, seed),
        }
        return {name: await part() for name, part in parts.items() if (cuts if name == "cuts" else resumes)}


if __name__ == "__main__":
    cuts_, seed_, resumes_ = (*map(int, sys.argv[1:]), *(0,) * (4 - len(sys.argv)))
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(asyncio.run(main(cuts_, seed_, resumes_, Path(scratch))), indent=1))
