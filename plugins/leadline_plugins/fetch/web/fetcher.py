"""The fetcher of web pages.

It follows redirects itself, so that the guard checks each of them. Leadline does the retries.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from types import TracebackType
from weakref import WeakValueDictionary

import httpx

from leadline import __version__
from leadline.contracts import Call, Context
from leadline.disk_cache import DiskCache
from leadline.errors import Unavailable, Unsupported
from leadline.records import Blob, FetchRequest
from leadline_plugins.fetch.guard import Blocked, Guard, shown
from leadline_plugins.fetch.transport import GuardedTransport
from leadline_plugins.fetch.web import WebSettings, body
from leadline_plugins.fetch.web.body import sniff, vague
from leadline_plugins.fetch.web.robots import Robots
from leadline_plugins.parse.media import bare_type, missing

# Seconds to wait for the lock of another process.
_WAIT = 5.0


@dataclass(frozen=True)
class CachedPage:
    """A cached page: `url` is the target of redirects, `stored` the time of the last check (seconds since 1970)."""

    url: str
    media_type: str
    data: bytes
    etag: str = ""
    modified: str = ""
    stored: float = 0.0


class PageCache:
    """The cache; every method runs on the event loop."""

    def __init__(self, folder: Path, size: int, log: Logger, clock: Callable[[], float] = time.time) -> None:
        path = folder / "pages.sqlite"
        self._kept = DiskCache(path, size, table="pages", log=log, wait=_WAIT, clock=clock)
        self._clock = clock

    async def get(self, key: str) -> CachedPage | None:
        """Return the cached page of an address."""
        entry = await self._kept.get(key)
        if entry is None:
            return None
        head, _, data = entry.body.partition(b"\n")
        url, media_type, etag, modified = json.loads(head)
        return CachedPage(url, media_type, data, etag, modified, entry.stored)

    def put_soon(self, key: str, page: CachedPage) -> None:
        """Store a page; the least recently used pages are removed."""
        head = json.dumps([page.url, page.media_type, page.etag, page.modified])
        self._kept.put_soon(key, b"%s\n%s" % (head.encode(), page.data))

    def confirm_soon(self, key: str) -> None:
        """Record that a page has not changed."""
        self._kept.renew_soon(key)

    def fresh(self, page: CachedPage, seconds: float) -> bool:
        """Return whether a page may be used without checking for changes."""
        return 0 <= self._clock() - page.stored < seconds

    async def close(self) -> None:
        """Write the queued pages and close the file."""
        await self._kept.close()


_ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.5"
_REDIRECTS = {301, 302, 303, 307, 308}


class WebFetcher:
    """Fetches pages. `guard` and `transport` are its own unless given."""

    def __init__(
        self,
        settings: WebSettings,
        context: Context,
        guard: Guard | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = settings
        self._context = context
        self._guard = guard or Guard(settings.allow, settings.ports)
        self._transport = transport or GuardedTransport(self._guard)
        self._cache_size = settings.cache_size if context.caches else 0
        self._cache = PageCache(context.cache_dir, self._cache_size, context.log)
        self._robots = Robots(self._robots_file)
        self._hosts: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._headers = {
            "User-Agent": settings.agent or f"leadline/{__version__}",
            "Accept": _ACCEPT,
            "Accept-Encoding": body.ENCODINGS,
            "Accept-Language": "*",
        }

    async def __aenter__(self) -> WebFetcher:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._transport.aclose()
        await self._cache.close()

    def accepts(self, url: str, /) -> bool:
        """Accept http and https; the guard checks the address when it is fetched."""
        return url.strip()[:8].lower().startswith(("http://", "https://"))

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        """Return the page. Raises `Blocked` if the guard or a limit forbids it."""
        url = self._guard.url(request.url)
        try:
            # Waiting for one's turn at a site is no fault of the page.
            async with self._turn(url.host), asyncio.timeout(self._settings.seconds):
                page = await self._page(url, request)
        except TimeoutError:
            reason = f"did not come within {self._settings.seconds:g} s (setting seconds)"
            raise Blocked("time", reason, shown(request.url)) from None
        if request.accept:  # it may have been kept for somebody who wanted a page
            self._wanted(request, page.media_type, request.url)
        return Blob(name=page.url, media_type=page.media_type, data=page.data)

    async def _page(self, url: httpx.URL, request: FetchRequest) -> CachedPage:
        """Return a page, from the cache or from the web."""
        if not self._cache_size:
            return await self._follow(url, None, request)
        key = str(url)
        cached = await self._cache.get(key)
        if cached:
            self._guard.url(cached.url)  # what was let in under other settings may be shut now
            if self._cache.fresh(cached, self._settings.fresh):
                return cached
        page = await self._follow(url, cached, request)
        if page is cached:
            self._cache.confirm_soon(key)
        elif page.stored >= 0:
            self._cache.put_soon(key, page)
        return page

    async def _follow(self, url: httpx.URL, cached: CachedPage | None, wanted: FetchRequest) -> CachedPage:
        """Follow redirects to the page; return the cached page if it has not changed."""
        cookies, first = httpx.Cookies(), url  # of this one page: nobody is followed from page to page
        for _ in range(self._settings.redirects + 1):
            if self._settings.robots:
                await self._robots.check(url)
            known = cached if cached and cached.url == str(url) else None
            async with self._asked(url, cookies, known, wanted.accept) as response:
                if response.status_code == 304 and known:
                    return known
                cookies.extract_cookies(response)
                if response.status_code in _REDIRECTS and "location" in response.headers:
                    url = self._next(url, response.headers["location"])
                    continue
                page = await self._read(response, wanted)
                target = body.refresh_target(page.media_type, page.data, response.headers.get("refresh", ""))
                if not target or (following := self._next(url, target)) == url:
                    return page
                url = following
        raise Blocked("redirects", f"leads on more than {self._settings.redirects} times", shown(str(first)))

    def _next(self, url: httpx.URL, location: str) -> httpx.URL:
        try:
            return self._guard.url(str(url.join(location)))
        except httpx.InvalidURL as error:
            raise Blocked("url", f"leads to no address ({error})", shown(str(url))) from None

    @asynccontextmanager
    async def _asked(
        self, url: httpx.URL, cookies: httpx.Cookies, known: CachedPage | None = None, accept: Sequence[str] = ()
    ) -> AsyncIterator[httpx.Response]:
        """Send one request, and leave its connection in order."""
        timeout = httpx.Timeout(self._settings.seconds).as_dict()
        headers = self._headers | ({"Accept": ",".join(accept)} if accept else {})
        request = httpx.Request("GET", url, headers=headers, extensions={"timeout": timeout})
        if cookies:
            cookies.set_cookie_header(request)
        for header, value in _conditions(known).items():
            request.headers[header] = value
        response = await self._transport.handle_async_request(request)
        response.request = request
        try:
            yield response
        finally:
            await response.aclose()

    def _turn(self, host: str) -> asyncio.Semaphore:
        return self._hosts.setdefault(host, asyncio.Semaphore(self._settings.per_host))

    async def _read(self, response: httpx.Response, wanted: FetchRequest) -> CachedPage:
        """Read a page. Raises the error of its status."""
        response.raise_for_status()
        header, url = response.headers.get("content-type", ""), str(response.request.url)
        if not vague(header):
            self._wanted(wanted, sniff(header, b"<html", ""), url)
        data = await body.read(response, min(wanted.size or self._settings.size, self._settings.size))
        return CachedPage(
            url=url,
            media_type=sniff(header, data, url, response.headers.get("content-disposition", "")),
            data=data,
            etag=response.headers.get("etag", ""),
            modified=response.headers.get("last-modified", ""),
            stored=-1 if "no-store" in response.headers.get("cache-control", "") else 0,
        )

    def _wanted(self, request: FetchRequest, media_type: str, url: str) -> None:
        """Raise `Unsupported` for a type that was not requested, or that no parser accepts."""
        if request.accept and bare_type(media_type) not in request.accept:
            raise Unsupported(f"{shown(url)} is {media_type[:100]}, not one of {', '.join(request.accept)}")
        if not request.accept and not self._context.parses(media_type):
            raise Unsupported(f"{shown(url)}: no parser reads {media_type[:100]}{missing(media_type)}")

    async def _robots_file(self, url: httpx.URL, limit: int) -> bytes:
        """Return a robots.txt; None if the site has none. Raises `Unavailable` if the site does not respond."""
        for _ in range(self._settings.redirects + 1):
            async with self._asked(url, httpx.Cookies()) as response:
                if response.status_code in _REDIRECTS and "location" in response.headers:
                    url = self._next(url, response.headers["location"])
                elif response.status_code >= 500:
                    raise Unavailable(
                        f"{shown(str(url))}: HTTP {response.status_code}; nothing is read until it is there"
                    )
                else:
                    return await body.read(response, limit) if response.is_success else b""
        return b""


def _conditions(known: CachedPage | None) -> dict[str, str]:
    """Return the headers that ask for a page only if it has changed."""
    pairs = {"If-None-Match": known.etag, "If-Modified-Since": known.modified} if known else {}
    return {name: value for name, value in pairs.items() if value}
