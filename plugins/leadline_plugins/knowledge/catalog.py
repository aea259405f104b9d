"""The table of the documents of one collection and of their passages, in SQLite.

Each version of a document has a key of its own, under which its passages are in the full-text index and in the vector
store. A version counts once its row is here: `replace` is one transaction, and until then a search finds the version
before. Keys that an interrupted addition left, and those of versions that were replaced, are `unused`.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

from leadline.encoding import json_bytes
from leadline.records import Evidence, Source, StoredDocument

FILE = "knowledge.sqlite"
_VERSION = 1
_SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, name TEXT NOT NULL, title TEXT NOT NULL,
    media_type TEXT NOT NULL, size INTEGER NOT NULL, passages INTEGER NOT NULL, pages INTEGER NOT NULL,
    added TEXT NOT NULL, source BLOB NOT NULL
);
CREATE TABLE passages (key TEXT, number INTEGER, evidence BLOB NOT NULL, PRIMARY KEY (key, number)) WITHOUT ROWID;
CREATE TABLE unused (key TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_COLUMNS = "id, name, title, media_type, size, passages, pages, added"
# A passage: the key of its document's version, and its place there.
Place = tuple[str, int]


@dataclass(frozen=True)
class Entry:
    """A version of a document with its passages; `digest` is that of the file."""

    id: str
    key: str
    digest: str
    name: str
    media_type: str
    size: int
    added: datetime
    source: Source
    evidence: Sequence[Evidence]

    def document(self, *, shared: bool) -> StoredDocument:
        """Return the document as the base lists it."""
        return StoredDocument(
            id=self.id,
            name=self.name,
            title=self.source.hit.title,
            media_type=self.media_type,
            size=self.size,
            passages=len(self.evidence),
            pages=len(self.source.document.pages),
            added=self.added,
            shared=shared,
        )


class Catalog:
    """Reads and writes the table; only one process may write at a time."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def exists(self) -> bool:
        """Return whether anything was ever added."""
        return self._path.is_file()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._path, timeout=60, isolation_level=None)) as db:
            if not db.execute("PRAGMA user_version").fetchone()[0]:
                db.execute("PRAGMA journal_mode=WAL")
                db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
            yield db

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._open() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    # --- what the passages were embedded with ------------------------------------------------------------------------

    def about(self) -> dict[str, str]:
        """Return the facts about the collection by name."""
        if not self.exists():
            return {}
        with self._open() as db:
            return dict(db.execute("SELECT name, value FROM about"))

    def set_about(self, facts: Mapping[str, str]) -> None:
        """Set facts about the collection, all at once."""
        with self._change() as db:
            db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", facts.items())

    # --- changes -----------------------------------------------------------------------------------------------------

    def expect(self, keys: Iterable[str]) -> None:
        """Note keys before anything is stored under them."""
        with self._change() as db:
            db.executemany("INSERT OR IGNORE INTO unused VALUES (?)", [(key,) for key in keys])

    def replace(self, entries: Sequence[Entry]) -> None:
        """Make versions count; those that they replace become unused."""
        with self._change() as db:
            for entry in entries:
                db.execute("INSERT INTO unused SELECT key FROM documents WHERE id = ?", (entry.id,))
                db.execute("DELETE FROM unused WHERE key = ?", (entry.key,))
                values = entry.document(shared=True)
                row = [getattr(values, name) for name in ("name", "title", "media_type", "size", "passages", "pages")]
                source = zlib.compress(json_bytes(entry.source))
                row = [entry.id, entry.key, entry.digest, *row, entry.added.isoformat(), source]
                db.execute(f"INSERT OR REPLACE INTO documents VALUES ({','.join('?' * len(row))})", row)  # noqa: S608
                db.executemany(
                    "INSERT OR REPLACE INTO passages VALUES (?, ?, ?)",
                    [(entry.key, number, json_bytes(one)) for number, one in enumerate(entry.evidence)],
                )

    def remove(self, ids: Sequence[str]) -> None:
        """Remove documents; their keys become unused."""
        with self._change() as db:
            for one in ids:
                db.execute("INSERT OR IGNORE INTO unused SELECT key FROM documents WHERE id = ?", (one,))
                db.execute("DELETE FROM documents WHERE id = ?", (one,))

    def unused(self) -> list[str]:
        """Return the keys under which nothing that counts is stored."""
        with self._open() as db:
            return [key for (key,) in db.execute("SELECT key FROM unused")]

    def forget(self, keys: Sequence[str]) -> None:
        """Delete unused keys, once nothing is stored under them any more."""
        with self._change() as db:
            for key in keys:
                db.execute("DELETE FROM passages WHERE key = ?", (key,))
                db.execute("DELETE FROM unused WHERE key = ?", (key,))

    # --- questions ---------------------------------------------------------------------------------------------------

    def fingerprint(self) -> str:
        """Return a digest that changes with the documents."""
        return blake2b("\0".join(self.keys()).encode(), digest_size=16).hexdigest()

    def digests(self) -> dict[str, str]:
        """Return the digest of the file of each document, by id."""
        with self._open() as db:
            return dict(db.execute("SELECT id, digest FROM documents"))

    def file(self, document_id: str) -> tuple[str, str, str] | None:
        """Return digest, name and media type of a document; None if there is none with this id."""
        if not self.exists():
            return None
        with self._open() as db:
            row = db.execute("SELECT digest, name, media_type FROM documents WHERE id = ?", (document_id,)).fetchone()
            return row and tuple(row)

    def documents(self, *, shared: bool) -> list[StoredDocument]:
        """Return all documents by name."""
        if not self.exists():
            return []
        names = _COLUMNS.split(", ")
        with self._open() as db:
            rows = db.execute(f"SELECT {_COLUMNS} FROM documents ORDER BY name, id")  # noqa: S608
            return [StoredDocument(**dict(zip(names, row, strict=True)), shared=shared) for row in rows]

    def count(self) -> int:
        """Return the number of documents."""
        if not self.exists():
            return 0
        with self._open() as db:
            return int(db.execute("SELECT COUNT(*) FROM documents").fetchone()[0])

    def passages(self, places: Sequence[Place]) -> dict[Place, Evidence]:
        """Return the passages at these places; those of versions that do not count are missing."""
        found = {}
        with self._open() as db:
            for key, number in places:
                row = db.execute(
                    "SELECT evidence FROM passages JOIN documents USING (key) WHERE key = ? AND number = ?",
                    (key, number),
                ).fetchone()
                if row:
                    found[key, number] = Evidence.model_validate_json(row[0])
        return found

    def sources(self, keys: Iterable[str]) -> dict[str, Source]:
        """Return the documents of these versions, whole."""
        with self._open() as db:
            rows = (
                (key, db.execute("SELECT source FROM documents WHERE key = ?", (key,)).fetchone())
                for key in dict.fromkeys(keys)
            )
            return {key: Source.model_validate_json(zlib.decompress(row[0])) for key, row in rows if row}

    def keys(self) -> list[str]:
        """Return the keys of the versions that count."""
        with self._open() as db:
            return [key for (key,) in db.execute("SELECT key FROM documents ORDER BY key")]

    def version(self, key: str) -> tuple[str, list[Evidence]]:
        """Return the title and the passages of a version."""
        with self._open() as db:
            title = db.execute("SELECT title FROM documents WHERE key = ?", (key,)).fetchone()[0]
            rows = db.execute("SELECT evidence FROM passages WHERE key = ? ORDER BY number", (key,))
            return title, [Evidence.model_validate_json(row[0]) for row in rows]


def has_documents(folder: Path) -> bool:
    """Return whether anything was ever added to a collection of a base in this folder."""
    return any(path for part in ("shared", "users/*") for path in folder.glob(f"{part}/{FILE}"))


def as_text(vector: Sequence[float]) -> str:
    """Return a vector as a fact about the collection."""
    return json.dumps(list(vector))


def as_vector(text: str) -> list[float]:
    """Return the vector of a fact about the collection."""
    return list(map(float, json.loads(text)))
