"""Sessions without a run: plugins that perform tasks, fetch, format or judge for a command."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from leadline._runtime.calls.job import CHAT
from leadline._runtime.calls.limits import ClientLimits
from leadline._runtime.journal.journal import Journal
from leadline._runtime.plugins import PluginRuntime
from leadline._runtime.runs.folder import JOURNAL
from leadline._runtime.runs.metadata import usage_of
from leadline._runtime.runs.run_request import RunRequest
from leadline._runtime.runs.session import Session
from leadline._settings.load import Loaded
from leadline.contracts import Run
from leadline.records import Blob, Document, Principal


class AdhocRun:
    """Plugins at work without a run; `run` performs tasks, fetches and judges. See `Client.adhoc`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.run: Run = session.run

    async def parse(self, blob: Blob) -> Document:
        """Parse a file with the first parser of the settings that accepts it."""
        return await self._session.run.parse(blob)

    @property
    def notices(self) -> tuple[str, ...]:
        """What was done with less, and why."""
        return self._session.run.notices

    @property
    def usage(self) -> dict[str, Any]:
        """The tokens and the cost of the model calls so far, as in the metadata of a run, and their number `chats`."""
        rows = self._session.journal.rows()
        return {**usage_of(rows), "chats": sum(row.kind == CHAT for row in rows)}

    async def model(self, task: str) -> str:
        """Return the model that comes first for a task, as PROVIDER:MODEL; empty if no model was called."""
        return await self._session.run.model_of(task) if self.usage["chats"] else ""


@asynccontextmanager
async def adhoc_session(
    loaded: Loaded,
    question: str,
    *,
    limits: ClientLimits | None = None,
    plugins: PluginRuntime | None = None,
    principal: Principal | None = None,
) -> AsyncIterator[Session]:
    """Provide a session in a temporary folder, whose `run` performs tasks outside of a run. Raises `ConfigError`.

    `plugins` are those of `loaded`, kept for the next session; by default they are created with the `limits` of the
    client, and closed.
    """
    own = plugins is None
    plugins = plugins or PluginRuntime(replace(loaded, chosen={**loaded.chosen, "observers": ()}), limits=limits)
    try:
        with TemporaryDirectory(prefix="leadline-") as folder:
            journal = await Journal.open(Path(folder) / JOURNAL)
            try:
                request = RunRequest.new(question, plugins.loaded, {}, principal)
                session = await Session.open(request, Path(folder), plugins, journal)
                try:
                    yield session
                finally:
                    await session.run.close()
                    await session.run.bus.close()
            finally:
                await journal.close()
    finally:
        if own:
            await plugins.close()
