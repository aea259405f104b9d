"""The vector store `qdrant`: a Qdrant server by its address, or Qdrant's local mode in a folder, without a server.

Qdrant's local mode belongs to one process at a time and holds all vectors in memory (figures: decision 25).
"""

from __future__ import annotations

import asyncio
import pickle
import sqlite3
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from heapq import nlargest
from io import BytesIO
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from uuid import NAMESPACE_URL, uuid5

from pydantic import BaseModel, Field, SecretStr

from leadline.contracts import Call, Context
from leadline.errors import Denied, RateLimited, Unavailable, Unsupported
from leadline.files import check_database, private_folder
from leadline.plugin import Limits, PluginSettings, vector_store
from leadline.records import (
    VectorBatch,
    VectorCollection,
    VectorCount,
    VectorListing,
    VectorMatch,
    VectorMatches,
    VectorQuery,
    VectorRemoval,
)
from leadline_plugins.vectors import safe_name

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

P = ParamSpec("P")
T = TypeVar("T")
# Points of one request: 200 of 1,536 numbers are 6 MB of JSON, and Qdrant accepts 32.
_POINTS = 200
# Points of one page of a listing.
_PAGE = 5_000


class QdrantSettings(PluginSettings):
    """A server, or a folder. A collection of Leadline is a collection of Qdrant: PREFIX-NAME."""

    url: str = Field("", description="the address of a server, such as http://127.0.0.1:6333; empty: the local mode")
    api_key: SecretStr = Field(SecretStr(""), description="the key of the server")
    folder: Path = Field(
        Path("leadline-knowledge/qdrant"), description="the folder of the local mode, for one process at a time"
    )
    prefix: str = Field("leadline", pattern=r"^[A-Za-z0-9_-]+$", description="the beginning of names of collections")


def _translated(work: Callable[P, T]) -> Callable[P, T]:
    """Raise the errors of the client as those of Leadline."""

    @wraps(work)
    def translated(*args: P.args, **kwargs: P.kwargs) -> T:
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        try:
            return work(*args, **kwargs)
        except UnexpectedResponse as error:
            status = error.status_code or 500
            text = f"Qdrant answers {status}: {error.content.decode(errors='replace')[:300] or error.reason_phrase}"
            if status == 429:
                raise RateLimited(text) from error
            raise (Denied if status in (401, 403) else Unavailable if status >= 500 else Unsupported)(text) from error
        except ResponseHandlingException as error:
            raise Unavailable(f"Qdrant does not answer: {error.source or error}") from error

    return translated


class _PointReader(pickle.Unpickler):
    """Reads the points of a folder that may be anybody's: those of Qdrant's client could run any program."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a model of Qdrant. Raises `UnpicklingError` for anything else."""
        if module == "qdrant_client.http.models.models" and "." not in name:
            cls = super().find_class(module, name)
            if isinstance(cls, type) and issubclass(cls, BaseModel):
                return cls
        raise pickle.UnpicklingError(f"a point has a {module}.{name}, which is no model of Qdrant")


def _points(data: bytes) -> Any:
    return _PointReader(BytesIO(data)).load()


