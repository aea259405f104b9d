"""The lifecycle of a plugin: created and entered at its first use, exited at the end.

The task that entered a session of an anyio SDK must also exit it. A plugin whose session is gone is exited and entered
again, while its callers wait.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any

from leadline._hosting.faults import Held, is_cancellation, trace, words
from leadline.errors import LeadlineError, PluginError, PluginFault


class PluginLifecycle:
    """Creates one plugin at its first use, enters it if it is a context manager, and exits it."""

    def __init__(
        self,
        name: str,
        make: Callable[[], Any],
        ready: Callable[[Any], Any] = lambda plugin: plugin,
        *,
        who: str = "",
        scrub: Callable[[str], str] = str,
    ) -> None:
        """`ready` receives the entered plugin and returns what is used; `who` is its name in errors."""
        self.name = name
        self._who = who or f"plugin '{name}'"
        self._scrub = scrub
        self._make = make
        self._ready = ready
        self._lock = asyncio.Lock()
        self._instance: Any = None
        self._exit_requested = asyncio.Event()
        self._session: asyncio.Task[None] | None = None

    async def get(self) -> Any:
        """Return the plugin, created and entered."""
        if self._instance is not None:
            return self._instance
        async with self._lock:
            if self._instance is None:
                self._instance = self._ready(await self._enter(self._create()))
            return self._instance

    async def restart(self) -> None:
        """Exit the plugin; the next use creates and enters it again."""
        async with self._lock:
            await self._exit()

    async def close(self) -> None:
        """Exit the plugin for good."""
        async with self._lock:
            await self._exit()

    def _create(self) -> Any:
        try:
            return self._make()
        except LeadlineError:
            raise
        except BaseException as error:
            if is_cancellation(error):
                raise
            failure = PluginError(f"{self._who} could not be created: {self._scrub(words(error))}")
            failure.traceback = trace(error, self._scrub)
            raise failure from error

    async def _enter(self, plugin: Any) -> Any:
        if not hasattr(plugin, "__aenter__"):
            return plugin
        entered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._exit_requested = asyncio.Event()
        self._session = asyncio.create_task(self._run_session(plugin, entered), name=f"session of {self.name}")
        return await entered

    async def _run_session(self, plugin: Any, entered: asyncio.Future[Any]) -> None:
        try:
            async with plugin as inner:
                entered.set_result(plugin if inner is None else inner)
                await self._exit_requested.wait()
        except BaseException as error:
            if entered.done() or is_cancellation(error):
                raise
            entered.set_exception(error if isinstance(error, Exception) else Held(error))

    async def _exit(self) -> None:
        self._instance = None
        if self._session is not None:
            self._exit_requested.set()
            session, self._session = self._session, None
            # A session that is already gone fails again on exit; the next call shows whether that matters.
            with suppress(Exception):
                await session


# --- methods that must be async --------------------------------------------------------------------------------------

# The methods that are awaited, by kind.
AWAITED: Mapping[str, tuple[str, ...]] = {
    "ai_providers": ("chat", "perform"),
    "search_providers": ("search",),
    "search_strategies": ("search",),
    "synthesizers": ("synthesize",),
    "chart_runners": ("draw",),
    "sandboxes": ("execute",),
    "report_formatters": ("format",),
    "fetchers": ("fetch",),
    "parsers": ("parse",),
    "embedders": ("embed",),
    "rerankers": ("rerank",),
    "claim_judges": ("judge",),
    "stages": ("run", "map", "rest"),
    "middleware": ("around",),
    "observers": ("observe",),
}


def awaitable(plugin: Any, kinds: Iterable[str], who: str) -> Any:
    """Return a plugin whose methods raise `PluginFault` with `who` if they return something that cannot be awaited.

    A method without `async` is allowed, since it may return the awaitable of another one.
    """
    for name in {name for kind in kinds for name in AWAITED[kind]}:
        method = getattr(plugin, name, None)
        if (inspect.ismethod(method) or inspect.isfunction(method)) and not inspect.iscoroutinefunction(method):
            try:
                setattr(plugin, name, _checked(method, who))
            except (AttributeError, TypeError):
                continue  # slots or a frozen class: Python's own message must do
    return plugin


def _checked(method: Callable[..., Any], who: str) -> Callable[..., Awaitable[Any]]:
    @wraps(method)
    async def checked(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        if not inspect.isawaitable(result):
            raise PluginFault(
                f"{who} returns {type(result).__name__} from {method.__qualname__}, which is awaited: "
                f"write `async def {method.__name__}`"
            )
        return await result

    return checked
