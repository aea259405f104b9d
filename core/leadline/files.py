"""Reading files of a folder that may be anybody's: regular ones, up to a size."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_limited(path: Path, most: int) -> bytes:
    """Return the bytes of a file. Raises `OSError` for a pipe or a device, and for more than `most` bytes."""
    # Opening a pipe would wait for its writer.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data
