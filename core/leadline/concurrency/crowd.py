"""How many runs are under way in this process: what serves a crowd well would only cost a single run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_under_way: list[object] = []
os.register_at_fork(after_in_child=_under_way.clear)


@contextmanager
def run_under_way() -> Iterator[None]:
    """Count a run."""
    run = object()
    _under_way.append(run)
    try:
        yield
    finally:
        if run in _under_way:  # which a child process has forgotten
            _under_way.remove(run)


def crowded() -> bool:
    """Return whether more than one run is under way."""
    return len(_under_way) > 1
