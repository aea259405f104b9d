"""What the houses of one process have in common: limits and breakers, one for all that are the same.

A process may have many houses: one for each client, and for each run that is resumed by settings of its own. Their
calls meet at the same vendor.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")


class Shared(Generic[T]):
    """Things by key, each kept for as long as somebody uses it; the users may live in several threads."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[T, WeakSet[object]]] = {}
        self._lock = Lock()

    def take(self, key: Hashable, user: object, make: Callable[[], T]) -> T:
        """Return what is kept under the key, made where nobody uses one; `user` holds it until it leaves or is gone."""
        with self._lock:
            thing, users = self._kept.get(key, (None, None))
            if thing is None or not users:
                thing, users = self._kept[key] = make(), WeakSet()
            users.add(user)
            return thing

    def leave(self, user: object) -> None:
        """Let go of whatever a user holds; what nobody uses any more is forgotten."""
        with self._lock:
            for _, users in self._kept.values():
                users.discard(user)
            self._kept = {key: (thing, users) for key, (thing, users) in self._kept.items() if users}
