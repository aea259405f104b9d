"""A store of documents in one folder: a table in SQLite says which versions count, the full-text index has passages.

Each version of a document has a key of its own. It counts once its row is in the table, so that after a kill a search
still finds whole versions only. Keys that an interrupted change left, and those of replaced versions, are `unused`
until they are dropped.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from threading import Lock

from leadline.files import check_database, has_layout, private_file
from leadline.records import Evidence
from leadline_plugins.documents.ranking import rank
from leadline_plugins.documents.text_index import Damaged, IndexedPassage, IndexReader, IndexWriter, Match, size

_VERSION = 1
_SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    id BLOB PRIMARY KEY, key TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, title TEXT NOT NULL, size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL, seen_ns INTEGER NOT NULL, problem TEXT NOT NULL, about BLOB NOT NULL,
    source BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE unused (key TEXT PRIMARY KEY) WITHOUT ROWID;
"""
FILE = "documents.sqlite"


@dataclass(frozen=True)
class Entry:
    """A version of a document; `about` and `source` are what the owner of the store keeps with it."""

    id: str
    """What names the document, such as its path; may have surrogates."""
    key: str
    digest: str
    """Of the bytes of its file; empty if they were not read."""
    title: str = ""
    size: int = 0
    mtime_ns: int = 0
    seen_ns: int = 0
    problem: str = ""
    """Why it has no passages."""
    about: bytes = b""
    source: bytes = b""
    passages: Sequence[Evidence] = ()


@dataclass(frozen=True)
class State:
    """What the store knows of a document."""

    key: str
    digest: str
    size: int
    mtime_ns: int
    seen_ns: int
    problem: str


