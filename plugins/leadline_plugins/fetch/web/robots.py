"""Parser of robots.txt (RFC 9309): the most specific group, the longest match, `*` and `$`.

The parser of the standard library supports neither wildcards nor the longest match.
"""

from __future__ import annotations

import re
import time
from asyncio import Lock
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

import httpx

from leadline_plugins.fetch.guard import Blocked, shown

_AGENT = "leadline"
# Bytes that are read, by the RFC.
_SIZE = 500 * 1024
# Seconds that a file may be cached, by the RFC.
_AGE = 24 * 3600.0
# Sites whose rules are kept in memory.
_SITES = 1000
_LINE = re.compile(r"^[ \t]*([A-Za-z-]+)[ \t]*:[ \t]*([^#\r\n]*)", re.MULTILINE)

# Loads a robots.txt by address and limit in bytes; empty if there is none.
Get = Callable[[httpx.URL, int], Awaitable[bytes]]


@dataclass
class _Site:
    rules: list[tuple[str, bool]] | None = None
    read: float = 0.0

    def __post_init__(self) -> None:
        self.lock = Lock()


class Robots:
    """Reads the rules of each site once a day, and judges addresses by them."""

    def __init__(self, get: Get, clock: Callable[[], float] = time.monotonic) -> None:
        self._get = get
        self._clock = clock
        self._sites: OrderedDict[str, _Site] = OrderedDict()

    async def check(self, url: httpx.URL) -> None:
        """Raise `Blocked` where the site asks that this address is not read."""
        path = url.raw_path.decode("ascii")
        if path != "/robots.txt" and not allowed(await self._rules(url), path):
            raise Blocked("robots", "the site's robots.txt asks not to read it", shown(str(url)))

    async def _rules(self, url: httpx.URL) -> list[tuple[str, bool]]:
        site = self._site(f"{url.scheme}://{url.netloc.decode('ascii')}")
        async with site.lock:  # fifty pages of one site ask for its rules once
            if site.rules is None or self._clock() - site.read > _AGE:
                data = await self._get(url.copy_with(raw_path=b"/robots.txt"), _SIZE)
                site.rules, site.read = rules(data.decode("utf-8", "replace")), self._clock()
            return site.rules

    def _site(self, origin: str) -> _Site:
        site = self._sites.setdefault(origin, _Site())
        self._sites.move_to_end(origin)
        if len(self._sites) > _SITES:
            self._sites.popitem(last=False)
        return site


def rules(text: str, agent: str = _AGENT) -> list[tuple[str, bool]]:
    """Return pattern and whether it allows, of the groups for this agent, or else of those for all."""
    groups: dict[str, list[tuple[str, bool]]] = {}
    for names, lines in _groups(text):
        for name in names & {agent, "*"}:  # a file may name ten thousand agents, with as many rules for all
            groups.setdefault(name, []).extend(lines)
    return groups.get(agent, groups.get("*", []))


def _groups(text: str) -> Iterator[tuple[set[str], list[tuple[str, bool]]]]:
    names: set[str] = set()
    lines: list[tuple[str, bool]] = []
    begun = False
    for key, value in _LINE.findall(text.lstrip("\ufeff")):
        match key.lower():
            case "user-agent":
                if begun:
                    yield names, lines
                    names, lines, begun = set(), [], False
                names.add(re.split(r"[/\s]", value.strip().lower(), maxsplit=1)[0])
            case "allow" | "disallow":
                begun = True
                if value.strip():
                    lines.append((_plain(value.strip()), key.lower() == "allow"))
    yield names, lines


def allowed(lines: list[tuple[str, bool]], path: str) -> bool:
    """Return whether path and query may be read: the longest pattern decides, and of equal ones the one that allows."""
    path = _plain(path)
    matching = [(len(pattern), allows) for pattern, allows in lines if _matches(pattern, path)]
    return max(matching, default=(0, True))[1]


def _plain(path: str) -> str:
    """Return a path with each character percent-encoded in one way."""
    return quote(unquote(path, errors="surrogateescape"), safe="/*$?=&:;,@!~+'()[]", errors="surrogateescape")


def _matches(pattern: str, path: str) -> bool:
    """Match part by part, in one pass: patterns are a stranger's, and must not cost more than reading them."""
    ends = pattern.endswith("$")
    first, *parts = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for part in parts:
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return not ends or at == len(path) or (bool(parts) and path.endswith(parts[-1]))
