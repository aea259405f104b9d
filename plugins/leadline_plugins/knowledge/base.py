"""The knowledge base: a search engine whose documents Leadline keeps, and the fetcher of their files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from leadline.contracts import Call, Context
from leadline.errors import Unsupported
from leadline.records import (
    AddedDocuments,
    Blob,
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
from leadline_plugins.knowledge.addition import Addition
from leadline_plugins.knowledge.shelf import PROBE, Shelf, document_id, owner_of, parsed
from leadline_plugins.knowledge.writer import ShelfWriter
from leadline_plugins.parse.media import bare_type
from leadline_plugins.passages.cutting import as_passage
from leadline_plugins.search.filters import page_start
from leadline_plugins.search.local.folders import resolve

# Passages of each ranking that are fused.
DEPTH = 50
# The constant of reciprocal rank fusion: smaller than the usual 60, so that the first places count for more.
FUSION = 10

# A passage: the key of its document's version, and its number there.
Place = tuple[str, int]
Scores = dict[Place, float]


def by_words(readers: Iterable[IndexReader], query: str) -> list[Place]:
    """Return the best passages of some collections."""
    matches = [match for reader in readers for match in rank(reader, query, DEPTH)]
    matches.sort(key=lambda match: (-match.score, match.passage.key, match.passage.number))
    return [(match.passage.key, match.passage.number) for match in matches[:DEPTH]]


def by_vectors(matches: Sequence[VectorMatch]) -> list[Place]:
    """Return the places of the nearest passages; those that share nothing with the question are left out."""
    return [(match.document, match.passage) for match in matches if match.score > 0]


def fused(words: Sequence[Place], vectors: Sequence[Place], weight: float) -> Scores:
    """Return the scores of the two rankings together, best first; `weight` is that of the vectors beside 1."""
    scores: defaultdict[Place, float] = defaultdict(float)
    for ranking, share in ((words, 1.0), (vectors, weight)):
        for rank_, passage in enumerate(ranking):
            scores[passage] += share / (FUSION + rank_)
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))


_EMPTY = "the knowledge base has no documents: add some with `leadline knowledge add PATH`"


class Shelves:
    """The collections in one folder."""

    def __init__(self, settings: KnowledgeSettings) -> None:
        self._folder = settings.folder.expanduser().absolute()
        self._shelves: dict[str, Shelf] = {}

    def own(self, principal: Principal | None) -> Shelf:
        """Return the collection that belongs to a principal; without one, the shared one."""
        owner = owner_of(principal)
        return self._shelves.setdefault(owner, Shelf(self._folder, owner))

    def visible(self, principal: Principal | None) -> list[Shelf]:
        """Return the collections that a principal sees and that have documents, the shared one last."""
        shelves = [self.own(principal), *([self.own(None)] if principal else [])]
        return [shelf for shelf in shelves if shelf.count()]


class Knowledge:
    """Implements `leadline.contracts.KnowledgeBase`."""

    def __init__(self, settings: KnowledgeSettings, context: Context) -> None:
        self._settings = settings
        self._context = context
        self._shelves = Shelves(settings)

    # --- documents ---------------------------------------------------------------------------------------------------

    async def add(self, request: NewDocuments, call: Call, /) -> AddedDocuments:
        """Add files to the collection of the call's principal, or embed all of its documents again."""
        shelf = self._shelves.own(call.run.principal)
        return await Addition(shelf, self._settings, self._context, call).add(request)

    async def remove(self, request: DocumentSelection, call: Call, /) -> DocumentList:
        """Remove documents of the call's principal, and return them. Names without a document are ignored."""
        shelf = self._shelves.own(call.run.principal)
        if not shelf.exists():
            return DocumentList()
        writer = ShelfWriter(shelf, self._context, call)
        async with writer.exclusive():
            documents = await writer.in_thread(_listed, [shelf], request)
            await writer.remove([document.id for document in documents])
        return DocumentList(documents=tuple(documents))

    async def documents(self, request: DocumentSelection, call: Call, /) -> DocumentList:
        """Return the documents that the call's principal finds."""
        own = self._shelves.own(call.run.principal)
        shelves = await self._context.in_thread(self._shelves.visible, call.run.principal)
        return await self._context.in_thread(_list, own, shelves, request)

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
        embedder, store = run.settings.knowledge.embedder, run.settings.knowledge.store
        asked, probe = (await run.embed([query, PROBE], embedder)).vectors
        for shelf in shelves:
            await self._context.in_thread(shelf.check_vectors, embedder, store, probe)
        names = [await self._context.in_thread(shelf.vectors) for shelf in shelves]
        near = await run.vectors.search(VectorQuery(collections=tuple(names), vector=asked, limit=DEPTH))
        words = await self._context.in_thread(_by_words, shelves, query)
        return fused(words, by_vectors(near.matches), self._settings.vector_weight)


def _by_words(shelves: Sequence[Shelf], query: str) -> list[Place]:
    return by_words([shelf.reader() for shelf in shelves], query)


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
    return DocumentList(
        documents=tuple(_listed(shelves, request) if request.names != () else ()),
        embedder=own.about().get("embedder", ""),
        unfinished=len(own.unused()) if own.exists() else 0,
        version=" ".join(shelf.fingerprint() for shelf in shelves),
    )


def _listed(shelves: Sequence[Shelf], request: DocumentSelection) -> list[StoredDocument]:
    """Return the documents with one of these ids or names, below one of these folders, or at one of these paths."""
    documents = [document for shelf in shelves for document in shelf.documents()]
    if request.names is None:
        return documents
    names = {name.rstrip("/") for name in request.names}
    ids = {document_id(str(path)) for path in resolve([Path(name) for name in names])} | names
    folders = tuple(f"{name}/" for name in names)
    return [
        document
        for document in documents
        if document.id in ids or document.name in names or document.name.startswith(folders)
    ]


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
        blob = await self._context.in_thread(self._read, request.url, call.run.principal)
        if request.size is not None and len(blob.data) > request.size:
            raise Unsupported(f"{request.url} has {len(blob.data):,} bytes, more than the {request.size:,} allowed")
        if request.accept and bare_type(blob.media_type) not in request.accept:
            raise Unsupported(f"{request.url} is {blob.media_type}, not {' or '.join(request.accept)}")
        return blob

    def _read(self, url: str, principal: Principal | None) -> Blob:
        shared, name, _ = parsed(url)
        if not shared and principal is None:
            raise Unsupported(f"{url} belongs to a user, and this run has none")
        shelf = self._shelves.own(None if shared else principal)
        document, state = shelf.document(name), shelf.states().get(name)
        if document is None or state is None:
            raise Unsupported(f"{url}: the knowledge base has no such document")
        try:
            return Blob(name=document.name, media_type=document.media_type, data=shelf.read_file(state.digest))
        except OSError as error:
            raise Unsupported(f"{url}: {error.strerror or error}") from error
