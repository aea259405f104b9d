"""A page whose text its script makes; and what a page cannot reach, however it tries. Starts a browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from typing import Any

import pytest
from leadline_playwright import BrowserFetcher, BrowserSettings

from leadline.records import FetchRequest
from leadline.testing.context import FakeCall
from leadline.testing.servers import ScriptedServer, raw_reply, scripted_server
from leadline_plugins.fetch.guard import Blocked

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or ""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="no chromium: install one, or name it in CHROMIUM"),
]
SCRIPT = """<p id=p>before</p><script>fetch('/data').then(r => r.text()).then(t => p.textContent = t)</script>"""
HOSTILE = """<p id=p></p><script>
const tries = [%s];
Promise.allSettled(tries.map(u => fetch(u, {mode: 'no-cors'}))).then(all =>
  p.textContent = all.map(x => x.status).join(' '));
new WebSocket('ws://127.0.0.1:%d/socket'); new Image().src = 'http://127.0.0.1:%d/image';
</script><iframe src="http://127.0.0.1:%d/frame"></iframe>"""


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with scripted_server({}) as made:
        yield made


async def get(server: ScriptedServer, path: str, **settings: Any) -> str:
    arguments = ("--no-sandbox",) if os.geteuid() == 0 else ()
    typed = BrowserSettings(
        executable_path=CHROMIUM, arguments=arguments, allow=(f"127.0.0.1:{server.port}",), settle=1.0, **settings
    )
    async with BrowserFetcher(typed) as fetcher:
        blob = await fetcher.fetch(FetchRequest(url=server.at(path)), FakeCall())
    return f"{blob.name}\n{blob.data.decode()}"


async def test_the_output_of_a_script_is_read_behind_a_redirect(server: ScriptedServer) -> None:
    server.routes["/old"] = raw_reply(status="302 Found", Location="/page")
    server.routes["/page"] = raw_reply(SCRIPT.encode())
    server.routes["/data"] = raw_reply(b"made by the script", Content_Type="text/plain")
    text = await get(server, "/old")
    assert text.startswith(server.at("/page"))
    assert "made by the script" in text


async def test_a_page_reaches_nothing_that_is_shut(server: ScriptedServer) -> None:
    async with scripted_server({}) as inner:
        inner.routes |= {path: raw_reply(b"secret") for path in ("/", "/frame", "/image", "/socket")}
        shut = [inner.at("/"), f"http://localhost:{inner.port}/", "http://169.254.169.254/", "file:///etc/passwd"]
        page = HOSTILE % (", ".join(map(repr, shut)), inner.port, inner.port, inner.port)
        server.routes["/page"] = raw_reply(page.encode())
        text = await get(server, "/page")
    assert "rejected rejected rejected rejected" in text
    assert inner.asked == []


async def test_a_redirect_inwards_is_refused(server: ScriptedServer) -> None:
    server.routes["/page"] = raw_reply(status="302 Found", Location="http://169.254.169.254/")
    with pytest.raises(Blocked, match="cloud metadata"):
        await get(server, "/page")


async def test_a_page_that_never_rests_is_read_and_one_that_never_comes_is_not(server: ScriptedServer) -> None:
    async def never(*_: object) -> None:
        import asyncio

        await asyncio.sleep(60)

    server.routes["/page"] = raw_reply(b"<p>here<script>setInterval(() => fetch('/again'), 50)</script>")
    server.routes["/never"] = never
    assert "here" in await get(server, "/page")
    with pytest.raises(Blocked, match="did not come within 1 s"):
        await get(server, "/never", seconds=1)
