"""What a run may spend: model calls, tokens, money, queries, seconds.

A call leases what it may need before it starts and settles what it used afterwards, so that calls side by side do not
overrun the limit together. A share is kept back for the stages that finish the report: research that eats everything
would end without one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any, TypeVar

from leadline.errors import Refused
from leadline.records import Usage

N = TypeVar("N", float, Decimal)
_closing: ContextVar[str | None] = ContextVar("closing", default=None)
share_now: ContextVar[Share | None] = ContextVar("share_now", default=None)
"""The share from which the code running now leases."""


@dataclass(frozen=True)
class Need:
    """Amounts: calls of a model, tokens in and out, search queries, money in USD."""

    model_calls: int = 0
    tokens: int = 0
    queries: int = 0
    money: Decimal = Decimal(0)

    def __add__(self, other: Need) -> Need:
        return Need(*(getattr(self, name) + getattr(other, name) for name in NAMES))

    def __sub__(self, other: Need) -> Need:
        return Need(*(getattr(self, name) - getattr(other, name) for name in NAMES))

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in NAMES)

    def dump(self) -> dict[str, Any]:
        """Return the amounts that are not zero, as JSON."""
        values = {name: getattr(self, name) for name in NAMES}
        return {name: str(value) if name == "money" else value for name, value in values.items() if value}

    @classmethod
    def load(cls, values: Mapping[str, Any]) -> Need:
        """Return what `dump` wrote."""
        return cls(**{**values, "money": Decimal(values.get("money", 0))})


NAMES = tuple(field.name for field in fields(Need))
_FOLLOWS_USE = ("tokens", "money")
"""Known only afterwards: once over the limit, no further model call."""
_SHARED_OUT = ("model_calls", "queries")
_WORDS = {"model_calls": "model calls", "tokens": "tokens", "queries": "search queries", "money": "USD"}


@dataclass(frozen=True)
class Limits:
    """The most a run may spend; None is no limit. `money` in USD, `seconds` of wall time a session."""

    model_calls: int | None = None
    tokens: int | None = None
    queries: int | None = None
    money: float | Decimal | None = None
    seconds: float | None = None


@dataclass(frozen=True, eq=False)
class Lease:
    """What a call may use, taken from the budget until it is settled."""

    need: Need


class Share:
    """One item's part of the countable budgets: a context in which calls are leased from it too."""

    def __init__(self, parts: Mapping[str, int]) -> None:
        self._left = dict(parts)
        self._token: Any = None

    def __enter__(self) -> None:
        self._token = share_now.set(self)

    def __exit__(self, *_: object) -> None:
        share_now.reset(self._token)

    def charge(self, need: Need) -> None:
        """Take what a call leased that is answered now from the journal: a resumed item stands as it stood."""
        for name in self._left:
            self._left[name] -= getattr(need, name)

    def take(self, need: Need) -> None:
        """Take the need from this share; raises `Refused` when it is used up."""
        for name, left in self._left.items():
            if getattr(need, name) > left:
                raise Refused(f"this item's share of {_WORDS[name]} is used up; raise it with --set budget.{name}=N")
        self.charge(need)


