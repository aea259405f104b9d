"""Strategy `batch`: all engines side by side, their results merged; stragglers are waited for a little."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from leadline.contracts import Call, Context, Search
from leadline.errors import CallFailed
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.strategies.fusing import fuse


class Batch:
    """Asks every engine; after the first good answer the others have `search.straggler` seconds."""

    async def search(self, request: SearchRequest, engines: Mapping[str, Search], call: Call, /) -> SearchPage:
        """Return the merged hits; raises a group of all failures when every engine failed."""
        tasks: list[asyncio.Future[SearchPage]] = [
            asyncio.ensure_future(engine(request)) for engine in engines.values()
        ]
        try:
            await self._gather(tasks, call.run.settings.search.straggler)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        pages = [task.result() for task in tasks if not task.cancelled() and task.exception() is None]
        if not pages:
            raise ExceptionGroup("every engine failed", [failure(task) for task in tasks])
        return fuse(pages, request.limit)

    async def _gather(self, tasks: list[asyncio.Future[SearchPage]], straggler: float) -> None:
        waiting, good = set(tasks), False
        while waiting:
            done, waiting = await asyncio.wait(
                waiting, timeout=straggler if good else None, return_when=asyncio.FIRST_COMPLETED
            )
            if good and not done:
                return
            good = good or any(task.exception() is None and task.result().hits for task in done)


def failure(task: asyncio.Future[SearchPage]) -> Exception:
    """Return why an engine failed; what is no `CallFailed` is a bug, and raised at once."""
    error = task.exception()
    if isinstance(error, CallFailed):
        return error
    raise error or RuntimeError("an engine that did not fail was asked why it failed")


def _make(settings: PluginSettings, context: Context) -> Batch:
    return Batch()


@hookimpl
def leadline_search_strategies() -> Iterator[Offer[Any, Batch]]:
    """Offer the strategy."""
    yield Offer(_make, PluginSettings, "All engines side by side, merged by reciprocal rank")
