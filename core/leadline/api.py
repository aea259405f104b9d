"""The Python interface: `research()`, `research_sync()`, and `Client` for everything else.

result = await leadline.research("How does …?", docs="papers/")

async with leadline.Client(docs="papers/") as client:
    run = await client.start("How does …?")
    async for event in run.events():
        print(event.kind, event.data)
    result = await run.result()
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, TypedDict, Unpack

from leadline._hosting.catalog import PluginCatalog
from leadline._runtime import loop_shutdown
from leadline._runtime.plugins import PluginRuntime, RuntimePool
from leadline._runtime.preview import Estimate, Explanation, estimate, explain
from leadline._runtime.runs.folder import delete_run, find_run, list_runs, run_info
from leadline._runtime.runs.run_context import Asker
from leadline._runtime.runs.run_request import RunRequest, check_question
from leadline._runtime.runs.session import Session, load_request
from leadline._settings.load import Loaded, load_settings
from leadline.contracts import Observer
from leadline.display import choose_from
from leadline.errors import UsageError
from leadline.events import Subscription
from leadline.runs import Result, RunInfo


class ClientOptions(TypedDict, total=False):
    """The options of `Client`, which `research` and `research_sync` take as well."""

    docs: str | Path | Sequence[str | Path]
    settings: str | Path | None
    set: Mapping[str, Any] | Sequence[str]
    pipeline: str
    formats: Sequence[str]
    folder: str | Path | None
    cache: str | Path | None
    plugins: Iterable[EntryPoint]


class Client:
    """Runs with one set of settings and shared plugins. Use it as an async context manager.

    `docs` are folders of documents to search first. `settings` is the settings file, by default `leadline.toml` in the
    working folder; `set` are single settings, as `{"search.strategy": "race"}` or `["search.strategy=race"]`.
    `folder` is the folder of runs and `cache` that of plugins' indexes. `plugins` are used like installed ones, for
    notebooks and tests (`leadline.testing.plugins.plugin` makes them).
    Wrong settings raise `ConfigError` when a run is started, resumed or explained.
    """

    def __init__(
        self,
        *,
        docs: str | Path | Sequence[str | Path] = (),
        settings: str | Path | None = None,
        set: Mapping[str, Any] | Sequence[str] = (),  # noqa: A002 - the name of the command-line option
        pipeline: str = "",
        formats: Sequence[str] = (),
        folder: str | Path | None = None,
        cache: str | Path | None = None,
        plugins: Iterable[EntryPoint] = (),
    ) -> None:
        folders = [docs] if isinstance(docs, str | os.PathLike) else list(docs)
        named = set if isinstance(set, Mapping) else {}
        self._docs = [str(Path(item).expanduser().absolute()) for item in folders]
        self._arguments: dict[str, Any] = {
            **({"pipeline": pipeline} if pipeline else {}),
            **({"report.formats": list(formats)} if formats else {}),
            **({"runs.folder": str(folder)} if folder is not None else {}),
            **named,
        }
        self._sets: Sequence[str] = () if isinstance(set, Mapping) else set
        self._file = Path(settings) if settings is not None else None
        self._catalog = PluginCatalog.discover(extra=plugins)
        self._pool = RuntimePool(Path(cache) if cache is not None else None)
        self._plugins: PluginRuntime | None = None
        self._handles: list[RunHandle] = []

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        for handle in tuple(self._handles):
            await handle.cancel()
        await self._pool.close()

    @property
    def catalog(self) -> PluginCatalog:
        """The installed plugins."""
        return self._catalog

    @property
    def plugins(self) -> PluginRuntime:
        """The plugins that the settings choose. Raises `ConfigError` at its first use if the settings are wrong."""
        if self._plugins is None:
            self._plugins = self._pool.acquire(self.load())
        return self._plugins

    def load(self, *, complete: bool = True) -> Loaded:
        """Return the settings with their origins. If `complete` is false, problems are listed instead of raised."""
        return self._load(complete=complete)

    async def research(
        self, question: str, *, tags: Mapping[str, str] | None = None, asker: Asker | None = None
    ) -> Result:
        """Answer a question."""
        handle = await self.start(question, tags=tags, asker=asker)
        handle.events().close()  # without a reader they would be kept until the end
        return await handle.result()

    async def start(
        self,
        question: str,
        *,
        tags: Mapping[str, str] | None = None,
        asker: Asker | None = None,
        observers: Mapping[str, Observer] | None = None,
    ) -> RunHandle:
        """Start a run and return at once. Raises `ConfigError`, or `UsageError` for an empty or too long question."""
        plugins = self.plugins
        request = RunRequest.new(check_question(question), plugins.settings, tags or {})
        folder = (plugins.settings.runs.folder / request.run_id).absolute()
        return self._handle(await Session.start(request, folder, plugins, asker=asker, observers=observers))

    async def resume(
        self,
        run: str | Path,
        *,
        retry_failed: bool = False,
        asker: Asker | None = None,
        observers: Mapping[str, Observer] | None = None,
    ) -> RunHandle:
        """Continue a run with the settings it had, overridden by those set in this client.

        The run keeps the combined settings. `run` is its folder, its id or the beginning of its id. `retry_failed`
        repeats all failed calls. A complete report is only replaced by another complete one. Raises `JournalBusy`
        while another process, or another run of this one, works on it: nothing was changed, try again later.
        """
        folder = find_run(self.runs_folder(), run)
        request = await load_request(folder)
        plugins = self._pool.acquire(self._load(stored=request.settings))
        try:
            session = await Session.resume(
                request, folder, plugins, retry_failed=retry_failed, asker=asker, observers=observers
            )
        except BaseException:
            await self._pool.release(plugins)
            raise
        handle = self._handle(session)
        handle.when_ended(lambda _: self._pool.release_soon(plugins))
        return handle

    async def replay(self, run: str | Path) -> Result:
        """Repeat a finished run offline, without writing files."""
        folder = find_run(self.runs_folder(), run)
        request = await load_request(folder)
        plugins = self._pool.acquire(self._load(stored=request.settings, offline=True))
        try:
            session = await Session.replay(request, folder, plugins)
            return await session.walk()
        finally:
            await self._pool.release(plugins)

    def explain(self) -> Explanation:
        """Return the plan of a run, without any call."""
        return explain(self.plugins)

    async def estimate(self, question: str = "") -> Estimate:
        """Return the likely calls, tokens and cost of a run, without any call."""
        return await estimate(self.plugins, question)

    def runs(self) -> list[RunInfo]:
        """Return all runs of the folder, newest first."""
        return list_runs(self.runs_folder())

    def find(self, run: str | Path) -> RunInfo:
        """Return a run, given its folder, its id or the beginning of its id. Raises `UsageError`."""
        return run_info(find_run(self.runs_folder(), run))

    def delete(self, run: str | Path) -> None:
        """Delete a run with all its files. Raises `JournalBusy` if the run is active."""
        delete_run(find_run(self.runs_folder(), run))

    def runs_folder(self) -> Path:
        """Return the folder of the runs."""
        if self._plugins is not None:
            return self._plugins.settings.runs.folder
        return self.load(complete=False).settings.runs.folder

    def _load(self, *, stored: Mapping[str, Any] | None = None, complete: bool = True, offline: bool = False) -> Loaded:
        return load_settings(
            self._catalog,
            arguments=self._arguments,
            sets=self._sets,
            stored=stored,
            file=self._file,
            complete=complete,
            docs=self._docs,
            offline=offline,
        )

    def _handle(self, session: Session) -> RunHandle:
        handle = RunHandle(session)
        self._handles.append(handle)
        handle.when_ended(self._handles.remove)
        return handle


class RunHandle:
    """A running run, as `Client.start` and `Client.resume` return it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._events = session.events()
        self._task = asyncio.create_task(session.walk(), name=f"run {self.id}")

    @property
    def id(self) -> str:
        """The id of the run, which is the name of its folder."""
        return self._session.run.id

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self._session.run.folder

    def events(self) -> Subscription:
        """Return all events of this session, as an async iterator for one reader that ends with the run."""
        return self._events

    def subscribe(self) -> Subscription:
        """Return the events from now on, for a further reader."""
        return self._session.events()

    def stop(self, reason: str = "stopped") -> None:
        """Stop searching and write up the findings so far; the run ends as `partial`."""
        self._session.stop(reason)

    def awaited_replies(self) -> int:
        """Return the number of model replies for which a stopped run still waits."""
        return self._session.run.calls.awaited_replies()

    def when_ended(self, do: Callable[[RunHandle], object]) -> None:
        """Call a function on the event loop when the run has ended in any way."""
        self._task.add_done_callback(lambda _: do(self))

    async def cancel(self, reason: str = "cancelled") -> None:
        """End the run at once. Completed calls are kept, and `resume` continues from there."""
        self._session.cancel_reason = reason
        self._task.cancel()
        await asyncio.wait({self._task})

    async def result(self) -> Result:
        """Wait for the end of the run and return its result."""
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._task.cancelled() and self._session.result is not None:
                return self._session.result
            raise


