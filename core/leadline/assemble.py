"""The house: the only place where settings and plugins meet.

It makes each chosen plugin once, at its first use, and keeps what its runs share of it: sessions, threads, clients.
Limits and breakers it takes from those of the process: other houses may have the same account.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from leadline.contracts import Call, Parser
from leadline.door.breaker import BREAKERS, Breaker
from leadline.door.keys import digest, fingerprint
from leadline.door.kinds import Maker
from leadline.door.limits import LIMITERS, Limiter
from leadline.door.secrets import Secrets
from leadline.errors import ConfigError, Unsupported
from leadline.hosting.asynchronous import awaitable
from leadline.hosting.context import HouseContext
from leadline.hosting.lifecycle import Keeper
from leadline.hosting.loading import AnyOffer
from leadline.journal.cache import Answers, account_of
from leadline.records import Blob, Document
from leadline.settings.durations import seconds
from leadline.settings.load import Limits, Loaded
from leadline.settings.secrecy import answer_options, secrets_of

TIMEOUT = 30.0
"""Seconds a call may take where neither the offer nor the settings say."""


@dataclass(frozen=True)
class Member:
    """A chosen plugin in one of its kinds: its offer, what its calls are known by, and itself once it is made."""

    name: str
    offer: AnyOffer
    maker: Maker
    keeper: Keeper
    breaker: Breaker
    """Of the process, as its limits are; search engines rest by it."""

    async def get(self) -> Any:
        """Return the plugin itself, made and entered."""
        return await self.keeper.get()


class House:
    """The plugins that one set of settings chooses, shared by its runs; enter with `open()`, leave with `close()`."""

    def __init__(self, loaded: Loaded, cache_dir: Path | None = None) -> None:
        self.loaded = loaded
        self.settings = loaded.settings
        self._cache_dir = cache_dir or default_cache()
        self._contexts: dict[str, HouseContext] = {}
        self._keepers: dict[tuple[str, int], Keeper] = {}
        self._members: dict[tuple[str, str], Member] = {}
        self._parsers: list[Parser] = []
        self._answers: Answers | None = None

    def member(self, kind: str, name: str) -> Member:
        """Return a chosen plugin in one of its kinds. Raises `ConfigError` where it is not chosen."""
        if (kind, name) not in self._members:
            self._members[kind, name] = self._member(kind, name)
        return self._members[kind, name]

    def _member(self, kind: str, name: str) -> Member:
        plugin = self.loaded.plugins.get(name)
        if plugin is None or kind not in plugin.offers:
            raise ConfigError(f"'{name}' is not chosen among the {kind.replace('_', ' ')} of the settings")
        offer, settings = plugin.offers[kind], self.settings.plugin(name)
        keeper = self._keeper(name, offer, settings)
        limits = self.settings.limits.get(name)
        known = fingerprint(answer_options(offer, settings))
        account = account_of(secrets_of(settings.model_dump()))
        who = (kind, name, str(plugin), known, account)
        maker = Maker(
            name=name,
            fingerprint=known,
            limiter=self._limiter(who, offer, limits),
            timeout=(limits and limits.timeout) or offer.timeout or self._timeout(kind),
            priced=offer.priced,
            account=account,
            who=str(plugin),
            restart=keeper.restart,
        )
        return Member(name, offer, maker, keeper, self._breaker(who, name))

    def _limiter(self, who: tuple[str, ...], offer: AnyOffer, limits: Limits | None) -> Limiter:
        """Return the process's limiter of a plugin with an account."""
        at_once = (limits and limits.at_once) or offer.at_once
        interval = offer.interval if limits is None or limits.interval is None else limits.interval
        return LIMITERS.take((*who, at_once, interval), self, lambda: Limiter(at_once, interval))

    def _breaker(self, who: tuple[str, ...], name: str) -> Breaker:
        """Return the process's breaker of a plugin with an account."""
        search = self.settings.search
        key = (*who, search.rest_after, search.rest)
        return BREAKERS.take(key, self, lambda: Breaker(name, search.rest_after, search.rest))

    def _keeper(self, name: str, offer: AnyOffer, settings: Any) -> Keeper:
        """Return the keeper of an offer: one offer given to two hooks is made once."""
        key = (name, id(offer))
        if key not in self._keepers:
            plugin = self.loaded.plugins[name]
            kinds = [kind for kind, other in plugin.offers.items() if other is offer]
            ready = partial(awaitable, kinds=kinds, who=str(plugin))
            make = partial(offer.make, settings, self._context(name))
            self._keepers[key] = Keeper(name, make, ready, who=str(plugin), secrets=Secrets(self.loaded.secrets))
        return self._keepers[key]

    def _context(self, name: str) -> HouseContext:
        runs = self.settings.runs.folder
        return self._contexts.setdefault(name, HouseContext(name, self._cache_dir, self, runs))

    def _timeout(self, kind: str) -> float:
        own = {"search_providers": self.settings.search.timeout, "chart_runners": self.settings.charts.timeout}
        return own.get(kind, TIMEOUT)

    @property
    def answers(self) -> Answers | None:
        """What is kept across runs; None where the settings keep nothing."""
        cache = self.settings.cache
        if self._answers is None and cache.size and any(map(seconds, (cache.search, cache.plan, cache.model))):
            self._answers = Answers(self._cache_dir / "answers.sqlite", cache.size, self._scope())
        return self._answers

    def _scope(self) -> str:
        """Return what may have changed the answers on their way: middleware and its settings."""
        makers = [self.member("middleware", name).maker for name in self.loaded.chosen["middleware"]]
        return digest(repr([(maker.name, maker.fingerprint) for maker in makers]).encode()) if makers else ""

    # --- the parsers, as a plugin may use them ---

    async def open(self) -> None:
        """Make the parsers: plugins ask what can be read without waiting."""
        if not self._parsers:
            self._parsers = [await self.member("parsers", name).get() for name in self.loaded.chosen["read.parsers"]]

    def parses(self, media_type: str) -> bool:
        """Return whether a configured parser accepts this media type."""
        return any(parser.accepts(media_type) for parser in self._parsers)

    async def parse(self, blob: Blob, call: Call) -> Document:
        """Read bytes with the first parser that accepts them; raises `Unsupported` where none does."""
        for parser in self._parsers:
            if parser.accepts(blob.media_type):
                return await parser.parse(blob, call)
        raise Unsupported(f"no parser of read.parsers reads {blob.media_type} ({blob.name})")

    async def close(self) -> None:
        """Leave every plugin, close every client."""
        for keeper in self._keepers.values():
            await keeper.close()
        for context in self._contexts.values():
            await context.close()
        if self._answers is not None:
            await self._answers.close()
            self._answers = None
        LIMITERS.leave(self)
        BREAKERS.leave(self)


def default_cache() -> Path:
    """Return the folder for what is kept across runs: `$XDG_CACHE_HOME/leadline`, `~/.cache/leadline`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "leadline"


def together(members: Sequence[Member]) -> str:
    """Return the fingerprint of several plugins at work on one call."""
    return fingerprint({member.name: member.maker.fingerprint for member in members})
