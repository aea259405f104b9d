"""Adding files: find them, read and parse those that are new or changed, and cut them into passages, in batches."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from leadline.contracts import Call, Context
from leadline.encoding import json_bytes, without_surrogates
from leadline.records import AddedDocuments, Blob, Document, Hit, NewDocuments, Source, StoredDocument, UnreadFile
from leadline.settings import Settings
from leadline.workers import compute
from leadline_plugins.canonical import source_id
from leadline_plugins.documents.store import Entry, State
from leadline_plugins.knowledge import KnowledgeSettings
from leadline_plugins.knowledge.shelf import Shelf, document_id, file_digest
from leadline_plugins.knowledge.writer import ShelfWriter
from leadline_plugins.parse.layout import HEADING
from leadline_plugins.parse.media import bare_type, content_type, media_type, missing
from leadline_plugins.passages.cutting import passages_of
from leadline_plugins.search.local.folders import File, LocalSettings, Walk, passed_over, read, resolve
from leadline_plugins.search.local.reading import batches, parsed
from leadline_plugins.search.local.update import is_same


@dataclass(frozen=True)
class _Candidate:
    """A file to add: on disk, or with its bytes."""

    id: str
    name: str
    media_type: str
    size: int = 0
    path: str = ""
    data: bytes | None = None
    problem: str = ""
    owner: str = ""
    from_folder: bool = False
    mtime_ns: int = 0

    def is_stored(self, state: State | None) -> bool:
        """Return whether a file on disk is as it was when it was stored."""
        return state is not None and is_same(File(self.path, self.size, self.mtime_ns, self.problem), state)


@dataclass(frozen=True)
class _Read:
    """A file that was read; its document is None if it has a problem, or has not changed."""

    candidate: _Candidate
    digest: str = ""
    data: bytes = b""
    document: Document | None = None
    problem: str = ""


@dataclass
class _Outcome:
    """What changed so far. `known` are the digests of the files before, by id."""

    known: Mapping[str, str]
    replaced: int = 0
    unchanged: int = 0
    problems: list[UnreadFile] = field(default_factory=list)
    partly: list[str] = field(default_factory=list)
    documents: list[StoredDocument] = field(default_factory=list)


class Addition:
    """One addition to a collection."""

    def __init__(self, shelf: Shelf, settings: KnowledgeSettings, context: Context, call: Call) -> None:
        self._shelf = shelf
        self._settings = settings
        self._context = context
        self._call = call
        self._writer = ShelfWriter(shelf, context, call)
        self._passed = Counter[str]()

    async def add(self, request: NewDocuments) -> AddedDocuments:
        """Add files. Those that cannot be read are named in the result; the others are added."""
        writer = self._writer
        async with writer.exclusive():
            again = await writer.embed_again() if request.reembed else 0
            if request.folders:
                candidates, gone = await writer.in_thread(self._changed_in_folders)
                if gone:
                    await writer.remove(gone)
            else:
                candidates = await writer.in_thread(self._candidates, request)
            if request.folders and not candidates:
                return AddedDocuments()
            outcome = await self._add_all(candidates)
        return AddedDocuments(
            added=len(outcome.documents) - outcome.replaced,
            replaced=outcome.replaced,
            unchanged=outcome.unchanged,
            embedded_again=again,
            problems=tuple(outcome.problems),
            notices=tuple(filter(None, (*outcome.partly, passed_over(self._passed)))),
            documents=tuple(outcome.documents),
        )

    async def bring(self, documents: Sequence[tuple[StoredDocument, bytes]]) -> None:
        """Add documents that another collection had, under their own ids."""
        candidates = [
            _Candidate(it.id, it.name, it.media_type, len(data), data=data, owner=it.owner) for it, data in documents
        ]
        async with self._writer.exclusive():
            await self._add_all(candidates)

    async def _add_all(self, candidates: Sequence[_Candidate]) -> _Outcome:
        writer, done = self._writer, 0
        await writer.check_vectors()
        states = await writer.in_thread(self._shelf.states)
        outcome = _Outcome({name: state.digest for name, state in states.items()})
        for batch in batches(candidates, lambda candidate: candidate.size):
            await self._add(batch, outcome)
            done += len(batch)
            await writer.progress(done, len(candidates), len(outcome.problems))
        return outcome

    async def _add(self, batch: Sequence[_Candidate], outcome: _Outcome) -> None:
        loaded = await self._writer.in_thread(lambda: [self._load(candidate, outcome.known) for candidate in batch])
        files = await asyncio.gather(*(self._parse(item) for item in loaded))
        entries, unread, touched, stored = [], list[Entry](), list[Entry](), dict[str, bytes]()
        for file in files:
            problem = file.problem
            if file.document:
                entry = await self._entry(file, file.document)
                if file.document.incomplete:
                    outcome.partly.append(without_surrogates(f"{file.candidate.name}: {file.document.incomplete}"))
                if entry.passages:
                    entries.append(entry)
                    stored[file.digest] = file.data
                else:
                    problem = "it has no text"
            if problem:
                outcome.problems.append(_unread(file.candidate, problem))
                if file.candidate.from_folder:  # so that it is not read again before it changes
                    unread.append(replace(await self._entry(file, Document(text="")), problem=problem, source=b""))
            elif not file.document:
                outcome.unchanged += 1
                touched.append(self._state(file))
        await self._writer.in_thread(self._shelf.touch, touched)
        if not entries and not unread:
            return
        await self._writer.add([*entries, *unread], list(stored.items()))
        # A removed version of the same name could be restored over the new one, or deleted with it.
        await self._writer.in_thread(self._shelf.forget, [entry.id for entry in entries])
        outcome.replaced += sum(entry.id in outcome.known for entry in entries)
        abouts = (StoredDocument.model_validate_json(entry.about) for entry in entries)
        outcome.documents += [about.model_copy(update={"shared": self._shelf.shared}) for about in abouts]

    def _load(self, candidate: _Candidate, known: Mapping[str, str]) -> _Read:
        if candidate.problem:
            return _Read(candidate, problem=candidate.problem)
        try:
            data = candidate.data if candidate.data is not None else read(candidate.path, self._max_bytes)
        except OSError as error:
            return _Read(candidate, problem=f"cannot be read: {error.strerror or error}")
        digest = file_digest(data)
        return _Read(candidate, digest, b"" if known.get(candidate.id) == digest else data)

    async def _parse(self, file: _Read) -> _Read:
        candidate = file.candidate
        if file.problem or not file.data:
            empty = not file.problem and candidate.size == 0
            return _Read(candidate, file.digest, problem="it is empty" if empty else file.problem)
        name = Path(candidate.name).name
        blob = Blob(name=name, media_type=candidate.media_type, data=file.data)
        document = await parsed(self._context, blob, self._call)
        if isinstance(document, str):
            return _Read(candidate, file.digest, problem=document)
        return _Read(candidate, file.digest, file.data, document)

    async def _entry(self, file: _Read, document: Document) -> Entry:
        candidate = file.candidate
        url = self._shelf.url(candidate.id, candidate.name)
        title, engine = (document.title or Path(candidate.name).stem)[:HEADING], self._context.name
        hit = Hit(url=url, title=title, published=document.published, engine=engine)
        source = Source(id=source_id(url), hit=hit, document=document, engine=engine, labels=document.labels)
        passages = tuple(await compute(passages_of, source))
        about = StoredDocument(
            id=candidate.id,
            name=candidate.name,
            title=title,
            media_type=candidate.media_type,
            size=len(file.data),
            passages=len(passages),
            pages=len(document.pages),
            added=datetime.now(UTC),
            owner=candidate.owner,
            from_folder=candidate.from_folder,
        )
        return replace(
            self._state(file),
            title=title,
            about=json_bytes(about),
            source=zlib.compress(json_bytes(source)),
            passages=passages,
        )

    def _state(self, file: _Read) -> Entry:
        """Return what tells a version of a file from others."""
        candidate, key = file.candidate, f"{file.candidate.id}-{file.digest[:12]}"
        return Entry(candidate.id, key, file.digest, "", candidate.size, candidate.mtime_ns, time.time_ns())

    # --- the files ---------------------------------------------------------------------------------------------------

    @property
    def _max_bytes(self) -> int:
        return int(self._settings.max_file_mb * 1e6)

    def _candidates(self, request: NewDocuments) -> list[_Candidate]:
        """Return the files of a request in order, each once."""
        candidates: dict[str, _Candidate] = {}
        for path in request.paths:
            for candidate in self._below(Path(path), self._settings):
                candidates[candidate.id] = candidate
        for blob in request.files:
            candidates[document_id(blob.name)] = self._uploaded(blob)
        return list(candidates.values())

    def _changed_in_folders(self) -> tuple[list[_Candidate], list[str]]:
        """Return the new and changed files of the folders of `local`, and the ids of those that are gone.

        As long as a folder cannot be read, nothing is gone.
        """
        shared = shared_folders(self._call.run.settings)
        files = (replace(it, from_folder=True) for pair in shared for it in self._below(*pair))
        candidates, states = {it.id: it for it in files}, self._shelf.states()
        changed = [it for it in candidates.values() if not it.is_stored(states.get(it.id))]
        gone = self._shelf.from_folders() - candidates.keys()
        return changed, sorted(gone) if all(root.exists() for root, _ in shared) else []

    def _uploaded(self, blob: Blob) -> _Candidate:
        known = bare_type(blob.media_type)
        kind = blob.media_type if known and self._context.parses(blob.media_type) else media_type(blob.name)
        kind = content_type(blob.data) or kind
        problem = "" if self._context.parses(kind) else f"no parser of read.parsers reads {kind}{missing(kind)}"
        if len(blob.data) > self._max_bytes:
            problem = f"is larger than max_file_mb: {len(blob.data) / 1e6:.0f} MB of {self._settings.max_file_mb:g} MB"
        name = without_surrogates(blob.name)
        return _Candidate(document_id(blob.name), name, kind, len(blob.data), data=blob.data, problem=problem)

    def _below(self, path: Path, settings: KnowledgeSettings | LocalSettings) -> Iterator[_Candidate]:
        """Yield a file, or the files of a folder that a parser accepts, by path."""
        try:
            (root,) = resolve([path])
            is_folder = root.is_dir()
            root.stat()
        except OSError as error:
            yield _Candidate(document_id(str(path)), str(path), "", problem=f"cannot be read: {error.strerror}")
            return
        own = resolve((*self._context.own, self._settings.folder))
        wanted = self._context.parses if is_folder else (lambda _: True)
        walk = Walk([root], settings.include, settings.exclude, int(settings.max_file_mb * 1e6), wanted, own)
        for file in sorted(walk.files().values()):
            yield self._on_disk(file, root)
        self._passed += walk.passed

    def _on_disk(self, file: File, root: Path) -> _Candidate:
        kind = media_type(file.path)
        problem = file.problem
        if not problem and not self._context.parses(kind):
            problem = f"no parser of read.parsers reads {kind}{missing(kind)}"
        # With the folder that was named, or that has the file; the name tells nothing of those above it.
        above = root.parent if root != Path(file.path) else root.parent.parent
        name = without_surrogates(str(Path(file.path).relative_to(above)))
        path, name_of_all = file.target or file.path, document_id(file.path)
        return _Candidate(name_of_all, name, kind, file.size, path, problem=problem, mtime_ns=file.mtime_ns)


def shared_folders(settings: Settings) -> list[tuple[Path, LocalSettings]]:
    """Return the folders and files that the operator shares: those of the engines `local`, each with its settings."""
    sections = dict(settings.plugins).values()
    return [(root, it) for it in sections if isinstance(it, LocalSettings) for root in resolve(it.folders)]


def _unread(candidate: _Candidate, reason: str) -> UnreadFile:
    return UnreadFile(name=candidate.name, reason=without_surrogates(reason))
