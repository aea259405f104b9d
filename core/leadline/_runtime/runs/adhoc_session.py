"""A session without a run: plugins that perform tasks, format or judge for a command."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from leadline._runtime.journal.journal import Journal
from leadline._runtime.plugins import PluginRuntime
from leadline._runtime.runs.folder import JOURNAL
from leadline._runtime.runs.run_request import RunRequest
from leadline._runtime.runs.session import Session
from leadline._settings.load import Loaded
from leadline.records import Principal


@asynccontextmanager
async def adhoc_session(
    loaded: Loaded,
    question: str,
    *,
    plugins: PluginRuntime | None = None,
    principal: Principal | None = None,
) -> AsyncIterator[Session]:
    """Provide a session in a temporary folder, whose `run` performs tasks outside of a run. Raises `ConfigError`.

    `plugins` are those of `loaded`, kept for the next session; by default they are created and closed.
    """
    own = plugins is None
    plugins = plugins or PluginRuntime(replace(loaded, chosen={**loaded.chosen, "observers": ()}))
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
