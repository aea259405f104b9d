"""Everything that is kept of one collection: the files, the store of documents, and its vectors.

The documents of the operator are the collection `shared`; each principal has one of its own. Vectors are in the store
of the run, in a collection whose name changes when everything is embedded again, so that the old ones serve until then.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from pydantic_core import from_json

from leadline.encoding import json_bytes
from leadline.errors import Denied, Unsupported
from leadline.files import private_file, read_limited
from leadline.records import Document, Hit, Notice, Principal, Source, StoredDocument, UnreadFile
from leadline.settings import Settings
from leadline_plugins.documents.store import DocumentStore
from leadline_plugins.passages.ranking import cosine
from leadline_plugins.search.local.index import locked
from leadline_plugins.vectors import safe_name

SCHEME = "knowledge"
# A text whose vector tells whether the passages were embedded with the same model.
PROBE = "The tide tables of a harbour list the depth of its water by the hour."
# Cosine from which two vectors of the same text are those of one model; services round their numbers differently.
_SAME = 0.98
# Bytes of a stored file, and of a document: the folder may be anybody's.
LARGEST = 2**28
# The folder of removed documents, and how long they stay there.
REMOVED, _DAY = "removed", timedelta(days=1)
# Bytes of a packed or unpacked source that have its hit.
_BEGINNING = 65_536


class Shelf(DocumentStore):
    """One collection. `owner` is the principal's id, or empty for the shared one; else name the `collection`."""

    def __init__(self, folder: Path, owner: str = "", collection: str = "") -> None:
        super().__init__(folder / (collection or (f"users/{safe_name(owner)}" if owner else "shared")))
        self.owner = owner
        self.name = f"user {owner}" if owner else "shared"

    @property
    def shared(self) -> bool:
        """True if every principal finds its documents."""
        return not self.owner

    def pull(self) -> None:
        """Bring what this machine has of a collection in a database up to date."""

    def write_files(self) -> None:
        """Bring all files of a collection in a database into the folder."""

    def lock(self, in_thread: Callable[..., Awaitable[Any]]) -> AbstractAsyncContextManager[None]:
        """Hold the lock of writers over all processes; `in_thread` runs blocking code to its end."""
        return locked(self.folder / "lock")

    def vectors(self) -> str:
        """Return the name of its collection in the vector store."""
        return f"{self.name} {self.about().get('embedded', '1')}"

    def documents(self) -> list[StoredDocument]:
        unread = dict(self.problems())
        documents = [document for document in self._abouts() if document.id not in unread]
        return sorted(documents, key=lambda document: (document.name, document.id))

    def unread(self) -> list[UnreadFile]:
        """Return the files of shared folders that could not be read."""
        reasons = dict(self.problems())
        return [UnreadFile(name=it.name, reason=reasons[it.id]) for it in self._abouts() if it.id in reasons]

    def from_folders(self) -> set[str]:
        """Return the ids of the files of shared folders."""
        return {document.id for document in self._abouts() if document.from_folder}

    def _abouts(self) -> list[StoredDocument]:
        stored = map(StoredDocument.model_validate_json, self.abouts().values())
        return [document.model_copy(update={"shared": self.shared}) for document in stored]

    def document(self, document_id: str) -> StoredDocument | None:
        about = self.abouts().get(document_id)
        return StoredDocument.model_validate_json(about) if about else None

    def read_sources(self, keys: Iterable[str], *, whole: bool = True) -> dict[str, Source]:
        """Return the documents of these versions; unless `whole`, without their texts, which are not even read."""
        if not whole:
            return {key: _beginning(packed) for key, packed in self.sources(dict.fromkeys(keys), _BEGINNING).items()}
        packed = self.sources(dict.fromkeys(keys))
        return {
            key: Source.model_validate_json(zlib.decompressobj().decompress(source, LARGEST))
            for key, source in packed.items()
        }

    # --- addresses and files -----------------------------------------------------------------------------------------

    def url(self, document_id: str, name: str) -> str:
        """Return the address of a document; it tells neither where it came from nor whose it is."""
        host = "own" if self.owner else "shared"
        return f"{SCHEME}://{host}/{document_id}/{quote(Path(name).name, safe='')}"

    def keep_file(self, digest: str, data: bytes) -> None:
        """Store the bytes of a file, whole or not at all."""
        self._keep(_file(digest), data)

    def read_file(self, digest: str) -> bytes:
        """Return the bytes of a stored file. Raises `OSError`, also for what is no stored file, as behind a link."""
        data = self._kept(_file(digest))
        if file_digest(data) != digest:
            raise OSError("the stored file is damaged")
        return data

    def drop_files(self, digests: Sequence[str]) -> None:
        """Delete files that no document has any more."""
        used = {state.digest for state in self.states().values()}
        self._discard(_file(digest) for digest in {*filter(None, digests)} - used)

    # --- removed documents, which can be restored -------------------------------------------------------------------

    def set_aside(self, document: StoredDocument, data: bytes) -> None:
        """Keep a document and the bytes of its file for a day; it is not found meanwhile."""
        about = json_bytes(document.model_copy(update={"removed": datetime.now(UTC)}))
        for name, content in ((document.id, data), (f"{document.id}.json", about)):
            self._keep(f"{REMOVED}/{name}", content)

    def removed(self) -> list[StoredDocument]:
        """Return the documents that can be restored, the last removed first; older ones are deleted."""
        known = []
        for name, about in self._aside():
            document = StoredDocument.model_validate_json(about)
            if name != f"{document.id}.json":  # the folder may be anybody's
                continue
            if document.removed and datetime.now(UTC) - document.removed < _DAY:
                known.append(document)
            else:
                self.forget([document.id])
        return sorted(known, key=lambda document: (document.removed, document.id), reverse=True)

    def removed_file(self, document_id: str) -> bytes:
        """Return the bytes of the file of a removed document."""
        return self._kept(f"{REMOVED}/{document_id}")

    def forget(self, ids: Iterable[str]) -> None:
        """Delete removed documents for good."""
        self._discard(f"{REMOVED}/{name}{ending}" for name in ids for ending in ("", ".json"))

    # --- where files are: in the folder ------------------------------------------------------------------------------

    def _keep(self, name: str, data: bytes) -> None:
        _write(self.folder / name, data)

    def _kept(self, name: str) -> bytes:
        return read_limited(self.folder / name, LARGEST)

    def _discard(self, names: Iterable[str]) -> None:
        for name in names:
            (self.folder / name).unlink(missing_ok=True)

    def _aside(self) -> Iterator[tuple[str, bytes]]:
        """Yield what is known of each removed document, with the name of its file."""
        for path in (self.folder / REMOVED).glob("*.json"):
            with suppress(FileNotFoundError):  # restored or deleted just now
                yield path.name, read_limited(path, LARGEST)

    # --- the vectors -------------------------------------------------------------------------------------------------

    def check_vectors(self, settings: Settings, probe: Sequence[float]) -> None:
        """Raise `Denied`, with the command to run, if another model made the vectors, or another store has them."""
        about, embedder, store = self.about(), settings.knowledge.embedder, settings.knowledge.store
        if "probe" not in about:
            return
        command = f"`leadline knowledge reembed{f' --principal {self.owner}' if self.owner else ''}`"
        known, before = as_vector(about["probe"]), about["embedder"]
        if len(known) != len(probe) or cosine(known, probe) < _SAME:
            now = f"{embedder} now has another model" if before == embedder else f"knowledge.embedder is {embedder}"
            other_model = (
                f"the documents were embedded with {before}, and {now}: run {command}, "
                "or set knowledge.embedder to what it was"
            )
            raise Denied(Notice(other_model, "reembed"))
        if (filled := about.get("store", store)) != store:
            other_store = (
                f"the vectors of the documents are in {filled}, and knowledge.store is {store}: run {command}, "
                f"which leaves those in {filled} for you to delete, or set knowledge.store to what it was"
            )
            raise Denied(Notice(other_store, "reembed"))


