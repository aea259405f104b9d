"""Retrieval: queries by the configured strategy and engines, and pages by the configured fetchers and parsers.

The result of a strategy depends on the timing of its engines, so a query is one composite call whose reply is replayed.
Rules on their addresses give hits a tier: 1 primary and official, 2 reputable secondary, 3 other.
"""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from leadline._runtime.calls.call_path import CallPath
from leadline._runtime.calls.job import Kind, ProviderIdentity
from leadline._runtime.calls.limits import Slots
from leadline._runtime.journal.rows import Need
from leadline._runtime.plugins import PluginRuntime, ProviderInstance, combined_fingerprint
from leadline.contracts import Call, Search
from leadline.display import strip_markup, visible
from leadline.encoding import digest, require_type
from leadline.errors import CallFailed, CallRefused, Unsupported
from leadline.parsing import whole
from leadline.records import Blob, Document, Failure, FetchRequest, Hit, SearchPage, SearchRequest, Tier
from leadline.settings import seconds

# Pages of one engine for one query, at most.
MAX_PAGES = 10
# Hits of ten that a first page may lack without a request for the next: engines drop advertisements and duplicates.
_TOLERANCE = 2


class EngineSearch:
    """Search for one run. `notice` receives one message for each engine that rests.

    Findings are files for others: their failures have no tracebacks, and not the folder of runs, `folder`.
    """

    def __init__(
        self, plugins: PluginRuntime, calls: CallPath, notice: Callable[[str], Awaitable[None]], folder: Path
    ) -> None:
        self._folder = str(folder)
        settings = plugins.settings.search
        self._plugins = plugins
        self._calls = calls
        self._notice = notice
        self._notified: set[str] = set()
        self._queries = asyncio.Semaphore(settings.batch_size)
        self._slots = Slots(settings.max_concurrent)
        self._tiers = SourceTiers(settings.tiers)

    async def search(self, request: SearchRequest, /) -> SearchPage:
        """Return the hits of a query. Raises `CallFailed` if all engines failed.

        A search for pictures does not count as a query.
        """
        strategy = self._plugins.instance("search_strategies", self._plugins.settings.search.strategy)
        chosen = self._plugins.chosen["search.images" if request.images else "search.engines"]
        engines = [self._plugins.instance("search_providers", name) for name in chosen]
        page_failures: list[Failure] = []

        async def do(request: SearchRequest, call: Call) -> SearchPage:
            failed: dict[str, Failure] = {}
            by_name: dict[str, Search] = {
                engine.name: self._engine_search(engine, failed, page_failures) for engine in engines
            }
            page = require_type(await (await strategy.get()).search(request, by_name, call), SearchPage)
            return _with_failures(page, [failed[name] for name in by_name if name in failed])

        kind = Kind(
            name="query",
            reply=SearchPage,
            composite=True,
            need=lambda _: Need(queries=0 if request.images else 1),
            ttl=min(map(self._ttl, engines), default=0.0),
            shareable=lambda page: not page.failures and not page_failures,
        )
        # `search.batch_size` limits the queries, `search.max_concurrent` the requests of all engines.
        async with self._queries:
            try:
                page = await self._calls.call(kind, request, do, provider=_identity(strategy, engines), task="search")
            except CallFailed as error:
                await self._notify([error.record])
                raise type(error)(self._without_folder(error.record), error.key, error.causes) from error
        await self._notify(page.failures)
        failures = (failure.model_copy(update={"detail": "", "traceback": ""}) for failure in page.failures)
        return self._tiers.mark(page.model_copy(update={"failures": tuple(map(self._without_folder, failures))}))

    def _without_folder(self, failure: Failure) -> Failure:
        return failure.model_copy(
            update={"message": failure.message.changed(lambda text: text.replace(self._folder, "…"))}
        )

    def _engine_search(
        self, engine: ProviderInstance, failed: dict[str, Failure], page_failures: list[Failure]
    ) -> Search:
        """Return the search function of one engine, which joins its pages.

        It adds a failure of the first page to `failed`, and failures of further pages to `page_failures`.
        """
        composite = engine.offer.work == "composite"  # its own calls are limited
        limiter = None if composite else engine.identity.limiter
        identity = replace(engine.identity, limiter=limiter, run_slots=self._slots)
        keep = engine.offer.cache_key is not None
        kind = Kind(name="search", reply=SearchPage, composite=composite, keep=keep, ttl=self._ttl(engine))

        async def do(request: SearchRequest, call: Call) -> SearchPage:
            page: Any = await engine.method("search")(request, call)
            return _plain_hits(as_page(page), engine.name)

        search_page = partial(self._calls.call, kind, do=do, provider=identity, task="search")

        async def search(request: SearchRequest) -> SearchPage:
            try:
                page = await search_page(request)
            except CallRefused:
                raise
            except CallFailed as error:
                failed[engine.name] = error.record
                raise
            page = await _with_further_pages(page, request, search_page, page_failures)
            own = tuple([hit for hit in page.hits if not await self._is_foreign(hit, engine.name)])
            if dropped := len(page.hits) - len(own):
                page = page.model_copy(update={"hits": own})
                await self._notice(f"{engine.name}: {dropped} hits dropped, whose addresses only other plugins read")
            return self._tiers.mark(page)  # outside the call, so that changed rules also apply to replayed pages

        return Search(search, free=self._is_free(engine))

    def _is_free(self, engine: ProviderInstance) -> bool:
        """Return whether an engine contacts nobody, or has the stored documents.

        A composite one contacts nobody if no plugin of the settings that it uses does.
        """
        if engine.name == self._plugins.settings.knowledge.base:  # whose vectors may be elsewhere
            return True
        if engine.offer.work != "composite":
            return engine.offer.work == "local"
        chosen = (self._plugins.chosen.get(key, ()) for key in engine.offer.uses if isinstance(key, str))
        used = [self._plugins.loaded.plugins[name] for names in chosen for name in names]
        return all(offer.work == "local" for plugin in used for offer in plugin.offers.values())

    async def _is_foreign(self, hit: Hit, engine: str) -> bool:
        """Return whether a hit leads to a document that only another plugin reads, such as `file:` from the web."""
        for url in (hit.url, hit.content_url or "", *hit.images):
            if url and not url.lower().startswith(("http:", "https:")):
                fetchers = [self._plugins.instance("fetchers", name) for name in self._plugins.chosen["read.fetchers"]]
                reading = {fetcher.name for fetcher in fetchers if (await fetcher.open()).accepts(url)}
                if reading and engine not in reading:
                    return True
        return False

    def _ttl(self, engine: ProviderInstance) -> float:
        """Return the seconds for which other runs may use its hits: 0 for local hits."""
        return seconds(self._plugins.settings.cache.search) if engine.offer.cache_key is not None else 0.0

    async def _notify(self, failures: Iterable[Failure]) -> None:
        """Notify of engines that rest, from the stored failures, so that a replay has the same notices."""
        for failure in failures:
            if failure.type == "Resting" and failure.provider not in self._notified:
                self._notified.add(failure.provider)
                await self._notice(failure.message)


