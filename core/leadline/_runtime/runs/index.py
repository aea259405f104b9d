"""An index of the runs in a folder, for lists and full-text search: SQLite, in the folder itself.

The index is derived data. Each use compares it with the folders of the runs, and reads those that are new or changed:
nobody has to write to it, and a file that is missing, damaged or of another version is built again. Where it cannot be
written, it is built in memory for one use.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import sqlite3
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from leadline._runtime.journal.lock import is_locked
from leadline.display import one_line, strip_markup
from leadline.encoding import without_surrogates
from leadline.errors import LeadlineError
from leadline.files import check_database, has_layout, private_file, read_limited
from leadline.records import Notice
from leadline.run_summary import ACTIVE, RunSummary
from leadline.stores import refresh

FILE = ".index.sqlite"
_JOURNAL = "journal.sqlite"
_METADATA = "metadata.json"
# Bytes.
LARGEST_METADATA = 32 * 2**20
# Increased with every change of the tables or of `index_text`.
_VERSION = 4
# Seconds to wait for another process that updates the index.
_TIMEOUT = 5.0
_POLL = 0.01
# `porter` joins the forms of English words and leaves other languages unchanged.
_TABLES = f"""
PRAGMA user_version = {_VERSION};
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, stamp TEXT NOT NULL, data TEXT NOT NULL,
    has_text INTEGER NOT NULL DEFAULT 0
);
CREATE VIRTUAL TABLE words USING fts5(about, body, tokenize = 'porter unicode61');
"""
_WITHOUT_TEXT = "SELECT id, name, data FROM runs WHERE NOT has_text"
# A hit in the question or the tags counts as much as several in the report.
_SEARCH = """
SELECT name, data FROM words JOIN runs ON runs.id = words.rowid WHERE words MATCH ? ORDER BY bm25(words, 5.0, 1.0)
"""
# Keys of `metadata.json` that a list shows.
_KEYS = ("status", "question", "pipeline", "reason", "exit_code", "began", "ended", "seconds", "tags")
# Keys that runs of older versions lack.
_NEWER_KEYS: dict[str, Any] = {"conversation": "", "follows": "", "title": "", "pinned": False}
Rows = list[tuple[str, str]]


class RunIndex:
    """The runs of a folder. Threads and processes may use it at the same time; each call opens the file anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()

    def runs(self, *, status: str | None = None, conversation: str = "", limit: int | None = None) -> list[RunSummary]:
        """Return the runs, newest first; those of a conversation are its first run, and all with its id."""
        rows = self._query(lambda database: database.execute("SELECT name, data FROM runs").fetchall())
        runs = [self._summary(name, data) for name, data in rows]
        runs.sort(key=lambda run: (run.began.timestamp() if run.began else 0.0, run.id), reverse=True)
        return [run for run in runs if _matches(run, status, conversation)][:limit]

    def search(
        self, text: str, *, status: str | None = None, conversation: str = "", limit: int | None = None
    ) -> list[RunSummary]:
        """Return the runs whose question, tags or report contain all words of a text, the best first.

        Words in double quotes must follow one another. Chinese, Japanese, Korean and Thai text needs no spaces.
        """
        terms = terms_of(text)
        if not terms:  # punctuation only
            return []
        rows = self._query(lambda database: _found(database, match_expression(terms)), with_text=True)
        runs = (self._summary(name, data) for name, data in rows)
        chosen = [run for run in runs if _matches(run, status, conversation)][:limit]
        return [replace(run, excerpt=excerpt(report_text(run.folder), terms)) for run in chosen]

    def related(self, question: str) -> list[RunSummary]:
        """Return the runs whose question or tags contain a word of a question, the best first."""
        words = words_of(question)
        if not words:
            return []
        rows = self._query(lambda database: _found(database, match_expression(words, any_word=True)), with_text=True)
        return [self._summary(name, data) for name, data in rows]

    def forget_deleted(self) -> None:
        """Remove deleted runs from the file, if there is one."""
        if (self._folder / FILE).is_file():
            with suppress(sqlite3.Error):  # the next list or search does it
                self._update_file(dict(_stamps(self._folder)), lambda _: [])

    def _summary(self, name: str, text: str) -> RunSummary:
        folder, data = self._folder / name, json.loads(text)
        if not data:
            return RunSummary(name, folder, "unreadable")
        gone = _is_active(data) and not is_locked(folder / f"{_JOURNAL}.lock")
        if gone:  # or it has ended since
            data = _read(folder) or data
        status = "interrupted" if gone and _is_active(data) else data["status"]
        began, ended = (datetime.fromisoformat(data[key]) if data[key] else None for key in ("began", "ended"))
        return RunSummary(name, folder, **{**data, "began": began, "ended": ended, "status": status})

    # --- the file --------------------------------------------------------------------------------------------------

    def _query(self, read: Callable[[sqlite3.Connection], Rows], *, with_text: bool = False) -> Rows:
        """Return what a function reads from the database, which is equal to the folders now."""
        refresh(self._folder, files=with_text)
        stamps = dict(_stamps(self._folder))
        if not stamps:
            return []
        try:
            with self._locked(fcntl.LOCK_SH), suppress(sqlite3.DatabaseError):
                if (self._folder / FILE).is_file():
                    with closing(_connect(self._folder / FILE)) as database:
                        if self._is_current(database, stamps, with_text=with_text):
                            return read(database)
            return self._update_file(stamps, read, with_text=with_text)
        except sqlite3.DatabaseError:  # not writable, full, in use for a long time, or damaged again
            with closing(_connect(":memory:")) as database:
                self._update(database, stamps, with_text=with_text)
                return read(database)

    def _update_file(
        self, stamps: Mapping[str, str], read: Callable[[sqlite3.Connection], Rows], *, with_text: bool = False
    ) -> Rows:
        """Update the file, then read it; one that is damaged or of another version is replaced."""
        with self._locked(fcntl.LOCK_EX):
            for last in (False, True):
                try:
                    with closing(_connect(self._folder / FILE)) as database:
                        self._update(database, stamps, with_text=with_text)
                        return read(database)
                except sqlite3.DatabaseError as error:
                    if last or isinstance(error, sqlite3.OperationalError):
                        raise
                    for suffix in ("", "-journal", "-wal", "-shm"):
                        with suppress(OSError):
                            (self._folder / f"{FILE}{suffix}").unlink()
        raise AssertionError("unreachable")

    @contextmanager
    def _locked(self, kind: int) -> Iterator[None]:
        """Lock the folder itself, since a database must not be removed while another process uses it."""
        deadline = time.monotonic() + _TIMEOUT
        try:
            folder = os.open(self._folder, os.O_RDONLY)
        except OSError as error:
            raise sqlite3.OperationalError(str(error)) from error
        try:
            while True:
                try:
                    fcntl.flock(folder, kind | fcntl.LOCK_NB)
                    break
                except OSError as error:
                    if not isinstance(error, BlockingIOError) or time.monotonic() > deadline:
                        raise sqlite3.OperationalError(str(error)) from error
                time.sleep(_POLL)
            yield
        finally:
            os.close(folder)

    @staticmethod
    def _is_current(database: sqlite3.Connection, stamps: Mapping[str, str], *, with_text: bool) -> bool:
        if _version(database) != _VERSION or dict(database.execute("SELECT name, stamp FROM runs")) != stamps:
            return False
        return not with_text or not database.execute(_WITHOUT_TEXT).fetchone()

    def _update(self, database: sqlite3.Connection, stamps: Mapping[str, str], *, with_text: bool) -> None:
        """Write the differences between the tables and the folders."""
        if _version(database) != _VERSION:
            _create(database)
        with _transaction(database):
            self._update_runs(database, stamps)
        if with_text:
            self._add_text(database)

    def _update_runs(self, database: sqlite3.Connection, stamps: Mapping[str, str]) -> None:
        known = dict(database.execute("SELECT name, stamp FROM runs"))
        stale = [name for name, stamp in known.items() if stamps.get(name) != stamp]
        unsearched = "DELETE FROM words WHERE rowid = (SELECT id FROM runs WHERE name = ?)"
        database.executemany(unsearched, ((name,) for name in stale))
        database.executemany("DELETE FROM runs WHERE name = ?", ((name,) for name in stale))
        database.executemany(
            "INSERT INTO runs (name, stamp, data) VALUES (?, ?, ?)",
            (
                (name, stamp, json.dumps(_read(self._folder / name)))
                for name, stamp in stamps.items()
                if known.get(name) != stamp
            ),
        )

    def _add_text(self, database: sqlite3.Connection) -> None:
        """Add the text of the reports that were not searched before."""
        with _transaction(database):
            for key, name, data in database.execute(_WITHOUT_TEXT).fetchall():
                row = (key, index_text(_about(json.loads(data))), index_text(report_text(self._folder / name)))
                database.execute("INSERT INTO words (rowid, about, body) VALUES (?, ?, ?)", row)
            database.execute("UPDATE runs SET has_text = 1")


