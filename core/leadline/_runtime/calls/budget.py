"""The budget of a run: model calls, tokens, money, search queries, seconds.

An attempt reserves the amounts that it may use, and settles the real ones afterwards: without reservations,
concurrent calls overrun a limit together. One part is kept for all closing stages: research that spends everything
would end without a report.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from typing import Any, Literal

from leadline._runtime.journal.rows import NAMES, Need
from leadline.errors import Refused
from leadline.records import Notice, Usage

# Whether a closing stage runs.
_closing: ContextVar[bool] = ContextVar("closing", default=False)

# Known only afterwards: once over the limit, no further model call starts.
_FOLLOWS_USE = ("tokens", "money")
_CENT = Decimal("0.01")
_WORDS = {"model_calls": "model calls", "tokens": "tokens", "queries": "search queries", "money": "USD"}


@dataclass(frozen=True)
class Limits:
    """Limits of a run; None is no limit. `money` in USD, `seconds` of wall time per session."""

    model_calls: int | None = None
    tokens: int | None = None
    queries: int | None = None
    money: float | Decimal | None = None
    seconds: float | None = None


@dataclass(frozen=True, eq=False)
class Reservation:
    """Amounts that a call may use, taken from the budget until they are settled."""

    need: Need
    # Others wait for its settlement. Not for composite calls, which may wait for those others.
    in_turn: bool = False


class Budget:
    """The budget of one run.

    `reserve` is the part (0 to 1) kept for the closing stages: of the time, and if they `ask_models`, of the amounts.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        reserve: float = 0.15,
        ask_models: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self._kept_time = reserve
        self._kept = Decimal(str(reserve)) if ask_models else Decimal(0)
        self._clock = clock
        self._began = clock()
        self._taken = Need()
        # The part of `_taken` that is reserved by calls in flight; they mostly use less.
        self._in_flight = Need()
        self._settled = asyncio.Event()

    def restore(self, spent: Need) -> None:
        """Count what earlier sessions of the run spent."""
        self._taken += spent

    def keep_time(self, earlier: Budget) -> None:
        """Count the seconds since an earlier budget of this session began."""
        self._began = earlier._began

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Let the calls made in this context use the part kept for the closing stages."""
        token = _closing.set(True)
        try:
            yield
        finally:
            _closing.reset(token)

    @property
    def in_closing_stage(self) -> bool:
        """True if the running code belongs to a closing stage."""
        return _closing.get()

    @property
    def closing_seconds(self) -> float:
        """The seconds kept for the closing stages."""
        return self._kept_time * (self.limits.seconds or 0)

    def reserve(self, need: Need) -> Reservation:
        """Reserve amounts for a call; raises `Refused` with the name of the spent budget."""
        for name in NAMES if need else ():
            if self._over(name, need, self._taken):
                raise Refused(self._spent(name, getattr(need, name)))
        self._taken += need
        return Reservation(need)

    async def reserve_in_turn(self, need: Need) -> Reservation:
        """Reserve amounts for a call; wait for calls in flight if they may use less than they reserved."""
        while need and self._may_be_left(need):
            self._settled.clear()
            await self._settled.wait()
        reservation = self.reserve(need)
        self._in_flight += need
        return replace(reservation, in_turn=True)

    def _may_be_left(self, need: Need) -> bool:
        """Return True if there is not enough now, and would be if the calls in flight used nothing.

        Calls in flight never give back model calls and queries: each counts as one.
        """
        used = self._taken - self._in_flight
        over = [name for name in NAMES if self._over(name, need, self._taken)]
        return bool(over) and all(name in _FOLLOWS_USE and not self._over(name, need, used) for name in over)

    def _over(self, name: str, need: Need, spent: Need) -> bool:
        limit, taken, more = self._visible(name), getattr(spent, name), getattr(need, name)
        if limit is None:
            return False
        first = name == "money" and not taken and limit > 0  # the cost of a first call is unknown
        over = more and taken + more > limit and not first
        gone = need.model_calls and name in _FOLLOWS_USE and taken >= limit
        return bool(over or gone)

    def _spent(self, name: str, more: Any) -> Notice:
        whole, taken = getattr(self.limits, name), getattr(self._taken, name)
        hidden = Decimal(str(whole)) - (self._visible(name) or 0)
        reserved = f", {hidden} kept for the report" if hidden else ""
        setting = "research.max_queries" if name == "queries" else f"budget.{name}"
        state = f"{taken} of {whole} taken{reserved}, {more} more wanted" if whole else f"{setting} = 0 allows nothing"
        spent = "the budget of {what} is spent: {state}; raise it with --set {setting}={value}"
        value = self._enough(name, more) if whole else "N"
        return Notice(spent, "budget_spent", what=_WORDS[name], state=state, setting=setting, value=value)

    def _enough(self, name: str, more: Any) -> str:
        """Return a limit that is large enough for a call, at least twice the present one.

        The larger it is, the more of it is kept for the report.
        """
        whole, taken = Decimal(str(getattr(self.limits, name))), Decimal(getattr(self._taken, name))
        reserved = self._kept if name != "queries" and self._kept < 1 else Decimal(0)
        needed = (taken + (more or taken)) / (1 - reserved)
        unit = _CENT if name == "money" else Decimal(1)
        return f"{max(2 * whole, needed.quantize(unit, ROUND_CEILING)).normalize():f}"

    def settle(self, reservation: Reservation, used: Need) -> None:
        """Replace a reservation by the amounts that the call used."""
        if used != reservation.need:
            self._taken += used - reservation.need
        if reservation.in_turn:
            self._in_flight -= reservation.need
            self._settled.set()

    def time_left(self) -> float | None:
        """Return the seconds left to the running code (0 or less: none); None without a limit."""
        limit = self.limits.seconds
        if limit is None:
            return None
        return limit - self.seconds() - (0.0 if self.in_closing_stage else self.closing_seconds)

    def seconds(self) -> float:
        """Return the seconds since this session began."""
        return self._clock() - self._began

    def spent(self) -> dict[str, Any]:
        """Return the amounts taken so far, for the metadata; money in USD."""
        amounts = {name: getattr(self._taken, name) for name in NAMES}
        return {**amounts, "money": float(self._taken.money), "seconds": round(self.seconds(), 3)}

    def _visible(self, name: str) -> Decimal | None:
        limit = getattr(self.limits, name)
        if limit is None:
            return None
        whole = Decimal(str(limit))
        if name == "queries" or self.in_closing_stage:  # no closing stage searches
            return whole
        reserved = whole * self._kept
        return whole - (round(reserved) if isinstance(limit, int) else reserved)


def used_by(need: Need, usage: Usage | None, ended: Literal["reply", "error", "cut"]) -> Need:
    """Return the amounts that an attempt counts for: its reported usage, or its reservation.

    `ended` is `reply` also for an unusable reply. An error without a reported usage used no tokens; a call that was cut
    off may have used its whole reservation.
    """
    calls = Need(need.model_calls, 0, need.queries)
    if usage is None:
        return calls if ended == "error" else need
    tokens, money = usage.input_tokens + usage.output_tokens, usage.cost
    reported = calls + Need(tokens=tokens, money=need.money if money is None else money)
    if ended != "cut":
        return reported
    return Need(*(max(getattr(need, name), getattr(reported, name)) for name in NAMES))
