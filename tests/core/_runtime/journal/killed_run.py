"""Kills runs at random moments and resumes them; prints what came of it as JSON. Run by `test_kills.py`.

A process of its own, so that it may fork: a child needs 10 ms to start instead of 500. Every provider writes to a
log outside the run before it answers, the run when it has an answer: a begin after a return is a call paid twice.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from leadline._runtime.calls.job import Kind, ProviderIdentity
from leadline._runtime.calls.keys import canonical
from leadline._runtime.journal.rows import Need
from leadline.encoding import digest
from leadline.errors import CallFailed, Unavailable
from leadline.records import Hit, Record, SearchPage, SearchRequest, Usage
from leadline.testing.runs import OpenCallPath, open_call_path


class Answers(Record):
    texts: tuple[str, ...]


PAUSE = 0.012
SEARCH = Kind("search", SearchPage, need=lambda _: Need(queries=1))
STRATEGY = Kind("strategy", SearchPage, composite=True)
CHAT = Kind("chat", Answers, need=lambda _: Need(model_calls=1, tokens=50))
PUBLISH = Kind("publish", Answers, effect=True)
PRICED = ProviderIdentity("model", priced=True)


class Outside:
    """The world: slow, unreliable, and it remembers every call."""

    def __init__(self, log: Path) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._tried: set[str] = set()

    def note(self, what: str, name: str) -> None:
        os.write(self._log, f"{what} {name}\n".encode())

    async def search(self, engine: str, request: SearchRequest) -> SearchPage:
        name = f"{engine}/{request.query}"
        self.note("begin", name)
        await asyncio.sleep(random.uniform(0, 2 * PAUSE))
        if request.query == "never":
            raise ValueError("this engine cannot")
        if name not in self._tried and request.query.endswith("3"):
            self._tried.add(name)
            raise Unavailable("come again")
        return SearchPage(hits=(Hit(url=f"https://example.org/{request.query}", title=request.query * 50),))

    async def chat(self, request: Record, call: Any) -> Answers:
        self.note("begin", digest(canonical(request)))
        await asyncio.sleep(random.uniform(0, 2 * PAUSE))
        call.spend(Usage(input_tokens=20, output_tokens=10))
        return Answers(texts=(f"about {request!r}",))


async def research(opened: OpenCallPath, outside: Outside) -> dict[str, Any]:
    calls = opened.calls

    async def ask(engine: str, query: str) -> SearchPage:
        request = SearchRequest(query=query)
        page = await calls.call(
            SEARCH, request, lambda q, _: outside.search(engine, q), provider=ProviderIdentity(engine)
        )
        outside.note("returned", f"{engine}/{query}")
        return page

    async def race(request: SearchRequest, _: Any) -> SearchPage:
        tasks = [asyncio.create_task(ask(engine, request.query)) for engine in ("one", "two")]
        try:
            done, _rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def strategy(query: str) -> str:
        try:
            page = await calls.call(STRATEGY, SearchRequest(query=query), race, provider=ProviderIdentity("race"))
        except CallFailed as failed:
            return f"lost: {failed.record.type}"
        outside.note("returned", f"strategy/{query}")
        return page.hits[0].title

    async def chat(text: str) -> tuple[str, ...]:
        request = SearchRequest(query=text)
        reply = await calls.call(CHAT, request, outside.chat, provider=PRICED)
        outside.note("returned", digest(canonical(request)))
        return reply.texts

    born = await calls.fact("born", time.time_ns)
    found = await asyncio.gather(*(strategy(query) for query in ("a", "b", "c3", "d", "never", "e3", "f", "g")))
    written = await asyncio.gather(*(chat(text) for text in found))
    report = await chat(" ".join(text for texts in written for text in texts))
    await calls.call(PUBLISH, Answers(texts=report), outside.chat, provider=ProviderIdentity("press"))
    outside.note("returned", digest(canonical(Answers(texts=report))))
    return {"born": born, "found": found, "written": written, "report": report}


async def session(folder: Path, outside: Outside, *, offline: bool = False) -> dict[str, Any]:
    async with open_call_path(folder, offline=offline) as opened:
        return await research(opened, outside)


def finish(folder: Path, log: Path, offline: bool = False) -> dict[str, Any]:
    return asyncio.run(session(folder, Outside(log), offline=offline))


def killed_after(seconds: float, folder: Path, log: Path) -> bool:
    """Run a session in a child and kill it; returns whether it was still at work."""
    child = os.fork()
    if not child:
        random.seed()
        finish(folder, log)
        os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def repeated(log: Path) -> list[str]:
    """Return the calls that began again after they had returned."""
    returned, again = set(), []
    for line in log.read_text().splitlines():
        what, _, name = line.partition(" ")
        if what == "returned":
            returned.add(name)
            if name.startswith("strategy/"):
                returned |= {f"{engine}/{name.removeprefix('strategy/')}" for engine in ("one", "two")}
        elif name in returned:
            again.append(name)
    return again


def trial(root: Path, longest: float) -> dict[str, Any]:
    folder, log = root / "run", root / "log"
    kills = sum(killed_after(random.uniform(0, longest), folder, log) for _ in range(random.choice((1, 1, 1, 3))))
    answer = finish(folder, log)
    begun = log.read_text().count("begin")
    replay = finish(folder, log, offline=True)
    quiet = log.read_text().count("begin") == begun
    return {
        "kills": kills,
        "answer": answer,
        "repeated": repeated(log),
        "replayed": quiet and replay == answer,
    }


def main(trials: int, seed: int) -> None:
    random.seed(seed)
    with tempfile.TemporaryDirectory() as root:
        began = time.monotonic()
        calm = finish(Path(root) / "calm", Path(root) / "calm.log")
        longest = time.monotonic() - began
        results = []
        for number in range(trials):
            place = Path(root) / str(number)
            place.mkdir()
            results.append(trial(place, longest))
    for result in results:
        result["same"] = {**result.pop("answer"), "born": 0} == {**calm, "born": 0}
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
