"""What is asked of the interpreter inside, and what it answers. Nothing it says is taken on trust."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import PurePosixPath

from leadline.errors import Unsupported
from leadline.records import Blob, Code, Execution

LONGEST_REPLY = 64_000_000
_TYPES = {".png": "image/png", ".svg": "image/svg+xml", ".csv": "text/csv", ".json": "application/json",
          ".txt": "text/plain", ".jpg": "image/jpeg", ".html": "text/html"}  # fmt: skip


class Lost(Exception):
    """The interpreter is gone, or said what it never says: nothing more is to be had of it."""


def framed(message: bytes) -> bytes:
    """Return a message behind its length."""
    return struct.pack(">I", len(message)) + message


def length_of(head: bytes) -> int:
    """Return the length a head announces. Raises `Lost` for one that no honest reply has."""
    size: int = struct.unpack(">I", head)[0]
    if size > LONGEST_REPLY:
        raise Lost(f"a reply of {size:,} bytes")
    return size


def asked(code: Code, seconds: float) -> bytes:
    """Return a request. Raises `Unsupported` for another language, or a file that would lie outside."""
    if code.language not in ("python", "py"):
        raise Unsupported(f"the sandbox runs python, not {code.language!r}")
    for file in code.files:
        if not _inside(file.name):
            raise Unsupported(f"a file cannot be named {file.name!r}: a plain path below the working folder")
    given = [{"name": file.name, "data": base64.b64encode(file.data).decode()} for file in code.files]
    return json.dumps({"text": code.text, "seconds": seconds, "files": given}).encode("utf-8", "replace")


def answered(reply: bytes) -> Execution:
    """Read a reply; what comes out of a sandbox is nobody's word but its own, so names are looked at again."""
    try:
        said = json.loads(reply)
        left = tuple(_blob(file) for file in said.pop("files") if _inside(file["name"]))
        return Execution(**said, files=left)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Lost(f"a reply that is none: {type(error).__name__}") from error


def _blob(file: dict[str, str]) -> Blob:
    kind = _TYPES.get(PurePosixPath(file["name"]).suffix.lower(), "application/octet-stream")
    return Blob(name=file["name"], media_type=kind, data=base64.b64decode(file["data"], validate=True))


def _inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts and name.isprintable() and len(name) < 200
