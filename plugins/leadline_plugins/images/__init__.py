"""Pictures of cited pages: selection, validation, and conversion in a separate process; the size of every picture."""

from __future__ import annotations

import math

# Pixels of a picture that anything may decode: one of a few kilobytes can declare billions.
MOST_PIXELS = 40_000_000
# The markers of a JPEG that declare its size: SOF0 to SOF15 without DHT, JPG and DAC.
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


def declared_pixels(data: bytes) -> float:
    """Return the number of pixels that a PNG or JPEG declares; infinity if it declares none."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR" and len(data) >= 24:
        return int.from_bytes(data[16:20]) * int.from_bytes(data[20:24])
    place = 2 if data.startswith(b"\xff\xd8") else len(data)
    while place + 9 <= len(data) and data[place] == 0xFF:
        if data[place + 1] in _FRAMES:
            return int.from_bytes(data[place + 5 : place + 7]) * int.from_bytes(data[place + 7 : place + 9])
        place += 2 + int.from_bytes(data[place + 2 : place + 4])
    return math.inf
