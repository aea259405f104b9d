"""The index brought up to date with the folders: only what changed is read, in batches that are each safe on disk.

Killed at any moment, the next update goes on from the last batch. The order of the two commits, and why it matters,
stands in `manifest`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from leadline.contracts import Call, Context
from leadline.errors import ProviderError
from leadline.records import Blob, Document
from leadline_plugins.parse.media import media_type
from leadline_plugins.search.local.folders import File, Walk, read
from leadline_plugins.search.local.manifest import Changes, Entry, Manifest, digest
from leadline_plugins.search.local.passages import passages
from leadline_plugins.search.local.steady import steadily
from leadline_plugins.search.local.store import Damaged, Passage, Writer, size

_FILES = 1_000
_BYTES = 16_000_000
"""Of a batch: what is held in memory at once, beside its last file."""


@dataclass(frozen=True)
class Reading:
    """A file that was read: its document where the index is to change, None where the old text still holds."""

    entry: Entry
    document: Document | None = None


class Update:
    """One pass over the folders, by the holder of the write lock."""

    def __init__(self, folder: Path, walk: Walk, passage: int, context: Context) -> None:
        self._texts = folder / "texts"
        self._manifest = folder / "manifest.db"
        self._walk = walk
        self._passage = passage
        self._context = context
        self._seen_ns = 0

    async def run(self, call: Call) -> None:
        """Read what is new or changed, and take out what is gone."""
        context = self._context
        with closing(await steadily(context, Manifest, self._manifest)) as manifest:
            self._seen_ns = time.time_ns()
            await steadily(context, self._check, manifest)
            changes = await steadily(context, self._changes, manifest)
            if not changes.read and not changes.gone:
                return
            started = time.monotonic()
            with closing(await steadily(context, Writer, self._texts)) as writer:
                await steadily(context, _remove, manifest, writer, changes.gone)
                await self._add(changes.read, manifest, writer, call)
            self._tell(changes, manifest, time.monotonic() - started)

    def _check(self, manifest: Manifest) -> None:
        """Raise `Damaged` where one half of the index knows of files and the other is gone."""
        if (manifest.count() > 0) != (size(self._texts) > 0) and not manifest.unfinished():
            raise Damaged("one half of it is missing")

    def _changes(self, manifest: Manifest) -> Changes:
        return manifest.compare(self._walk.files())

    async def _add(self, files: Sequence[tuple[File, bytes]], manifest: Manifest, writer: Writer, call: Call) -> None:
        done = 0
        for batch in _batches(files):
            loaded = await steadily(self._context, self._load, batch)
            readings = await asyncio.gather(*(self._parse(*item, call) for item in loaded))
            await steadily(self._context, self._write, readings, manifest, writer)
            done += len(batch)
            self._context.log.info("indexed %d of %d files", done, len(files))

    def _load(self, batch: Sequence[tuple[File, bytes]]) -> list[tuple[Entry, bytes | None]]:
        """Return each file with its bytes; None where there is nothing to parse."""
        return [self._bytes(file, before) for file, before in batch]

    def _bytes(self, file: File, before: bytes) -> tuple[Entry, bytes | None]:
        if file.problem:
            return Entry(file, b"", file.problem), None
        try:
            data = read(file.path, self._walk.max_bytes)
        except OSError as error:
            return Entry(file, b"", f"cannot be read: {error.strerror}"), None
        now = digest(data)
        return Entry(file, now), None if now == before else data

    async def _parse(self, entry: Entry, data: bytes | None, call: Call) -> Reading:
        if data is None:
            return Reading(entry)
        path = entry.file.path
        blob = Blob(name=Path(path).name, media_type=media_type(path), data=data)
        try:
            return Reading(entry, await self._context.parse(blob, call))
        except ProviderError as error:
            return Reading(replace(entry, problem=str(error)))
        except Exception as error:
            self._context.log.warning("%s: its parser failed", path, exc_info=error)
            return Reading(replace(entry, problem=f"its parser failed: {type(error).__name__}: {error}"))

    def _write(self, readings: Sequence[Reading], manifest: Manifest, writer: Writer) -> None:
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
        for number, (start, end) in enumerate(passages(text, self._passage)):
            yield Passage(reading.entry.file.path, title, number, text[start:end])

    def _tell(self, changes: Changes, manifest: Manifest, seconds: float) -> None:
        log, count, problems = self._context.log, manifest.count(), manifest.problems()
        log.info("read %d files, dropped %d in %.1f s", len(changes.read), len(changes.gone), seconds)
        if problems:
            first = problems[0]
            log.warning(
                "%d files were not indexed beside %d that were; %s: %s", len(problems), count, first.path, first.reason
            )


def _remove(manifest: Manifest, writer: Writer, gone: Sequence[str]) -> None:
    for path in gone:
        writer.remove(path)
    writer.commit()
    manifest.forget(gone)


def _batches(files: Iterable[tuple[File, bytes]]) -> Iterator[list[tuple[File, bytes]]]:
    batch: list[tuple[File, bytes]] = []
    size = 0
    for file, before in files:
        if batch and (len(batch) >= _FILES or size + file.size > _BYTES):
            yield batch
            batch, size = [], 0
        batch.append((file, before))
        size += file.size
    if batch:
        yield batch
