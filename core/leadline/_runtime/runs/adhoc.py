"""Runs that do not walk: plugins that perform tasks, fetch, format or judge for a command; stored documents."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeVar

from leadline._runtime.calls.job import Kind
from leadline._runtime.calls.limits import ClientLimits
from leadline._runtime.journal.journal import Journal
from leadline._runtime.plugins import PluginRuntime
from leadline._runtime.runs.folder import JOURNAL, principal_of
from leadline._runtime.runs.run import Run
from leadline._runtime.runs.run_request import RunRequest
from leadline._runtime.runs.session import open_run
from leadline._settings.load import Loaded
from leadline.contracts import KnowledgeBase
from leadline.display import missing_path
from leadline.errors import CallFailed, UsageError
from leadline.records import (
    AddedDocuments,
    Blob,
    DocumentChange,
    DocumentList,
    DocumentSelection,
    NewDocuments,
    PassageRequest,
    Passages,
    Principal,
    Record,
    SearchPage,
    SearchRequest,
)
from leadline.settings import Settings


@asynccontextmanager
async def adhoc_run(
    loaded: Loaded,
    question: str,
    *,
    limits: ClientLimits | None = None,
    plugins: PluginRuntime | None = None,
    principal: Principal | None = None,
) -> AsyncIterator[Run]:
    """Provide a run in a temporary folder, which performs tasks and does not walk. Raises `ConfigError`.

    `plugins` are those of `loaded`, kept for the next session; by default they are created with the `limits` of the
    client, and closed.
    """
    async with AsyncExitStack() as stack:
        if plugins is None:
            plugins = PluginRuntime(replace(loaded, chosen={**loaded.chosen, "observers": ()}), limits=limits)
            stack.push_async_callback(plugins.close)
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="leadline-")))
        journal = await Journal.open(folder / JOURNAL)
        stack.push_async_callback(journal.close)
        run = await open_run(RunRequest.new(question, plugins.loaded, {}, principal), folder, plugins, journal)
        stack.push_async_callback(run.bus.close)
        stack.push_async_callback(run.close)
        yield run


# --- documents --------------------------------------------------------------------------------------------------------


R = TypeVar("R", bound=Record)
# The pipeline whose settings choose the base, the vector store and the embedder.
PIPELINE = "knowledge"
# Settings of these calls: adding thousands of documents takes longer, and more tokens, than a run may.
SETTINGS = {"pipeline": PIPELINE, "observers": [], "budget.seconds": 1e9, "budget.tokens": 10**12}
# Receives the number of files that are done, of all files, and of files that could not be read.
Progress = Callable[[int, int, int], object]


class KnowledgeClient:
    """Adds, lists, removes, shares and searches documents that Leadline keeps.

    Without a principal, methods work on the documents that all users share. A principal has documents of its own, and
    finds the shared ones as well. `budget.money` limits what one call may cost.
    """

    def __init__(self, plugins: Callable[[], PluginRuntime]) -> None:
        self._plugins = plugins

    @property
    def settings(self) -> Settings:
        """The settings with which documents are kept."""
        return self._plugins().settings

    async def add(
        self,
        *paths: str | Path,
        files: Sequence[Blob] = (),
        reembed: bool = False,
        principal: Principal | str | None = None,
        progress: Progress | None = None,
    ) -> AddedDocuments:
        """Add files and folders, or files given by their bytes; return what changed and what could not be read.

        A file that was added before is replaced if it has changed. With `reembed`, all documents are first embedded
        again, with the embedder of the settings. Raises `UsageError` for a path that does not exist, before anything
        is added, and `CallFailed` if another embedder made the vectors.
        """
        places = _existing(paths)
        request = NewDocuments(paths=places, files=tuple(files), reembed=reembed)
        return await self._call("add", request, AddedDocuments, principal, progress)

    async def read_folders(self) -> AddedDocuments:
        """Bring the shared documents of the folders of the settings (`plugins.local.folders`) up to date."""
        return await self._call("add", NewDocuments(folders=True), AddedDocuments, None)

    async def remove(
        self, *names: str, removed: bool = False, principal: Principal | str | None = None
    ) -> DocumentList:
        """Delete documents by id, name, path or folder for good, and return them; with `removed`, those set aside.

        Raises `UsageError` without a name.
        """
        if not names:
            raise UsageError("no document is named: give an id, a name or a folder, as `leadline knowledge list` shows")
        return await self._call("remove", DocumentSelection(names=names, removed=removed), DocumentList, principal)

    async def change(
        self,
        to: Literal["removed", "restored", "shared", "private"],
        *names: str,
        principal: Principal | str | None = None,
    ) -> DocumentList:
        """Set documents of the principal aside for a day, or bring them back; share them with all users, or not."""
        return await self._call("change", DocumentChange(names=names, to=to), DocumentList, principal)

    async def documents(
        self, *names: str, removed: bool = False, whole: bool = False, principal: Principal | str | None = None
    ) -> DocumentList:
        """Return the documents, or those with these ids, names or folders; with `whole`, their texts and passages.

        With `removed`, return those that were set aside and can be restored.
        """
        request = DocumentSelection(names=names or None, removed=removed, whole=whole)
        return await self._call("documents", request, DocumentList, principal)

    async def version(self, *, principal: Principal | str | None = None) -> str:
        """Return what changes with the documents that the principal finds; empty if it finds none."""
        return (await self._call("documents", DocumentSelection(names=()), DocumentList, principal)).version

    async def folder(self, *, principal: Principal | str | None = None) -> Path:
        """Return the folder that holds everything of the documents of a principal, but vectors in a store elsewhere."""
        return (await self._base()).folder(principal_of(principal))

    async def import_folder(self, folder: Path | None = None) -> int | None:
        """Bring the documents of one machine, by default of the folder of the settings, to those of several machines.

        Return the number of new ones, or None if the settings name no database.
        """
        return await (await self._base()).import_folder(folder)

    async def export_folder(self, folder: Path) -> bool:
        """Write the documents of several machines into a folder; return False if the settings name no database."""
        return await (await self._base()).export_folder(folder)

    async def _base(self) -> KnowledgeBase:
        plugins = self._plugins()
        base: KnowledgeBase = await plugins.instance("search_providers", plugins.settings.knowledge.base).get()
        return base

    async def warm(self) -> None:
        """Bring what searches on this machine up to date, as the first search would: indexes of folders, and copies."""
        plugins = self._plugins()
        for name in plugins.chosen["search.engines"]:
            if plugins.instance("search_providers", name).offer.work == "local":
                with suppress(CallFailed):  # folders may have no document
                    await self._call("search", SearchRequest(query=PIPELINE), SearchPage, None, engine=name)
        await self.version()

    async def search(
        self, query: str, *, limit: int = 5, whole: bool = True, principal: Principal | str | None = None
    ) -> Passages:
        """Return the passages that answer a question best. Raises `CallFailed` if there are no documents.

        Unless `whole`, their sources lack the texts of the documents, which may be large.
        """
        if not query.strip():
            raise UsageError("nothing to search for: write a question")
        return await self._call("retrieve", PassageRequest(query=query, limit=limit, whole=whole), Passages, principal)

    async def _call(
        self,
        method: str,
        request: Record,
        reply: type[R],
        principal: Principal | str | None,
        progress: Progress | None = None,
        engine: str = "",
    ) -> R:
        plugins = self._plugins()
        asked = principal_of(principal)
        async with adhoc_run(plugins.loaded, method, plugins=plugins, principal=asked) as run:
            base = plugins.instance("search_providers", engine or plugins.settings.knowledge.base)
            kind = Kind(name=f"knowledge.{method}", reply=reply, composite=True, keep=False, unshared=True)
            identity, do = replace(base.identity, limiter=None), base.method(method)
            watching = asyncio.create_task(_watch(run, progress)) if progress else None
            try:
                return await run.calls.call(kind, request, do, provider=identity, task="knowledge")
            finally:
                if watching:
                    watching.cancel()
                    await asyncio.wait({watching})


def _existing(paths: Sequence[str | Path]) -> tuple[str, ...]:
    """Return absolute paths. Raises `UsageError` if some do not exist."""
    missing = [missing_path(path) for path in map(Path, paths) if not os.path.lexists(path.expanduser())]
    if missing:
        raise UsageError(f"no such file or folder: {', '.join(missing)}; nothing was added")
    return tuple(str(Path(path).expanduser().absolute()) for path in paths)


async def _watch(run: Run, progress: Progress) -> None:
    """Pass the events of an addition on."""
    async for event in run.bus.subscribe():
        if event.kind == "knowledge":
            data: Any = event.data
            progress(data["done"], data["total"], data["problems"])
