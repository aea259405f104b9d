"""Media types by content, and by name from the standard library's table without system files; the size of pictures."""

from __future__ import annotations

import math
import re
from mimetypes import MimeTypes
from pathlib import PurePosixPath
from shutil import which

UNKNOWN = "application/octet-stream"
_OPEN_XML, _OASIS = "application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument."
DOCX = f"{_OPEN_XML}wordprocessingml.document"
XLSX, PPTX = f"{_OPEN_XML}spreadsheetml.sheet", f"{_OPEN_XML}presentationml.presentation"
ODT, ODS, ODP = (f"{_OASIS}{kind}" for kind in ("text", "spreadsheet", "presentation"))
OLD_FORMAT = "is of a format before 2007: save it as .docx, .xlsx or .pptx (soffice --headless --convert-to docx FILE)"
OLD = dict.fromkeys(("application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"), OLD_FORMAT)
_DOCUMENTS = {
    "": "text/plain",  # README, LICENSE, METADATA
    ".adoc": "text/asciidoc",
    ".atom": "application/atom+xml",
    ".docm": DOCX,
    ".docx": DOCX,
    ".eml": "message/rfc822",
    ".epub": "application/epub+zip",
    ".log": "text/plain",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".msg": "application/vnd.ms-outlook",
    ".odp": ODP,
    ".ods": ODS,
    ".odt": ODT,
    ".org": "text/org",
    ".pptx": PPTX,
    ".rss": "application/rss+xml",
    ".rst": "text/x-rst",
    ".rtf": "application/rtf",
    ".text": "text/plain",
    ".txt": "text/plain",
    ".xhtml": "application/xhtml+xml",
    ".webp": "image/webp",  # not in the table of Python 3.11
    ".xlsm": XLSX,
    ".xlsx": XLSX,
}
_OFFICE = {
    b"word": DOCX,
    b"xl": XLSX,
    b"ppt": PPTX,
}
_OFFICE_PART = re.compile(rb"PK\x03\x04.{26}(word|xl|ppt)[/\\\\]", re.DOTALL)
# The first file of OpenDocument and EPUB.
_MIMETYPE = re.compile(rb"PK\x03\x04.{26}mimetype([\w.+/-]{3,100})PK", re.DOTALL)
# The program that reads pictures, and those that it knows, by their first bytes.
OCR = "tesseract"
_PICTURE = re.compile(
    rb"(?P<png>\x89PNG\r\n\x1a\n)|(?P<jpeg>\xff\xd8\xff)|(?P<tiff>II\*\0|MM\0\*)|(?P<webp>RIFF.{4}WEBP)", re.DOTALL
)
PICTURES = {f"image/{name}" for name in _PICTURE.groupindex}
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:+-]{1,40})", re.IGNORECASE)
_TYPES = MimeTypes(filenames=())
# Pixels of a picture that anything may decode: one of a few kilobytes can declare billions.
MOST_PIXELS = 40_000_000
# The markers of a JPEG that declare its size: SOF0 to SOF15 without DHT, JPG and DAC.
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


def media_type(name: str) -> str:
    """Return the media type of a file by its name; `UNKNOWN` if the name does not tell."""
    path = PurePosixPath(name)
    known = _DOCUMENTS.get(path.suffix.lower())
    guessed, encoding = (None, None) if known else _TYPES.guess_type(path.name)
    return known or (guessed if guessed and not encoding else UNKNOWN)


def content_type(data: bytes) -> str:
    """Return the media type that the bytes of a file declare: PDF, RTF, zipped documents, pictures; else empty."""
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return "application/pdf"
    if data.startswith(b"{\\rtf"):
        return "application/rtf"
    if picture := _PICTURE.match(data):
        return f"image/{picture.lastgroup}"
    if not data.startswith(b"PK\x03\x04"):
        return ""
    part, own = _OFFICE_PART.search(data), _MIMETYPE.match(data)
    return own[1].decode() if own else _OFFICE[part[1]] if part else ""


def missing(*media_types: str) -> str:
    """Return what has to be installed to read files of some kinds, for the end of a message, or an empty string."""
    is_missing = not PICTURES.isdisjoint(map(bare_type, media_types)) and not which(OCR)
    return f" (a picture: install {OCR})" if is_missing else ""


def bare_type(media_type: str) -> str:
    """Return a media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def charset(media_type: str) -> str:
    """Return the charset parameter of a media type, or an empty string."""
    named = _CHARSET.search(media_type)
    return named[1].lower() if named else ""


def declared_pixels(data: bytes) -> float:
    """Return the number of pixels that a PNG or JPEG declares; infinity if it declares none."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR" and len(data) >= 24:
        return int.from_bytes(data[16:20]) * int.from_bytes(data[20:24])
    index = 2 if data.startswith(b"\xff\xd8") else len(data)
    while index + 9 <= len(data) and data[index] == 0xFF:
        if data[index + 1] in _FRAMES:
            return int.from_bytes(data[index + 5 : index + 7]) * int.from_bytes(data[index + 7 : index + 9])
        index += 2 + int.from_bytes(data[index + 2 : index + 4])
    return math.inf
