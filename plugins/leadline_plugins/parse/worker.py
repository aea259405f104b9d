"""One process that parses HTML, for `leadline_plugins.parse.workers`: pages in by stdin, documents out by stdout.

python -P -m leadline_plugins.parse.worker SECONDS
"""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import sys
from pathlib import Path
from typing import BinaryIO

from leadline.errors import ProviderError
from leadline.records import Blob
from leadline_plugins.parse.html import parse
from leadline_plugins.parse.workers import LENGTHS

_NICE = 5


def serve(pages: BinaryIO, documents: BinaryIO, seconds: float) -> None:
    """Answer until the other side closes: a document, or the class and text of an error.

    A page that takes longer than so many seconds ends the process, whatever it is doing.
    """
    with Path(os.devnull).open("w") as nowhere:
        while head := pages.read(LENGTHS.size):
            header, size = LENGTHS.unpack(head)
            asked = json.loads(pages.read(header))
            blob = Blob(name=asked["name"], media_type=asked["media_type"], data=pages.read(size))
            faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
            told, body = answer(blob)
            faulthandler.cancel_dump_traceback_later()
            documents.write(LENGTHS.pack(len(told), len(body)) + told + body)
            documents.flush()


def answer(blob: Blob) -> tuple[bytes, bytes]:
    """Parse one page; return header and document."""
    try:
        return b"{}", parse(blob).model_dump_json().encode()
    except ProviderError as error:
        return json.dumps({"error": type(error).__name__, "message": str(error)}).encode(), b""


def main() -> None:
    """Serve this process's own stdin and stdout; whatever prints or warns meanwhile cannot get in between."""
    documents = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    logging.lastResort = None
    os.nice(_NICE)  # the event loop goes first
    serve(sys.stdin.buffer, documents, float(sys.argv[1]))


if __name__ == "__main__":
    main()
