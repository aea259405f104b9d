"""The findings of a run, and the view that a stage has of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from leadline.errors import PluginFault
from leadline.findings import Key
from leadline.records import Document, Record


class FindingsBoard:
    """All findings of one pass through a pipeline by key. Only the engine merges into it, between stages."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        # The reason of each stage that produced nothing.
        self.lost: dict[str, str] = {}
        # Rounds of the loop so far.
        self.rounds = 0
        # Items of its `over` key that each map stage has taken so far.
        self.taken: dict[str, int] = {}

    def has(self, key: Key[Any]) -> bool:
        """Return whether the key has a value; a growing key needs at least one item."""
        return bool(self._values.get(key.name)) if key.grows else key.name in self._values

    def get(self, key: Key[Any]) -> Any:
        """Return the value of a key; without one None, or the empty tuple for a growing key."""
        return self._values.get(key.name, () if key.grows else None)

    def put(self, key: Key[Any], value: Any) -> None:
        """Set a finding. Items of a growing key are appended; ids that it has already are skipped."""
        if key.grows:
            value = _appended(self.get(key), value)
        self._values[key.name] = value

    def replace(self, key: Key[Any], start: int, items: Iterable[Any]) -> None:
        """Replace the items of a growing key from the place `start` on."""
        self._values[key.name] = _appended(self.get(key)[:start], items)

    def changed(self, key: Key[Any], items: Iterable[Any]) -> Any:
        """Return the first item that differs from the one of the same id; None if there is none."""
        known = {item.id: item for item in self.get(key) if hasattr(item, "id")}
        return next((item for item in items if known.get(getattr(item, "id", None), item) != item), None)

    def snapshot(self) -> FindingsBoard:
        """Return a copy that later merges do not change; the findings are frozen and shared."""
        copy = FindingsBoard()
        copy._values = dict(self._values)
        return copy


def _appended(items: tuple[Any, ...], new: Iterable[Any]) -> tuple[Any, ...]:
    known = {item.id for item in items if hasattr(item, "id")}
    fresh = []
    for item in new:
        item_id = getattr(item, "id", None)
        if item_id is None or item_id not in known:
            fresh.append(item)
            known.add(item_id)
    return (*items, *fresh)


class StageFindings:
    """The findings that a stage declared (`leadline.findings.Findings`); its writes go into `patch`."""

    def __init__(
        self,
        stage: str,
        board: FindingsBoard,
        reads: Iterable[Key[Any]],
        writes: Iterable[Key[Any]],
        *,
        ends_loop: bool = True,
    ) -> None:
        self._stage = stage
        self._board = board
        self._reads = {key.name for key in reads}
        self._writes = {key.name: key for key in writes}
        self.patch: dict[Key[Any], Any] = {}
        self.loop_ended: str | None = None
        self._ends_loop = ends_loop

    def __getitem__(self, key: Key[Any], /) -> Any:
        self._check_read(key)
        if not key.grows and not self._board.has(key):
            raise PluginFault(f"stage '{self._stage}' reads '{key.name}', which has no value; use findings.get()")
        return self._board.get(key)

    def get(self, key: Key[Any], /) -> Any:
        """Return the finding, or None."""
        self._check_read(key)
        return self._board.get(key)

    def __setitem__(self, key: Key[Any], value: Any, /) -> None:
        if key.name not in self._writes:
            raise PluginFault(
                f"stage '{self._stage}' writes '{key.name}', but its offer gives only: {_joined(self._writes)}"
            )
        items = tuple(value) if key.grows else (value,)
        for item in items:
            if not isinstance(item, key.type):
                raise PluginFault(
                    f"stage '{self._stage}' writes a {type(item).__name__} to '{key.name}', "
                    f"which holds {key.type.__name__}"
                )
            if fault := misfit(item):
                raise PluginFault(f"stage '{self._stage}' writes to '{key.name}' {fault}")
        self.patch[key] = items if key.grows else value

    def end_loop(self, reason: str, /) -> None:
        """End the loop after this round."""
        if not self._ends_loop:
            raise PluginFault(f"stage '{self._stage}' ends the loop, but its offer does not declare ends_loop=True")
        self.loop_ended = reason

    def _check_read(self, key: Key[Any]) -> None:
        if key.name not in self._reads:
            raise PluginFault(
                f"stage '{self._stage}' reads '{key.name}', but its offer needs and wants only: {_joined(self._reads)}"
            )


def misfit(item: Any, before: Iterable[Any] = ()) -> str:
    """Return which field of an item has a value of another type, or why its document's blocks do not fit; else empty.

    `before` are the items that the stage was given; the one of the same id had the old text.
    """
    if isinstance(item, Record) and (fault := _wrong_field(item)):
        return fault
    document = getattr(item, "document", None)
    if not isinstance(document, Document):
        return ""
    item_id = getattr(item, "id", None)
    given = next((earlier for earlier in before if getattr(earlier, "id", None) == item_id), None)
    old = getattr(given, "document", None)
    fault = document.misfit(old if isinstance(old, Document) else None)
    return f"'{item_id}', whose document is wrong: {fault}" if fault else ""


def _wrong_field(item: Record) -> str:
    """Return which field of a record has a value of another type: `model_copy` validates none."""
    try:  # 0.1 ms; validation takes ten times as long, and documents have 50,000 blocks
        item.model_dump(exclude={"document"}, warnings="error")
    except PydanticSerializationError:
        try:
            type(item).model_validate(item.model_dump(warnings=False))
        except ValidationError as error:
            detail = error.errors()[0]
            path, message = ".".join(map(str, detail["loc"])), detail["msg"]
            what = f"{message[:1].lower()}{message[1:]}, and is {detail['input']!r:.80}"
            return f"a {type(item).__name__} whose `{path}` is wrong: {what}"
    return ""


def _joined(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
