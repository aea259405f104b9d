"""Media types by file name, from the standard library's table without system files: the same on every machine."""

from __future__ import annotations

import re
from mimetypes import MimeTypes
from pathlib import PurePosixPath

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_DOCUMENTS = {
    "": "text/plain",  # README, LICENSE, METADATA
    ".adoc": "text/asciidoc",
    ".atom": "application/atom+xml",
    ".docx": DOCX,
    ".log": "text/plain",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".org": "text/org",
    ".rss": "application/rss+xml",
    ".rst": "text/x-rst",
    ".text": "text/plain",
    ".txt": "text/plain",
    ".xhtml": "application/xhtml+xml",
}
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:+-]{1,40})", re.IGNORECASE)
_TYPES = MimeTypes(filenames=())


def media_type(name: str) -> str:
    """Return the media type of a file by its name; `application/octet-stream` if unknown."""
    path = PurePosixPath(name)
    known = _DOCUMENTS.get(path.suffix.lower())
    guessed, encoding = (None, None) if known else _TYPES.guess_type(path.name)
    return known or (guessed if guessed and not encoding else "application/octet-stream")


def bare_type(media_type: str) -> str:
    """Return a media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def charset(media_type: str) -> str:
    """Return the charset parameter of a media type, or an empty string."""
    named = _CHARSET.search(media_type)
    return named[1].lower() if named else ""
