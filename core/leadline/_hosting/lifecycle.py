"""The lifecycle of a plugin: created and entered at its first use, exited at the end.

The task that entered a session of an anyio SDK must also exit it, so each session has a task of its own. Its callers
cannot cancel that task: one that is cancelled while the plugin is being entered only stops waiting. Neither
`__aenter__` nor `__aexit__` can keep anybody waiting for ever. A plugin whose session is gone is exited and entered
again.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Set
from contextvars import Context
from dataclasses import dataclass, field
from functools import cache, wraps
from math import inf
from typing import Any, get_args

from leadline._hosting.faults import is_cancellation, trace, words
from leadline.errors import LeadlineError, PluginError, PluginFault
from leadline.hookspecs import KINDS

# Seconds that a plugin has to be entered, unless its calls may take longer.
ENTER_SECONDS = 60.0
# Seconds that a plugin has to exit, and then to end after its cancellation.
EXIT_SECONDS, GRACE = 10.0, 5.0


@dataclass(eq=False)
class PluginLifecycle:
    """Creates one plugin at its first use, enters it if it is a context manager, and exits it.

    `ready` receives the entered plugin and returns what is used; `who` is its name in errors. `seconds` limit the time
    to enter it; `warn` receives what goes wrong when it is exited for good.
    """

    who: str
    make: Callable[[], Any]
    ready: Callable[[Any], Any] = lambda plugin: plugin
    scrub: Callable[[str], str] = str
    seconds: float = ENTER_SECONDS
    warn: Callable[[str], None] = lambda message: None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _session: PluginSession | None = field(default=None, init=False)

    async def get(self) -> Any:
        """Return the plugin, created and entered."""
        async with self._lock:
            if self._session is not None and self._session.is_over:
                await self._session.leave()
                self._session = None
            if self._session is None:
                self._session = PluginSession(self._create(), self.ready, self.who, self.seconds)
            session = self._session
        return await session.plugin()

    async def restart(self, since: float = inf) -> None:
        """Exit the plugin; the next use creates and enters it again.

        A plugin that was created after `since`, in seconds of the event loop, stays: another caller restarted it.
        """
        async with self._lock:
            if self._session is not None and self._session.created <= since:
                await self._session.leave()

    async def close(self) -> None:
        """Exit the plugin for good, within `EXIT_SECONDS` and `GRACE`."""
        async with self._lock:
            problem = await self._session.leave() if self._session is not None else ""
            self._session = None
        if problem:
            self.warn(self.scrub(f"{self.who} {problem}"))

    def _create(self) -> Any:
        try:
            plugin = self.make()
        except LeadlineError:
            raise
        except BaseException as error:
            if is_cancellation(error):
                raise
            failure = PluginError(f"{self.who} could not be created: {self.scrub(words(error))}")
            failure.traceback = trace(error, self.scrub)
            raise failure from error
        if inspect.iscoroutine(plugin):
            plugin.close()
            raise PluginError(f"{self.who} has an async factory: write `def`, and wait in `__aenter__` instead")
        return plugin


class PluginSession:
    """One life of a plugin; one that is no context manager is there at once and has nothing to exit."""

    def __init__(self, plugin: Any, ready: Callable[[Any], Any], who: str, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self.created = loop.time()
        self._who = who
        self._seconds = seconds
        self._ready = ready
        self._entered: asyncio.Future[Any] = loop.create_future()
        self._leaving = asyncio.Event()
        self._problem = ""
        self._task: asyncio.Task[None] | None = None
        if hasattr(plugin, "__aenter__"):
            # In a context of its own: that of the first call would keep its run as long as the plugin is open.
            self._task = asyncio.create_task(self._live(plugin), name=f"session of {who}", context=Context())
        else:
            self._entered.set_result(ready(plugin))

    @property
    def is_over(self) -> bool:
        """True if it was left, could not be entered, or ended by itself."""
        failed = self._entered.done() and self._entered.exception() is not None
        return failed or self._leaving.is_set() or (self._task is not None and self._task.done())

    async def plugin(self) -> Any:
        """Return the entered plugin, or raise the error of its `__aenter__`."""
        if not self._entered.done():  # a caller that is cancelled does not cancel the future of the others
            await asyncio.wait({self._entered}, timeout=self._seconds)
        if not self._entered.done() and self._task is not None:
            self._fail(PluginError(f"{self._who} was not entered: its __aenter__ took longer than {self._seconds:g} s"))
            self._task.cancel()
        return self._entered.result()

    async def leave(self) -> str:
        """Exit the plugin and return what went wrong. May be called again."""
        self._leaving.set()
        if self._task is None or self._task.done() or self._problem:
            return self._problem
        if not self._entered.done():
            self._fail(PluginError(f"{self._who} was closed while it was being entered"))
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=EXIT_SECONDS)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=GRACE)
            self._problem = f"did not end within {EXIT_SECONDS:g} s"
        if not self._task.done():
            self._problem += " and goes on although it was cancelled"
        return self._problem

    async def _live(self, plugin: Any) -> None:
        entered = False
        try:
            async with plugin as inner:
                if not self._entered.done():
                    self._entered.set_result(self._ready(plugin if inner is None else inner))
                    entered = True
                    await self._leaving.wait()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit would take the event loop with it
            if entered:
                self._problem = f"raised on exit: {words(error)}"
            elif isinstance(error, Exception):
                self._fail(error)
            else:
                self._fail(PluginError(f"{self._who} raised {words(error)} while it was being entered"))

    def _fail(self, error: Exception) -> None:
        if not self._entered.done():
            self._entered.set_exception(error)
            self._entered.exception()  # marks it as retrieved: perhaps nobody waits any more


# --- methods that must be async --------------------------------------------------------------------------------------


@cache
def awaited(kind: str) -> Set[str]:
    """Return the methods of a kind's contracts that are awaited."""
    methods = _coroutines(vars(KINDS[kind])["__orig_bases__"][0]) - {"__aenter__", "__aexit__"}
    return methods | {"map", "rest"} if kind == "stages" else methods


def _coroutines(annotation: Any) -> Set[str]:
    if contracts := get_args(annotation):
        return set().union(*map(_coroutines, contracts))
    return {name for name, member in vars(annotation).items() if inspect.iscoroutinefunction(member)}


def awaitable(plugin: Any, kinds: Iterable[str], who: str) -> Any:
    """Return a plugin whose methods raise `PluginFault` with `who` if they return something that cannot be awaited.

    A method without `async` is allowed, since it may return the awaitable of another one.
    """
    for name in {name for kind in kinds for name in awaited(kind)}:
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
