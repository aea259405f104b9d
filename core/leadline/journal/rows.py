"""What the journal holds, and how it lies in the file: entries with a mark, texts under their digest.

An entry is JSON beside a mark made of its place and its text; a text is compressed and named by its digest. So damage
is noticed wherever it strikes: SQLite itself notices few flipped bits.
"""

from __future__ import annotations

import sqlite3
import zlib
from datetime import datetime
from typing import Any, Literal

from leadline.door.keys import digest
from leadline.journal.packing import packed
from leadline.records import Json, Record, Text, Usage

Outcome = Literal["reply", "failure", "refusal"]


class Row(Record):
    """One call as the journal keeps it; `body` and `request` are digests of the JSON of what came and was asked."""

    key: str
    kind: str
    provider: str
    outcome: Outcome
    body: str = ""
    request: str = ""
    task: str = ""
    step: str = ""
    """The stage that asked first."""
    model: str = ""
    """The language model that replied, by its own word."""
    parent: str = ""
    """Key of the composite call around it."""
    session: int = 0
    attempts: int = 1
    cached: bool = False
    """Whether it came from another run, by the cache."""
    seconds: float = 0.0
    usage: Usage = Usage()
    leased: Json = {}
    """What its attempts leased of the budget: `Need.dump`."""
    causes: tuple[str, ...] = ()
    """Keys of the failed calls that a composite's failure is made of."""
    notices: tuple[Text, ...] = ()
    """What was told while it was made: told again to whoever has it from the journal."""
    escaped: bool = False
    """Whether its failure ended a session: the next one asks again."""


class Session(Record):
    """One process's work on the run."""

    id: int
    began: datetime
    ended: datetime | None = None
    status: str = ""


def mark_of(space: Any, name: Any, value: str) -> str:
    """Return the mark of an entry: 16 hexadecimal digits."""
    return digest(f"{space}\n{name}\n{value}".encode("utf-8", "surrogatepass"), 8)


def put(db: sqlite3.Connection, space: str, name: str, value: str) -> None:
    """Write an entry."""
    db.execute(
        "insert or replace into entries values (?, ?, ?, ?)",
        (space, name, value, mark_of(space, name, value)),
    )


def put_blob(db: sqlite3.Connection, data: bytes) -> str:
    """Write a text; returns its digest."""
    name = digest(data)
    db.execute("insert or replace into blobs values (?, ?)", (name, packed(data)))
    return name


def blob(db: sqlite3.Connection, name: str) -> bytes | None:
    """Return a text by its digest, None where it is missing or damaged."""
    found = db.execute("select data from blobs where digest = ?", (name,)).fetchone()
    try:
        data = zlib.decompress(found[0]) if found else None
    except (zlib.error, TypeError):
        return None
    return data if data is not None and digest(data) == name else None
