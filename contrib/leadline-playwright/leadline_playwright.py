"""The plugin `playwright`: pages as a browser shows them after their scripts have run.

The browser has no network of its own: its proxy accepts no connection, and Leadline's guarded transport sends each
request of a page. So the guard checks the addresses that are connected to, not only those in the page.
"""

from __future__ import annotations

import asyncio
import html
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import Field

from leadline.plugin import (
    Blob,
    Call,
    FetchRequest,
    Limits,
    PluginSettings,
    ProviderError,
    Unavailable,
    Unsupported,
    fetcher,
)
from leadline_plugins.fetch.guard import Blocked, Guard, checked, shown
from leadline_plugins.fetch.transport import GuardedTransport
from leadline_plugins.fetch.web import body

_NOWHERE = "http://127.0.0.1:9"
_ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
_NOT_READ = {"image", "media", "font", "websocket", "manifest", "texttrack", "eventsource", "ping"}
_REDIRECTS = 8
_DROPPED = {"content-encoding", "content-length", "transfer-encoding", "connection"}


class BrowserSettings(PluginSettings):
    """The pages that need a browser, the browser, and its limits."""

    authority = {"executable_path": "a program", "arguments": "a program", "allow": "hosts of your network"}

    hosts: tuple[str, ...] = Field((), description="hosts whose pages need a browser; default: all")
    executable_path: str = Field("", description="the browser; default: that of Playwright")
    arguments: tuple[str, ...] = Field((), description="further arguments of the browser")
    allow: tuple[str, ...] = Field((), description="hosts of your own network that may be read")
    seconds: float = Field(20.0, gt=0, description="seconds for a page")
    settle: float = Field(2.0, ge=0, description="seconds after loading in which scripts may still send requests")
    size: int = Field(20_000_000, ge=1, description="largest response in bytes")
    requests: int = Field(200, ge=1, description="requests that a page may send")


@fetcher(
    "Pages that need a browser",
    settings=BrowserSettings,
    requires=("playwright",),
    cache_key=("settle",),
    limits=Limits(at_once=4, timeout=60.0),
)
class BrowserFetcher:
    """One browser; each page has its own context, without cookies."""

    def __init__(self, settings: BrowserSettings) -> None:
        self._settings = settings
        self._guard = Guard([checked(entry) for entry in settings.allow])
        self._transport = GuardedTransport(self._guard)
        self._playwright: Any = None
        self._browser: Any = None

    async def __aenter__(self) -> BrowserFetcher:
        from playwright.async_api import async_playwright

        self._playwright = await async_playwright().start()
        self._browser = await self._playwright.chromium.launch(
            executable_path=self._settings.executable_path or None,
            args=[*_ARGUMENTS, *self._settings.arguments],
            proxy={"server": _NOWHERE, "bypass": "<-loopback>"},
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._browser.close()
        await self._playwright.stop()
        await self._transport.aclose()

    def accepts(self, url: str, /) -> bool:
        """Accept pages of the hosts that need a browser."""
        address, hosts = urlsplit(url), self._settings.hosts
        host = address.hostname or ""
        known = not hosts or any(host == name or host.endswith("." + name) for name in hosts)
        return address.scheme in ("http", "https") and known

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        """Return the page as HTML. Raises `Blocked` if the guard or a limit forbids it."""
        if request.accept and "text/html" not in request.accept:
            raise Unsupported("a browser reads pages, not the files in them")
        url = str(self._guard.url(request.url))
        context = await self._browser.new_context(service_workers="block", accept_downloads=False)
        try:
            async with asyncio.timeout(self._settings.seconds):
                return await Visit(context, self._transport, self._guard, self._settings).read(url)
        except TimeoutError:
            raise Blocked("time", f"did not come within {self._settings.seconds:g} s", shown(url)) from None
        finally:
            await context.close()


class Visit:
    """One page: sends its requests, and keeps the error of the page itself."""

    def __init__(self, context: Any, transport: GuardedTransport, guard: Guard, settings: BrowserSettings) -> None:
        self._context = context
        self._transport = transport
        self._guard = guard
        self._settings = settings
        self._asked = 0
        self._failure: Exception | None = None

    async def read(self, url: str) -> Blob:
        """Open the page and return its final HTML."""
        from playwright.async_api import Error
        from playwright.async_api import TimeoutError as Waited

        await self._context.route("**/*", self._route)
        await self._context.route_web_socket("**/*", lambda socket: socket.close())
        page = await self._context.new_page()
        try:
            await page.goto(url, wait_until="load", timeout=self._settings.seconds * 1000)
            await page.wait_for_load_state("networkidle", timeout=self._settings.settle * 1000)
        except Waited:
            pass  # scripts that never finish; the page is read as it is now
        except Error as error:
            raise self._failure or Unavailable(f"{shown(url)}: {error.message.splitlines()[0]}") from error
        if self._failure:
            raise self._failure
        return Blob(name=page.url, media_type="text/html; charset=utf-8", data=(await page.content()).encode())

    async def _route(self, route: Any) -> None:
        request = route.request
        main = request.is_navigation_request() and request.frame.parent_frame is None
        self._asked += 1
        if self._asked > self._settings.requests or request.resource_type in _NOT_READ:
            await route.abort()
            return
        try:
            url, reply, data = await self._send(request)
        except (ProviderError, httpx.HTTPError) as error:
            self._failure = error if main else self._failure
            await route.abort()
            return
        if main and url != request.url:  # the browser must know where it is
            await route.fulfill(content_type="text/html", body=_lead_to(url))
        else:
            headers = {name: value for name, value in reply.headers.items() if name not in _DROPPED}
            await route.fulfill(status=reply.status_code, headers=headers, body=data)

    async def _send(self, request: Any) -> tuple[str, httpx.Response, bytes]:
        """Send a request of the page and follow its redirects, all checked by the guard."""
        url, method, content = self._guard.url(request.url), request.method, request.post_data_buffer
        headers = {name: value for name, value in request.headers.items() if name != "accept-encoding"}
        for _ in range(_REDIRECTS + 1):
            asked = httpx.Request(method, url, headers=headers | {"accept-encoding": body.ENCODINGS}, content=content)
            reply = await self._transport.handle_async_request(asked)
            reply.request = asked
            try:
                if not reply.has_redirect_location:
                    if request.is_navigation_request():
                        _check(reply)
                    return str(url), reply, await body.read(reply, self._settings.size)
            finally:
                await reply.aclose()
            url, method, content = self._guard.url(str(url.join(reply.headers["location"]))), "GET", None
        raise Blocked("redirects", f"leads on more than {_REDIRECTS} times", shown(request.url))


def _check(reply: httpx.Response) -> None:
    """Raise the error of a status, and `Unsupported` for anything but a page."""
    reply.raise_for_status()
    kind = reply.headers.get("content-type", "text/html")
    if "html" not in kind:
        raise Unsupported(f"{shown(str(reply.request.url))} is {kind}, which needs no browser; `web` reads it")


def _lead_to(url: str) -> str:
    return f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(url)}">'
