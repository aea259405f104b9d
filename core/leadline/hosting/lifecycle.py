"""The life of a made plugin: entered lazily, left at the end, by one task of its own.

Sessions of anyio SDKs must be left by the task that entered them; a plugin whose session is gone is left and entered
anew, while its callers wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from leadline.door.faults import Held, trace, wished, words
from leadline.door.secrets import Secrets
from leadline.errors import LeadlineError, PluginError


class Keeper:
    """Keeps one plugin: made at its first use, never twice at once."""

    def __init__(
        self,
        name: str,
        make: Callable[[], Any],
        ready: Callable[[Any], Any] = lambda made: made,
        *,
        who: str = "",
        secrets: Secrets | None = None,
    ) -> None:
        """`ready` takes the plugin as it was entered, and returns what is used; `who` names it in errors."""
        self.name = name
        self._who = who or f"plugin '{name}'"
        self._secrets = secrets or Secrets()
        self._make = make
        self._ready = ready
        self._lock = asyncio.Lock()
        self._instance: Any = None
        self._leave = asyncio.Event()
        self._life: asyncio.Task[None] | None = None

    async def get(self) -> Any:
        """Return the plugin, made and entered."""
        if self._instance is not None:
            return self._instance
        async with self._lock:
            if self._instance is None:
                self._instance = self._ready(await self._enter(self._made()))
            return self._instance

    async def restart(self) -> None:
        """Leave the plugin; the next use makes and enters it anew."""
        async with self._lock:
            await self._exit()

    async def close(self) -> None:
        """Leave the plugin for good."""
        async with self._lock:
            await self._exit()

    def _made(self) -> Any:
        try:
            return self._make()
        except LeadlineError:
            raise
        except BaseException as error:
            if wished(error):
                raise
            told = PluginError(f"{self._who} could not be made: {self._secrets.scrub(words(error))}")
            told.traceback = trace(error, self._secrets.scrub)
            raise told from error

    async def _enter(self, made: Any) -> Any:
        if not hasattr(made, "__aenter__"):
            return made
        entered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        self._life = asyncio.create_task(self._live(made, entered), name=f"life of {self.name}")
        return await entered

    async def _live(self, made: Any, entered: asyncio.Future[Any]) -> None:
        try:
            async with made as inner:
                entered.set_result(made if inner is None else inner)
                await self._leave.wait()
        except BaseException as error:
            if entered.done() or wished(error):
                raise
            entered.set_exception(error if isinstance(error, Exception) else Held(error))

    async def _exit(self) -> None:
        self._instance = None
        if self._life is not None:
            self._leave.set()
            life, self._life = self._life, None
            # A session that is already gone fails again when it is left; the next call tells whether it matters.
            with suppress(Exception):
                await life
