"""Findings: the data that the stages of a pipeline pass to each other, each under a typed key.

A stage declares the keys that it needs and gives, and the core checks each pipeline by them before the run spends
anything. The keys of the built-in pipeline are in `leadline.research_findings`; name your own `plugin.key`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Key(Generic[T]):
    """The typed name of a finding.

    `type` is the record stored under the key; for a key that `grows`, the record of each item. A stage writes a tuple
    to a key that grows; its items are added to the existing ones, except those whose `id` already exists. A stage that
    has read the key and gives such an item changed raises `PluginError`: only a map stage over the key may change its
    items. With `file`, the finding is saved as JSON under that name in the run's folder whenever it changes.
    """

    __pydantic_config__ = {"strict": True, "revalidate_instances": "always"}  # fields are checked in offers
    name: str
    type: type[Any]
    grows: bool = False
    file: str = ""


class Findings(Protocol):
    """The findings that a stage may use: exactly the keys it declared. Any other key raises `PluginError`."""

    def __getitem__(self, key: Key[T], /) -> T:
        """Return the finding; an empty tuple for a key that grows and has no items yet."""

    def get(self, key: Key[T], /) -> T | None:
        """Return the finding or None, for keys that the stage wants but does not need."""

    def __setitem__(self, key: Key[T], value: T, /) -> None:
        """Write a finding; other stages see it when this stage has finished."""

    def end_loop(self, reason: str, /) -> None:
        """End the loop that contains this stage after the current round; the offer declares `ends_loop`."""
