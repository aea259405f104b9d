"""The documents that Leadline keeps, as a search engine, and the fetcher of their files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain, repeat
from pathlib import Path

from leadline.contracts import Call, Context
from leadline.errors import Unsupported
from leadline.records import (
    AddedDocuments,
    Blob,
    DocumentChange,
    DocumentList,
    DocumentSelection,
    Evidence,
    FetchRequest,
    Hit,
    NewDocuments,
    PassageRequest,
    Passages,
    Principal,
    SearchPage,
    SearchRequest,
    Source,
    StoredDocument,
    VectorMatch,
    VectorQuery,
)
from leadline_plugins.documents.ranking import rank
from leadline_plugins.documents.text_index import IndexReader
from leadline_plugins.knowledge import KnowledgeSettings
from leadline_plugins.knowledge.addition import Addition, shared_folders
from leadline_plugins.knowledge.shelf import PROBE, Shelf, document_id, file_digest, owner_of, parsed
from leadline_plugins.knowledge.writer import ShelfWriter
from leadline_plugins.passages.cutting import as_passage
from leadline_plugins.search.filters import page_start
from leadline_plugins.search.local.folders import resolve
from leadline_plugins.search.local.reading import batches

# Passages of each ranking that are fused.
DEPTH = 50
# The constant of reciprocal rank fusion: smaller than the usual 60, so that the first places count for more.
FUSION = 10

# A passage: the key of its document's version, and its number there.
Place = tuple[str, int]
Scores = dict[Place, float]


def by_words(readers: Iterable[IndexReader], query: str) -> Scores:
    """Return the best passages of some collections with their scores, best first."""
    matches = [match for reader in readers for match in rank(reader, query, DEPTH)]
    matches.sort(key=lambda match: (-match.score, match.passage.key, match.passage.number))
    return {(match.passage.key, match.passage.number): match.score for match in matches[:DEPTH]}


def by_vectors(matches: Sequence[VectorMatch]) -> list[Place]:
    """Return the places of the nearest passages; those that share nothing with the question are left out."""
    return [(match.document, match.passage) for match in matches if match.score > 0]


def fused(words: Scores, vectors: Sequence[Place], weight: float) -> Scores:
    """Return the two rankings together, best first; `weight` is that of the vectors beside 1.

    Each passage takes the score by words of its new place, so that as many count as by words alone. What the vectors
    add shares no word with the question and scores 0, unless the words had more passages than they could name.
    """
    scores: defaultdict[Place, float] = defaultdict(float)
    for ranking, share in ((words, 1.0), (vectors, weight)):
        for rank_, passage in enumerate(ranking):
            scores[passage] += share / (FUSION + rank_)
    by_place = [*words.values()]
    further = repeat(by_place[-1] if len(by_place) >= DEPTH else 0.0)
    return dict(
        zip(sorted(scores, key=lambda passage: (-scores[passage], passage)), chain(by_place, further), strict=False)
    )


_EMPTY = "there are no documents: add some with `leadline knowledge add PATH`"
_NONE_CHOSEN = "the chosen documents are not there (any more): `leadline knowledge list` shows those that are"
# Nearest passages of which those of chosen documents are taken.
_NEAR = 20 * DEPTH


class Shelves:
    """The collections in one folder."""

    def __init__(self, settings: KnowledgeSettings) -> None:
        self._folder = settings.folder.expanduser().absolute()
        self._database = settings.database.get_secret_value()
        self._shelves: dict[str, Shelf] = {}

    def own(self, principal: Principal | None) -> Shelf:
        """Return the collection that belongs to a principal; without one, the shared one."""
        owner = owner_of(principal)
        if owner not in self._shelves and self._database:
            from leadline_plugins.knowledge.replica import Replica

            self._shelves[owner] = Replica(self._folder / "replica", owner, self._database)
        return self._shelves.setdefault(owner, Shelf(self._folder, owner))

    def visible(self, principal: Principal | None) -> list[Shelf]:
        """Return the collections that a principal sees and that have documents, the shared one last."""
        shelves = [self.own(principal), *([self.own(None)] if principal else [])]
        for shelf in shelves:
            shelf.pull()
        return [shelf for shelf in shelves if shelf.count()]


def finds_documents(settings: KnowledgeSettings, names: Sequence[str], principal: Principal | None) -> bool:
    """Return whether a principal finds documents, or some of those with these names."""
    shelves = Shelves(settings).visible(principal)
    return bool(_listed(shelves, DocumentSelection(names=tuple(names))) if names else shelves)


class Knowledge:
    """Implements `leadline.contracts.KnowledgeBase`."""

    def __init__(self, settings: KnowledgeSettings, context: Context) -> None:
        self._settings = settings
        self._context = context
        self._shelves = Shelves(settings)

    # --- documents ---------------------------------------------------------------------------------------------------

    async def add(self, request: NewDocuments, call: Call, /) -> AddedDocuments:
        """Add files to the collection of the call's principal, or embed all of its documents again."""
        shelf = self._shelves.own(None if request.folders else call.run.principal)
        if request.folders and not shelf.exists() and not shared_folders(call.run.settings):
            return AddedDocuments()
        return await self._addition(shelf, call).add(request)

    def _addition(self, shelf: Shelf, call: Call) -> Addition:
        return Addition(shelf, self._settings, self._context, call)

    async def remove(self, request: DocumentSelection, call: Call, /) -> DocumentList:
        """Delete documents of the call's principal for good, and return them; with `removed`, those set aside.

        Names without a document are ignored.
        """
        own = self._shelves.own(call.run.principal)
        documents = await self._context.in_thread(self._owned, request, call)
        if request.removed:
            await self._context.in_thread(own.forget, [document.id for document in documents])
        else:
            await self._take_out(documents, call)
        return DocumentList(documents=tuple(documents))

    async def change(self, request: DocumentChange, call: Call, /) -> DocumentList:
        """Change where documents of the call's principal are kept; return them as they were."""
        principal = call.run.principal
        chosen = DocumentSelection(names=request.names, removed=request.to == "restored")
        documents = await self._context.in_thread(self._owned, chosen, call)
        if request.to in ("shared", "private"):  # without users, all documents are shared
            documents = [it for it in documents if principal and it.shared is (request.to == "private")]
        changed = list[StoredDocument]()
        for batch in batches(documents, lambda document: document.size):
            changed += await self._move(batch, request.to, call)
        return DocumentList(documents=tuple(changed))

    async def _move(self, documents: Sequence[StoredDocument], to: str, call: Call) -> Sequence[StoredDocument]:
        """Bring documents to another place, and take out those that arrived; what cannot be read again stays."""
        own, in_thread = self._shelves.own(call.run.principal), self._context.in_thread
        files = [await in_thread(self._file, document, call) for document in documents]
        if to == "removed":
            for document, data in zip(documents, files, strict=True):
                await in_thread(own.set_aside, document, data)
            await self._take_out(documents, call)
            return documents
        target, owner = (self._shelves.own(None), owner_of(call.run.principal)) if to == "shared" else (own, "")
        moved = [_moved(document, owner) for document in documents]
        await self._addition(target, call).bring(list(zip(moved, files, strict=True)))
        stored = {(name, state.digest) for name, state in (await in_thread(target.states)).items()}
        places = zip(documents, moved, files, strict=True)
        arrived = [before for before, after, data in places if (after.id, file_digest(data)) in stored]
        if to == "restored":
            await in_thread(own.forget, [document.id for document in arrived])
        else:
            await self._take_out(arrived, call)
        return arrived

    def _owned(self, request: DocumentSelection, call: Call) -> list[StoredDocument]:
        """Return the documents of a selection that the principal may change: its own, and those that it shares."""
        principal, owner = call.run.principal, owner_of(call.run.principal)
        if request.removed:
            removed = self._shelves.own(principal).removed()
            return [it for it in removed if request.names is None or it.id in request.names]
        documents = _listed(self._shelves.visible(principal), request)
        return [it for it in documents if not it.from_folder and (it.owner == owner or not it.shared or not owner)]

    def _file(self, document: StoredDocument, call: Call) -> bytes:
        own = self._shelves.own(call.run.principal)
        if document.removed:
            return own.removed_file(document.id)
        shelf = self._shelves.own(None) if document.shared else own
        return shelf.read_file(shelf.states()[document.id].digest)

    async def _take_out(self, documents: Sequence[StoredDocument], call: Call) -> None:
        """Delete documents from the collections that have them."""
        for shelf in {self._shelves.own(None), self._shelves.own(call.run.principal)}:
            ids = [document.id for document in documents if document.shared == shelf.shared]
            if ids:
                writer = ShelfWriter(shelf, self._context, call)
                async with writer.exclusive():
                    await writer.remove(ids)

    async def documents(self, request: DocumentSelection, call: Call, /) -> DocumentList:
        """Return the documents that the call's principal finds."""
        own = self._shelves.own(call.run.principal)
        if request.removed:
            return DocumentList(documents=tuple(await self._context.in_thread(own.removed)))
        shelves = await self._context.in_thread(self._shelves.visible, call.run.principal)
        return await self._context.in_thread(_list, own, shelves, request)

    def folder(self, principal: Principal | None) -> Path:
        """Return the folder of a principal's collection, with all files of it."""
        shelf = self._shelves.own(principal)
        shelf.write_files()
        return shelf.folder

    async def import_folder(self, folder: Path | None) -> int | None:
        if not (url := self._settings.database.get_secret_value()):
            return None
        from leadline_plugins.knowledge.replica import replicas

        own = self._settings.folder.expanduser().absolute()
        return sum([await it.take_over(folder or own) for it in replicas(own / "replica", url, folder or own)])

    async def export_folder(self, folder: Path) -> bool:
        if url := self._settings.database.get_secret_value():
            from leadline_plugins.knowledge.replica import replicas

            for replica in replicas(folder, url):
                await self._context.in_thread(replica.write_files)
        return bool(url)

    # --- passages ----------------------------------------------------------------------------------------------------

    async def retrieve(self, request: PassageRequest, call: Call, /) -> Passages:
        """Return the best passages with their documents. Raises `Unsupported` if there are no documents."""
        shelves = await self._ranked_shelves(call)
        ranking = await self._ranked(request.query, shelves, call)
        return await self._context.in_thread(_passages, shelves, ranking, request)

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return documents with their best passages, verbatim; the snippet is the best of them."""
        start = page_start(request.cursor, first=0)
        shelves = await self._ranked_shelves(call)
        ranking = await self._ranked(request.query, shelves, call)
        hits = await self._context.in_thread(_hits, shelves, ranking)
        end = start + request.limit
        return SearchPage(hits=tuple(hits[start:end]), cursor=str(end) if len(hits) > end else None)

    async def _ranked_shelves(self, call: Call) -> list[Shelf]:
        shelves = await self._context.in_thread(self._shelves.visible, call.run.principal)
        if not shelves:
            raise Unsupported(_EMPTY)
        return shelves

    async def _ranked(self, query: str, shelves: Sequence[Shelf], call: Call) -> Scores:
        run = call.run
        asked, probe = (await run.embed([query, PROBE], run.settings.knowledge.embedder)).vectors
        for shelf in shelves:
            await self._context.in_thread(shelf.check_vectors, run.settings, probe)
        names = [await self._context.in_thread(shelf.vectors) for shelf in shelves]
        chosen = await self._context.in_thread(_chosen, shelves, run.settings.knowledge.documents)
        depth = DEPTH if chosen is None else _NEAR
        near = await run.vectors.search(VectorQuery(collections=tuple(names), vector=asked, limit=depth))
        matches = [match for match in near.matches if chosen is None or match.document in chosen]
        words = await self._context.in_thread(_by_words, shelves, query, chosen)
        return fused(words, by_vectors(matches[:DEPTH]), self._settings.vector_weight)


def _chosen(shelves: Sequence[Shelf], names: Sequence[str]) -> set[str] | None:
    """Return the keys of the versions of chosen documents; None for all. Raises `Unsupported` if there is none."""
    if not names:
        return None
    ids = {document.id for document in _listed(shelves, DocumentSelection(names=tuple(names)))}
    keys = {state.key for shelf in shelves for name, state in shelf.states().items() if name in ids}
    if not keys:
        raise Unsupported(_NONE_CHOSEN)
    return keys


def _by_words(shelves: Sequence[Shelf], query: str, chosen: set[str] | None) -> Scores:
    readers = [shelf.reader() for shelf in shelves]
    return by_words(readers if chosen is None else [reader.within(chosen) for reader in readers], query)


def _moved(document: StoredDocument, owner: str) -> StoredDocument:
    """Return a document as that of another owner; in the shared collection, names of several may be the same."""
    if document.owner == owner:
        return document
    identity = f"{owner}\0{document.name}" if owner else document.name
    return document.model_copy(update={"id": document_id(identity), "owner": owner})


def _scored(shelves: Sequence[Shelf], scores: Scores) -> list[tuple[Shelf, str, Evidence]]:
    """Return the passages that count, best first, each with the key of its version; one may just have been replaced."""
    passages = []
    counting = [(shelf, shelf.ids(key for key, _ in scores)) for shelf in shelves]
    for (key, number), score in scores.items():
        shelf = next((shelf for shelf, ids in counting if key in ids), None)
        indexed = shelf and shelf.reader().passage(key, number)
        if shelf and indexed:
            passages.append((shelf, key, indexed.evidence.model_copy(update={"score": score})))
    return passages


def _passages(shelves: Sequence[Shelf], scores: Scores, request: PassageRequest) -> Passages:
    best = _scored(shelves, scores)[: request.limit]
    sources: dict[str, Source] = {}
    for shelf in shelves:
        sources |= shelf.read_sources((key for owner, key, _ in best if owner is shelf), whole=request.whole)
    ranked = [(key, evidence) for _, key, evidence in best if key in sources]
    used = dict.fromkeys(key for key, _ in ranked)
    return Passages(evidence=tuple(evidence for _, evidence in ranked), sources=tuple(sources[key] for key in used))


def _hits(shelves: Sequence[Shelf], scores: Scores) -> list[Hit]:
    own: dict[str, list[Evidence]] = {}
    owner: dict[str, Shelf] = {}
    for shelf, key, evidence in _scored(shelves, scores):
        own.setdefault(key, []).append(evidence)
        owner[key] = shelf
    hits: dict[str, Hit] = {}
    for shelf in shelves:
        for key, source in shelf.read_sources((key for key in own if owner[key] is shelf), whole=False).items():
            passages = tuple(map(as_passage, own[key]))
            hits[key] = source.hit.model_copy(update={"snippet": own[key][0].quote, "passages": passages})
    return [hits[key] for key in own if key in hits]


def _list(own: Shelf, shelves: Sequence[Shelf], request: DocumentSelection) -> DocumentList:
    documents = _listed(shelves, request) if request.names != () else []
    return DocumentList(
        documents=tuple(documents),
        opened=_opened(shelves, documents) if request.whole else None,
        unread=tuple(file for shelf in shelves for file in shelf.unread()) if request.names is None else (),
        embedder=own.about().get("embedder", ""),
        unfinished=len(own.unused()) if own.exists() else 0,
        version=" ".join(shelf.fingerprint() for shelf in shelves),
    )


def _opened(shelves: Sequence[Shelf], documents: Sequence[StoredDocument]) -> Passages:
    """Return the texts of documents with all their passages."""
    evidence, sources = list[Evidence](), list[Source]()
    for shelf in shelves:
        wanted = {document.id for document in documents if document.shared == shelf.shared}
        keys = [state.key for name, state in shelf.states().items() if name in wanted]
        sources += shelf.read_sources(keys).values()
        evidence += [passage.evidence for key in keys for passage in shelf.reader().version(key)]
    return Passages(evidence=tuple(evidence), sources=tuple(sources))


def _listed(shelves: Sequence[Shelf], request: DocumentSelection) -> list[StoredDocument]:
    """Return the documents with one of these ids or names, below one of these folders, or at one of these paths.

    An id means its document alone: a name is whatever its owner chose, also the id of somebody else's document.
    """
    documents = [document for shelf in shelves for document in shelf.documents()]
    if request.names is None:
        return documents
    names = {name.rstrip("/") for name in request.names}
    with suppress(ValueError, RuntimeError):  # a name may be no path: with a zero byte, or of an unknown user's home
        names |= {document_id(str(path)) for path in resolve([Path(name) for name in names])}
    ids = names & {document.id for document in documents}
    names -= ids
    folders = tuple(f"{name}/" for name in names)
    return [it for it in documents if it.id in ids or it.name in names or it.name.startswith(folders)]


class KnowledgeFetcher:
    """Reads stored files. A principal reads its own and the shared ones."""

    def __init__(self, settings: KnowledgeSettings, context: Context) -> None:
        self._shelves = Shelves(settings)
        self._context = context

    def accepts(self, url: str, /) -> bool:
        try:
            parsed(url)
        except Unsupported:
            return False
        return True

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        """Return the bytes. Raises `Unsupported` if there is no such document."""
        return await self._context.in_thread(self._read, request.url, call.run.principal)

    def _read(self, url: str, principal: Principal | None) -> Blob:
        shared, name, _ = parsed(url)
        if not shared and principal is None:
            raise Unsupported(f"{url} belongs to a user, and this run has none")
        shelf = self._shelves.own(None if shared else principal)
        shelf.pull()
        document, state = shelf.document(name), shelf.states().get(name)
        if document is None or state is None:
            raise Unsupported(f"{url}: there is no such document (any more)")
        try:
            return Blob(name=document.name, media_type=document.media_type, data=shelf.read_file(state.digest))
        except OSError as error:
            raise Unsupported(f"{url}: {error.strerror or error}") from error
