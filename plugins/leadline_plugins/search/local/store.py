"""The full-text index: passages in tantivy, and the statistics that ranking needs.

Texts come as the tokens of `leadline_plugins.text`, joined by spaces, so that index and query are cut alike in every
script. A document is all passages with one `file`; deleting by that field makes every write repeatable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import tantivy
from tantivy import Occur, Query

from leadline_plugins.search.local.names import Names, name
from leadline_plugins.text import tokens

_MEMORY = 64_000_000
"""Bytes a writer may hold before it writes a segment."""
_LONGEST = 60
"""Characters of a token; longer ones are data, not words."""
_NAMESAKES = 10
"""Documents that may share a title before it stops being a name: READMEs, introductions."""


@dataclass(frozen=True)
class Passage:
    """A stretch of a document's text; `path` is the file's."""

    path: str
    title: str
    number: int
    text: str


@dataclass(frozen=True)
class Match:
    """A passage with its BM25 score."""

    passage: Passage
    score: float


class Damaged(Exception):
    """The index cannot be read or written as it is."""


@contextmanager
def _guarded() -> Iterator[None]:
    """Say `Damaged` for whatever tantivy raises, which is no more than ValueError and, on broken files, a panic."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise Damaged(str(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise Damaged(str(error)) from error


def key(path: str) -> str:
    """Return the id of a file in the index."""
    return blake2b(path.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("file", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("name", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("title", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
    builder.add_bytes_field("passage", stored=True)
    return builder.build()


class Writer:
    """Adds and removes documents; one at a time over all processes."""

    @_guarded()
    def __init__(self, folder: Path) -> None:
        self._writer = _open(folder).writer(_MEMORY, num_threads=1)

    @_guarded()
    def replace(self, path: str, passages: Iterable[Passage]) -> None:
        """Put these passages in the place of whatever the index holds of the file."""
        self.remove(path)
        for passage in passages:
            self._writer.add_document(_document(passage))

    @_guarded()
    def remove(self, path: str) -> None:
        """Take a file out."""
        self._writer.delete_documents_by_term("file", key(path))

    @_guarded()
    def commit(self) -> None:
        """Make it durable and visible."""
        self._writer.commit()

    @_guarded()
    def close(self) -> None:
        """Wait for merges and let go of the lock."""
        self._writer.wait_merging_threads()


def _document(passage: Passage) -> tantivy.Document:
    return tantivy.Document(
        file=key(passage.path),
        name=name(passage.title) if passage.number == 0 else "",
        title=" ".join(_terms(passage.title)),
        body=" ".join(_terms(passage.text)),
        passage=_packed(passage),
    )


def _terms(text: str) -> list[str]:
    return [token for token in tokens(text) if len(token) <= _LONGEST]


def _open(folder: Path) -> tantivy.Index:
    folder.mkdir(parents=True, exist_ok=True)
    return tantivy.Index(_schema(), path=str(folder), reuse=True)


@_guarded()
def size(folder: Path) -> int:
    """Return the number of passages in the index of this folder; 0 where there is none."""
    return int(_open(folder).searcher().num_docs) if (folder / "meta.json").exists() else 0


class Reader:
    """A view of the index as it was when the reader was made; safe from any thread."""

    @_guarded()
    def __init__(self, folder: Path) -> None:
        self._index = _open(folder)
        self._index.config_reader("manual")
        self._index.reload()
        self._searcher = self._index.searcher()
        terms = self._searcher.terms_with_prefix("name", "")
        self.names = Names(term for term, count in terms if count <= _NAMESAKES)

    def size(self) -> int:
        """Return the number of passages."""
        return int(self._searcher.num_docs)

    @_guarded()
    def frequency(self, term: str) -> int:
        """Return the number of passages whose text has the term."""
        return int(self._searcher.doc_freq("body", term))

    def best(self, terms: Sequence[str], title_weight: float, limit: int) -> list[Match]:
        """Return the best passages for some terms, by BM25 over text and title."""
        schema = self._index.schema
        fields = (("body", 1.0), ("title", title_weight))
        parts = [(Occur.Should, _term(schema, *field, term)) for field in fields for term in terms]
        return self._search(Query.boolean_query(parts), limit)

    def named(self, names: Sequence[str]) -> list[Passage]:
        """Return the first passages of the documents whose title is one of these names."""
        query = Query.term_set_query(self._index.schema, "name", list(names))
        return [match.passage for match in self._search(query, _NAMESAKES * len(names))] if names else []

    @_guarded()
    def _search(self, query: Query, limit: int) -> list[Match]:
        hits = self._searcher.search(query, limit, count=False).hits
        return [Match(_unpacked(self._searcher.doc(address)), float(score)) for score, address in hits]


def _term(schema: tantivy.Schema, field: str, weight: float, term: str) -> Query:
    return Query.boost_query(Query.term_query(schema, field, term, "freq"), weight)


def _packed(passage: Passage) -> bytes:
    """Return a passage as one field: each field more costs every hit of every search."""
    parts = (passage.path, passage.title, str(passage.number), passage.text)
    return "\0".join(parts).encode("utf-8", "surrogateescape")


def _unpacked(document: tantivy.Document) -> Passage:
    packed = bytes(document.get_first("passage") or b"").decode("utf-8", "surrogateescape")
    path, title, number, text = packed.split("\0", 3)
    return Passage(path, title, int(number), text)
