"""What a run may spend: model calls, tokens, money, queries, seconds.

A call leases what it may need before it starts and settles what it used afterwards, so that calls side by side do not
overrun the limit together. A share is kept back for the stages that finish the report: research that eats everything
would end without one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from decimal import ROUND_CEILING, Decimal
from typing import Any

from leadline.errors import Refused
from leadline.records import Usage
from leadline.runs.reserve import Reserve

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
        if not other:  # most calls need nothing
            return self
        return Need(*(getattr(self, name) + getattr(other, name) for name in NAMES))

    def __sub__(self, other: Need) -> Need:
        if not other:
            return self
        return Need(*(getattr(self, name) - getattr(other, name) for name in NAMES))

    def __bool__(self) -> bool:
        return bool(self.model_calls or self.tokens or self.queries or self.money)

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
_CENT = Decimal("0.01")
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
    in_turn: bool = False
    """Whether others wait until it is settled: a call that calls others may wait for them itself."""


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
    """The budget of one run. `reserve` is the part kept for `closing_stages`, of which `asking` ask models."""

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
        amounts = {name: getattr(limits, name) or 0 for name in NAMES}
        self.reserve = reserve
        self._reserve = Reserve(amounts, reserve, closing_stages, asking)
        self._clock = clock
        self._began = clock()
        self._taken = Need()
        self._under_way = Need()
        """Of what is taken: leases of calls that will use less, as a rule."""
        self._settled = asyncio.Event()

    def restore(self, spent: Need) -> None:
        """Count what earlier sessions of the run spent."""
        self._taken += spent

    def closing(self, stage: str) -> AbstractContextManager[None]:
        """Let the calls made in this context use the stage's reserve; what it leaves is everybody's afterwards."""
        return self._reserve.closing(stage)

    @property
    def reserved(self) -> bool:
        """Whether the code running now belongs to a closing stage."""
        return self._reserve.closing_now

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
        for name in NAMES if need else ():
            if self._over(name, need, self._taken):
                more = getattr(need, name)
                raise Refused(f"the budget of {_WORDS[name]} is spent: {self._state(name, more)}")
        if need and (share := share_now.get()):
            share.take(need)
        self._taken += need
        return Lease(need)

    async def lease_in_turn(self, need: Need) -> Lease:
        """Take what a call may need, waiting for calls under way where they may leave enough of what they leased."""
        while need and self._may_be_left(need):
            self._settled.clear()
            await self._settled.wait()
        lease = self.lease(need)
        self._under_way += need
        return replace(lease, in_turn=True)

    def _may_be_left(self, need: Need) -> bool:
        """Return whether there is not enough now, and would be if no call under way used anything.

        Of calls and queries nothing is left: each is one, whatever it brings.
        """
        used = self._taken - self._under_way
        over = [name for name in NAMES if self._over(name, need, self._taken)]
        return bool(over) and all(name in _FOLLOWS_USE and not self._over(name, need, used) for name in over)

    def _over(self, name: str, need: Need, spent: Need) -> bool:
        limit, taken, more = self._visible(name), getattr(spent, name), getattr(need, name)
        if limit is None:
            return False
        first = name == "money" and not taken and limit > 0  # what a first call costs, nobody can tell
        over = more and taken + more > limit and not first
        gone = need.model_calls and name in _FOLLOWS_USE and taken >= limit
        return bool(over or gone)

    def _state(self, name: str, more: Any) -> str:
        whole, taken = getattr(self.limits, name), getattr(self._taken, name)
        held = Decimal(str(whole)) - (self._visible(name) or 0)
        kept = f", {held} kept for the report" if held else ""
        setting = "research.max_queries" if name == "queries" else f"budget.{name}"
        if not whole:
            return f"{setting} = 0 allows nothing; raise it with --set {setting}=N"
        enough = self._enough(name, more)
        return f"{taken} of {whole} taken{kept}, {more} more wanted; raise it with --set {setting}={enough}"

    def _enough(self, name: str, more: Any) -> str:
        """Return a limit that lets a call through: twice what it is, or more where as much is taken already.

        The larger it is, the more of it is kept for the report.
        """
        whole, taken = Decimal(str(getattr(self.limits, name))), Decimal(getattr(self._taken, name))
        kept = Decimal(str(self.reserve)) if name != "queries" and self.reserve < 1 else Decimal(0)
        needed = (taken + (more or taken)) / (1 - kept)
        unit = _CENT if name == "money" else Decimal(1)
        return f"{max(2 * whole, needed.quantize(unit, ROUND_CEILING)).normalize():f}"

    def settle(self, lease: Lease, used: Need) -> None:
        """Put what a call used in the place of its lease."""
        if used != lease.need:
            self._taken += used - lease.need
        if lease.in_turn:
            self._under_way -= lease.need
            self._settled.set()

    def time_left(self) -> float | None:
        """Return the seconds left to the code running now (0 or less: none); None without a limit."""
        limit = self.limits.seconds  # asked for by every call: in floats, which time is
        return None if limit is None else limit * (1 - self._reserve.time()) - self.seconds()

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
        return whole if name == "queries" else whole - self._reserve.of(name)  # no closing stage searches


def used_by(need: Need, usage: Usage | None, *, ended: str) -> Need:
    """Return what a call counts for: what it reported, or the lease where it could not.

    `ended` is `reply`, which a broken one is too, `error` or `cut`. An error that reported nothing used no tokens; a
    call that was cut off may have used all it leased.
    """
    calls = Need(need.model_calls, 0, need.queries)
    if usage is None:
        return calls if ended == "error" else need
    tokens, money = usage.input_tokens + usage.output_tokens, usage.cost
    reported = calls + Need(tokens=tokens, money=need.money if money is None else money)
    if ended != "cut":
        return reported
    return Need(*(max(getattr(need, name), getattr(reported, name)) for name in NAMES))
