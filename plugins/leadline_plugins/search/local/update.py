"""Bringing the store up to date with its folders: only changed files are read, in batches that are each durable."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import ParamSpec, TypeVar

from leadline.contracts import Call, Context
from leadline.encoding import without_surrogates
from leadline.records import Blob, Document
from leadline_plugins.documents.store import DocumentStore, Entry, State
from leadline_plugins.parse.media import media_type
from leadline_plugins.passages.cutting import cut
from leadline_plugins.search.local.folders import File, Walk, passed_over, read
from leadline_plugins.search.local.reading import batches, parsed

P = ParamSpec("P")
T = TypeVar("T")
# Resolution of the coarsest file system clock (FAT). A file that changed so shortly before it was read may change
# again without a new time.
_TICK_NS = 2_000_000_000
# Seconds between two messages about the files read so far.
_PROGRESS = 2.0
# Unreadable files that a notice names.
_NAMED = 5


@dataclass(frozen=True)
class Changes:
    """The files to read, with the digest of their last state, and the paths of removed files."""

    read: Sequence[tuple[File, str]]
    gone: Sequence[str]


def changes(files: Mapping[str, File], states: Mapping[str, State]) -> Changes:
    """Compare the files of a walk with what the store has."""
    stale = []
    for path, file in files.items():
        state = states.get(path)
        if state is None:
            stale.append((file, ""))
        elif not is_same(file, state):
            stale.append((file, "" if state.problem else state.digest))
    return Changes(sorted(stale), sorted(states.keys() - files.keys()))


def is_same(file: File, state: State) -> bool:
    """Return whether a file is as it was when it was stored."""
    if (state.size, state.mtime_ns) != (file.size, file.mtime_ns):
        return False
    if file.problem or (state.problem and not state.digest):
        return file.problem == state.problem  # the problem is not in its bytes, so it may be gone
    return state.seen_ns - state.mtime_ns > _TICK_NS


# --- the update ------------------------------------------------------------------------------------------------------


async def finish_in_thread(context: Context, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking code in a thread and wait for its end, even if cancelled; close a result that nobody receives.

    Whoever releases the lock of the index must not leave a thread that still works on it.
    """
    task = asyncio.ensure_future(context.in_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                continue  # cancelled again, but the thread still has to end
        if not task.cancelled() and task.exception() is None and hasattr(result := task.result(), "close"):
            result.close()
        raise


class Update:
    """One update of the store, which needs its lock."""

    def __init__(self, store: DocumentStore, walk: Walk, context: Context) -> None:
        self._store = store
        self._walk = walk
        self._context = context
        self._seen_ns = 0
        self._states: Mapping[str, State] = {}

    async def run(self, call: Call) -> list[str]:
        """Read new and changed files, and remove those that are gone; return what is to be told of those not read."""
        start, self._seen_ns = time.monotonic(), time.time_ns()
        changed = await self._in_thread(self._changes)
        if changed.read or changed.gone:
            await self._in_thread(self._store.remove, changed.gone)
            await self._add(changed.read, call)
            await self._in_thread(lambda: self._store.drop(self._store.unused()))
            seconds = time.monotonic() - start
            self._context.log.info("read %d files, removed %d in %.1f s", len(changed.read), len(changed.gone), seconds)
        return await self._in_thread(self._unread)

    def _in_thread(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        return finish_in_thread(self._context, function, *args, **kwargs)

    def _changes(self) -> Changes:
        """Return the changes. Raises `Damaged` or `sqlite3.DatabaseError` if the store is damaged."""
        self._store.check()
        self._states = self._store.states()
        return changes(self._walk.files(), self._states)

    async def _add(self, files: Sequence[tuple[File, str]], call: Call) -> None:
        done, shown = 0, time.monotonic()
        for batch in batches(files, lambda pair: pair[0].size):
            loaded = await self._in_thread(self._load_all, batch)
            read_files = await asyncio.gather(*(self._parse(*pair, call) for pair in loaded))
            await self._in_thread(self._write, read_files)
            done += len(batch)
            if time.monotonic() - shown > _PROGRESS and done < len(files) and call.run is not None:
                shown, text = time.monotonic(), f"{self._context.name}: {done:,} of {len(files):,} files read"
                await call.run.emit("message", {"kind": "index", "text": text})

    def _load_all(self, files: Sequence[tuple[File, str]]) -> list[tuple[Entry, bytes | None]]:
        return [self._load(*pair) for pair in files]

    def _load(self, file: File, last_digest: str) -> tuple[Entry, bytes | None]:
        """Return the new version of a file with its bytes; None if there is nothing to parse."""
        if file.problem:
            return self._entry(file, problem=file.problem), None
        try:
            data = read(file.target or file.path, self._walk.max_bytes)
        except OSError as error:
            return self._entry(file, problem=f"cannot be read: {error.strerror}"), None
        digest = blake2b(data, digest_size=16).hexdigest()
        return self._entry(file, digest), None if digest == last_digest else data

    def _entry(self, file: File, digest: str = "", problem: str = "") -> Entry:
        named = f"{file.path}\0{digest or problem}".encode("utf-8", "surrogateescape")
        key = blake2b(named, digest_size=16).hexdigest()
        return Entry(file.path, key, digest, "", file.size, file.mtime_ns, self._seen_ns, without_surrogates(problem))

    async def _parse(self, entry: Entry, data: bytes | None, call: Call) -> tuple[Entry, Document | None]:
        if data is None:
            return entry, None
        blob = Blob(name=Path(entry.id).name, media_type=media_type(entry.id), data=data)
        document = await parsed(self._context, blob, call)
        if isinstance(document, str):
            return replace(entry, problem=without_surrogates(document)), None
        return replace(entry, about=document.incomplete.encode()), document

    def _write(self, files: Sequence[tuple[Entry, Document | None]]) -> None:
        """Store new versions; of files with the bytes that they had, only size and time change."""
        entries = [
            replace(entry, title=document.title, passages=cut(document)) if document else entry
            for entry, document in files
            if document or entry.problem
        ]
        self._store.expect(entry.key for entry in entries)
        self._store.add_texts(entries)
        self._store.replace(entries)
        self._store.touch(entry for entry, document in files if not document and not entry.problem)

    def _unread(self) -> list[str]:
        """Return notices of the files that were not read, read in part, or passed over because of their kind."""
        abouts = self._store.abouts().items()
        partly = [(path, about.decode()) for path, about in sorted(abouts) if about]
        notices = [self._listed(self._store.problems(), "not read"), self._listed(partly, "read in part")]
        return [without_surrogates(notice) for notice in (*notices, passed_over(self._walk.passed)) if notice]

    def _listed(self, files: Sequence[tuple[str, str]], what: str) -> str:
        if not files:
            return ""
        named = "; ".join(f"{self._shown(Path(path))} ({reason})" for path, reason in files[:_NAMED])
        count = "1 file was" if len(files) == 1 else f"{len(files)} files were"
        return f"{count} {what}: {named}{' …' if len(files) > _NAMED else ''}"

    def _shown(self, path: Path) -> Path:
        """Return the path of a file for people: the name of its folder, and the path in it."""
        return next(path.relative_to(root.parent) for root in self._walk.roots if path.is_relative_to(root))
