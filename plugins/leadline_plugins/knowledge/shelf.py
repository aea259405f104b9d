"""Everything that is kept of one collection: the files, the catalog, the full-text index, and its vectors.

The documents of the operator are the collection `shared`; each principal has one of its own. Vectors are in the store
of the run, in a collection whose name changes when everything is embedded again, so that the old ones serve until then.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from urllib.parse import quote, unquote, urlsplit

from leadline.errors import Denied, Unsupported
from leadline.records import Evidence, Principal
from leadline_plugins.knowledge.catalog import Catalog, as_vector
from leadline_plugins.passages.ranking import cosine
from leadline_plugins.search.local.ranking import Passage
from leadline_plugins.search.local.store import IndexReader, IndexWriter
from leadline_plugins.vectors import safe_name

SCHEME = "knowledge"
# A text whose vector tells whether the passages were embedded with the same model.
PROBE = "The tide tables of a harbour list the depth of its water by the hour."
# Cosine from which two vectors of the same text are those of one model; services round their numbers differently.
_SAME = 0.98


class Shelf:
    """One collection. `owner` is the principal's id, or empty for the shared one."""

    def __init__(self, folder: Path, owner: str = "") -> None:
        self.owner = owner
        self.name = f"user {owner}" if owner else "shared"
        self.folder = folder / "users" / safe_name(owner) if owner else folder / "shared"
        self.catalog = Catalog(self.folder)
        self._reader: IndexReader | None = None
        self._opening = Lock()

    @property
    def shared(self) -> bool:
        """True if every principal finds its documents."""
        return not self.owner

    @property
    def texts(self) -> Path:
        """The folder of the full-text index."""
        return self.folder / "texts"

    def vectors(self) -> str:
        """Return the name of its collection in the vector store."""
        return f"{self.name} {self.catalog.about().get('embedded', '1')}"

    def reader(self) -> IndexReader:
        """Return a reader of the full-text index as of now."""
        with self._opening:
            if self._reader is None or not self._reader.is_current():
                self._reader = IndexReader(self.texts)
            return self._reader

    # --- addresses and files -----------------------------------------------------------------------------------------

    def url(self, document_id: str, name: str) -> str:
        """Return the address of a document; it tells neither where it came from nor whose it is."""
        host = "own" if self.owner else "shared"
        return f"{SCHEME}://{host}/{document_id}/{quote(Path(name).name, safe='')}"

    def _file(self, digest: str) -> Path:
        return self.folder / "files" / digest[:2] / digest

    def keep_file(self, digest: str, data: bytes) -> None:
        """Store the bytes of a file, whole or not at all."""
        path = self._file(digest)
        if path.is_file():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)

    def read_file(self, digest: str) -> bytes:
        """Return the bytes of a stored file."""
        return self._file(digest).read_bytes()

    def drop_files(self, digests: Sequence[str]) -> None:
        """Delete files that no document has any more."""
        used = set(self.catalog.digests().values())
        for digest in set(digests) - used:
            self._file(digest).unlink(missing_ok=True)

    # --- the vectors -------------------------------------------------------------------------------------------------

    def check_vectors(self, embedder: str, store: str, probe: Sequence[float]) -> None:
        """Raise `Denied`, with the command to run, if another model made the vectors, or another store has them."""
        about = self.catalog.about()
        if "probe" not in about:
            return
        command = f"`leadline knowledge reembed{f' --principal {self.owner}' if self.owner else ''}`"
        known, before = as_vector(about["probe"]), about["embedder"]
        if len(known) != len(probe) or cosine(known, probe) < _SAME:
            now = f"{embedder} now has another model" if before == embedder else f"knowledge.embedder is {embedder}"
            raise Denied(
                f"the documents were embedded with {before}, and {now}: run {command}, "
                f"or set knowledge.embedder to what it was"
            )
        if (filled := about.get("store", store)) != store:
            raise Denied(
                f"the vectors of the documents are in {filled}, and knowledge.store is {store}: run {command}, "
                f"which leaves those in {filled} for you to delete, or set knowledge.store to what it was"
            )


def text_of(title: str, evidence: Evidence) -> str:
    """Return the text of a passage to embed: with the title and the headings, which often name its subject."""
    path = [heading for heading in evidence.path if heading != title]
    return "\n".join(filter(None, (title, " ".join(path), evidence.lead, evidence.quote)))


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
    place, _, name = parts.path.lstrip("/").partition("/")
    if parts.scheme != SCHEME or parts.netloc not in ("own", "shared") or not place.isalnum():
        raise Unsupported(f"{url} is no address of the knowledge base")
    return parts.netloc == "shared", place, unquote(name)


def write_texts(folder: Path, unused: Sequence[str], added: Sequence[tuple[str, str, Sequence[Evidence]]]) -> None:
    """Change the full-text index in one commit: remove versions, and add others by key, title and passages."""
    with closing(IndexWriter(folder)) as writer:
        for key in unused:
            writer.remove(key)
        for key, title, evidence in added:
            writer.replace(key, (Passage(key, title, number, text_of("", one)) for number, one in enumerate(evidence)))
        writer.commit()