async def _with_further_pages(
    first: SearchPage, request: SearchRequest, search: Callable[..., Awaitable[SearchPage]], failures: list[Failure]
) -> SearchPage:
    """Return a page with the hits of the next ones up to the limit; each page is one call.

    A failed page ends the search but keeps the hits so far. Engines end in different ways: without a cursor, with an
    earlier cursor, or without new hits.
    """
    hits, cursor, cursors = list(first.hits), first.cursor, {request.cursor}
    missing = request.limit - len(hits)
    if not hits or missing <= min(_TOLERANCE, request.limit // 5):
        return first
    urls = {hit.url for hit in hits}
    while len(hits) < request.limit and cursor and cursor not in cursors and len(cursors) < MAX_PAGES:
        cursors.add(cursor)
        try:
            page = await search(request.model_copy(update={"cursor": cursor}))
        except CallFailed as error:
            failures.append(error.record)
            break
        new = [hit for hit in page.hits if hit.url not in urls]
        if not new:
            break
        hits, cursor = hits + new, page.cursor
        urls.update(hit.url for hit in new)
    if len(cursors) == 1:
        return first
    return first.model_copy(update={"hits": tuple(hits[: request.limit]), "cursor": cursor})


def as_page(reply: Any) -> Any:
    """Return a list of hits as a page, and anything else as it is."""
    return SearchPage(hits=tuple(reply)) if isinstance(reply, list) else reply


def _plain_hits(page: SearchPage, engine: str) -> SearchPage:
    """Return a page of visible text, without markup in titles and hits that lack an address. Raises `TypeError`."""
    hits = require_type(page, SearchPage).hits
    wrong = next((hit for hit in hits if not isinstance(hit, Hit)), None)
    if wrong is not None:
        raise TypeError(f"the hits of the reply contain {type(wrong).__name__}, not Hit")
    plain = [hit.model_copy(update={**_visible(hit), "engine": engine}) for hit in hits if hit.url.strip()]
    return page.model_copy(update={"hits": tuple(plain)})


def _visible(hit: Hit) -> dict[str, object]:
    passages = (
        it.model_copy(update={"text": visible(it.text), "path": tuple(map(visible, it.path)), "lead": visible(it.lead)})
        for it in hit.passages
    )
    text = hit.text and visible(hit.text)
    return {"title": strip_markup(hit.title), "snippet": visible(hit.snippet), "text": text, "passages": (*passages,)}


def _with_failures(page: SearchPage, failed: Sequence[Failure]) -> SearchPage:
    """Return the page with the failures of the engines before those that the strategy reports."""
    names = {failure.provider for failure in failed}
    others = (failure for failure in page.failures if failure.provider not in names)
    return page.model_copy(update={"failures": (*failed, *others)})


def _identity(strategy: ProviderInstance, engines: Sequence[ProviderInstance]) -> ProviderIdentity:
    accounts = digest("\n".join(engine.identity.account for engine in engines).encode())
    return ProviderIdentity(
        name=strategy.name,
        who=strategy.identity.who,
        root=strategy.identity.root,
        fingerprint=combined_fingerprint([strategy, *engines]),
        account=accounts,
        revision=" ".join(instance.identity.revision for instance in (strategy, *engines)),
        per_user=any(engine.identity.per_user for engine in engines),
    )


def _within(request: FetchRequest, blob: Blob) -> Blob:
    """Return a download if it is of an accepted type and size. Raises `Unsupported`."""
    if not isinstance(blob, Blob):  # the call path reports it
        return blob
    if request.size is not None and len(blob.data) > request.size:
        raise Unsupported(f"{request.url} has {len(blob.data):,} bytes, more than the {request.size:,} allowed")
    kind = blob.media_type.partition(";")[0].strip().lower()
    if request.accept and kind not in request.accept:
        raise Unsupported(f"{request.url} is {kind or 'of no known type'}, not {' or '.join(request.accept)}")
    return blob


class DocumentReader:
    """Fetching and parsing for one run: the first configured fetcher or parser that accepts an address or type.

    `notice` receives what was left out of a document that is too long.
    """

    def __init__(self, plugins: PluginRuntime, calls: CallPath, notice: Callable[[str], Awaitable[None]]) -> None:
        self._plugins = plugins
        self._calls = calls
        self._notice = notice

    async def read(self, request: FetchRequest, /) -> Document:
        """Fetch an address and parse the reply, as one call."""

        async def do(request: FetchRequest, call: Call) -> Document:
            blob = await self.fetch(request)
            return (await self.parse(blob)).labelled(blob.labels)

        kind = Kind(name="read", reply=Document, composite=True)
        document = await self._calls.call(kind, request, do, provider=self._identity, task="fetch")
        if document.incomplete:
            await self._notice(f"a document is incomplete: {document.incomplete} ({request.url})")
        return document

    @cached_property
    def _identity(self) -> ProviderIdentity:
        parsers = [self._plugins.instance("parsers", name) for name in self._plugins.chosen["read.parsers"]]
        return ProviderIdentity(name="read", fingerprint=combined_fingerprint(parsers))

    async def fetch(self, request: FetchRequest, /) -> Blob:
        """Fetch an address without parsing."""
        unsupported: CallFailed | None = None
        names = fetchers_in_order(self._plugins.chosen["read.fetchers"], request.engine)
        for name in names:
            instance = self._plugins.instance("fetchers", name)
            if not await self._accepts(instance, request.url):
                continue
            kind = Kind(name="fetch", reply=Blob, keep=instance.offer.cache_key is not None)
            fetch = instance.method("fetch")

            async def do(request: FetchRequest, call: Call, fetch: Any = fetch) -> Blob:
                return _within(request, await fetch(request, call))

            try:
                return await self._calls.call(kind, request, do, provider=instance.identity, task="fetch")
            except CallFailed as failed:
                if not request.accept or failed.record.type != Unsupported.__name__:
                    raise
                unsupported = failed  # this fetcher reads only pages; the next may support the requested media type
        raise unsupported or Unsupported(f"no fetcher of read.fetchers ({', '.join(names)}) reads {request.url}")

    async def parse(self, blob: Blob) -> Document:
        """Parse bytes with the first configured parser that accepts them."""
        for name in self._plugins.chosen["read.parsers"]:
            instance = self._plugins.instance("parsers", name)
            if await self._accepts(instance, blob.media_type):
                # Not kept: the journal has the document as the reply of `read`.
                kind = Kind(
                    name="parse", reply=Document, keep=False, unshared=True, free=instance.offer.work == "local"
                )
                parse = instance.method("parse")

                async def do(blob: Blob, call: Call, parse: Any = parse) -> Document:
                    return whole(await parse(blob, call))

                return await self._calls.call(kind, blob, do, provider=instance.identity, task="fetch")
        raise Unsupported(f"no parser of read.parsers reads {blob.media_type} ({blob.name})")

    async def _accepts(self, instance: ProviderInstance, name: str) -> bool:
        try:
            return bool(await instance.ask("accepts", name))
        except Exception as error:
            raise await self._calls.fault("accepts", instance.identity, error) from error


def fetchers_in_order(names: Iterable[str], engine: str) -> list[str]:
    """Return the configured fetchers with the engine that found an address before the others, if it is among them."""
    return sorted(names, key=lambda name: name != engine)


# --- tiers of sources -------------------------------------------------------------------------------------------------


Rules = Mapping[Literal["1", "2", "3"], Sequence[str]]


class SourceTiers:
    """The rules of one run: `configured` are those of the settings."""

    def __init__(self, configured: Rules) -> None:
        self._rules = [_tier_by_rule(configured), _built_in()]
        self._with_paths = frozenset(rule.partition("/")[0] for rules in self._rules for rule in rules if "/" in rule)

    def mark(self, page: SearchPage) -> SearchPage:
        """Return the page with the tier of each hit; without a matching rule a hit keeps the tier of its engine."""
        hits = (hit.model_copy(update={"tier": self.of(hit.url) or hit.tier}) for hit in page.hits)
        return page.model_copy(update={"hits": tuple(hits)})

    def of(self, url: str) -> Tier | None:
        """Return the tier of an address, or None if no rule matches."""
        candidates = _candidates(url, self._with_paths)
        matches = (rules[rule] for rules in self._rules for rule in candidates if rule in rules)
        return next(matches, None)


@cache
def _built_in() -> dict[str, Tier]:
    return _tier_by_rule(tomllib.loads(Path(__file__).with_name("source_tiers.toml").read_text(encoding="utf-8")))  # type: ignore[arg-type]


def _tier_by_rule(rules: Rules) -> dict[str, Tier]:
    return {rule.strip().lower(): cast("Tier", int(tier)) for tier, of_tier in rules.items() for rule in of_tier}


@lru_cache(maxsize=2048)  # each hit is marked by its engine, by the strategy and when pages are chosen
def _candidates(url: str, with_paths: frozenset[str]) -> tuple[str, ...]:
    """Return the rules that would match an address, the most specific first."""
    return tuple(_iterate_candidates(url, with_paths))


def _iterate_candidates(url: str, with_paths: frozenset[str]) -> Iterator[str]:
    try:
        parts = urlsplit(url.strip())
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return
    if not host:
        yield f"{parts.scheme}:"
        return
    labels = host.split(".")
    for start in range(len(labels) - 1):
        domain = ".".join(labels[start:])
        if domain in with_paths:
            steps = parts.path.lower().strip("/").split("/")
            yield from (f"{domain}/{'/'.join(steps[:depth])}" for depth in range(len(steps), 0, -1))
        yield domain
    yield f"{labels[0]}.*"
    yield from (f".{'.'.join(labels[start:])}" for start in range(len(labels)))
    if len(labels[-1]) == 2:
        yield f".{labels[-2:][0]}.*"
