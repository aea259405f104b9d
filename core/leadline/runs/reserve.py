"""What is kept of a budget for the stages that finish the report: research that eats everything would end without one.

Of time each of them has as much, for each takes some. Of the rest only those have that ask models: the first half, for
it writes the sections, and each after it half of what is left, at least one call before those behind it have any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any, TypeVar

N = TypeVar("N", float, Decimal)
_closing: ContextVar[str | None] = ContextVar("closing", default=None)


class Reserve:
    """The reserve of one run: `share` of these amounts, for `stages` of which `asking` ask models (None: all)."""

    def __init__(
        self, amounts: Mapping[str, Any], share: float, stages: Sequence[str], asking: Sequence[str] | None
    ) -> None:
        names = tuple(stages) or ("",)
        self._time = dict.fromkeys(names, share / len(names))
        self._held = {
            name: _held(amount, share, names if asking is None else asking) for name, amount in amounts.items()
        }

    @contextmanager
    def closing(self, stage: str) -> Iterator[None]:
        """Let the code of this context use the stage's part; what it leaves is everybody's afterwards."""
        token = _closing.set(stage)
        try:
            yield
        finally:
            _closing.reset(token)
            self._time.pop(stage, None)
            for held in self._held.values():
                held.pop(stage, None)

    @property
    def closing_now(self) -> bool:
        """Whether the code running now belongs to a closing stage."""
        return _closing.get() is not None

    def time(self) -> float:
        """Return the share of time that is kept from the code running now."""
        return sum(_kept(self._time))

    def of(self, name: str) -> Decimal:
        """Return how much of an amount is kept from the code running now."""
        return sum(_kept(self._held[name]), Decimal(0))


def _held(amount: Any, share: float, stages: Sequence[str]) -> dict[str, Decimal]:
    """Return what is kept of one amount for each of these stages."""
    left = Decimal(str(amount)) * Decimal(str(share))
    whole = isinstance(amount, int)  # calls and tokens
    left = left.to_integral_value(ROUND_HALF_UP) if whole else left
    held: dict[str, Decimal] = {}
    for place, stage in enumerate(stages):
        part = left if place == len(stages) - 1 else left / 2
        if whole:
            part = part.to_integral_value(ROUND_CEILING if place else ROUND_FLOOR)
        held[stage], left = part, left - part
    return held


def _kept(held: Mapping[str, N]) -> Iterator[N]:
    """Yield what others have that are not through yet."""
    stage = _closing.get()
    return (part for owner, part in held.items() if stage is None or owner not in (stage, ""))
