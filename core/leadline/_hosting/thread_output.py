"""Send what one thread prints to standard error, and leave what other threads print alone."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_lock = threading.Lock()
# How often each thread is diverted, by its id.
_diverted: Counter[int] = Counter()


class _Divided:
    """Stands for standard output while a thread is diverted."""

    def __init__(self, output: TextIO) -> None:
        self.output = output

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if threading.get_ident() in _diverted else self.output, name)


@contextmanager
def printing_to_stderr() -> Iterator[None]:
    """Send what this thread prints to standard error."""
    me = threading.get_ident()
    with _lock:
        _diverted[me] += 1
        if not isinstance(sys.stdout, _Divided):
            sys.stdout = _Divided(sys.stdout)
    try:
        yield
    finally:
        with _lock:
            _diverted[me] -= 1
            if not _diverted[me]:
                del _diverted[me]
            if not _diverted and isinstance(sys.stdout, _Divided):
                sys.stdout = sys.stdout.output