class Budget:
    """The budget of one run. `reserve` is the part kept for the closing stages.

    Of time each of `closing_stages` has as much. Of the rest only those have that ask models, `asking` (None: all), the
    first of them half, for it writes the sections, and each after it half of what is left, at least one call before
    those behind it have any.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        reserve: float = 0.15,
        closing_stages: Sequence[str] = (),
        asking: Sequence[str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        stages = tuple(closing_stages) or ("",)
        self._time = dict.fromkeys(stages, reserve / len(stages))
        self._held = {name: _held(getattr(limits, name), reserve, asking or stages) for name in NAMES}
        self._clock = clock
        self._began = clock()
        self._taken = Need()

    def restore(self, spent: Need) -> None:
        """Count what earlier sessions of the run spent."""
        self._taken += spent

    @contextmanager
    def closing(self, stage: str) -> Iterator[None]:
        """Let the calls made in this context use the stage's reserve; what it leaves is everybody's afterwards."""
        token = _closing.set(stage)
        try:
            yield
        finally:
            _closing.reset(token)
            self._time.pop(stage, None)
            for held in self._held.values():
                held.pop(stage, None)

    @property
    def reserved(self) -> bool:
        """Whether the code running now belongs to a closing stage."""
        return _closing.get() is not None

    def countable(self) -> dict[str, int]:
        """Return what is left of the budgets that can be shared out, where they have a limit."""
        return {name: self._left(name) for name in _SHARED_OUT if self._visible(name) is not None}

    def share(self, items: int, left: Mapping[str, int] | None = None) -> list[Share]:
        """Share the countable budgets out between so many items, the first ones getting what is left over.

        `left` is what there was when the group first began: see `Door.share`.
        """
        left = self.countable() if left is None else left
        return [
            Share({name: whole // items + (place < whole % items) for name, whole in left.items()})
            for place in range(items)
        ]

    def lease(self, need: Need) -> Lease:
        """Take what a call may need; raises `Refused`, saying which budget is spent."""
        if not need:
            return Lease(need)
        for name in NAMES:
            self._check(name, need)
        if share := share_now.get():
            share.take(need)
        self._taken += need
        return Lease(need)

    def _check(self, name: str, need: Need) -> None:
        limit, taken, more = self._visible(name), getattr(self._taken, name), getattr(need, name)
        if limit is None:
            return
        over = more and taken + more > limit
        gone = need.model_calls and name in _FOLLOWS_USE and taken >= limit
        if over or gone:
            raise Refused(f"the budget of {_WORDS[name]} is spent: {self._state(name, more)}")

    def _state(self, name: str, more: Any) -> str:
        whole, taken = getattr(self.limits, name), getattr(self._taken, name)
        held = Decimal(str(whole)) - (self._visible(name) or 0)
        kept = f", {held} kept for the report" if held else ""
        return f"{taken} of {whole} taken{kept}, {more} more wanted; raise it with --set budget.{name}=N"

    def settle(self, lease: Lease, used: Need) -> None:
        """Put what a call used in the place of its lease."""
        if used != lease.need:
            self._taken += used - lease.need

    def time_left(self) -> float | None:
        """Return the seconds left to the code running now (0 or less: none); None without a limit."""
        limit = self.limits.seconds  # asked for by every call: in floats, which time is
        return None if limit is None else limit * (1 - sum(_kept(self._time))) - self.seconds()

    def seconds(self) -> float:
        """Return the seconds since this session began."""
        return self._clock() - self._began

    def spent(self) -> dict[str, Any]:
        """Return what is taken so far, for the metadata; money in USD."""
        amounts = {name: getattr(self._taken, name) for name in NAMES}
        return {**amounts, "money": float(self._taken.money), "seconds": round(self.seconds(), 3)}

    def _left(self, name: str) -> int:
        return max(0, int((self._visible(name) or 0) - getattr(self._taken, name)))

    def _visible(self, name: str) -> Decimal | None:
        limit = getattr(self.limits, name)
        if limit is None:
            return None
        whole = Decimal(str(limit))
        return whole if name == "queries" else whole - sum(_kept(self._held[name]))  # no closing stage searches


def _held(limit: Any, reserve: float, stages: Sequence[str]) -> dict[str, Decimal]:
    """Return what is kept of one budget for each of these stages."""
    left = Decimal(str(limit or 0)) * Decimal(str(reserve))
    whole = not isinstance(limit, float | Decimal)  # calls and tokens
    left = left.to_integral_value(ROUND_HALF_UP) if whole else left
    held: dict[str, Decimal] = {}
    for place, stage in enumerate(stages):
        part = left if place == len(stages) - 1 else left / 2
        if whole:
            part = part.to_integral_value(ROUND_CEILING if place else ROUND_FLOOR)
        held[stage], left = part, left - part
    return held


def _kept(held: Mapping[str, N]) -> Iterator[N]:
    """Yield what is kept from the code running now: what others have that are not through yet."""
    stage = _closing.get()
    return (part for owner, part in held.items() if stage is None or owner not in (stage, ""))


def used_by(need: Need, usage: Usage | None, *, ended: str) -> Need:
    """Return what a call counts for: what it reported, or the lease where it could not.

    `ended` is `reply`, `error` or `cut`. An error that reported nothing used no tokens; a call that was cut off may
    have used all it leased.
    """
    calls = Need(need.model_calls, 0, need.queries)
    if usage is None:
        return calls if ended == "error" else need
    tokens, money = usage.input_tokens + usage.output_tokens, usage.cost
    reported = calls + Need(tokens=tokens, money=need.money if money is None else money)
    if ended != "cut":
        return reported
    return Need(*(max(getattr(need, name), getattr(reported, name)) for name in NAMES))
