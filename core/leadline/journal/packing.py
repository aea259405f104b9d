"""How texts are compressed where they are kept: by zlib, which any shell unpacks, with tables of their own size."""

from __future__ import annotations

import zlib

_SMALLEST, _LARGEST = 9, zlib.MAX_WBITS
"""Of the window, as powers of two."""
_MEMORY = 7
"""By how much that of the tables is less: at the largest window they are as zlib has them by itself."""


def packed(data: bytes) -> bytes:
    """Return a text compressed, for `zlib.decompress`.

    zlib makes and clears tables for 32 KB, which of a short text takes ten times as long as the work.
    """
    window = min(max(len(data).bit_length(), _SMALLEST), _LARGEST)
    packer = zlib.compressobj(1, zlib.DEFLATED, window, window - _MEMORY)
    return packer.compress(data) + packer.flush()