def _connect(path: Path | str) -> sqlite3.Connection:
    if isinstance(path, Path):
        check_database(path)
        with suppress(OSError):  # not writable: SQLite says so below
            private_file(path)
    database = sqlite3.connect(path, timeout=_TIMEOUT, isolation_level=None)
    if not has_layout(database, _TABLES):
        database.close()
        raise sqlite3.DatabaseError("somebody else's tables")
    # Without waiting for the disk: after a power failure the file may be damaged, and is built again.
    database.executescript("PRAGMA synchronous = OFF; PRAGMA secure_delete = ON")
    return database


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _create(database: sqlite3.Connection) -> None:
    """Create the tables. Raises `DatabaseError` if the file has tables of another version."""
    if database.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise sqlite3.DatabaseError("the index is of another version")
    with _transaction(database):
        for statement in filter(str.strip, _TABLES.split(";")):
            database.execute(statement)


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Run a write transaction: unlike that of `sqlite3`, it takes the lock before it reads."""
    database.execute("BEGIN IMMEDIATE")
    with database:  # commits, or rolls back
        yield


def _found(database: sqlite3.Connection, expression: str) -> Rows:
    return database.execute(_SEARCH, (expression,)).fetchall()


# --- the folders -----------------------------------------------------------------------------------------------------


def _stamps(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the names of the runs with what changes whenever `metadata.json` is written."""
    try:
        with os.scandir(folder) as entries:
            # No run has another name than UTF-8, which neither SQLite nor a terminal could take.
            names = [entry.name for entry in entries if without_surrogates(entry.name) == entry.name]
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise LeadlineError(f"cannot read the folder of runs {folder}: {error.strerror or error}") from error
    for name in names:
        if os.path.isfile(f"{folder}/{name}/{_JOURNAL}"):  # noqa: PTH113 - twice as fast for thousands of runs
            try:
                state = os.stat(f"{folder}/{name}/{_METADATA}")  # noqa: PTH116
                yield name, f"{state.st_ino} {state.st_mtime_ns} {state.st_size}"
            except OSError:
                yield name, ""