class DocumentStore:
    """Documents in a folder. One process writes at a time; the others may search meanwhile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / FILE
        self._reader: IndexReader | None = None
        self._opening = Lock()

    @property
    def texts(self) -> Path:
        """The folder of the full-text index."""
        return self.folder / "texts"

    def exists(self) -> bool:
        """Return whether anything was ever stored."""
        return self._path.is_file()

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open the table."""
        check_database(self._path)
        with closing(sqlite3.connect(private_file(self._path), timeout=60, isolation_level=None)) as db:
            if not db.execute("PRAGMA user_version").fetchone()[0]:
                db.execute("PRAGMA journal_mode=WAL")
                db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
            if not has_layout(db, _SCHEMA):
                raise sqlite3.DatabaseError(f"{self._path} has tables that Leadline does not make")
            db.execute("PRAGMA synchronous=NORMAL")
            yield db

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self.open() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    def check(self) -> None:
        """Raise `Damaged` or `sqlite3.DatabaseError` if the table, or the index of documents in it, is damaged."""
        with self.open() as db:
            if (answer := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise sqlite3.DatabaseError(answer)
            counted = db.execute("SELECT COUNT(*) FROM documents WHERE problem = ''").fetchone()[0]
        if counted and not size(self.texts):
            raise Damaged("the full-text index is missing")

    # --- changes -----------------------------------------------------------------------------------------------------

    def expect(self, keys: Iterable[str]) -> None:
        """Note keys before anything is stored under them."""
        with self._change() as db:
            db.executemany("INSERT OR IGNORE INTO unused VALUES (?)", [(key,) for key in keys])

    def add_texts(self, entries: Iterable[Entry]) -> None:
        """Put the passages of versions into the full-text index, in one commit."""
        with closing(IndexWriter(self.texts)) as writer:
            for entry in entries:
                writer.remove(entry.key)  # what a killed writer left
                numbered = enumerate(entry.passages)
                writer.add(IndexedPassage(entry.key, number, entry.title, passage) for number, passage in numbered)
            writer.commit()

    def replace(self, entries: Sequence[Entry]) -> None:
        """Make versions count; those that they replace become unused."""
        with self._change() as db:
            for entry in entries:
                name = os.fsencode(entry.id)
                db.execute("INSERT OR IGNORE INTO unused SELECT key FROM documents WHERE id = ?", (name,))
                db.execute("DELETE FROM unused WHERE key = ?", (entry.key,))
                row = [name, entry.key, entry.digest, entry.title, entry.size, entry.mtime_ns, entry.seen_ns]
                row += [entry.problem, entry.about, entry.source]
                db.execute(f"INSERT OR REPLACE INTO documents VALUES ({','.join('?' * len(row))})", row)  # noqa: S608

    def touch(self, entries: Iterable[Entry]) -> None:
        """Note the size and time of files whose bytes have not changed."""
        rows = [(entry.size, entry.mtime_ns, entry.seen_ns, os.fsencode(entry.id)) for entry in entries]
        with self._change() as db:
            db.executemany("UPDATE documents SET size = ?, mtime_ns = ?, seen_ns = ? WHERE id = ?", rows)

    def remove(self, ids: Iterable[str]) -> None:
        """Remove documents; their keys become unused."""
        with self._change() as db:
            for name in map(os.fsencode, ids):
                db.execute("INSERT OR IGNORE INTO unused SELECT key FROM documents WHERE id = ?", (name,))
                db.execute("DELETE FROM documents WHERE id = ?", (name,))

    def unused(self) -> list[str]:
        """Return the keys under which nothing that counts is stored."""
        with self.open() as db:
            return [key for (key,) in db.execute("SELECT key FROM unused")]

    def drop(self, keys: Sequence[str]) -> None:
        """Delete what is stored under unused keys."""
        if not keys:
            return
        with closing(IndexWriter(self.texts)) as writer:
            for key in keys:
                writer.remove(key)
            writer.commit()
        with self._change() as db:
            db.executemany("DELETE FROM unused WHERE key = ?", [(key,) for key in keys])

    # --- facts about all documents -----------------------------------------------------------------------------------

    def about(self) -> dict[str, str]:
        """Return the facts about the store by name."""
        if not self.exists():
            return {}
        with self.open() as db:
            return dict(db.execute("SELECT name, value FROM about"))

    def set_about(self, facts: Mapping[str, str]) -> None:
        """Set facts about the store, all at once."""
        with self._change() as db:
            db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", facts.items())

    # --- documents ---------------------------------------------------------------------------------------------------

    def states(self) -> dict[str, State]:
        """Return the state of each document by id."""
        if not self.exists():
            return {}
        with self.open() as db:
            rows = db.execute("SELECT id, key, digest, size, mtime_ns, seen_ns, problem FROM documents")
            return {os.fsdecode(name): State(*row) for name, *row in rows}

    def entries(self, ids: Iterable[str]) -> list[Entry]:
        """Return documents with their passages."""
        with self.open() as db:
            select = "SELECT * FROM documents WHERE id = ?"
            rows = [row for name in ids for row in db.execute(select, (os.fsencode(name),))]
        entries = [Entry(os.fsdecode(name), *values) for name, *values in rows]
        read = self.reader().version
        return [it if it.problem else replace(it, passages=[row.evidence for row in read(it.key)]) for it in entries]

    def problems(self) -> list[tuple[str, str]]:
        """Return the ids of the documents that have no passages, with the reasons."""
        if not self.exists():
            return []
        with self.open() as db:
            rows = db.execute("SELECT id, problem FROM documents WHERE problem != '' ORDER BY id")
            return [(os.fsdecode(name), problem) for name, problem in rows]

    def count(self) -> int:
        """Return the number of documents that have passages."""
        if not self.exists():
            return 0
        with self.open() as db:
            return int(db.execute("SELECT COUNT(*) FROM documents WHERE problem = ''").fetchone()[0])

    def fingerprint(self) -> str:
        """Return a digest that changes with the documents."""
        return blake2b("\0".join(self.keys()).encode(), digest_size=16).hexdigest()

    def ids(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the id of the document of each key that counts."""
        with self.open() as db:
            rows = ((key, db.execute("SELECT id FROM documents WHERE key = ?", (key,)).fetchone()) for key in set(keys))
            return {key: os.fsdecode(row[0]) for key, row in rows if row}

    def keys(self) -> list[str]:
        """Return the keys of the versions that count."""
        with self.open() as db:
            return [key for (key,) in db.execute("SELECT key FROM documents ORDER BY key")]

    def abouts(self) -> dict[str, bytes]:
        """Return what the owner keeps about each document, by id."""
        if not self.exists():
            return {}
        with self.open() as db:
            return {os.fsdecode(name): about for name, about in db.execute("SELECT id, about FROM documents")}

    def sources(self, keys: Iterable[str], limit: int = 10**9) -> dict[str, bytes]:
        """Return what the owner keeps as the sources of these versions, as far as they count; `limit` bytes of each."""
        select = "SELECT substr(source, 1, ?) FROM documents WHERE key = ?"
        with self.open() as db:
            rows = ((key, db.execute(select, (limit, key)).fetchone()) for key in keys)
            return {key: row[0] for key, row in rows if row}

    # --- questions ---------------------------------------------------------------------------------------------------

    def reader(self) -> IndexReader:
        """Return a reader of the full-text index as of now."""
        with self._opening:
            if self._reader is None or not self._reader.is_current():
                self._reader = IndexReader(self.texts)
            return self._reader

    def search(self, question: str, limit: int) -> list[tuple[str, Match]]:
        """Return the best passages for a question, each with the id of its document, best first."""
        matches = rank(self.reader(), question, limit)
        ids = self.ids(match.passage.key for match in matches)
        return [(ids[match.passage.key], match) for match in matches if match.passage.key in ids]
