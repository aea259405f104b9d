"""The trial of `leadline doctor`: one harmless request to each chosen search engine and fetcher.

Each engine answers a query of one word. Its first hit is fetched, so that a fetcher is tried with an address of the
user's own engines, and nobody else is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from leadline._runtime.calls.job import Kind
from leadline._runtime.plugins import ProviderInstance
from leadline._runtime.runs.adhoc_session import adhoc_session
from leadline._runtime.runs.run_context import RunContext
from leadline._settings.load import Loaded
from leadline.contracts import Call
from leadline.display import shortened
from leadline.errors import LeadlineError
from leadline.records import Blob, FetchRequest, Hit, SearchPage, SearchRequest
from leadline.records.base import Record

R = TypeVar("R", bound=Record)
# Common words of several languages; the next is asked for if one has no hit.
QUERIES = ("time", "year", "name", "number", "use", "Jahr", "année", "año", "年")


@dataclass(frozen=True)
class Trial:
    """The result of one request to a plugin, `name`, that the setting `key` chooses; `fault` is empty if it worked."""

    key: str
    name: str
    detail: str = ""
    fault: str = ""


async def try_out(loaded: Loaded) -> tuple[list[Trial], tuple[str, ...]]:
    """Return the trials of all chosen engines and fetchers, and what they tell. Raises `ConfigError` as a run does."""
    async with adhoc_session(loaded, "Do the search engines and fetchers work?") as session:
        run = session.run
        searches = await asyncio.gather(*(_search(run, name) for name in loaded.chosen["search.engines"]))
        hits = [hit for _, hit in searches if hit and hit.text is None]
        fetches = await _fetches(run, loaded.chosen["read.fetchers"], hits)
        return [*(trial for trial, _ in searches), *fetches], run.notices


async def _search(run: RunContext, name: str) -> tuple[Trial, Hit | None]:
    key, engine = "search.engines", run.plugins.instance("search_providers", name)

    async def do(request: SearchRequest, call: Call) -> Any:
        return await (await engine.get()).search(request, call)

    try:
        for query in QUERIES:
            page = await _request(run, engine, "search", SearchPage, SearchRequest(query=query, limit=1), do)
            for hit in page.hits[:1]:
                found = hit.model_copy(update={"engine": name})
                return Trial(key, name, f"answers; its first hit is {shortened(hit.url, 100)}"), found
    except LeadlineError as error:
        return Trial(key, name, fault=str(error)), None
    return Trial(key, name, f"answers, without a hit for {', '.join(QUERIES)}"), None


async def _fetches(run: RunContext, names: Iterable[str], hits: Iterable[Hit]) -> list[Trial]:
    """Fetch the first hit that each fetcher accepts; report hits that no fetcher accepts, and fetchers not tried."""
    key = "read.fetchers"
    trials: dict[str, Trial] = {}
    fetchers = [run.plugins.instance("fetchers", name) for name in names]
    for hit in hits:
        url = hit.content_url or hit.url
        try:
            fetcher = await _accepting(fetchers, url)
        except Exception as error:  # noqa: BLE001 - any error of a plugin that is created or asked is its fault
            trials.setdefault(url, Trial(key, "", fault=shortened(f"{type(error).__name__}: {error}")))
            continue
        if fetcher is None:
            chosen = ", ".join(instance.name for instance in fetchers) or "none is chosen"
            fault = f"no fetcher ({chosen}) reads {shortened(url, 100)}, a hit of {hit.engine}"
            trials.setdefault(url, Trial(key, "", fault=fault))
        elif fetcher.name not in trials:
            trials[fetcher.name] = await _fetch(run, fetcher, url)
    untried = (instance.name for instance in fetchers if instance.name not in trials)
    return [*trials.values(), *(Trial(key, name, "not tried: no engine found an address for it") for name in untried)]


async def _accepting(fetchers: Iterable[ProviderInstance], url: str) -> ProviderInstance | None:
    for instance in fetchers:
        if (await instance.get()).accepts(url):
            return instance
    return None


async def _fetch(run: RunContext, fetcher: ProviderInstance, url: str) -> Trial:
    async def do(request: FetchRequest, call: Call) -> Any:
        return await (await fetcher.get()).fetch(request, call)

    try:
        blob = await _request(run, fetcher, "fetch", Blob, FetchRequest(url=url), do)
    except LeadlineError as error:
        return Trial("read.fetchers", fetcher.name, fault=str(error))
    return Trial("read.fetchers", fetcher.name, f"reads {shortened(url, 100)}: {len(blob.data):,} bytes")


async def _request(
    run: RunContext,
    instance: ProviderInstance,
    name: str,
    reply: type[R],
    request: Record,
    do: Callable[[Any, Call], Awaitable[Any]],
) -> R:
    """Make one request as a run would, within the same time, but without repeating it."""
    kind = Kind(name=name, reply=reply, keep=False, single_attempt=True)
    return await run.calls.call(kind, request, do, provider=instance.identity, task="doctor")