async def research(question: str, *, tags: Mapping[str, str] | None = None, **options: Unpack[ClientOptions]) -> Result:
    """Answer a question; the options are those of `Client`."""
    _check_options("research", options)
    async with Client(**options) as client:
        return await client.research(question, tags=tags)


def research_sync(question: str, *, tags: Mapping[str, str] | None = None, **options: Unpack[ClientOptions]) -> Result:
    """Answer a question, from code that is not async."""
    _check_options("research_sync", options)
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop()
        raise UsageError("an event loop is running in this thread: await leadline.research(…) instead")
    return loop_shutdown.run(research(question, tags=tags, **options))


def _check_options(function: str, options: Iterable[str]) -> None:
    """Raise `TypeError` for an unknown argument, like Python does, but with the nearest known one."""
    known = ClientOptions.__annotations__
    for name in options:
        if name not in known:
            choices = choose_from(name, ("tags", *known))
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}: {choices}")


def tune_gc() -> None:
    """Exempt modules, plugins and settings from garbage collection, and collect less often.

    Call it once they are loaded, in a process that mostly serves runs: it affects the whole process. Without it, full
    collections stop all runs for up to 150 ms and take a sixth of the time of many concurrent runs.
    """
    # Garbage that exists now stays, too: collecting it first would take 30 ms, and at the start there is little.
    gc.freeze()
    gc.set_threshold(5_000, 3, 120)
