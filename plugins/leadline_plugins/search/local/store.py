"""The full-text index in tantivy.

Texts are stored as the tokens of `leadline_plugins.text`, joined by spaces, so that index and query are split in the
same way in every script. A document is all passages with one `file`; deleting by that field makes writes repeatable.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from hashlib import blake2b
from pathlib import Path
from typing import ParamSpec, TypeVar

import tantivy
from tantivy import Occur, Query

from leadline_plugins.search.local.ranking import Match, Names, Passage, name
from leadline_plugins.text import tokens

P = ParamSpec("P")
T = TypeVar("T")
# Bytes that a writer may hold before it writes a segment.
_MEMORY = 64_000_000
# Characters of the longest token; longer ones are data, not words.
_LONGEST = 60
# Documents that may share a title before it is no longer a name: READMEs, introductions.
_NAMESAKES = 10
# Each file of tantivy ends with a JSON footer (with the CRC of its body), the footer's length and a magic number.
_TAIL = struct.Struct("<II")
_MAGIC = 1337
_CHUNK = 1 << 20


class Damaged(Exception):
    """The index cannot be read or written."""


def _guarded(function: Callable[P, T]) -> Callable[P, T]:
    """Raise `Damaged` for the errors of tantivy: ValueError, OSError and, for broken files, a Rust panic."""

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except (ValueError, OSError) as error:
            raise Damaged(str(error)) from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            raise Damaged(str(error)) from error

    return guarded


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("file", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("name", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("title", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
    builder.add_bytes_field("passage", stored=True)
    return builder.build()


def _open(folder: Path) -> tantivy.Index:
    folder.mkdir(parents=True, exist_ok=True)
    return tantivy.Index(_schema(), path=str(folder), reuse=True)


@_guarded
def size(folder: Path) -> int:
    """Return the number of passages in the index of this folder; 0 if there is none."""
    return int(_open(folder).searcher().num_docs) if (folder / "meta.json").exists() else 0


class IndexWriter:
    """Adds and removes documents; only one may exist over all processes."""

    @_guarded
    def __init__(self, folder: Path) -> None:
        self._writer = _open(folder).writer(_MEMORY, num_threads=1)

    @_guarded
    def replace(self, path: str, passages: Iterable[Passage]) -> None:
        """Replace all passages of a file."""
        self.remove(path)
        for passage in passages:
            self._writer.add_document(_document(passage))

    @_guarded
    def remove(self, path: str) -> None:
        """Remove a file."""
        self._writer.delete_documents_by_term("file", _key(path))

    @_guarded
    def commit(self) -> None:
        """Make the changes durable and visible."""
        self._writer.commit()

    @_guarded
    def close(self) -> None:
        """Wait for merges and release the lock."""
        self._writer.wait_merging_threads()


def _document(passage: Passage) -> tantivy.Document:
    return tantivy.Document(
        file=_key(passage.path),
        name=name(passage.title) if passage.number == 0 else "",
        title=_terms(passage.title),
        body=_terms(passage.text),
        passage=_pack(passage),
    )


def _key(path: str) -> str:
    """Return the id of a file in the index."""
    return blake2b(path.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _terms(text: str) -> str:
    return " ".join([token for token in tokens(text) if len(token) <= _LONGEST])


class IndexReader:
    """A snapshot of the index; safe to use from any thread."""

    @_guarded
    def __init__(self, folder: Path) -> None:
        self._commit = folder / "meta.json"
        self._version = _version(self._commit)
        self._index = _open(folder)
        self._index.config_reader("manual")
        self._index.reload()
        self._searcher = self._index.searcher()
        self._frequencies: dict[str, int] = {}
        terms = self._searcher.terms_with_prefix("name", "")
        self.names = Names(term for term, count in terms if count <= _NAMESAKES)

    def is_current(self) -> bool:
        """Return whether nobody has committed since the reader was created."""
        return _version(self._commit) == self._version

    def size(self) -> int:
        """Return the number of passages."""
        return int(self._searcher.num_docs)

    @_guarded
    def frequency(self, term: str) -> int:
        """Return the number of passages whose text has the term."""
        found = self._frequencies.get(term)
        if found is None:
            found = self._frequencies[term] = int(self._searcher.doc_freq("body", term))
        return found

    def knows(self, term: str) -> bool:
        """Return whether a text or title has the term."""
        return self.frequency(term) > 0 or self._in_titles(term)

    @_guarded
    def _in_titles(self, term: str) -> bool:
        return int(self._searcher.doc_freq("title", term)) > 0

    @_guarded
    def terms(self, prefix: str) -> list[tuple[str, int]]:
        """Return the terms of the texts that begin with a prefix, each with the number of passages that have it."""
        return [(str(term), int(count)) for term, count in self._searcher.terms_with_prefix("body", prefix)]

    def best(self, terms: Sequence[str], title_weight: float, limit: int) -> list[Match]:
        """Return the best passages for some terms, by BM25 over text and title."""
        schema = self._index.schema
        fields = (("body", 1.0), ("title", title_weight))
        parts = [(Occur.Should, _term(schema, *field, term)) for field in fields for term in terms]
        return self._search(Query.boolean_query(parts), limit)

    def named(self, names: Sequence[str]) -> list[Passage]:
        """Return the first passages of the documents whose title is one of these names."""
        if not names:
            return []
        query = Query.term_set_query(self._index.schema, "name", list(names))
        return [match.passage for match in self._search(query, _NAMESAKES * len(names))]

    @_guarded
    def _search(self, query: Query, limit: int) -> list[Match]:
        hits = self._searcher.search(query, limit, count=False).hits
        return [Match(_unpack(self._searcher.doc(address)), float(score)) for score, address in hits]


def _version(path: Path) -> tuple[int, int] | None:
    """Return what changes with every commit, which replaces the file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def _term(schema: tantivy.Schema, field: str, weight: float, term: str) -> Query:
    query = Query.term_query(schema, field, term, "freq")
    return query if weight == 1.0 else Query.boost_query(query, weight)


