"""Bringing the index up to date: only changed files are read, in batches that are each durable.

An SQLite table, the manifest, has the state of every file. A file is marked as pending before the full-text index
changes, and as done after its commit. If the process is killed in between, the next update repeats the pending files.
"""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import ParamSpec, TypeVar

from leadline.contracts import Call, Context
from leadline.encoding import without_surrogates
from leadline.records import Blob, Document
from leadline_plugins.parse.media import media_type
from leadline_plugins.search.local.folders import File, Walk, read
from leadline_plugins.search.local.ranking import Passage
from leadline_plugins.search.local.reading import batches, parsed
from leadline_plugins.search.local.store import Damaged, IndexWriter, size
from leadline_plugins.text.sentences import FULL_STOPS, Span

P = ParamSpec("P")
T = TypeVar("T")


# Characters of a passage, the unit that is ranked.
_PASSAGE = 1000


# --- the manifest ----------------------------------------------------------------------------------------------------

_SCHEMA = """CREATE TABLE IF NOT EXISTS files (
    path BLOB PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    digest BLOB NOT NULL, seen_ns INTEGER NOT NULL, problem TEXT NOT NULL, pending INTEGER NOT NULL
) WITHOUT ROWID"""
# Resolution of the coarsest file system clock (FAT). A file that changed so shortly before it was read may change
# again without a new time.
_TICK_NS = 2_000_000_000


@dataclass(frozen=True)
class Problem:
    """A file that is not in the index, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True)
class FileState:
    """A file in the index; `digest` is of its bytes, empty if they were not read."""

    file: File
    digest: bytes
    problem: str = ""


@dataclass(frozen=True)
class Changes:
    """The files to read, with the digest of their last state, and the paths of removed files."""

    read: Sequence[tuple[File, bytes]]
    gone: Sequence[str]


# Unreadable files that a warning names.
_NAMED = 5


class Manifest:
    """The table of files; writing needs the lock of the index."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False, timeout=30)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute(_SCHEMA)
        if (found := self._db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(found)

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def compare(self, files: Mapping[str, File]) -> Changes:
        """Compare the files of a walk with the table. Raises `sqlite3.DatabaseError` if the table is damaged."""
        stale, known, gone = [], set(), []
        try:
            for path, size, mtime_ns, digest, seen_ns, problem, pending in self._db.execute("SELECT * FROM files"):
                name = path.decode("utf-8", "surrogateescape")
                file = files.get(name)
                if file is None:
                    gone.append(name)
                    continue
                known.add(name)
                same = size == file.size and mtime_ns == file.mtime_ns and not pending
                if same and (file.problem or (problem and not digest)):
                    same = file.problem == problem  # the problem is not in its bytes, so it may be gone
                elif same:
                    same = seen_ns - mtime_ns > _TICK_NS
                if not same:
                    stale.append((file, b"" if pending or problem else digest))
        except (TypeError, AttributeError) as error:  # a flipped bit can turn a text into a number
            raise sqlite3.DatabaseError(f"a row is damaged: {error}") from error
        stale += [(file, b"") for path, file in files.items() if path not in known]
        return Changes(sorted(stale), gone)

    def expect(self, files: Iterable[File]) -> None:
        """Mark files as pending, before the full-text index changes."""
        with self._db:
            self._db.executemany(
                "INSERT INTO files VALUES (?, -1, -1, x'', 0, '', 1) ON CONFLICT DO UPDATE SET pending = 1",
                [(os.fsencode(file.path),) for file in files],
            )

    def done(self, entries: Iterable[FileState], seen_ns: int) -> None:
        """Store the state of files after the full-text index has committed; `seen_ns` is the start of the walk."""
        rows = [
            # The problem may quote a name that is not UTF-8.
            (os.fsencode(file.path), file.size, file.mtime_ns, entry.digest, seen_ns, without_surrogates(entry.problem))
            for entry in entries
            for file in (entry.file,)
        ]
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, 0)", rows)

    def forget(self, paths: Iterable[str]) -> None:
        """Delete the rows of files that the full-text index no longer has."""
        with self._db:
            self._db.executemany("DELETE FROM files WHERE path = ?", [(os.fsencode(path),) for path in paths])

    def unfinished(self) -> bool:
        """Return whether an update was killed between its two commits."""
        return self._db.execute("SELECT 1 FROM files WHERE pending LIMIT 1").fetchone() is not None

    def problems(self) -> tuple[Problem, ...]:
        """Return the files that could not be read, sorted by path."""
        rows = self._db.execute("SELECT path, problem FROM files WHERE problem != '' ORDER BY path")
        return tuple(Problem(os.fsdecode(path), reason) for path, reason in rows)

    def count(self) -> int:
        """Return the number of files that are in the index, or will be after the update."""
        return int(self._db.execute("SELECT COUNT(*) FROM files WHERE problem = ''").fetchone()[0])


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


@dataclass(frozen=True)
class Reading:
    """A file that was read; its document is None if the old passages are still valid."""

    entry: FileState
    document: Document | None = None


