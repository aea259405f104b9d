"""Validate a fetched picture in a separate process (`conversion`)."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE
from importlib.util import find_spec
from typing import Any

from leadline.errors import Unsupported
from leadline.records import Blob, Record
from leadline_plugins.fetch.guard import shown
from leadline_plugins.parse.media import MOST_PIXELS

ACCEPTED = ("image/png", "image/jpeg", "image/jpg", "image/webp", "image/gif")
EXTRA = "leadline[images]"
_COMMAND = ("-P", "-m", "leadline_plugins.images.conversion")
_SECONDS = 20
# Tolerances of brightness (of 255) and of the aspect ratio for equal pictures.
_FIELD, _SHAPE = 10, 1.05
LIMITS: dict[str, Any] = {
    "pixels": MOST_PIXELS,
    "width": 200,
    "height": 120,
    "ratio": 5,
    "box": (1400, 700),  # at 144 dpi the width of a page, and less than half its height
    "memory": 1_000_000_000,
    "seconds": _SECONDS,
}


class Picture(Record):
    """A picture for a report: PNG or JPEG without metadata. Pictures that look alike have similar `mark`s."""

    media_type: str
    size: tuple[int, int]
    mark: str
    data: bytes

    def looks_like(self, other: Picture) -> bool:
        """Return whether both pictures look the same at any size: no field differs more than by compression."""
        shape = self.size[0] * other.size[1] / (self.size[1] * other.size[0])
        fields = zip(bytes.fromhex(self.mark), bytes.fromhex(other.mark), strict=True)
        return 1 / _SHAPE < shape < _SHAPE and all(abs(first - second) <= _FIELD for first, second in fields)


def can_read_pictures() -> bool:
    """Return whether Pillow is installed."""
    return find_spec("PIL") is not None


async def validate_picture(blob: Blob) -> Picture:
    """Return the picture of a file. Raises `Unsupported` with its address and the reason."""
    where = shown(blob.name)
    code, out = await _run(blob.data, where)
    head, _, body = out.partition(b"\n")
    if code or not head:
        raise Unsupported(f"{where}: broke the decoder ({code})")
    answer = json.loads(head)
    if "unfit" in answer:
        raise Unsupported(f"{where}: {answer['unfit']}")
    return Picture(**answer, data=body)


async def _run(data: bytes, where: str) -> tuple[int | None, bytes]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *_COMMAND, json.dumps(LIMITS), stdin=PIPE, stdout=PIPE, stderr=DEVNULL
    )
    try:
        async with asyncio.timeout(_SECONDS):
            out, _ = await process.communicate(data)
    except TimeoutError:
        raise Unsupported(f"{where} was not decoded within {_SECONDS} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, out