@vector_store(
    "A Qdrant server, or Qdrant in a folder",
    settings=QdrantSettings,
    env={"url": "QDRANT_URL", "api_key": "QDRANT_API_KEY"},
    requires=("qdrant_client=leadline[qdrant]",),
    limits=Limits(timeout=120.0),
)
class QdrantStore:
    """Keeps each collection as one of Qdrant; a point is a passage, with its document and its place."""

    def __init__(self, settings: QdrantSettings, context: Context) -> None:
        self._settings = settings
        self._context = context
        self._client: QdrantClient | None = None
        self._opening = threading.Lock()
        # The local mode is not safe in several threads.
        self._local = threading.Lock()

    async def __aenter__(self) -> QdrantStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._context.in_thread(self._client.close)

    async def put(self, request: VectorBatch, call: Call, /) -> VectorCount:
        """Store the vectors of documents. Raises `Unsupported` for vectors of another size than the collection's."""
        return VectorCount(passages=await self._do(self._put, request))

    async def remove(self, request: VectorRemoval, call: Call, /) -> VectorCount:
        """Remove documents, or the collection."""
        return VectorCount(passages=await self._do(self._remove, request))

    async def search(self, request: VectorQuery, call: Call, /) -> VectorMatches:
        """Return the nearest passages. Raises `Unsupported` for a vector of another size."""
        names = dict.fromkeys(request.collections)
        results = await asyncio.gather(*(self._do(self._nearest, name, request) for name in names))
        matches = [match for nearest in results for match in nearest]
        return VectorMatches(matches=tuple(nlargest(request.limit, matches, key=lambda match: match.score)))

    async def describe(self, request: VectorListing, call: Call, /) -> VectorCollection:
        return await self._do(self._contents, request.collection)

    # --- in a thread -------------------------------------------------------------------------------------------------

    async def _do(self, work: Callable[..., T], *arguments: object) -> T:
        return await self._context.in_thread(self._exclusively, _translated(work), *arguments)

    def _exclusively(self, work: Callable[..., T], *arguments: object) -> T:
        client = self._opened()
        if self._settings.url:
            return work(client, *arguments)
        with self._local:
            return work(client, *arguments)

    def _opened(self) -> QdrantClient:
        from qdrant_client import QdrantClient
        from qdrant_client.local import persistence

        with self._opening:
            if self._client is not None:
                return self._client
            settings = self._settings
            if settings.url:
                key = settings.api_key.get_secret_value() or None
                with warnings.catch_warnings(record=True) as warned:
                    warnings.simplefilter("always")
                    self._client = QdrantClient(url=settings.url, api_key=key, check_compatibility=False)
                for warning in warned:  # a key that is sent without encryption
                    self._context.log.info("%s", warning.message)
                return self._client
            folder = settings.folder.expanduser().absolute()
            try:
                private_folder(folder)
                for path in folder.glob("collection/*/storage.sqlite"):
                    check_database(path)
                vars(persistence)["pickle"] = SimpleNamespace(dumps=pickle.dumps, loads=_points)
                self._client = QdrantClient(path=str(folder), force_disable_check_same_thread=True)
            except (OSError, RuntimeError, sqlite3.DatabaseError, pickle.UnpicklingError) as error:
                hint = "run a server for several processes: plugins.qdrant.url"
                raise Denied(f"the folder {folder} cannot be opened ({error}); {hint}") from error
            return self._client

    def _name(self, collection: str) -> str:
        return f"{self._settings.prefix}-{safe_name(collection)}"

    def _size(self, client: QdrantClient, name: str) -> int:
        """Return the size of the vectors of a collection; 0 if there is none."""
        if not client.collection_exists(name):
            return 0
        vectors: Any = client.get_collection(name).config.params.vectors
        return int(vectors.size)

    def _put(self, client: QdrantClient, request: VectorBatch) -> int:
        from qdrant_client import models

        sizes = {len(vector) for document in request.documents for vector in document.vectors}
        if not sizes:
            return self._delete(
                client, self._name(request.collection), [document.document for document in request.documents]
            )
        if len(sizes) > 1:
            raise Unsupported(f"the vectors have different sizes: {sorted(sizes)}")
        name, (size,) = self._name(request.collection), sizes
        known = self._size(client, name)
        _check(known, size)
        if not known:
            client.create_collection(name, models.VectorParams(size=size, distance=models.Distance.COSINE))
            if self._settings.url:  # the local mode has no indexes, and warns of them
                client.create_payload_index(name, "document", models.PayloadSchemaType.KEYWORD)
        points = (
            models.PointStruct(
                id=str(uuid5(NAMESPACE_URL, f"{index}:{document.document}")),
                vector=list(vector),
                payload={"document": document.document, "passage": index},
            )
            for document in request.documents
            for index, vector in enumerate(document.vectors)
        )
        while some := list(islice(points, _POINTS)):
            client.upsert(name, some, wait=True)
        if known:
            for document in request.documents:
                self._delete(client, name, [document.document], since=len(document.vectors))
        return sum(len(document.vectors) for document in request.documents)

    def _remove(self, client: QdrantClient, request: VectorRemoval) -> int:
        name = self._name(request.collection)
        if not client.collection_exists(name):
            return 0
        if request.documents is not None:
            return self._delete(client, name, request.documents)
        count = client.count(name, exact=True).count
        client.delete_collection(name)
        return count

    def _delete(self, client: QdrantClient, name: str, documents: Sequence[str], since: int = 0) -> int:
        """Delete the passages of documents from a place on, and return their number."""
        from qdrant_client import models

        if not documents or not client.collection_exists(name):
            return 0
        which = models.Filter(
            must=[
                models.FieldCondition(key="document", match=models.MatchAny(any=list(documents))),
                models.FieldCondition(key="passage", range=models.Range(gte=since)),
            ]
        )
        count = client.count(name, count_filter=which, exact=True).count
        if count:
            client.delete(name, models.FilterSelector(filter=which), wait=True)
        return count

    def _nearest(self, client: QdrantClient, collection: str, request: VectorQuery) -> list[VectorMatch]:
        name = self._name(collection)
        if not (size := self._size(client, name)) or not any(request.vector):
            return []
        _check(size, len(request.vector))
        reply = client.query_points(name, query=list(request.vector), limit=request.limit, with_payload=True)
        # The last digits of 32-bit numbers depend on where in memory they are added.
        payloads = ((point.payload or {}, round(point.score, 6)) for point in reply.points)
        return [
            VectorMatch(collection=collection, document=data["document"], passage=data["passage"], score=score)
            for data, score in payloads
        ]

    def _contents(self, client: QdrantClient, collection: str) -> VectorCollection:
        name, counts, offset = self._name(collection), dict[str, int](), None
        if not (size := self._size(client, name)):
            return VectorCollection()
        while True:
            points, offset = client.scroll(name, limit=_PAGE, offset=offset, with_payload=["document"])
            for point in points:
                document = (point.payload or {})["document"]
                counts[document] = counts.get(document, 0) + 1
            if offset is None:
                return VectorCollection(documents=dict(sorted(counts.items())), size=size)


def _check(known: int, size: int) -> None:
    if known and known != size:
        raise Unsupported(f"the vectors of this collection have {known} numbers, not {size}: another model made them")
