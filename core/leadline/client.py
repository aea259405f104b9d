"""`Client`: runs with one set of settings, started here, ordered for later, resumed, replayed, explained, listed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, TypedDict, Unpack

from leadline._hosting.catalog import PluginCatalog
from leadline._hosting.objects import points_of
from leadline._runtime.journal.lock import is_locked
from leadline._runtime.plugins import PluginRuntime, RuntimePool, default_cache
from leadline._runtime.preview import estimate, explain
from leadline._runtime.runs import session
from leadline._runtime.runs.adhoc import SETTINGS, KnowledgeClient, adhoc_run
from leadline._runtime.runs.conversations import FORGOTTEN, Place, earlier_turns, is_memorable, place_of
from leadline._runtime.runs.event_log import follow
from leadline._runtime.runs.folder import (
    EVENTS,
    JOURNAL,
    LOCK,
    delete_run,
    ended_before,
    find_run,
    folder_of,
    label_run,
    principal_of,
    run_info,
    write_atomically,
)
from leadline._runtime.runs.index import RunIndex
from leadline._runtime.runs.interprocess import Message, send
from leadline._runtime.runs.questions import Asker, answer_later
from leadline._runtime.runs.run import Run as Run
from leadline._runtime.runs.run import RunOptions
from leadline._runtime.runs.run_request import RunRequest, check_question, has_request, load_request
from leadline._settings.defaults import read_defaults
from leadline._settings.load import Given, Loaded, load_settings, pipeline_in, plugins_of, settings_of
from leadline._settings.sources import Sources
from leadline.comparison import Comparison, compare
from leadline.contracts import Observer
from leadline.errors import ConfigError, LeadlineError, UsageError
from leadline.estimates import Estimate, Explanation
from leadline.files import read_limited
from leadline.inventory import InstalledPipeline, InstalledPlugin, Setting
from leadline.permits import Permits
from leadline.records import Answer, Event, Files, Json, Principal, Report, Turn
from leadline.run_summary import RunSummary
from leadline.runs import Order, Result, RunInfo
from leadline.stores import RunStore, changing, close_store, open_store

REPORT = "report.json"
# Bytes. A report has its sources and their passages, and its pictures.
_LARGEST = 256 * 2**20


def is_run(folder: Path) -> bool:
    """Return whether a folder belongs to a run, or is a copy with its report as data."""
    return (folder / JOURNAL).is_file() or (folder / REPORT).is_file()


def read_report(path: Path) -> Report:
    """Read a report in the format `json`. Raises `UsageError`."""
    try:
        return Report.model_validate_json(read_limited(path, _LARGEST))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not a report in the format json: {str(error).splitlines()[0]}") from error


class Earlier(TypedDict, total=False):
    """What a question continues; see `Client.start`."""

    follows: str | Path | None
    conversation: str
    turns: Sequence[Turn]


class Client:
    """Runs with one set of settings and shared plugins. Use it as an async context manager.

    `docs` are folders of documents to search, alone or before the engines that the settings name. `settings` is the
    settings file, by default `leadline.toml` in the working folder; `set` are single settings, as
    `{"search.strategy": "race"}` or `["search.strategy=race"]`.
    `folder` is the folder of runs and `cache` that of plugins' indexes. `plugins` are used like installed ones, for
    notebooks and tests (`leadline.testing.plugins.plugin` makes them). `engines` and `models` are objects of your
    program by name: providers, or functions of a query (to texts, `Hit` or their fields) and of a prompt (to a text).
    They are used in place of those of the settings, unless `set` names some; a run is resumed with the same names. With
    `permits` the limits of providers hold for all processes that share them.

    A `principal` is the user on whose behalf a run works: an id, or a `leadline.records.Principal` with a credential,
    which is never stored. Each principal has runs and cached replies of its own. A method with a `principal` finds only
    the runs of that principal; without one, it finds the runs without a principal, and any run by its folder.

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
        engines: Mapping[str, Any] | None = None,
        models: Mapping[str, Any] | None = None,
        permits: Permits | None = None,
    ) -> None:
        self._running: list[Run] = []
        folders = [docs] if isinstance(docs, str | os.PathLike) else list(docs)
        named = set if isinstance(set, Mapping) else {}
        self._docs = [str(Path(item).expanduser().absolute()) for item in folders]
        # For new runs only: a stored run has its own.
        self._pipeline = {"pipeline": pipeline} if pipeline else {}
        self._arguments: dict[str, Any] = {
            **({"report.formats": list(formats)} if formats else {}),
            **({"runs.folder": str(folder)} if folder is not None else {}),
            **({"search.engines": [*engines]} if engines else {}),
            **({"ai.providers": [*models]} if models else {}),
            **named,
        }
        self._sets: Sequence[str] = () if isinstance(set, Mapping) else set
        self._file = Path(settings) if settings is not None else None
        # Paths of documents that a command reads, beside those of the settings.
        self.reads: Sequence[str] = ()
        objects = [*points_of("engines", engines or {}), *points_of("models", models or {})]
        self._catalog = PluginCatalog.discover(extra=[*plugins, *objects])
        self._cache = Path(cache) if cache is not None else None
        self._pool = RuntimePool(self._cache, permits)
        self._plugins: PluginRuntime | None = None
        self._store: RunStore | None = None
        # So that an order that is run twice at the same time starts once.
        self._ordering = asyncio.Lock()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        for run in tuple(self._running):
            await run.cancel()
        self._plugins = None
        await self._pool.close()
        if self._store:
            close_store(self._store)
            self._store = None

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

    @cached_property
    def knowledge(self) -> KnowledgeClient:
        """The documents that Leadline keeps. Its methods raise `ConfigError` if the settings are wrong."""
        held: list[PluginRuntime] = []

        def plugins() -> PluginRuntime:
            if not held:
                held.append(self._pool.acquire(self._load(overrides=SETTINGS)))
            return held[0]

        return KnowledgeClient(plugins)

    def load(self, *, complete: bool = True) -> Loaded:
        """Return the settings with their origins. If `complete` is false, problems are listed instead of raised."""
        return self._load(complete=complete)

    async def research(
        self,
        question: str,
        *,
        tags: Mapping[str, str] | None = None,
        principal: Principal | str | None = None,
        asker: Asker | None = None,
        **earlier: Unpack[Earlier],
    ) -> Result:
        """Answer a question, or one that follows others; see `start`."""
        run = await self.start(question, tags=tags, principal=principal, asker=asker, **earlier)
        run.events().close()  # without a reader they would be kept until the end
        return await run.result()

    async def start(
        self,
        question: str,
        *,
        tags: Mapping[str, str] | None = None,
        principal: Principal | str | None = None,
        asker: Asker | None = None,
        interactive: bool = False,
        observers: Mapping[str, Observer] | None = None,
        **earlier: Unpack[Earlier],
    ) -> Run:
        """Start a run and return at once. Raises `ConfigError`, or `UsageError` for an empty or too long question.

        Questions of the run go to `asker`, which takes a message and the JSON schema of the answer; with `interactive`
        the run waits for whoever calls `Run.answer`. Without both it ends as `waiting`: `answer` it, then `resume` it.

        A question may continue others: with `follows` those of a run and of the runs that it followed, with the id of a
        `conversation` those of its last run; an unknown id begins a conversation. `turns` are earlier questions and
        answers that were no runs. With a model the earlier sources are sources of the new run.
        """
        request = self._request(question, self.plugins.loaded, tags, principal, earlier)
        return self._walk(await self._new(request, self.plugins, self._options(asker, interactive, observers)))

    def order(
        self,
        question: str,
        *,
        set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command-line option
        tags: Mapping[str, str] | None = None,
        principal: Principal | str | None = None,
        **earlier: Unpack[Earlier],
    ) -> Order:
        """Return a run that `run` starts, here or in another process with the same settings; `set` overrides some.

        Nothing is written yet. A question may continue others as in `start`; their runs are read when this one starts.
        Raises `ConfigError`, or `UsageError` for an empty or too long question.
        """
        loaded = self._load(overrides=set) if set else self.plugins.loaded
        return self._request(question, loaded, tags, principal, earlier)

    async def run(
        self,
        order: Order,
        *,
        principal: Principal | str | None = None,
        asker: Asker | None = None,
        interactive: bool = False,
        observers: Mapping[str, Observer] | None = None,
        owns: Callable[[], bool] | None = None,
    ) -> Run:
        """Start the run of an order, or continue it where it was; if it runs in this client, return it.

        So it can be repeated after any crash. Raises `JournalBusy` while another process works on the run. `principal`
        repeats the credential, which an order does not keep; `owns` is that of `resume`, and the other arguments are
        those of `start`.
        """
        request = RunRequest.model_validate(order.model_dump()).on_behalf_of(principal_of(principal))
        # Of the caller's order, which the settings of this client must not change: a journal is no source of arguments.
        own = {**request.given_settings, "pipeline": request.pipeline}
        folder = self._folder(request)
        options = replace(self._options(asker, interactive, observers), owns=owns)
        async with self._ordering:
            if run := self._running_in(folder):
                return run
            if await has_request(folder):
                request = (await load_request(folder)).on_behalf_of(request.principal)
                plugins = self._pool.acquire(self._load(request, overrides=own))
                return await self._hold(plugins, session.resume(request, folder, plugins, options))
            plugins = self._pool.acquire(self._load(request, overrides=own))
            return await self._hold(plugins, self._new(request, plugins, options))

    async def resume(
        self,
        run: str | Path,
        *,
        retry_failed: bool = False,
        principal: Principal | str | None = None,
        asker: Asker | None = None,
        interactive: bool = False,
        observers: Mapping[str, Observer] | None = None,
        owns: Callable[[], bool] | None = None,
    ) -> Run:
        """Continue a run with the settings it had, overridden by those set in this client.

        The run keeps the combined settings. `run` is its folder, its id or the beginning of its id. `retry_failed`
        repeats all failed calls. A complete report is only replaced by another complete one. The run keeps its
        principal; `principal` repeats the credential. `asker` and `interactive` are as in `start`. Raises `JournalBusy`
        while another process, or another run of this one, works on it: nothing was changed, try again later.

        A queue passes `owns`, which returns whether the run is still the caller's and may be called in any thread. Then
        an earlier owner loses the run: if it was only paused, it makes no further call and writes nothing.
        """
        folder = self._find(run, principal)
        request = (await load_request(folder)).on_behalf_of(principal_of(principal))
        plugins = self._pool.acquire(self._load(request))
        options = replace(self._options(asker, interactive, observers), owns=owns)
        resuming = session.resume(request, folder, plugins, options, retry_failed=retry_failed)
        return await self._hold(plugins, resuming)

    async def replay(self, run: str | Path, *, principal: Principal | str | None = None) -> Result:
        """Repeat a finished run offline, without writing files."""
        folder = self._find(run, principal)
        request = await load_request(folder)
        plugins = self._pool.acquire(self._load(request, offline=True))
        try:
            replay = await session.open_replay(request, folder, plugins, self._options())
            try:
                return await session.walk(replay)
            finally:
                if replay.switched:
                    await self._pool.release(replay.switched)
        finally:
            await self._pool.release(plugins)

    async def format(self, report: Report, name: str) -> Files:
        """Return a report in a format of the installed plugins, with the client's settings, as files.

        `report.metadata["addresses"]` are those of a page that shows the report: of its `passages` and `figures` with
        `{id}`, of its `checks` with `{number}`. `markdown` links citations to them, and `html` returns a fragment for
        the page. Raises `ConfigError` for an unknown format, and `CallFailed`.
        """
        loaded = self._load(overrides={"report.formats": [name]})
        async with adhoc_run(loaded, report.title or name) as run:
            return await run.format(report, name)

    async def verify(self, report: Report | str, *, fetch: bool = False) -> Json:
        """Check the claims of a report with the judges of the settings; return what `leadline verify --json` prints.

        A report as data is judged by its stored sources. One in Markdown is judged by the sources that it lists if
        `fetch` reads them from the web; otherwise only its citations are checked. Raises `ConfigError`.
        """
        name = read_defaults(self._catalog.defaults).checker
        offer = self._catalog.offer("stages", name)
        purpose = "Do the sources of this report support its claims?"
        async with adhoc_run(self.load(), purpose, limits=self._pool.limits) as run:
            checker = offer.create(offer.settings(), run.plugins.context(name))
            checked = await checker.check_report(report, run, fetch=fetch)
            model = await run.model_of("verify_claim") if run.usage["chats"] else ""
            return {**checked, "model": model, "notices": list(run.notices)}

    @asynccontextmanager
    async def adhoc(self, purpose: str) -> AsyncIterator[Run]:
        """Provide plugins at work without a run, within the budget of one; `purpose` stands where a run has a question.

        Nothing is kept. Raises `ConfigError`.
        """
        async with adhoc_run(self.load(), purpose, limits=self._pool.limits) as run:
            yield run

    def explain(self) -> Explanation:
        """Return the plan of a run, without any call. Raises `ConfigError` if none would start."""
        if problem := self.plugins.loaded.unjudged:
            raise ConfigError(problem)
        return explain(self.plugins)

    async def estimate(self, question: str = "", *, pipeline: str = "") -> Estimate:
        """Return the likely calls, tokens and cost of a run, by default by the pipeline of the settings.

        Nothing is called. Raises `ConfigError` if the pipeline cannot run.
        """
        plugins = self._pool.acquire(self._load(overrides={"pipeline": pipeline})) if pipeline else self.plugins
        try:
            return await estimate(plugins, check_question(question) if question else "")
        finally:
            if pipeline:
                await self._pool.release(plugins)

    def describe_settings(self) -> dict[str, Setting]:
        """Return every setting with its origin, by dotted key. Masked is what no run stores: secrets, private texts."""
        return settings_of(self.load(complete=False))

    def describe_plugins(self) -> list[InstalledPlugin]:
        """Return the installed plugins, and what they lack. Loads all of them. Raises `ConfigError`."""
        loaded = self.load(complete=False)
        return plugins_of(loaded.catalog, loaded.catalog.entries(), loaded)

    def describe_pipelines(self) -> list[InstalledPipeline]:
        """Return the pipelines of the settings, and why some cannot run here."""
        names = self.load(complete=False).settings.pipelines
        return [pipeline_in(self._load(overrides={"pipeline": name}, complete=False)) for name in names]

    def runs_folder(self, *, principal: Principal | str | None = None) -> Path:
        """Return the folder of the principal's runs, or of those without one."""
        loaded = self._plugins.loaded if self._plugins is not None else self.load(complete=False)
        if loaded.untrusted and "runs" in loaded.untrusted.digests:
            raise loaded.untrusted
        self._store = self._store or open_store(loaded.settings.runs)
        return folder_of(loaded.settings.runs.folder, principal_of(principal))

    # --- runs on disk, of this and other processes -------------------------------------------------------------------

    def runs(
        self,
        *,
        text: str = "",
        status: str | None = None,
        conversation: str = "",
        limit: int | None = None,
        principal: Principal | str | None = None,
    ) -> list[RunSummary]:
        """Return all runs of the principal, or those without one, newest first.

        With a text, return those whose question, tags or report contain all its words, the best first. With the id of a
        conversation, return its runs.
        """
        index = RunIndex(self.runs_folder(principal=principal))
        if text.strip():
            return index.search(text, status=status, conversation=conversation, limit=limit)
        return index.runs(status=status, conversation=conversation, limit=limit)

    def find(self, run: str | Path, *, principal: Principal | str | None = None) -> RunInfo:
        """Return a run, given its folder, its id or the beginning of its id. Raises `UsageError`."""
        return run_info(self._find(run, principal))

    def events(
        self, run: str | Path, *, after: int = -1, deltas: bool = True, principal: Principal | str | None = None
    ) -> AsyncIterator[Event]:
        """Return the events of a run with numbers above `after`: first from its files, then until its session ends.

        The run may be finished, running here, or running in another process. To continue after a lost connection or a
        crash, pass the number of the last event received: none is missing or repeated. The observer `jsonl` writes the
        events; what it could not write is announced by an event `gap`.

        With `deltas`, text that is being written comes too (`call.delta`): of runs of this client, and of runs of other
        processes that called `Run.publish`, as workers of a server do. It is not sent again: a late reader gets
        the replies in flight from their beginning.
        """
        folder = self._find(run, principal)
        running = self._running_in(folder)
        subscribe = partial(running.bus.subscribe, deltas=True) if running else None
        return follow(folder / EVENTS, after, subscribe, lambda: is_locked(folder / LOCK), deltas=deltas)

    async def stop(self, run: str | Path, reason: str = "stopped", *, principal: Principal | str | None = None) -> None:
        """Stop a run of this or another process as `Run.stop` does, and return when it was told.

        Raises `UsageError` if the run is not active.
        """
        await self._tell(run, principal, Message(action="stop", reason=reason))

    async def cancel(
        self, run: str | Path, reason: str = "cancelled", *, principal: Principal | str | None = None
    ) -> None:
        """Cancel a run of this or another process, and return when it was told. Raises `UsageError` as `stop` does."""
        await self._tell(run, principal, Message(action="cancel", reason=reason))

    async def answer(
        self,
        run: str | Path,
        question_id: str,
        answer: Answer | Json,
        *,
        principal: Principal | str | None = None,
    ) -> None:
        """Answer a question of a run; see `Run.answer`. The action `decline` has it go on without an answer.

        A run of this or another process goes on at once. One that ended its session as `waiting` has the answer when it
        is resumed.
        """
        given = answer if isinstance(answer, Answer) else Answer(action="accept", content=answer)
        await self._tell(run, principal, Message(action="answer", question_id=question_id, answer=given))

    async def report(self, run: str | Path, *, principal: Principal | str | None = None) -> Report:
        """Return the report of a run as data: its `report.json`, or else the result of an offline replay.

        Raises `LeadlineError` if the run has no report.
        """
        folder = self._find(run, principal)
        if (folder / REPORT).is_file():
            return read_report(folder / REPORT)
        result = await self.replay(folder, principal=principal)
        if result.report is None:
            raise LeadlineError(f"the run in {folder} has no report: {result.reason or result.status}")
        return result.report

    async def compare(
        self, first: str | Path, second: str | Path, *, principal: Principal | str | None = None
    ) -> Comparison:
        """Return what two runs took and made, and what their reports have in common: claims, verdicts, sources.

        Raises `LeadlineError` if neither has a report.
        """
        runs = [self.find(run, principal=principal) for run in (first, second)]
        mine, other = [
            await self.report(run.folder, principal=principal)
            if run.status in ("complete", "partial") or (run.folder / REPORT).is_file()
            else None
            for run in runs
        ]
        if mine is None and other is None:
            raise LeadlineError(f"neither {runs[0].id} nor {runs[1].id} has a report, so there is nothing to compare")
        return compare(mine, other, [run.metadata for run in runs if run.metadata])

    def memory(self, *, principal: Principal | str | None = None) -> list[RunSummary]:
        """Return the runs that later questions may remember (`memory` of the settings), newest first."""
        return [run for run in RunIndex(self.runs_folder(principal=principal)).runs() if is_memorable(run)]

    def forget(self, run: str | Path, *, principal: Principal | str | None = None) -> None:
        """Keep a run out of the memory of later questions; the run itself stays."""
        folder = self._find(run, principal)
        with changing(folder):
            write_atomically(folder / FORGOTTEN, b"")

    def label(
        self,
        run: str | Path,
        *,
        title: str | None = None,
        pinned: bool | None = None,
        tags: Mapping[str, str] | None = None,
        principal: Principal | str | None = None,
    ) -> None:
        """Name a run that has ended, pin it, or replace its tags; None leaves one as it is, an empty title removes it.

        Raises `JournalBusy` if the run is active.
        """
        changes = {"title": title, "pinned": pinned, "tags": tags and dict(tags)}
        label_run(self._find(run, principal), {name: value for name, value in changes.items() if value is not None})

    def ended_before(self, when: datetime) -> list[RunSummary]:
        """Return the runs of all principals that ended before a time: `delete` takes their folders."""
        return ended_before(self.runs_folder(), when)

    def delete(self, run: str | Path, *, principal: Principal | str | None = None) -> None:
        """Delete a run with all its files. Raises `JournalBusy` if the run is active."""
        delete_run(self._find(run, principal))

    # --- internal ----------------------------------------------------------------------------------------------------

    def _request(
        self,
        question: str,
        loaded: Loaded,
        tags: Mapping[str, str] | None,
        principal: Principal | str | None,
        earlier: Earlier,
    ) -> RunRequest:
        if unknown := sorted(earlier.keys() - Earlier.__annotations__.keys()):
            raise TypeError(f"unexpected arguments: {', '.join(unknown)}; what a client does is set when it is made")
        if loaded.unjudged:
            raise ConfigError(loaded.unjudged)
        text, position = check_question(question), Place()
        if earlier.get("conversation") or earlier.get("follows") is not None:
            folder = self.runs_folder(principal=principal)
            conversation, follows = earlier.get("conversation", ""), earlier.get("follows")
            position = place_of(folder, conversation, follows, within=principal is not None)
        return RunRequest.new(text, loaded, tags or {}, principal_of(principal), position, earlier.get("turns", ()))

    def _options(
        self, asker: Asker | None = None, interactive: bool = False, observers: Mapping[str, Observer] | None = None
    ) -> RunOptions:
        return RunOptions(asker or (answer_later if interactive else None), observers or {}, self._switch)

    async def _new(self, request: RunRequest, plugins: PluginRuntime, options: RunOptions) -> Run:
        """Return a new run, with the turns before it."""
        report_of, folder = partial(self.report, principal=request.principal), self._folder(request)
        conversation = await earlier_turns(request, folder.parent, plugins.settings.memory, report_of)
        return await session.start(request, folder, plugins, options, conversation)

    def _folder(self, request: RunRequest) -> Path:
        return self.runs_folder(principal=request.principal).absolute() / request.run_id

    def _load(
        self,
        request: RunRequest | None = None,
        *,
        overrides: Mapping[str, Any] | None = None,
        complete: bool = True,
        offline: bool = False,
        sealed: bool = False,
    ) -> Loaded:
        cache = self._cache or default_cache()
        arguments = ({} if request else self._pipeline) | self._arguments | dict(overrides or {})
        return load_settings(
            self._catalog,
            Sources(Path.cwd(), os.environ, self._file),
            given=Given(arguments, self._sets, self._docs, self.reads),
            stored=request.stored(cache, offline=offline, sealed=sealed) if request else None,
            cache=cache,
            complete=complete,
        )

    def _switch(self, request: RunRequest, pipeline: str) -> PluginRuntime:
        """Return the plugins with which a run continues by another pipeline. Raises `ConfigError`."""
        given = request.model_copy(update={"settings": request.given_settings})
        sealed = request.is_sealed(self._cache or default_cache())
        return self._pool.acquire(self._load(given, overrides={"pipeline": pipeline}, offline=True, sealed=sealed))

    async def _hold(self, plugins: PluginRuntime, opening: Coroutine[Any, Any, Run]) -> Run:
        """Walk a run with plugins that are released when it ends."""
        async with AsyncExitStack() as failing:
            failing.push_async_callback(self._pool.release, plugins)
            run = await opening
            failing.pop_all()
        self._walk(run).when_ended(lambda _: self._pool.release_soon(plugins))
        return run

    def _walk(self, run: Run) -> Run:
        run.begin(session.walk(run))
        self._running.append(run)
        run.when_ended(self._running.remove)
        run.when_ended(lambda _: self._pool.release_soon(run.switched) if run.switched else None)
        return run

    def _find(self, run: str | Path, principal: Principal | str | None) -> Path:
        return find_run(self.runs_folder(principal=principal), run, within=principal is not None)

    def _running_in(self, folder: Path) -> Run | None:
        return next((run for run in self._running if run.folder == folder), None)

    async def _tell(self, run: str | Path, principal: Principal | str | None, message: Message) -> None:
        folder = self._find(run, principal)
        info = run_info(folder)
        if info.status == "waiting" and info.metadata and info.metadata.ended:
            await session.take(folder, message)
            return
        if running := self._running_in(folder):
            await running.take(message)
            return
        if not is_locked(folder / LOCK):
            raise UsageError(f"the run {folder.name} is not active: it is {info.status}")
        await send(folder, message, lambda: is_locked(folder / LOCK))