def _read(folder: Path) -> dict[str, Any]:
    """Return the values of `metadata.json` that a list shows; empty if it cannot be read."""
    try:
        data = json.loads(read_limited(folder / _METADATA, LARGEST_METADATA))
        values = {key: data[key] for key in _KEYS}
        values |= {key: type(value)(data.get(key, value)) for key, value in _NEWER_KEYS.items()}
        values["reason"] = f"{Notice.read(values['reason'])}"
        datetime.fromisoformat(values["began"])
        if values["ended"]:
            datetime.fromisoformat(values["ended"])
        texts = (values[key] for key in ("status", "question", "pipeline", "reason"))
        if not all(isinstance(text, str) for text in texts) or not isinstance(values["tags"], dict):
            return {}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return {}
    return values


def _matches(run: RunSummary, status: str | None, conversation: str) -> bool:
    return status in (None, run.status) and (not conversation or conversation in (run.conversation, run.id))


def _is_active(data: Mapping[str, Any]) -> bool:
    return data["status"] in ACTIVE and not data["ended"]


def _about(data: Mapping[str, Any]) -> str:
    """Return the title, the question and the tags of a run, which are searched beside its report."""
    tags = (f"{key} {value}" for key, value in data.get("tags", {}).items())
    return "\n".join([data.get("title", ""), data.get("question", ""), *tags])


