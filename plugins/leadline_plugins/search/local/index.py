"""The index of some folders: stored on disk, updated before a search, rebuilt if it is damaged."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import shutil
import sqlite3
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp

from leadline.contracts import Call, Context
from leadline.errors import Denied, Unsupported
from leadline_plugins.search.local.folders import LocalSettings, Walk, resolve, without_documents
from leadline_plugins.search.local.ranking import Match, rank
from leadline_plugins.search.local.spelling import suggestion
from leadline_plugins.search.local.store import Damaged, IndexReader, broken_file
from leadline_plugins.search.local.update import Manifest, Problem, Update, finish_in_thread

# Version of the files and tokens of the index; an index of another version is ignored.
FORMAT = 4
_FULL = (errno.ENOSPC, errno.EDQUOT)
# Seconds between two attempts to get the lock.
_LOCK_PAUSE = 0.1


class LocalIndex:
    """Searches folders; several processes may do so at once."""

    def __init__(self, settings: LocalSettings, context: Context) -> None:
        self._roots = resolve(settings.folders)
        self._settings = settings
        self._context = context
        self._folder = context.cache_dir / f"index-v{FORMAT}-{_name(self._roots)}"
        self._mutex = asyncio.Lock()
        self._reader: IndexReader | None = None
        self._checked = 0.0

    async def search(self, query: str, limit: int, call: Call) -> tuple[list[Match], str]:
        """Return the best passage of each of the best documents, best first, and a suggestion for a misspelt query.

        Raises `Unsupported` if the folders have no document that can be read.
        """
        reader = await self._fresh_reader(call)
        try:
            matches, meant = await self._context.in_thread(_answer, reader, query, limit)
        except Damaged as error:
            async with self._mutex:
                self._reader = reader = await self._updated_reader(call, error)
            matches, meant = await self._context.in_thread(_answer, reader, query, limit)
        if not matches and not await self._context.in_thread(_count, self._folder / "manifest.db"):
            raise Unsupported(await self._context.in_thread(without_documents, self._walk()))
        return matches, meant

    async def problems(self, call: Call) -> tuple[Problem, ...]:
        """Return the files that could not be read, with the reasons."""
        await self._fresh_reader(call)
        return await self.known_problems()

    async def known_problems(self) -> tuple[Problem, ...]:
        """Return the files that the last update could not read."""
        return await self._context.in_thread(_problems, self._folder / "manifest.db")

    async def _fresh_reader(self, call: Call) -> IndexReader:
        async with self._mutex:
            if self._reader is None or time.monotonic() - self._checked > self._settings.refresh:
                self._reader = await self._updated_reader(call)
                self._checked = time.monotonic()
            return self._reader

    async def _updated_reader(self, call: Call, damage: Exception | None = None) -> IndexReader:
        if self._reader is None:
            await self._move_if_unwritable(call)
        try:
            async with locked(self._folder.with_suffix(".lock")):
                if damage is None:
                    try:
                        return await self._update(call)
                    except (Damaged, sqlite3.DatabaseError, UnicodeDecodeError) as error:
                        damage = error
                self._context.log.warning("the index in %s is damaged (%s): rebuilding it", self._folder, damage)
                await finish_in_thread(self._context, shutil.rmtree, self._folder, ignore_errors=True)
                return await self._update(call)
        except (OSError, Damaged, sqlite3.DatabaseError) as error:
            raise Denied(f"the index cannot be stored in {self._folder}: {error}") from error

    async def _move_if_unwritable(self, call: Call) -> None:
        """Use a temporary folder if the cache cannot be written."""
        cache = self._folder.parent
        reason = await finish_in_thread(self._context, _unwritable, cache)
        if not reason:
            return
        temporary = await finish_in_thread(self._context, mkdtemp, prefix="leadline-index-")
        weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)
        self._folder = Path(temporary) / self._folder.name
        name = self._context.name
        message = f"{name}: the index is not stored, because the cache cannot be written ({reason}); all files are read"
        self._context.log.warning("%s: %s", cache, message)
        if call.run is not None:  # the report, which names no folder of the machine, shows its notices
            await call.run.emit("notice", {"message": message})

    async def _update(self, call: Call) -> IndexReader:
        texts = self._folder / "texts"
        await finish_in_thread(self._context, self._folder.mkdir, parents=True, exist_ok=True)
        if self._reader is None and (name := await finish_in_thread(self._context, broken_file, texts)):
            raise Damaged(f"the checksum of {name} is wrong")
        await Update(self._folder, self._walk(), self._context).run(call)
        if self._reader is not None and self._reader.is_current():
            return self._reader
        return await finish_in_thread(self._context, IndexReader, texts)

    def _walk(self) -> Walk:
        settings = self._settings
        return Walk(
            self._roots,
            settings.include,
            settings.exclude,
            int(settings.max_file_mb * 1e6),
            self._context.parses,
            resolve((*self._context.own, self._folder.parent)),
        )


def _answer(reader: IndexReader, query: str, limit: int) -> tuple[list[Match], str]:
    return rank(reader, query, limit), suggestion(reader, query)


def _unwritable(folder: Path) -> str:
    """Return why a folder cannot be written; empty if it can be, or if only space is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return "" if error.errno in _FULL else error.strerror or str(error)


def _name(roots: tuple[Path, ...]) -> str:
    key = json.dumps([str(root) for root in roots], ensure_ascii=True)
    return blake2b(key.encode(), digest_size=8).hexdigest()


def _problems(path: Path) -> tuple[Problem, ...]:
    with closing(Manifest(path)) as manifest:
        return manifest.problems()


def _count(path: Path) -> int:
    with closing(Manifest(path)) as manifest:
        return manifest.count()


# --- one writer over all processes -----------------------------------------------------------------------------------


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[None]:
    """Hold the lock of a path, after waiting for its holder; the system releases it when a process dies."""
    file = _open_lock(path)
    try:
        while not _acquired(file):  # noqa: ASYNC110 - another process cannot set an event here
            await asyncio.sleep(_LOCK_PAUSE)
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)  # explicit, because a forked child may have a copy of the descriptor
        os.close(file)


def _open_lock(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _acquired(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
