"""Searches by several engines at once, and the fusion of their results."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leadline.contracts import Search
from leadline.errors import CallFailed
from leadline.records import Failure, Hit, SearchPage, SearchRequest
from leadline_plugins.canonical import canonical

# The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009); higher values favour first ranks less.
K = 60
# Fields that are taken from another engine if they are empty.
_FILLED = ("title", "snippet", "text", "content_url", "published", "images", "rights", "csl")
SearchTask = asyncio.Task[SearchPage]


class ParallelSearch:
    """Searches by several engines for one query; the end of the block cancels and awaits the unfinished ones."""

    def __init__(self, request: SearchRequest, engines: Mapping[str, Search]) -> None:
        self._request = request
        self._engines = engines
        self._tasks: dict[str, SearchTask] = {}

    async def __aenter__(self) -> ParallelSearch:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def start(self, name: str) -> None:
        """Start the search of one engine."""
        self._tasks[name] = asyncio.create_task(self._engines[name](self._request), name=f"search {name}")

    def start_all(self) -> None:
        """Start the searches of all engines."""
        for name in self._engines:
            self.start(name)

    @property
    def running(self) -> set[str]:
        """The engines that have not finished."""
        return {name for name, task in self._tasks.items() if not task.done()}

    @property
    def droppable(self) -> set[str]:
        """The engines that have not finished and may be dropped: free ones are waited for."""
        return {name for name in self.running if not self._engines[name].free}

    async def next(self, patience: float | None = None) -> set[str]:
        """Wait until an engine finishes, at most `patience` seconds, and return those that did."""
        names = {task: name for name, task in self._tasks.items() if not task.done()}
        done, _ = await asyncio.wait(names, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        return {names[task] for task in done}

    def pages(self) -> list[SearchPage]:
        """Return the pages that have arrived, in the order of the starts; raises errors that are bugs of an engine."""
        return [task.result() for task in self._done() if not _failure(task)]

    def enough(self, count: int) -> bool:
        """Return whether the pages have this many different hits, or as many as were requested."""
        return len(fuse(self.pages(), self._request.limit).hits) >= min(count, self._request.limit)

    def merged(self, late: Mapping[str, str] | None = None) -> SearchPage:
        """Return all pages as one; raises a group of all failures if every engine failed.

        `late` are unfinished engines with the reason, which become failures of the page.
        """
        pages = self.pages()
        if not pages:
            raise ExceptionGroup("every engine failed", [error for task in self._done() if (error := _failure(task))])
        failures = tuple(
            Failure(kind="search", provider=name, category="NETWORK", type="Late", message=reason)
            for name, reason in (late or {}).items()
        )
        return fuse(pages, self._request.limit).model_copy(update={"failures": failures})

    def _done(self) -> Iterator[SearchTask]:
        return (task for task in self._tasks.values() if task.done())


def _failure(task: SearchTask) -> CallFailed | None:
    error = task.exception()
    if error is None or isinstance(error, CallFailed):
        return error
    raise error


# --- fusion ----------------------------------------------------------------------------------------------------------


def fuse(pages: Sequence[SearchPage], limit: int) -> SearchPage:
    """Merge pages by reciprocal rank over canonical URLs; the better tier of source breaks ties."""
    scores: dict[str, float] = {}
    hits: dict[str, list[Hit]] = {}
    for page in pages:
        for rank, (name, same) in enumerate(_by_address(page).items(), start=1):
            scores[name] = scores.get(name, 0.0) + 1 / (K + rank)
            hits.setdefault(name, []).extend(same)
    merged = {name: _merged(same) for name, same in hits.items()}
    best = sorted(merged, key=lambda name: (-round(scores[name], 12), merged[name].tier))
    suggestion = next((page.suggestion for page in pages if page.suggestion), "")
    return SearchPage(hits=tuple(merged[name] for name in best[:limit]), suggestion=suggestion)


def _by_address(page: SearchPage) -> dict[str, list[Hit]]:
    """Return the hits of one engine by URL, so that a repeated one counts once."""
    hits: dict[str, list[Hit]] = {}
    for hit in page.hits:
        hits.setdefault(canonical(hit.url), []).append(hit)
    return hits


def _merged(same: Sequence[Hit]) -> Hit:
    """Return the first citable hit, with its empty fields filled from the others."""
    first = next((hit for hit in same if hit.citable), same[0])
    if len(same) == 1:
        return first
    new: dict[str, Any] = {"labels": frozenset().union(*(hit.labels for hit in same))}
    for name in _FILLED:
        known = (getattr(hit, name) for hit in same if hit.citable or not first.citable)
        new[name] = getattr(first, name) or next(filter(None, known), getattr(first, name))
    return first.model_copy(update=new)