# --- the text of a run, in any language -------------------------------------------------------------------------------


# Scripts that are written without spaces between words, and Korean, which joins particles to words. Each character is
# a token of its own, and a word is a sequence of them.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003fffd]"
)
_TERM = re.compile(r'"([^"]*)"?|(\S+)')
_UNSEEN = re.compile(r"<(style|script)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
# Characters of a report that are indexed.
_MOST = 2_000_000
# Bytes of the file that they are in.
_LARGEST = 64 * 2**20
_WORD = re.compile(r"\w+")
# Letters of a word that tells two texts apart.
_LEAST_LETTERS = 4
# Characters of an excerpt.
_EXCERPT = 160


def report_text(folder: Path) -> str:
    """Return the text of the report in a run's folder; empty if there is none in a readable format."""
    for name, read in (("report.md", str), ("report.json", _sections), ("report.html", _visible)):
        try:
            return read(read_limited(folder / name, _LARGEST).decode("utf-8", "replace"))[:_MOST]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            continue
    return ""


def _sections(text: str) -> str:
    data = json.loads(text)
    return "\n\n".join([data["title"], *(f"{part['title']}\n\n{part['text'] or ''}" for part in data["sections"])])


def _visible(markup: str) -> str:
    return strip_markup(_UNSEEN.sub(" ", markup))


def fold(text: str) -> str:
    """Return text without distinction of case and width. The index itself ignores the accents of Latin letters."""
    return unicodedata.normalize("NFKC", text).casefold()


def index_text(text: str) -> str:
    """Return text as the index stores it: folded, with a space around each character of a script without spaces."""
    return _UNSPACED.sub(r" \g<0> ", fold(text))


def terms_of(text: str) -> list[str]:
    """Return the words of a search, and its phrases in double quotes."""
    matches = (match[1] if match[1] is not None else match[2] for match in _TERM.finditer(text))
    return [term.strip() for term in matches if any(map(str.isalnum, term))]


def words_of(text: str) -> list[str]:
    """Return the words of a text with four letters or more, folded; of a script without spaces, pairs of characters."""
    words: list[str] = []
    for word in _WORD.findall(fold(text)):
        unspaced = "".join(_UNSPACED.findall(word))
        words += [unspaced[index : index + 2] for index in range(len(unspaced) - 1)]
        words += [part for part in _UNSPACED.split(word) if len(part) >= _LEAST_LETTERS]
    return list(dict.fromkeys(words))


# Characters that end a string of FTS5.
_ENDS = str.maketrans('"\0', "  ")


def match_expression(terms: Sequence[str], *, any_word: bool = False) -> str:
    """Return the FTS5 expression that finds texts with all terms, or questions and tags with any of them."""
    quoted = ('"{}"'.format(" ".join(index_text(term).translate(_ENDS).split())) for term in terms)
    return f"about : ({' OR '.join(quoted)})" if any_word else " AND ".join(quoted)


def excerpt(text: str, terms: Sequence[str]) -> str:
    """Return the text around the first occurrence of a term, else of another form of it, on one line; else nothing."""
    forms = ((term, term[: max(_LEAST_LETTERS, len(term) - 3)]) for term in terms)
    matches = (
        re.search(re.escape(term), text, re.IGNORECASE) or re.search(rf"\b{re.escape(stem)}", text, re.IGNORECASE)
        for term, stem in forms
    )
    places = [match.start() for match in matches if match]
    if not places:
        return ""
    start = max(0, min(places) - _EXCERPT // 4)
    shown = one_line(text[start : start + _EXCERPT])
    return f"{'… ' if start else ''}{shown}{' …' if start + _EXCERPT < len(text) else ''}"
