"""The front door: `research()` and its sync twin, and `Client` for everything else.

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
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Unpack

from leadline.assemble import House
from leadline.concurrency import leaving
from leadline.errors import UsageError
from leadline.explain import Explanation, explain
from leadline.handle import RunHandle
from leadline.hosting.host import Host
from leadline.models.estimate import Estimate, estimate
from leadline.options import ClientOptions, check_options
from leadline.result import Result
from leadline.runs.houses import Houses
from leadline.runs.launching import begin, go_again, go_on, order_of
from leadline.runs.listing import RunInfo, delete_run, find_run, info, list_runs
from leadline.runs.order import Order, checked_question, new_order
from leadline.runs.person import Asker
from leadline.runs.session import Session
from leadline.settings.load import Loaded, load_settings


class Client:
    """Runs over one set of settings; plugins are made once and shared. Use it as an async context manager.

    `docs` are folders whose documents are searched first; `settings` is the settings file (default: `leadline.toml` in
    the working folder); `set` are single settings, as `{"search.strategy": "race"}` or `["search.strategy=race"]`;
    `folder` is where runs are kept, `cache` where plugins keep their indexes; `plugins` join the installed ones
    without being installed (`leadline.testing.plugins.plugin` makes them): for notebooks and tests.
    Settings that cannot work raise `ConfigError` when a run is started, resumed or explained.
    """

    def __init__(
        self,
        *,
        docs: str | Path | Sequence[str | Path] = (),
        settings: str | Path | None = None,
        set: Mapping[str, Any] | Sequence[str] = (),  # noqa: A002 - the name of the option, in every front door
        pipeline: str = "",
        formats: Sequence[str] = (),
        folder: str | Path | None = None,
        cache: str | Path | None = None,
        plugins: Iterable[EntryPoint] = (),
    ) -> None:
        folders = _folders(docs)
        self._docs = bool(folders)
        self._arguments = _arguments(folders, pipeline, formats, folder)
        self._sets: Sequence[str] = ()
        if isinstance(set, Mapping):
            self._arguments = {**self._arguments, **set}
        else:
            self._sets = set
        self._file = Path(settings) if settings is not None else None
        self._host = Host.discover(extra=plugins)
        self._houses = Houses(Path(cache) if cache is not None else None)
        self._handles: list[RunHandle] = []
        self._house: House | None = None

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        for handle in tuple(self._handles):
            await handle.cancel()
        await self._houses.close()

    def load(self, *, complete: bool = True) -> Loaded:
        """Return the settings with their origins; with `complete` false, problems are listed and not raised."""
        return self._load(complete=complete)

    @property
    def host(self) -> Host:
        """The installed plugins."""
        return self._host

    @property
    def house(self) -> House:
        """The chosen plugins; made when first asked for, since a run that is resumed brings settings of its own."""
        if self._house is None:
            self._house = self._houses.lend(self.load())
        return self._house

    async def research(
        self, question: str, *, tags: Mapping[str, str] | None = None, asker: Asker | None = None
    ) -> Result:
        """Answer a question; the pipeline is that of the settings."""
        handle = await self.start(question, tags=tags, asker=asker)
        handle.events().close()  # nobody can read them here, and they would be held until the end
        return await handle.result()

    async def start(
        self,
        question: str,
        *,
        tags: Mapping[str, str] | None = None,
        asker: Asker | None = None,
        observers: Mapping[str, Any] | None = None,
    ) -> RunHandle:
        """Start a run and return at once. Raises `UsageError` for a question that is none, `ConfigError`."""
        house = self.house
        order = new_order(checked_question(question), house.settings, tags or {})
        folder = (house.settings.runs.folder / order.run_id).absolute()
        return self._handle(await begin(order, folder, house, asker=asker, observers=observers))

    async def resume(
        self,
        run: str | Path,
        *,
        retry_failed: bool = False,
        asker: Asker | None = None,
        observers: Mapping[str, Any] | None = None,
    ) -> RunHandle:
        """Go on with a run from where it was, with the settings it had; this client's own `set` stand over them.

        What they come to are the run's settings from then on. Only a complete report replaces a complete one.
        `run` is its folder, its id, or the beginning of it. With `retry_failed` all calls that failed are tried again.
        """
        folder = find_run(self.runs_folder(), run)
        order = await order_of(folder)
        house = self._house_of(order)
        opening = go_on(order, folder, house, asker=asker, observers=observers, retry_failed=retry_failed)
        try:
            handle = self._handle(await opening)
        except BaseException:
            await self._houses.give_back(house)
            raise
        handle.when_ended(lambda _: self._houses.give_back_soon(house))
        return handle

    async def replay(self, run: str | Path) -> Result:
        """Go through a finished run again, offline and without writing anything; returns its report."""
        folder = find_run(self.runs_folder(), run)
        order = await order_of(folder)
        house = self._house_of(order, offline=True)
        try:
            session = await go_again(order, folder, house)
            return await session.go()
        finally:
            await self._houses.give_back(house)

    def explain(self) -> Explanation:
        """Return what a run would do, before anything is paid for."""
        return explain(self.house)

    async def estimate(self, question: str = "") -> Estimate:
        """Return what a run is likely to cost: calls, tokens, money. Asks nobody."""
        return await estimate(self.house, question)

    def runs(self) -> list[RunInfo]:
        """Return all runs of the folder, the newest first."""
        return list_runs(self.runs_folder())

    def find(self, run: str | Path) -> RunInfo:
        """Return a run by its folder, its id, or the beginning of it. Raises `UsageError`."""
        return info(find_run(self.runs_folder(), run))

    def delete(self, run: str | Path) -> None:
        """Delete a run with all its files. Raises `LeadlineError` while it goes on."""
        delete_run(find_run(self.runs_folder(), run))

    def runs_folder(self) -> Path:
        """Return the folder where runs are kept."""
        if self._house is not None:
            return self._house.settings.runs.folder
        return self.load(complete=False).settings.runs.folder

    # --- inside ------------------------------------------------------------------------------------------------------

    def _house_of(self, order: Order, *, offline: bool = False) -> House:
        """Lend the plugins chosen by the settings that a run had, as far as they were not secret."""
        return self._houses.lend(self._load(stored=order.settings, offline=offline))

    def _load(self, *, stored: Mapping[str, Any] | None = None, complete: bool = True, offline: bool = False) -> Loaded:
        return load_settings(
            self._host,
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


def _folders(docs: str | Path | Sequence[str | Path]) -> list[str]:
    folders = [docs] if isinstance(docs, str | os.PathLike) else list(docs)
    return [str(Path(item).expanduser().absolute()) for item in folders]


def _arguments(folders: list[str], pipeline: str, formats: Sequence[str], folder: str | Path | None) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if folders:
        arguments["plugins.local.folders"] = folders
    if pipeline:
        arguments["pipeline"] = pipeline
    if formats:
        arguments["report.formats"] = list(formats)
    if folder is not None:
        arguments["runs.folder"] = str(folder)
    return arguments


async def research(question: str, *, tags: Mapping[str, str] | None = None, **options: Unpack[ClientOptions]) -> Result:
    """Answer a question; the options are those of `Client`."""
    check_options("research", options)
    async with Client(**options) as client:
        return await client.research(question, tags=tags)


def research_sync(question: str, *, tags: Mapping[str, str] | None = None, **options: Unpack[ClientOptions]) -> Result:
    """Answer a question, from code that is not async."""
    check_options("research_sync", options)
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop()
        raise UsageError("an event loop runs here already: await leadline.research(…) instead")
    return leaving.run(research(question, tags=tags, **options))
