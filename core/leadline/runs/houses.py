"""The houses of one client: one for each set of settings that its runs have, closed when the last of them ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

from leadline.assemble import House
from leadline.settings.load import Loaded


class Houses:
    """Lends houses: equal settings have the same one, for as long as anybody has it."""

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache
        self._lent: dict[House, int] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def lend(self, loaded: Loaded) -> House:
        """Return the house of these settings; whoever has done with it gives it back."""
        house = next((house for house in self._lent if house.loaded.same(loaded)), None) or House(loaded, self._cache)
        self._lent[house] = self._lent.get(house, 0) + 1
        return house

    async def give_back(self, house: House) -> None:
        """Take a house back; it is closed where nobody else has it."""
        if house not in self._lent:  # all are closed
            return
        self._lent[house] -= 1
        if not self._lent[house]:
            del self._lent[house]
            await house.close()

    def give_back_soon(self, house: House) -> None:
        """Take a house back without waiting until it is closed."""
        closing = asyncio.create_task(self.give_back(house), name="a house given back")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all houses, lent or not."""
        await asyncio.gather(*self._closing)
        lent, self._lent = self._lent, {}
        for house in lent:
            await house.close()
