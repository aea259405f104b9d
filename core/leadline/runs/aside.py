"""Tasks asked outside of any run, with the settings' models, budget and prompts, in a folder that goes again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from leadline.assemble import House
from leadline.journal.journal import Journal
from leadline.models.chains import chain_of
from leadline.runs.folder import JOURNAL
from leadline.runs.order import new_order
from leadline.runs.run import ActiveRun
from leadline.runs.session import Session
from leadline.settings.load import Loaded


@asynccontextmanager
async def aside(loaded: Loaded, what: str) -> AsyncIterator[Session]:
    """Lend a session by whose `run` tasks are performed; nobody watches it, and nothing of it stays.

    Raises `ConfigError`.
    """
    house = House(replace(loaded, chosen={**loaded.chosen, "observers": ()}))
    try:
        with TemporaryDirectory(prefix="leadline-") as folder:
            journal = await Journal.open(Path(folder) / JOURNAL)
            try:
                order = new_order(what, house.settings, {})
                session = await Session.open(order, Path(folder), house, journal)
                try:
                    yield session
                finally:
                    await session.run.leave_ahead()
                    await session.door.close()
                    await session.bus.close()
            finally:
                await journal.close()
    finally:
        await house.close()


async def model_of(run: ActiveRun, task: str) -> str:
    """Return the language model that is asked first for a task, PROVIDER:MODEL; empty where an algorithm does it."""
    if not await run.by_chat(task):
        return ""
    choice = next(chain_of(run.house, run.chosen["ai.providers"], task, "task"))
    provider = await choice.member.get()
    model = choice.model or provider.traits(choice.model).model
    return f"{choice.member.name}:{model}" if model else choice.member.name
