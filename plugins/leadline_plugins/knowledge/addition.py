"""Adding files: find them, read and parse those that are new or changed, and cut them into passages, in batches."""

from __future__ import annotations

import asyncio
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from leadline.contracts import Call, Context
from leadline.encoding import json_bytes, without_surrogates
from leadline.records import AddedDocuments, Blob, Document, Hit, NewDocuments, Source, StoredDocument, UnreadFile
from leadline.workers import compute
from leadline_plugins.canonical import source_id
from leadline_plugins.documents.store import Entry
from leadline_plugins.knowledge import KnowledgeSettings
from leadline_plugins.knowledge.shelf import Shelf, document_id, file_digest
from leadline_plugins.knowledge.writer import ShelfWriter
from leadline_plugins.parse.media import bare_type, content_type, media_type
from leadline_plugins.passages.cutting import passages_of
from leadline_plugins.search.local.folders import File, Walk, passed_over, read, resolve
from leadline_plugins.search.local.reading import batches, parsed


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
            await writer.check_vectors()
            candidates = await writer.in_thread(self._candidates, request)
            states = await writer.in_thread(self._shelf.states)
            outcome = _Outcome({name: state.digest for name, state in states.items()})
            done = 0
            for batch in batches(candidates, lambda candidate: candidate.size):
                await self._add(batch, outcome)
                done += len(batch)
                await writer.progress(done, len(candidates), len(outcome.problems))
        return AddedDocuments(
            added=len(outcome.documents) - outcome.replaced,
            replaced=outcome.replaced,
            unchanged=outcome.unchanged,
            embedded_again=again,
            problems=tuple(outcome.problems),
            notices=tuple(filter(None, (*outcome.partly, passed_over(self._passed)))),
            documents=tuple(outcome.documents),
        )

    async def _add(self, batch: Sequence[_Candidate], outcome: _Outcome) -> None:
        loaded = await self._writer.in_thread(lambda: [self._load(candidate, outcome.known) for candidate in batch])
        files = await asyncio.gather(*(self._parse(item) for item in loaded))
        entries, stored = [], dict[str, bytes]()
        for file in files:
            if file.document is None:
                outcome.unchanged += not file.problem
                continue
            entry = await self._entry(file, file.document)
            if file.document.incomplete:
                outcome.partly.append(without_surrogates(f"{file.candidate.name}: {file.document.incomplete}"))
            if entry.passages:
                entries.append(entry)
                stored[file.digest] = file.data
            else:
                outcome.problems.append(_unread(file.candidate, "it has no text"))
        outcome.problems += [_unread(file.candidate, file.problem) for file in files if file.problem]
        if not entries:
            return
        await self._writer.add(entries, list(stored.items()))
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
            return _Read(candidate, problem=document)
        return _Read(candidate, file.digest, file.data, document)

    async def _entry(self, file: _Read, document: Document) -> Entry:
        candidate = file.candidate
        url = self._shelf.url(candidate.id, candidate.name)
        title, engine = document.title or Path(candidate.name).stem, self._context.name
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
        )
        return Entry(
            id=candidate.id,
            key=f"{candidate.id}-{file.digest[:12]}",
            digest=file.digest,
            title=title,
            size=len(file.data),
            about=json_bytes(about),
            source=zlib.compress(json_bytes(source)),
            passages=passages,
        )

    # --- the files ---------------------------------------------------------------------------------------------------

    @property
    def _max_bytes(self) -> int:
        return int(self._settings.max_file_mb * 1e6)

    def _candidates(self, request: NewDocuments) -> list[_Candidate]:
        """Return the files of a request in order, each once."""
        candidates: dict[str, _Candidate] = {}
        for path in request.paths:
            for candidate in self._below(Path(path)):
                candidates[candidate.id] = candidate
        for blob in request.files:
            candidates[document_id(blob.name)] = self._uploaded(blob)
        return list(candidates.values())

    def _uploaded(self, blob: Blob) -> _Candidate:
        known = bare_type(blob.media_type)
        kind = blob.media_type if known and self._context.parses(blob.media_type) else media_type(blob.name)
        kind = content_type(blob.data) or kind
        problem = "" if self._context.parses(kind) else f"no parser of read.parsers reads {kind}"
        if len(blob.data) > self._max_bytes:
            problem = f"is larger than max_file_mb: {len(blob.data) / 1e6:.0f} MB of {self._settings.max_file_mb:g} MB"
        name = without_surrogates(blob.name)
        return _Candidate(document_id(blob.name), name, kind, len(blob.data), data=blob.data, problem=problem)

    def _below(self, path: Path) -> Iterator[_Candidate]:
        """Yield a file, or the files of a folder that a parser accepts, by path."""
        try:
            (root,) = resolve([path])
            is_folder = root.is_dir()
            root.stat()
        except OSError as error:
            yield _Candidate(document_id(str(path)), str(path), "", problem=f"cannot be read: {error.strerror}")
            return
        settings = self._settings
        own = resolve((*self._context.own, settings.folder))
        wanted = self._context.parses if is_folder else (lambda _: True)
        walk = Walk([root], settings.include, settings.exclude, self._max_bytes, wanted, own)
        for file in sorted(walk.files().values()):
            yield self._on_disk(file, root)
        self._passed += walk.passed

    def _on_disk(self, file: File, root: Path) -> _Candidate:
        kind = media_type(file.path)
        problem = file.problem
        if not problem and not self._context.parses(kind):
            problem = f"no parser of read.parsers reads {kind}"
        # With the folder that was named, or that has the file; the name tells nothing of those above it.
        above = root.parent if root != Path(file.path) else root.parent.parent
        name = without_surrogates(str(Path(file.path).relative_to(above)))
        return _Candidate(document_id(file.path), name, kind, file.size, path=file.target or file.path, problem=problem)


def _unread(candidate: _Candidate, reason: str) -> UnreadFile:
    return UnreadFile(name=candidate.name, reason=without_surrogates(reason))
