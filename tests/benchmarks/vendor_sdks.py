"""Measure vendors' SDKs against the contract of an engine or a sandbox; the results are in docs/decisions/0045.

    pip install tavily-python exa-py docker paramiko     (in an environment of its own, with Leadline)
    python tests/benchmarks/vendor_sdks.py

Servers on loopback stand in for the services. Times of imports are processor time beyond httpx and pydantic, which
Leadline has loaded anyway: the least of five.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx

from leadline.http import make_client
from leadline.testing.servers import ScriptedAnswer, ScriptedServer, json_answer, scripted_server

KEY = "tvly-a-secret-of-twenty-four"
LARGE = 30_000_000
MODULES = {"tavily": "tavily", "exa": "exa_py", "docker": "docker"}
IMPORT = """
import resource, httpx, pydantic
def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
began = cpu()
import {module}
print(cpu() - began)
"""
Ask = Callable[[float], Awaitable[Any]]


class Counting(httpx.AsyncBaseTransport):
    """Stands for a transport of ours: counts the requests that an SDK sends through it."""

    def __init__(self) -> None:
        self.inner, self.requests = httpx.AsyncHTTPTransport(), 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        return await self.inner.handle_async_request(request)


def tavily(url: str, key: str | None, client: httpx.AsyncClient | None) -> Ask:
    from tavily import AsyncTavilyClient

    sdk = AsyncTavilyClient(api_key=key, api_base_url=url, client=client)
    return lambda seconds: sdk.search("kelp", timeout=seconds)


def exa(url: str, key: str | None, client: httpx.AsyncClient | None) -> Ask:
    from exa_py import AsyncExa

    options: Any = {} if client is None else {"client": client}
    sdk = AsyncExa(api_key=key, api_base=url, **options)

    def ask(seconds: float) -> Awaitable[Any]:
        sdk.timeout = seconds
        answer: Awaitable[Any] = sdk.search("kelp")
        return answer

    return ask


def docker(url: str, key: str | None, client: httpx.AsyncClient | None) -> Ask:
    """The SDK has no asynchronous client, so it runs in a thread."""
    from docker import APIClient

    options: Any = {} if client is None else {"client": client}

    def ask(seconds: float) -> Awaitable[Any]:
        sdk = APIClient(base_url=url.replace("http://", "tcp://"), version="1.45", timeout=seconds, **options)
        return asyncio.to_thread(sdk.create_container, "leadline-sandbox", "true")

    return ask


SDKS: dict[str, Callable[[str, str | None, httpx.AsyncClient | None], Ask]] = {
    "tavily": tavily,
    "exa": exa,
    "docker": docker,
}


def import_seconds(name: str) -> str:
    command = [sys.executable, "-c", IMPORT.format(module=MODULES[name])]
    times = [float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    return f"{min(times):.2f} s"


async def own_client(name: str, server: ScriptedServer) -> str:
    transport = Counting()
    async with make_client(transport=transport) as client:
        try:
            await SDKS[name](server.url, KEY, client)(5)
        except TypeError as error:
            return f"no: {error}"
        except Exception as error:
            return f"no: {type(error).__name__}"
    agent = server.asked[-1].headers.get("user-agent", "")
    return f"yes: {transport.requests} of {len(server.asked)} requests through it, as {agent}"


@asynccontextmanager
async def client_of(name: str) -> AsyncIterator[httpx.AsyncClient | None]:
    """Yield a client of ours for an SDK that takes it; None for another."""
    if name != "tavily":
        yield None
    else:
        async with make_client() as client:
            yield client


async def proxies(name: str, server: ScriptedServer) -> str:
    """Name a host that only the proxy knows, then one that NO_PROXY names by its network."""
    for variable, value in {"HTTP_PROXY": server.url, "NO_PROXY": "10.0.0.0/8"}.items():
        os.environ |= {variable: value, variable.lower(): value}
    try:
        async with client_of(name) as client:
            with suppress(Exception):
                await SDKS[name]("http://service.example", KEY, client)(2)
            obeyed = len(server.asked)
        async with client_of(name) as client:
            with suppress(Exception):
                await SDKS[name]("http://10.255.255.1:9", KEY, client)(0.5)
        around = "obeyed" if len(server.asked) == obeyed else "ignored"
        return f"{'used' if obeyed else 'not used'}; NO_PROXY by network {around}"
    finally:
        for variable in ("HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
            os.environ.pop(variable, None)


async def memory(name: str, server: ScriptedServer) -> str:
    tracemalloc.start()
    async with client_of(name) as client:
        try:
            await SDKS[name](server.url, KEY, client)(20)
            outcome = "read whole"
        except Exception as error:
            outcome = type(error).__name__
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return f"{outcome}, {peak / 1e6:.0f} MB at most"


async def cancelled(name: str, server: ScriptedServer) -> str:
    """Cancel after half a second a request that the server never answers; the SDK itself may wait for five."""
    async with client_of(name) as client:
        task = asyncio.ensure_future(SDKS[name](server.url, KEY, client)(5))
        await asyncio.sleep(0.5)
        began = time.monotonic()
        task.cancel()
        with suppress(BaseException):
            await task
        returned = time.monotonic() - began
        while time.monotonic() - began < 8 and (working() or any(map(is_open, server.connections))):
            await asyncio.sleep(0.02)
        ended = time.monotonic() - began
    return f"returns after {returned:.2f} s; its work ends after {ended:.2f} s"


def is_open(writer: asyncio.StreamWriter) -> bool:
    """Return whether the client of a connection has not closed it."""
    return not writer._protocol._stream_reader.at_eof()  # type: ignore[attr-defined]


def working() -> bool:
    """Return whether a thread of `asyncio.to_thread` waits for a socket."""
    frames = sys._current_frames()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in frames.items():
        at: Any = frame
        while names.get(ident, "").startswith("asyncio_") and at is not None:
            if "/docker/" in at.f_code.co_filename:
                return True
            at = at.f_back
    return False


async def limited(name: str, server: ScriptedServer) -> str:
    began = time.monotonic()
    async with client_of(name) as client:
        try:
            await SDKS[name](server.url, KEY, client)(0.5)
            outcome = "no error"
        except Exception as error:
            outcome = type(error).__name__
    return f"{outcome} after {time.monotonic() - began:.2f} s of .50"


async def requests(name: str, server: ScriptedServer) -> str:
    counts = []
    for status in (429, 500, 503):
        server.answers = [json_answer({"error": "wait"}, status, retry_after="1")]
        before = len(server.asked)
        async with client_of(name) as client:
            with suppress(Exception):
                await SDKS[name](server.url, KEY, client)(5)
        counts.append(len(server.asked) - before)
    return " + ".join(map(str, counts)) + " requests for 429, 500, 503"


async def secrets(name: str, server: ScriptedServer) -> str:
    """Answer with the key inside an error, as services and gateways do."""
    async with client_of(name) as client:
        try:
            await SDKS[name](server.url, KEY, client)(5)
        except Exception as error:
            chain = [error, error.__cause__, error.__context__]
            said = any(KEY in repr(it) + str(it) for it in chain)
            return f"{type(error).__name__} {'repeats the key' if said else 'without the key'}"
    return "no error"


async def keyless(name: str, server: ScriptedServer) -> str:
    for variable in ("TAVILY_API_KEY", "EXA_API_KEY"):
        os.environ.pop(variable, None)
    try:
        await SDKS[name](server.url, None, None)(5)
    except Exception as error:
        if not server.asked:
            return f"refuses: {type(error).__name__}"
    sent = server.asked[-1].headers if server.asked else {}
    return f"sends {len(server.asked)} request without a key" + (
        ", keyless mode" if "x-tavily-access-mode" in sent else ""
    )


ANSWER = {"results": [], "Id": "1", "Warnings": []}


async def main() -> None:
    large = json.dumps({**ANSWER, "filling": "x" * LARGE}).encode()
    echo = json_answer({"error": f"bad {KEY}", "detail": {"error": f"bad {KEY}"}, "message": f"bad {KEY}"}, 401)
    silent = ScriptedAnswer(b"{}", wait=9)
    tests: list[tuple[str, Callable[[str, ScriptedServer], Awaitable[str]], Any]] = [
        ("takes our client", own_client, json_answer(ANSWER)),
        ("proxies", proxies, json_answer(ANSWER)),
        (f"{LARGE // 1_000_000} MB in one answer", memory, ScriptedAnswer(large)),
        ("cancels", cancelled, silent),
        ("time limit", limited, silent),
        ("one request a call", requests, json_answer(ANSWER)),
        ("secrets", secrets, echo),
        ("without a key", keyless, json_answer(ANSWER)),
    ]
    chosen = sys.argv[1:] or [*SDKS]
    for name in chosen:
        print(f"{name}: import: {import_seconds(name)}", flush=True)
        for title, test, answer in tests:
            if name == "docker" and title in ("secrets", "without a key"):
                continue  # it has no key
            async with scripted_server(answer) as server:
                print(f"{name}: {title}: {await test(name, server)}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
