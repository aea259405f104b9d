"""How a session is opened over the folder of a run: to begin it, to go on with it, or to go through it again.

Where that fails the journal is closed, and of a run that could not begin no folder is left behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from leadline.assemble import House
from leadline.errors import LeadlineError
from leadline.journal.journal import Journal
from leadline.runs.earlier import Earlier
from leadline.runs.folder import JOURNAL, LOCK
from leadline.runs.opening import forget_failures, keep_order
from leadline.runs.order import Order
from leadline.runs.person import Asker
from leadline.runs.session import Session


async def begin(
    order: Order, folder: Path, house: House, *, asker: Asker | None, observers: Mapping[str, Any] | None
) -> Session:
    """Return the first session of a run."""
    with _tidied(folder):
        journal = await Journal.open(folder / JOURNAL)
    async with _closed_on_failure(journal):
        await keep_order(journal, order)
        return await Session.open(order, folder, house, journal, asker=asker, observers=observers)


async def go_on(
    order: Order,
    folder: Path,
    house: House,
    *,
    asker: Asker | None,
    observers: Mapping[str, Any] | None,
    retry_failed: bool,
) -> Session:
    """Return the next session of a run; with `retry_failed` all calls that failed are tried again.

    The settings of this session become the run's, so that the next one needs none of them said again; where the run is
    complete only if this session is so too, as its files do.
    """
    journal = await Journal.open(folder / JOURNAL)
    order = order.under(house.settings)
    async with _closed_on_failure(journal):
        await forget_failures(journal, order, house, everything=retry_failed)
        session = await Session.open(order, folder, house, journal, asker=asker, observers=observers)
        session.earlier = await asyncio.to_thread(Earlier.of, folder)
        if session.earlier is None:
            await keep_order(journal, order)
        return session


async def go_again(order: Order, folder: Path, house: House) -> Session:
    """Return a session that is offline and writes nothing."""
    journal = await Journal.open(folder / JOURNAL, mode="read")
    async with _closed_on_failure(journal):
        return await Session.open(order.under(house.settings), folder, house, journal)


async def order_of(folder: Path) -> Order:
    """Return what a run was asked to do. Raises LeadlineError for one that has not begun."""
    journal = await Journal.open(folder / JOURNAL, mode="read")
    try:
        stored = await journal.get_meta("order")
    finally:
        await journal.close()
    if stored is None:
        raise LeadlineError(f"{folder} has not begun: there is nothing to go on with; start the run again")
    return Order.model_validate(stored)


@contextmanager
def _tidied(folder: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):  # what could not be made cannot be taken away either
            (folder / LOCK).unlink(missing_ok=True)
            folder.rmdir()
        raise


@asynccontextmanager
async def _closed_on_failure(journal: Journal) -> AsyncIterator[None]:
    try:
        yield
    except BaseException:
        await journal.close()
        raise
