"""Strategy `batch`: all engines side by side, their results merged; stragglers are waited for a little."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from leadline.contracts import Call, Search
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import SearchPage, SearchRequest
from leadline_plugins.strategies.asking import Asking


class BatchSettings(PluginSettings):
    """How long a straggler is given another chance."""

    patience: Annotated[int, Field(ge=0)] = Field(
        3, description="Times in a row an engine may be late before it is waited for no more; 0: any number."
    )
    again: Annotated[float, Field(ge=0)] = Field(60, description="Seconds until such an engine is waited for again.")


class Punctuality:
    """Which engines were late lately. Without it one that hangs costs every batch of queries its wait."""

    def __init__(self, settings: BatchSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = settings.patience
        self._again = settings.again
        self._clock = clock
        self._late: dict[str, tuple[int, float]] = {}

    def trusted(self, name: str) -> bool:
        """Return whether it is worth waiting for this engine."""
        times, since = self._late.get(name, (0, 0.0))
        return not self._patience or times < self._patience or self._clock() - since >= self._again

    def note(self, on_time: set[str], late: set[str]) -> None:
        """Note how the engines did for one query."""
        for name in on_time:
            self._late.pop(name, None)
        for name in late:
            times, since = self._late.get(name, (0, 0.0))
            # Not waited for, it had no chance to be on time: that begins no new term.
            self._late[name] = (times + 1, self._clock() if self.trusted(name) else since)


class Batch:
    """Asks every engine; after the first good answer the others have `search.straggler` seconds."""

    def __init__(self, settings: BatchSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._punctual = Punctuality(settings, clock)

    async def search(self, request: SearchRequest, engines: Mapping[str, Search], call: Call, /) -> SearchPage:
        """Return the merged hits; raises a group of all failures when every engine failed."""
        straggler = call.run.settings.search.straggler
        async with Asking(request, engines) as asked:
            asked.ask_all()
            while asked.waiting and not asked.enough(1):
                await asked.next()
            await self._stragglers(asked, straggler)
            late = asked.waiting
            self._punctual.note(set(engines) - late, late)
            return asked.merged(dict.fromkeys(sorted(late), f"no answer {straggler:g} s after the first"))

    async def _stragglers(self, asked: Asking, seconds: float) -> None:
        end = time.monotonic() + seconds
        while any(map(self._punctual.trusted, asked.waiting)) and (left := end - time.monotonic()) > 0:
            await asked.next(left)


@hookimpl
def leadline_search_strategies() -> Iterator[Offer[Any, Batch]]:
    """Offer the strategy."""
    yield Offer(lambda settings, context: Batch(settings), BatchSettings, "All engines side by side, merged by rank")