class Update:
    """One update of the index, which needs its lock."""

    def __init__(self, folder: Path, walk: Walk, context: Context) -> None:
        self._texts = folder / "texts"
        self._manifest = folder / "manifest.db"
        self._walk = walk
        self._context = context
        self._seen_ns = 0

    async def run(self, call: Call) -> None:
        """Read new and changed files, and remove those that are gone."""
        with closing(await self._in_thread(Manifest, self._manifest)) as manifest:
            self._seen_ns = time.time_ns()
            changes = await self._in_thread(self._changes, manifest)
            if not changes.read and not changes.gone:
                return
            start = time.monotonic()
            with closing(await self._in_thread(IndexWriter, self._texts)) as writer:
                await self._in_thread(_remove, manifest, writer, changes.gone)
                await self._add(changes.read, manifest, writer, call)
            self._log(changes, manifest, time.monotonic() - start)

    def _in_thread(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        return finish_in_thread(self._context, function, *args, **kwargs)

    def _changes(self, manifest: Manifest) -> Changes:
        """Return the changes. Raises `Damaged` if manifest or full-text index is missing."""
        if (manifest.count() > 0) != (size(self._texts) > 0) and not manifest.unfinished():
            raise Damaged("the manifest or the full-text index is missing")
        return manifest.compare(self._walk.files())

    async def _add(
        self, files: Sequence[tuple[File, bytes]], manifest: Manifest, writer: IndexWriter, call: Call
    ) -> None:
        done = 0
        for batch in batches(files, lambda pair: pair[0].size):
            loaded = await self._in_thread(self._load, batch)
            readings = await asyncio.gather(*(self._parse(*item, call) for item in loaded))
            await self._in_thread(self._write, readings, manifest, writer)
            done += len(batch)
            self._context.log.info("indexed %d of %d files", done, len(files))

    def _load(self, batch: Sequence[tuple[File, bytes]]) -> list[tuple[FileState, bytes | None]]:
        """Return each file with its bytes; None if there is nothing to parse."""
        return [self._load_file(file, last_digest) for file, last_digest in batch]

    def _load_file(self, file: File, last_digest: bytes) -> tuple[FileState, bytes | None]:
        if file.problem:
            return FileState(file, b"", file.problem), None
        try:
            data = read(file.path, self._walk.max_bytes)
        except OSError as error:
            return FileState(file, b"", f"cannot be read: {error.strerror}"), None
        digest = blake2b(data, digest_size=16).digest()
        return FileState(file, digest), None if digest == last_digest else data

    async def _parse(self, entry: FileState, data: bytes | None, call: Call) -> Reading:
        if data is None:
            return Reading(entry)
        path = entry.file.path
        blob = Blob(name=Path(path).name, media_type=media_type(path), data=data)
        document = await parsed(self._context, blob, call)
        if isinstance(document, str):
            return Reading(replace(entry, problem=document))
        if document.incomplete:
            self._context.log.warning("%s: %s", path, document.incomplete)
        return Reading(entry, document)

    def _write(self, readings: Sequence[Reading], manifest: Manifest, writer: IndexWriter) -> None:
        changed = [reading for reading in readings if reading.document or reading.entry.problem]
        manifest.expect(reading.entry.file for reading in changed)
        for reading in changed:
            writer.replace(reading.entry.file.path, self._passages(reading))
        writer.commit()
        manifest.done((reading.entry for reading in readings), self._seen_ns)

    def _passages(self, reading: Reading) -> Iterator[Passage]:
        if reading.document is None:
            return
        text, title = reading.document.text, reading.document.title
        for number, (start, end) in enumerate(split_passages(text, _PASSAGE)):
            yield Passage(reading.entry.file.path, title, number, text[start:end])

    def _log(self, changes: Changes, manifest: Manifest, seconds: float) -> None:
        log, count, problems = self._context.log, manifest.count(), manifest.problems()
        log.info("read %d files, removed %d in %.1f s", len(changes.read), len(changes.gone), seconds)
        if problems:
            named = "; ".join(f"{Path(one.path).name}: {one.reason}" for one in problems[:_NAMED])
            more = "; …" if len(problems) > _NAMED else ""
            named = without_surrogates(named)
            log.warning("not indexed: %d of %d files: %s%s", len(problems), count + len(problems), named, more)


def _remove(manifest: Manifest, writer: IndexWriter, gone: Sequence[str]) -> None:
    for path in gone:
        writer.remove(path)
    writer.commit()
    manifest.forget(gone)


# --- passages --------------------------------------------------------------------------------------------------------

_PARAGRAPH = re.compile(r"\S(?:.*\S)?(?:\n(?![ \t]*\n).*\S)*")
_SENTENCE_END = re.compile(rf"[{FULL_STOPS}]+[」』）】》”’»]*|(?<![.!?])[.!?]++[\"'”’)\]]*\s|\n")


def split_passages(text: str, size: int) -> list[Span]:
    """Return the spans of the passages, each of at most `size` characters, in order.

    A passage has whole paragraphs; only a longer paragraph is split, at the end of a sentence if possible.
    """
    passages: list[Span] = []
    for start, end in _pieces(text, size):
        if passages and end - passages[-1][0] <= size:
            passages[-1] = (passages[-1][0], end)
        else:
            passages.append((start, end))
    return passages


def _pieces(text: str, size: int) -> Iterator[Span]:
    for paragraph in _PARAGRAPH.finditer(text):
        start, end = paragraph.span()
        while end - start > size:
            cut = _cut(text, start, start + size)
            yield start, start + len(text[start:cut].rstrip())
            start = cut + len(text[cut:end]) - len(text[cut:end].lstrip())
        yield start, end


def _cut(text: str, start: int, limit: int) -> int:
    """Return where to split before the limit: after the last sentence or space of the second half."""
    middle = (start + limit) // 2
    ends = [match.end() for match in _SENTENCE_END.finditer(text, middle, limit)]
    space = text.rfind(" ", middle, limit)
    return ends[-1] if ends else space + 1 if space > 0 else limit