def _write(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)  # it may be a link of somebody else's
    with private_file(part).open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _beginning(packed: bytes) -> Source:
    """Return a source without its document, from the beginning of its JSON: `id`, `hit`, `document`."""
    text = zlib.decompressobj().decompress(packed, _BEGINNING).decode("utf-8", "ignore")
    known = from_json(text, allow_partial=True)
    hit = Hit.model_validate(known["hit"])
    return Source(id=known["id"], hit=hit, document=Document(text="", title=hit.title), engine=hit.engine)


def _file(digest: str) -> str:
    """Return the name of a stored file."""
    if len(digest) != len(file_digest(b"")) or not digest.isalnum():  # the table may be anybody's
        raise OSError("it is no digest of a file")
    return f"files/{digest[:2]}/{digest}"


def file_digest(data: bytes) -> str:
    """Return the digest that tells versions of a file apart."""
    return blake2b(data, digest_size=16).hexdigest()


def document_id(identity: str) -> str:
    """Return the id of a document by the path or the name under which it was added."""
    return blake2b(identity.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()


def owner_of(principal: Principal | None) -> str:
    """Return the owner of the documents that a call adds; empty for the shared ones."""
    return principal.id if principal else ""


def parsed(url: str) -> tuple[bool, str, str]:
    """Return whether an address is of a shared document, its id, and its name. Raises `Unsupported`."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise Unsupported(f"{url} is not a URL ({error})") from None
    key, _, name = parts.path.lstrip("/").partition("/")
    if parts.scheme != SCHEME or parts.netloc not in ("own", "shared") or not key.isalnum():
        raise Unsupported(f"{url} is no address of a stored document")
    return parts.netloc == "shared", key, unquote(name)


def as_vector(text: str) -> list[float]:
    """Return the vector of a fact about the collection."""
    return list(map(float, json.loads(text)))
