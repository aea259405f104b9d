"""How a run searches: the configured strategy over the configured engines, each engine behind the door.

What a strategy makes of its engines hangs on timing, so it is one composite call, whose outcome replays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace

from leadline.assemble import House, Member, together
from leadline.contracts import Call, Search
from leadline.door.breaker import Guarded
from leadline.door.calls import Door
from leadline.door.keys import digest
from leadline.door.kinds import Kind, Maker
from leadline.door.limits import Both, Slots
from leadline.errors import CallFailed, CallRefused
from leadline.journal.wire import right
from leadline.plaintext import plain_hits
from leadline.records import Failure, SearchPage, SearchRequest
from leadline.runs.budget import Need
from leadline.settings.durations import seconds
from leadline.settings.load import Settings
from leadline.tiers import Tiers

PAGES = 10
"""Pages of one engine for one query, at most."""
_SHORT = 2
"""Hits by which a first page may fall short, of ten: engines leave out what is an advertisement, or twice there."""


class Searching:
    """Searches for one run; `notice` is told, once each, of engines that rest."""

    def __init__(
        self,
        house: House,
        door: Door,
        settings: Settings,
        engines: Sequence[str],
        notice: Callable[[str], Awaitable[None]],
    ) -> None:
        self._house = house
        self._door = door
        self._settings = settings
        self._engines = engines
        self._notice = notice
        self._told: set[str] = set()
        self._queries = asyncio.Semaphore(settings.search.batch_size)
        self._slots = Slots(settings.search.max_concurrent)
        self._tiers = Tiers(settings.search.tiers)

    async def search(self, request: SearchRequest) -> SearchPage:
        """Return what the engines found; raises `CallFailed` where all of them failed."""
        strategy = self._house.member("search_strategies", self._settings.search.strategy)
        members = [self._house.member("search_providers", name) for name in self._engines]
        kind = Kind(
            name="query",
            reply=SearchPage,
            composite=True,
            need=lambda _: Need(queries=1),
            ttl=min(map(self._ttl, members), default=0.0),
            whole=lambda page: not page.failures and not cut,
        )
        cut: list[Failure] = []

        async def do(request: SearchRequest, call: Call) -> SearchPage:
            failed: dict[str, Failure] = {}
            engines: dict[str, Search] = {member.name: self._engine(member, failed, cut) for member in members}
            page = right(await (await strategy.get()).search(request, engines, call), SearchPage)
            return _with_failures(page, [failed[name] for name in engines if name in failed])

        async with self._queries:
            try:
                page = await self._door.call(kind, request, do, maker=_over(strategy, members), task="search")
            except CallFailed as error:
                await self._tell([error.record])
                raise
        await self._tell(page.failures)
        return self._tiers.mark(page)

    def _engine(self, member: Member, failed: dict[str, Failure], cut: list[Failure]) -> Search:
        """Return an engine behind the door, all pages of it as one; `cut` takes what further pages failed of."""
        limiter = Guarded(member.breaker, Both(self._slots, member.maker.limiter))
        maker = replace(member.maker, limiter=limiter)
        kind = Kind(name="search", reply=SearchPage, keep=member.offer.keep, ttl=self._ttl(member))

        async def do(request: SearchRequest, call: Call) -> SearchPage:
            page: SearchPage = await (await member.get()).search(request, call)
            return plain_hits(page, member.name)

        async def ask(request: SearchRequest) -> SearchPage:
            return await self._door.call(kind, request, do, maker=maker, task="search")

        async def search(request: SearchRequest) -> SearchPage:
            try:
                page = await ask(request)
            except CallRefused:
                raise
            except CallFailed as error:
                failed[member.name] = error.record
                raise
            page = await _with_further(page, request, ask, cut)
            return self._tiers.mark(page)  # not below the door: other rules apply to a replayed page as well

        return search

    def _ttl(self, engine: Member) -> float:
        """Return for how long its results serve other runs: not at all where they are had for nothing, or private."""
        shared = engine.offer.keep and not engine.offer.per_user
        return seconds(self._settings.cache.search) if shared else 0.0

    async def _tell(self, failures: Iterable[Failure]) -> None:
        """Tell of engines that rest: from what is kept, so that a replay tells the same."""
        for failure in failures:
            if failure.type == "Resting" and failure.provider not in self._told:
                self._told.add(failure.provider)
                await self._notice(failure.message)


async def _with_further(first: SearchPage, request: SearchRequest, ask: Search, cut: list[Failure]) -> SearchPage:
    """Return a page with the hits of those behind it, up to the limit: each is a request of its own.

    What came stays where a further page fails. Engines differ in how they end: with no cursor, with one that they gave
    before, with nothing new.
    """
    hits, cursor, asked = list(first.hits), first.cursor, {request.cursor}
    missing = request.limit - len(hits)
    if not hits or missing <= min(_SHORT, request.limit // 5):
        return first
    known = {hit.url for hit in hits}
    while len(hits) < request.limit and cursor and cursor not in asked and len(asked) < PAGES:
        asked.add(cursor)
        try:
            page = await ask(request.model_copy(update={"cursor": cursor}))
        except CallFailed as error:
            cut.append(error.record)
            break
        new = [hit for hit in page.hits if hit.url not in known]
        if not new:
            break
        hits, cursor = hits + new, page.cursor
        known.update(hit.url for hit in new)
    return (
        first if len(asked) == 1 else first.model_copy(update={"hits": tuple(hits[: request.limit]), "cursor": cursor})
    )


def _with_failures(page: SearchPage, failed: Sequence[Failure]) -> SearchPage:
    """Return the page with the engines that failed, and those of which the strategy says so."""
    names = {failure.provider for failure in failed}
    others = (failure for failure in page.failures if failure.provider not in names)
    return page.model_copy(update={"failures": (*failed, *others)})


def _over(strategy: Member, engines: Sequence[Member]) -> Maker:
    """Return what a strategy over several engines is known by."""
    accounts = digest("\n".join(member.maker.account for member in engines).encode())
    return Maker(
        name=strategy.name, who=strategy.maker.who, fingerprint=together([strategy, *engines]), account=accounts
    )