def _pack(passage: Passage) -> bytes:
    """Return a passage as one field, because every field adds to the time of every search."""
    parts = (passage.path, passage.title, str(passage.number), passage.text)
    return "\0".join(parts).encode("utf-8", "surrogateescape")


def _unpack(document: tantivy.Document) -> Passage:
    packed = bytes(document.get_first("passage") or b"").decode("utf-8", "surrogateescape")
    path, title, number, text = packed.split("\0", 3)
    return Passage(path, title, int(number), text)


# --- checksums -------------------------------------------------------------------------------------------------------


def broken_file(folder: Path) -> str:
    """Return the name of a file of the committed index whose checksum is wrong; empty if all are intact.

    Tantivy stores checksums but does not verify them: in 300 rounds of flipped bits one search returned wrong text.
    """
    try:
        segments = json.loads((folder / "meta.json").read_bytes())["segments"]
        stems = {segment["segment_id"].replace("-", "") for segment in segments}
    except FileNotFoundError:  # nothing was committed yet
        return ""
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        return "meta.json"
    files = sorted(path for path in folder.iterdir() if path.name.partition(".")[0] in stems)
    return next((path.name for path in files if not _is_intact(path)), "")


def _is_intact(path: Path) -> bool:
    length = path.stat().st_size
    try:
        with path.open("rb") as file:
            file.seek(max(0, length - _TAIL.size))
            footer, magic = _TAIL.unpack(file.read())
            body = length - _TAIL.size - footer
            file.seek(body)
            expected = json.loads(file.read(footer))["crc"]
            file.seek(0)
            crc, left = 0, body
            while left > 0 and (chunk := file.read(min(left, _CHUNK))):
                crc, left = zlib.crc32(chunk, crc), left - len(chunk)
    except (ValueError, KeyError, TypeError, OSError, struct.error):
        return False
    return bool(magic == _MAGIC and crc == expected)
