"""Engines asked side by side for one query, none of them left running: what all strategies but `fallback` share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from leadline.contracts import Search
from leadline.errors import CallFailed
from leadline.records import Failure, SearchPage, SearchRequest
from leadline_plugins.strategies.fusing import fuse

Asked = asyncio.Task[SearchPage]


class Asking:
    """The engines asked so far, in the order of asking. Leaving the block cancels and awaits those still at it."""

    def __init__(self, request: SearchRequest, engines: Mapping[str, Search]) -> None:
        self._request = request
        self._engines = engines
        self._tasks: dict[str, Asked] = {}

    async def __aenter__(self) -> Asking:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def ask(self, name: str) -> None:
        """Ask one engine, without waiting."""
        self._tasks[name] = asyncio.create_task(_page(self._engines[name], self._request), name=f"search {name}")

    def ask_all(self) -> None:
        """Ask every engine, without waiting."""
        for name in self._engines:
            self.ask(name)

    @property
    def waiting(self) -> set[str]:
        """The engines that are still at it."""
        return {name for name, task in self._tasks.items() if not task.done()}

    async def next(self, patience: float | None = None) -> set[str]:
        """Wait until some engine is through, at most `patience` seconds; returns those that are through now."""
        waiting = {task: name for name, task in self._tasks.items() if not task.done()}
        done, _ = await asyncio.wait(waiting, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        return {waiting[task] for task in done}

    def pages(self) -> list[SearchPage]:
        """Return what has come, in the order of asking; raises at once what is no failure of an engine but a bug."""
        return [task.result() for task in self._done() if not _failed(task)]

    def enough(self, count: int) -> bool:
        """Return whether the pages hold this many hits, or as many as are wanted, each page of the web once."""
        return len(fuse(self.pages(), self._request.limit).hits) >= min(count, self._request.limit)

    def merged(self, late: Mapping[str, str] | None = None) -> SearchPage:
        """Return all that has come as one page; raises a group of all failures where every engine failed.

        `late` are engines that are waited for no longer, with the reason: the page says so.
        """
        pages = self.pages()
        if not pages:
            raise ExceptionGroup("every engine failed", [error for task in self._done() if (error := _failed(task))])
        failures = tuple(
            Failure(kind="search", provider=name, category="NETWORK", type="Late", message=reason)
            for name, reason in (late or {}).items()
        )
        return fuse(pages, self._request.limit).model_copy(update={"failures": failures})

    def _done(self) -> Iterator[Asked]:
        return (task for task in self._tasks.values() if task.done())


def _failed(task: Asked) -> CallFailed | None:
    error = task.exception()
    if error is None or isinstance(error, CallFailed):
        return error
    raise error


async def _page(engine: Search, request: SearchRequest) -> SearchPage:
    return await engine(request)
