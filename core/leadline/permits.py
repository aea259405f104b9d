"""Limits of providers that several processes share.

A `Client` limits the calls of each provider account in its process. With `Client(permits=…)` the limits hold for all
processes that use the same `Permits`: each leases places for a while, and reserves times for starts in blocks, so that
most calls ask nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Lease:
    """How many calls a process may make at once, and the seconds for which nobody may start one."""

    slots: int
    delay: float = 0.0


class Permits(Protocol):
    """The shares of this process. `key` names an account of a provider with its limits.

    The methods raise `LeadlineError` if they cannot answer: the process then keeps the share it has.
    """

    async def lease(self, key: str, at_once: int, held: int, wanted: int) -> Lease:
        """Return the share of `at_once` places, and renew it: it must be asked for again within some seconds.

        `held` calls are in flight, which keep their places; `wanted` are these and those that wait. A share of fewer
        than are in flight means that others are due. None are wanted: the share goes back. The places of a process that
        is gone go to others after a while.
        """

    async def reserve(self, key: str, interval: float, count: int) -> float:
        """Reserve `count` starts that are `interval` seconds apart; return the seconds until the first."""

    async def delay(self, key: str, seconds: float) -> None:
        """Have all processes start no call for so many seconds: the provider has asked for it."""
