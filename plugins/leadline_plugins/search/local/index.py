"""The index of some folders: kept on disk, brought up to date when asked, rebuilt when it is damaged."""

from __future__ import annotations

import asyncio
import errno
import json
import shutil
import sqlite3
import time
import weakref
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp

from leadline.contracts import Call, Context
from leadline.errors import Denied
from leadline_plugins.search.local.checksums import broken
from leadline_plugins.search.local.folders import Walk, resolve
from leadline_plugins.search.local.lock import locked
from leadline_plugins.search.local.manifest import Manifest, Problem
from leadline_plugins.search.local.ranking import rank
from leadline_plugins.search.local.settings import LocalSettings
from leadline_plugins.search.local.steady import steadily
from leadline_plugins.search.local.store import Damaged, Match, Reader
from leadline_plugins.search.local.update import Update

FORMAT = 4
"""Of the index on disk and of the tokens in it: raised with any change of them, so that old ones are left alone."""
_FULL = (errno.ENOSPC, errno.EDQUOT)


class LocalIndex:
    """Searches folders; several processes may do so at once."""

    def __init__(self, settings: LocalSettings, context: Context) -> None:
        self._roots = resolve(settings.folders)
        self._settings = settings
        self._context = context
        self._folder = context.cache_dir / f"index-v{FORMAT}-{_name(self._roots, settings.passage)}"
        self._mutex = asyncio.Lock()
        self._reader: Reader | None = None
        self._looked = 0.0

    async def search(self, query: str, limit: int, call: Call) -> list[Match]:
        """Return the best passage of each of the best documents, best first."""
        reader = await self._fresh(call)
        try:
            return await self._context.in_thread(rank, reader, query, limit)
        except Damaged as error:
            return await self._context.in_thread(rank, await self._rebuilt(call, error), query, limit)

    async def problems(self, call: Call) -> tuple[Problem, ...]:
        """Return the files that could not be read, and why."""
        await self._fresh(call)
        return await self._context.in_thread(_problems, self._folder / "manifest.db")

    async def _fresh(self, call: Call) -> Reader:
        async with self._mutex:
            if self._reader is None or time.monotonic() - self._looked > self._settings.refresh:
                self._reader = await self._updated(call)
                self._looked = time.monotonic()
            return self._reader

    async def _rebuilt(self, call: Call, error: Damaged) -> Reader:
        async with self._mutex:
            self._reader = await self._updated(call, error)
            return self._reader

    async def _updated(self, call: Call, damage: Damaged | None = None) -> Reader:
        if self._reader is None:
            await self._settle(call)
        try:
            async with locked(self._folder.with_suffix(".lock")):
                if damage is None:
                    try:
                        return await self._update(call)
                    except (Damaged, sqlite3.DatabaseError, UnicodeDecodeError) as error:
                        damage = Damaged(str(error))
                self._context.log.warning("the index in %s is damaged (%s): rebuilding it", self._folder, damage)
                await steadily(self._context, shutil.rmtree, self._folder, ignore_errors=True)
                return await self._update(call)
        except (OSError, Damaged, sqlite3.DatabaseError) as error:
            raise Denied(f"the index cannot be kept in {self._folder}: {error}") from error

    async def _settle(self, call: Call) -> None:
        """Go elsewhere where the cache cannot be written: the documents can be searched all the same."""
        there = self._folder.parent
        why = await steadily(self._context, _unwritable, there)
        if not why:
            return
        passing = await steadily(self._context, mkdtemp, prefix="leadline-index-")
        weakref.finalize(self, shutil.rmtree, passing, ignore_errors=True)
        self._folder = Path(passing) / self._folder.name
        message = (
            f"{self._context.name}: the index is not kept, for {there} cannot be written ({why}): all is read anew"
        )
        if call.run is None:  # outside of a run
            self._context.log.warning("%s", message)
        else:
            await call.run.emit("notice", {"message": message})

    async def _update(self, call: Call) -> Reader:
        settings = self._settings
        walk = Walk(
            self._roots,
            settings.include,
            settings.exclude,
            int(settings.max_file_mb * 1e6),
            self._context.parses,
            resolve((*self._context.own, self._folder.parent)),
        )
        await steadily(self._context, self._folder.mkdir, parents=True, exist_ok=True)
        if self._reader is None and (name := await steadily(self._context, broken, self._folder / "texts")):
            raise Damaged(f"{name} is not what was written")
        await Update(self._folder, walk, settings.passage, self._context).run(call)
        return await steadily(self._context, Reader, self._folder / "texts")


def _unwritable(folder: Path) -> str:
    """Say why nothing can be written into a folder; empty where it can, or where only the room is lacking."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return "" if error.errno in _FULL else error.strerror or str(error)


def _name(roots: tuple[Path, ...], passage: int) -> str:
    said = json.dumps([[str(root) for root in roots], passage], ensure_ascii=True)
    return blake2b(said.encode(), digest_size=8).hexdigest()


def _problems(path: Path) -> tuple[Problem, ...]:
    with closing(Manifest(path)) as manifest:
        return manifest.problems()
