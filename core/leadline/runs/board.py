"""The board: the findings of one run, and the view of it that each stage gets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from leadline.errors import PluginFault
from leadline.findings import Key


class Board:
    """All findings of a run, by key; only the engine merges into it, at the borders between stages."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def has(self, key: Key[Any]) -> bool:
        """Return whether the key holds something; a key that grows holds something once it has an item."""
        return bool(self._values.get(key.name)) if key.grows else key.name in self._values

    def get(self, key: Key[Any]) -> Any:
        """Return what stands under the key: None, or for a key that grows the empty tuple, where nothing does."""
        return self._values.get(key.name, () if key.grows else None)

    def put(self, key: Key[Any], value: Any) -> None:
        """Write a finding; what is put under a key that grows joins what is there, but for ids already there."""
        if key.grows:
            value = _joined(self.get(key), value)
        self._values[key.name] = value

    def snapshot(self) -> Board:
        """Return a copy that later merges do not change; the findings themselves are frozen and shared."""
        copy = Board()
        copy._values = dict(self._values)
        return copy


def _joined(there: tuple[Any, ...], new: Iterable[Any]) -> tuple[Any, ...]:
    seen = {item.id for item in there if hasattr(item, "id")}
    fresh = []
    for item in new:
        name = getattr(item, "id", None)
        if name is None or name not in seen:
            fresh.append(item)
            seen.add(name)
    return (*there, *fresh)


class View:
    """The findings as one stage sees them (`leadline.findings.Findings`): what it declared, and no more."""

    def __init__(self, stage: str, board: Board, reads: Iterable[Key[Any]], writes: Iterable[Key[Any]]) -> None:
        self._stage = stage
        self._board = board
        self._reads = {key.name for key in reads}
        self._writes = {key.name: key for key in writes}
        self.patch: dict[Key[Any], Any] = {}
        self.loop_ended: str | None = None

    def __getitem__(self, key: Key[Any], /) -> Any:
        self._check_read(key)
        if not key.grows and not self._board.has(key):
            raise PluginFault(f"stage '{self._stage}' reads '{key.name}', which is not there; use findings.get()")
        return self._board.get(key)

    def get(self, key: Key[Any], /) -> Any:
        """Return the finding, or None."""
        self._check_read(key)
        return self._board.get(key)

    def __setitem__(self, key: Key[Any], value: Any, /) -> None:
        if key.name not in self._writes:
            raise PluginFault(
                f"stage '{self._stage}' writes '{key.name}', but its offer gives only: {_names(self._writes)}"
            )
        self.patch[key] = self._checked(key, value)

    def end_loop(self, reason: str, /) -> None:
        """End the loop once the round is through."""
        self.loop_ended = reason

    def _check_read(self, key: Key[Any]) -> None:
        if key.name not in self._reads:
            raise PluginFault(
                f"stage '{self._stage}' reads '{key.name}', but its offer needs and wants only: {_names(self._reads)}"
            )

    def _checked(self, key: Key[Any], value: Any) -> Any:
        items = tuple(value) if key.grows else (value,)
        for item in items:
            if not isinstance(item, key.type):
                raise PluginFault(
                    f"stage '{self._stage}' writes a {type(item).__name__} to '{key.name}', "
                    f"which holds {key.type.__name__}"
                )
        return items if key.grows else value


def _names(names: Iterable[str] | Mapping[str, Any]) -> str:
    return ", ".join(sorted(names)) or "nothing"
