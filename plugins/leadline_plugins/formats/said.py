"""A paragraph that a report says by itself, and the list it leads to: what the method and the checks are made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    """Its text and the items; `folded` where a page may hold these back until they are asked for."""

    text: str
    items: tuple[str, ...] = ()
    folded: bool = False
