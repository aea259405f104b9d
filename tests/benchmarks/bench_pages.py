"""A thousand pages from loopback, fifty at once: pages a second, CPU, memory, the longest stall of the event loop.

    python tests/benchmarks/bench_pages.py [PAGES] [AT_ONCE]

The server is a process of its own. First pages are only fetched, then fetched and parsed, then fetched from the cache.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path

from leadline.records import Blob, FetchRequest
from leadline.testing.context import FakeCall, fake_context
from leadline.testing.servers import Script, raw_reply, scripted_server
from leadline_plugins.fetch.web import WebSettings
from leadline_plugins.fetch.web.fetcher import WebFetcher
from leadline_plugins.parse.html import HtmlParser

MENU = "".join(f"<li class='item'><a href='/section/{number}'>Section {number}</a></li>" for number in range(200))


def page(path: str) -> bytes:
    """Return a page of 60 KB like those of newspapers: a menu, an article, a table, links."""
    said = "".join(
        f"<p>Sounding {n} of {path}: the lead touched ground at {n * 7919 % 97} fathoms, and the tallow in its "
        "hollow brought up grey sand with <b>broken</b> shell, as the chart of that coast says it should.</p>"
        for n in range(120)
    )
    rows = "".join(f"<tr><td>{n}</td><td>{n * 31 % 89}</td></tr>" for n in range(60))
    return (
        f"<!doctype html><html lang=en><head><title>Soundings {path}</title><script>{'var a=1;' * 500}</script></head>"
        f"<body><nav><ul>{MENU}</ul></nav><article><h1>Soundings {path}</h1>{said}<table>{rows}</table></article>"
        f"<footer><ul>{MENU}</ul></footer></body></html>"
    ).encode()


def serve(pipe: Connection) -> None:
    """Serve pages for every path but robots.txt, until killed; a page is made once."""

    class Anything(dict[str, Script]):
        def get(self, path: str, default: object = None) -> bytes:
            if path not in self:
                self[path] = raw_reply(b"", "404 None") if path == "/robots.txt" else raw_reply(page(path), ETag='"1"')
            made = self[path]
            assert isinstance(made, bytes)
            return made

    async def main() -> None:
        async with scripted_server({}) as server:
            server.routes = Anything()
            pipe.send(server.port)
            await asyncio.sleep(3600)

    asyncio.run(main())


async def longest_stall(stop: asyncio.Event) -> tuple[float, float]:
    """Return the longest time (seconds) in which the loop did nothing for others: by the clock, and by its own CPU.

    On a busy machine the clock also counts the time in which other programs ran.
    """
    wall = cpu = 0.0
    while not stop.is_set():
        clock, used = time.perf_counter(), time.thread_time()
        await asyncio.sleep(0.002)
        wall = max(wall, time.perf_counter() - clock - 0.002)
        cpu = max(cpu, time.thread_time() - used)
    return wall, cpu


def memory() -> float:
    """Return the resident memory in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


async def measure(name: str, count: int, at_once: int, do: Callable[[int], Awaitable[object]]) -> None:
    """Do it so often, and print what it took."""
    stop, numbers = asyncio.Event(), iter(range(count))
    grown: list[float] = []

    async def one_by_one() -> None:
        for number in numbers:
            await do(number)
            if number % (count // 10) == 0:
                grown.append(memory())

    watching = asyncio.create_task(longest_stall(stop))
    wall, cpu, before = time.perf_counter(), time.process_time(), memory()
    await asyncio.gather(*(one_by_one() for _ in range(at_once)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    stop.set()
    stall, busy = await watching
    half = len(grown) // 2
    print(
        f"{name:<16} {count} pages, {at_once} at once: {wall:5.1f} s, {count / wall:6.1f} pages/s, "
        f"{cpu / count * 1000:5.1f} ms CPU a page ({count / cpu:.0f} a core), "
        f"longest stall {stall * 1000:4.0f} ms (CPU {busy * 1000:.0f} ms), "
        f"memory {before:.0f} -> {grown[half]:.0f} (half way) -> {grown[-1]:.0f} MB"
    )


async def main(port: int, count: int, at_once: int, folder: Path) -> None:
    """Fetch, fetch and parse, fetch what was kept."""
    context = fake_context(folder, lambda _: HtmlParser())
    settings = WebSettings(allow=(f"127.0.0.1:{port}",), per_host=at_once, cache_size=0)
    call = FakeCall()

    async def get(fetcher: WebFetcher, number: int) -> Blob:
        return await fetcher.fetch(FetchRequest(url=f"http://127.0.0.1:{port}/{number}"), call)

    async with WebFetcher(settings, context) as fetcher:
        await measure("warm-up", 100, at_once, lambda number: get(fetcher, number))
        await measure("fetch", count, at_once, lambda number: get(fetcher, number))

        async def read(number: int) -> object:
            return await context.parse(await get(fetcher, number), call)

        await measure("warm-up", 40, at_once, read)
        await measure("fetch and parse", count, at_once, read)
    kept = settings.model_copy(update={"cache_size": 500_000_000})
    async with WebFetcher(kept, context) as fetcher:
        await measure("fetch and keep", count, at_once, lambda number: get(fetcher, number))
        await measure("kept", count, at_once, lambda number: get(fetcher, number))
    await context.close()


if __name__ == "__main__":
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    with tempfile.TemporaryDirectory() as root:
        arguments = [int(text) for text in sys.argv[1:]]
        pages, together = (*arguments, *(1000, 50)[len(arguments) :])
        asyncio.run(main(ours.recv(), pages, together, Path(root)))
    process.kill()
