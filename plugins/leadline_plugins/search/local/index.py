"""The index of some folders: stored on disk, updated before a search, rebuilt if it is damaged."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import re
import shutil
import sqlite3
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp

from leadline.contracts import Call, Context
from leadline.errors import Denied, Unsupported
from leadline.files import private_folder
from leadline_plugins.documents.store import DocumentStore
from leadline_plugins.documents.text_index import Damaged, IndexReader, Match, broken_file, full_text
from leadline_plugins.search.local.folders import LocalSettings, Walk, resolve, walk_of, without_documents
from leadline_plugins.search.local.update import Update, finish_in_thread
from leadline_plugins.text import content_words
from leadline_plugins.text.tokens import CJK

_WORD = re.compile(rf"[^\W\d_{CJK}]+")
_SHORTEST = 5
# Letters from which a word may have two errors instead of one, and errors in its stem, whose ending may be wrong, too.
_LONG, _STEM_ERRORS = 8, 2
# Stems whose words are compared, and passages in which they are looked up.
_STEMS, _PASSAGES = 30, 3


def suggestion(index: IndexReader, query: str) -> str:
    """Return a query with its unknown words replaced by the nearest known ones; empty if there are none."""
    nearest: dict[str, str] = {}
    for word in dict.fromkeys(_WORD.findall(query)):
        stems = content_words(word)
        if len(word) >= _SHORTEST and len(stems) == 1 and not index.frequency(stems[0]):
            nearest[word] = _nearest(index, word.casefold(), stems[0])
    if not any(nearest.values()):
        return ""
    return _WORD.sub(lambda match: nearest.get(match[0]) or match[0], query)


def _nearest(index: IndexReader, word: str, stem: str) -> str:
    """Return the word of the documents that is nearest to an unknown one; empty if none is near."""
    letters, errors = set(stem), 2 if len(word) >= _LONG else 1
    terms = (
        term
        for term, _ in index.words(stem[0])
        if abs(len(term) - len(stem)) <= _STEM_ERRORS and len(letters.symmetric_difference(term)) <= 2 * _STEM_ERRORS
    )
    near = get_close_matches(stem, list(terms), _STEMS)
    known = {known for term in near for known in _words(index, term) if abs(len(known) - len(word)) <= errors}
    return "".join(get_close_matches(word, sorted(known), 1, 1 - errors / len(word)))


def _words(index: IndexReader, term: str) -> Iterator[str]:
    """Yield the words with a stem, from a few passages that have it."""
    texts = (full_text(match.passage.title, match.passage.evidence) for match in index.best([term], _PASSAGES))
    for word in {word.casefold() for text in texts for word in _WORD.findall(text)}:
        if content_words(word) == [term]:
            yield word


# Version of the files and tokens of the index; an index of another version is ignored.
FORMAT = 9
_FULL = (errno.ENOSPC, errno.EDQUOT)
# Seconds between two attempts to get the lock.
_LOCK_PAUSE = 0.1


class LocalIndex:
    """Searches folders; several processes may do so at once."""

    def __init__(self, settings: LocalSettings, context: Context) -> None:
        self._roots = resolve(settings.folders)
        self._settings = settings
        self._context = context
        self._store = DocumentStore(context.cache_dir / f"index-v{FORMAT}-{_name(self._roots)}")
        self._mutex = asyncio.Lock()
        self._checked: float | None = None
        # What every run is told of the files that were not read.
        self._unread: list[str] = []

    async def search(self, query: str, limit: int, call: Call) -> tuple[list[tuple[str, Match]], str]:
        """Return the best passages with the paths of their files, and a suggestion for a misspelt query.

        Raises `Unsupported` if the folders have no document that can be read.
        """
        await self._refresh(call)
        try:
            matches, meant = await self._context.in_thread(_answer, self._store, query, limit)
        except (Damaged, sqlite3.DatabaseError) as error:
            async with self._mutex:
                await self._update(call, error)
            matches, meant = await self._context.in_thread(_answer, self._store, query, limit)
        if not matches and not await self._context.in_thread(self._store.count):
            raise Unsupported(await self._context.in_thread(without_documents, self._walk()))
        return matches, meant

    async def _refresh(self, call: Call) -> None:
        """Bring the index up to date, and tell a run what of the folders is not in it."""
        try:
            async with self._mutex:
                if self._checked is None or time.monotonic() - self._checked > self._settings.refresh:
                    await self._update(call)
                    self._checked = time.monotonic()
        except asyncio.CancelledError:
            if call.run is not None:
                message = f"{self._context.name}: not searched, because its documents are still being read; ask again"
                await call.run.emit("notice", {"message": message})
            raise
        if call.run is not None:
            for notice in self._unread:
                await call.run.emit("notice", {"message": notice})

    async def _update(self, call: Call, damage: Exception | None = None) -> None:
        if self._checked is None:
            await self._move_if_unwritable(call)
        folder = self._store.folder
        try:
            async with locked(folder.with_suffix(".lock")):
                if damage is None:
                    try:
                        return await self._update_locked(call)
                    except (Damaged, sqlite3.DatabaseError, UnicodeDecodeError) as error:
                        damage = error
                self._context.log.warning("the index in %s is damaged (%s): rebuilding it", folder, damage)
                await finish_in_thread(self._context, shutil.rmtree, folder, ignore_errors=True)
                self._store = DocumentStore(folder)
                return await self._update_locked(call)
        except (OSError, Damaged, sqlite3.DatabaseError) as error:
            raise Denied(f"the index cannot be stored in {folder}: {error}") from error

    async def _update_locked(self, call: Call) -> None:
        texts = self._store.texts
        if self._checked is None and (name := await finish_in_thread(self._context, broken_file, texts)):
            raise Damaged(f"the checksum of {name} is wrong")
        before, self._unread = self._unread, await Update(self._store, self._walk(), self._context).run(call)
        if call.run is None and self._unread != before:
            self._context.log.warning("%s", "; ".join(self._unread))

    async def _move_if_unwritable(self, call: Call) -> None:
        """Use a temporary folder if the cache cannot be written."""
        cache = self._store.folder.parent
        reason = await finish_in_thread(self._context, _unwritable, cache)
        if not reason:
            return
        temporary = await finish_in_thread(self._context, mkdtemp, prefix="leadline-index-")
        weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)
        self._store = DocumentStore(Path(temporary) / self._store.folder.name)
        name = self._context.name
        message = f"{name}: the index is not stored, because the cache cannot be written ({reason}); all files are read"
        self._context.log.warning("%s: %s", cache, message)
        if call.run is not None:  # the report, which names no folder of the machine, shows its notices
            await call.run.emit("notice", {"message": message})

    def _walk(self) -> Walk:
        return walk_of(self._settings, self._context, self._store.folder.parent)


def _answer(store: DocumentStore, query: str, limit: int) -> tuple[list[tuple[str, Match]], str]:
    if not store.count():
        return [], ""
    return store.search(query, limit), suggestion(store.reader(), query)


def _unwritable(folder: Path) -> str:
    """Return why a folder cannot be written; empty if it can be, or if only space is missing."""
    try:
        with TemporaryFile(dir=private_folder(folder)):
            return ""
    except OSError as error:
        return "" if error.errno in _FULL else error.strerror or str(error)


def _name(roots: tuple[Path, ...]) -> str:
    key = json.dumps([str(root) for root in roots], ensure_ascii=True)
    return blake2b(key.encode(), digest_size=8).hexdigest()


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
    private_folder(path.parent)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _acquired(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
