"""The full-text index of passages in tantivy, on disk or in memory.

One field has the words of a passage: title, heading path, lead-in and text, as the tokens of `leadline_plugins.text`
joined by spaces, so that index and question are split in the same way in every script. All passages of a version of a
document have its key; deleting by that field makes writes repeatable.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

import tantivy
from tantivy import Occur, Query

from leadline.files import private_folder
from leadline.records import Evidence
from leadline_plugins.documents.names import Names, name
from leadline_plugins.text import identifiers, index_words

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


@dataclass(frozen=True)
class IndexedPassage:
    """A passage of one version of a document; `evidence` has the address of the document only once it is cited."""

    key: str
    number: int
    title: str
    evidence: Evidence


@dataclass(frozen=True)
class Match:
    """A passage with its score."""

    passage: IndexedPassage
    score: float


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
    builder.add_text_field("key", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("place", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("name", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("words", tokenizer_name="whitespace", index_option="freq")
    builder.add_bytes_field("passage", stored=True)
    return builder.build()


def _open(folder: Path) -> tantivy.Index:
    return tantivy.Index(_schema(), path=str(private_folder(folder)), reuse=True)


@_guarded
def size(folder: Path) -> int:
    """Return the number of passages in the index of this folder; 0 if there is none."""
    return int(_open(folder).searcher().num_docs) if (folder / "meta.json").exists() else 0


class IndexWriter:
    """Adds and removes versions of documents; only one may exist over all processes. Without a folder, in memory."""

    @_guarded
    def __init__(self, folder: Path | None = None) -> None:
        self.index = _open(folder) if folder else tantivy.Index(_schema())
        self._writer = self.index.writer(_MEMORY, num_threads=1)

    @_guarded
    def add(self, passages: Iterable[IndexedPassage]) -> None:
        """Add passages."""
        for passage in passages:
            self._writer.add_document(_document(passage))

    @_guarded
    def remove(self, key: str) -> None:
        """Remove all passages of a version."""
        self._writer.delete_documents_by_term("key", key)

    @_guarded
    def commit(self) -> None:
        """Make the changes durable and visible."""
        self._writer.commit()

    @_guarded
    def close(self) -> None:
        """Wait for merges and release the lock."""
        self._writer.wait_merging_threads()


def words_of(title: str, evidence: Evidence) -> list[str]:
    """Return the words by which a passage is found: those of its title, headings, lead-in and text."""
    text = full_text(title, evidence)
    return [*index_words(text), *identifiers(text)]


def full_text(title: str, evidence: Evidence) -> str:
    """Return a passage with the title and the headings above it, which often name its subject."""
    path = [heading for heading in evidence.path if heading != title]
    return "\n".join(filter(None, (title, *path, evidence.lead, evidence.quote)))


def _document(passage: IndexedPassage) -> tantivy.Document:
    evidence = passage.evidence
    packed = [passage.key, passage.number, passage.title, evidence.model_dump(mode="json", exclude_defaults=True)]
    return tantivy.Document(
        key=passage.key,
        place=f"{passage.key} {passage.number}",
        name=name(passage.title) if passage.number == 0 else "",
        words=" ".join(word for word in words_of(passage.title, evidence) if len(word) <= _LONGEST),
        passage=json.dumps(packed).encode(),
    )


def _unpack(document: tantivy.Document) -> IndexedPassage:
    key, number, title, evidence = json.loads(bytes(document.get_first("passage") or b""))
    return IndexedPassage(key, number, title, Evidence.model_validate(evidence))


class IndexReader:
    """A snapshot of the index; safe to use from any thread."""

    _only: frozenset[str] | None = None

    def within(self, keys: Iterable[str]) -> IndexReader:
        """Return a reader that answers questions from these versions alone."""
        reader = copy(self)
        reader._only = frozenset(keys)
        return reader

    @_guarded
    def __init__(self, index: Path | tantivy.Index) -> None:
        self._commit = index / "meta.json" if isinstance(index, Path) else None
        self._version = _version(self._commit)
        self._index = _open(index) if isinstance(index, Path) else index
        self._index.config_reader("manual")
        self._index.reload()
        self._searcher = self._index.searcher()
        terms = self._searcher.terms_with_prefix("name", "")
        self.names = Names(term for term, count in terms if count <= _NAMESAKES)

    def is_current(self) -> bool:
        """Return whether nobody has committed since the reader was created."""
        return _version(self._commit) == self._version

    def size(self) -> int:
        """Return the number of passages."""
        return int(self._searcher.num_docs)

    @_guarded
    def frequency(self, word: str) -> int:
        """Return the number of passages that have a word."""
        return int(self._searcher.doc_freq("words", word))

    @_guarded
    def words(self, prefix: str) -> list[tuple[str, int]]:
        """Return the words that begin with a prefix, each with the number of passages that have it."""
        return [(str(term), int(count)) for term, count in self._searcher.terms_with_prefix("words", prefix)]

    def best(self, words: Sequence[str], limit: int, key: str = "") -> list[Match]:
        """Return the best passages for some words by BM25, of all documents or of the version with this key."""
        any_word = Query.boolean_query([(Occur.Should, self._term("words", word)) for word in words])
        if key:
            any_word = Query.boolean_query([(Occur.Must, self._term("key", key)), (Occur.Should, any_word)])
        elif self._only is not None:
            chosen = Query.term_set_query(self._index.schema, "key", sorted(self._only))
            any_word = Query.boolean_query([(Occur.Must, any_word), (Occur.Must, Query.const_score_query(chosen, 0.0))])
        return self._search(any_word, limit)

    def named(self, title: str) -> list[IndexedPassage]:
        """Return the first passages of the documents whose title is this name."""
        passages = [match.passage for match in self._search(self._term("name", title), _NAMESAKES)]
        return [passage for passage in passages if self._only is None or passage.key in self._only]

    def passage(self, key: str, number: int) -> IndexedPassage | None:
        """Return a passage of a version by its number; None if the index does not have it."""
        return next((match.passage for match in self._search(self._term("place", f"{key} {number}"), 1)), None)

    def version(self, key: str) -> list[IndexedPassage]:
        """Return all passages of a version in order."""
        passages = (match.passage for match in self._search(self._term("key", key), max(1, self._count(key))))
        return sorted(passages, key=lambda passage: passage.number)

    @_guarded
    def _count(self, key: str) -> int:
        return int(self._searcher.doc_freq("key", key))

    def _term(self, field: str, value: str) -> Query:
        return Query.term_query(self._index.schema, field, value, "freq" if field == "words" else "basic")

    @_guarded
    def _search(self, query: Query, limit: int) -> list[Match]:
        hits = self._searcher.search(query, limit, count=False).hits
        return [Match(_unpack(self._searcher.doc(address)), float(score)) for score, address in hits]


def _version(path: Path | None) -> tuple[int, int] | None:
    """Return what changes with every commit, which replaces the file."""
    try:
        status = path.stat() if path else None
    except FileNotFoundError:
        return None
    return (status.st_ino, status.st_mtime_ns) if status else None


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
