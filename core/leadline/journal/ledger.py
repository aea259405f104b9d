"""The ledger of a journal: what calls leased of the budget, and what they used.

It is written as calls go on, ahead of their rows: what a process that died had under way counts at its lease.
"""

from __future__ import annotations

import json

from leadline.journal.rows import put
from leadline.journal.storage import Storage
from leadline.runs.budget import Need


class Ledger:
    """The ledger of one run, over all its sessions."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.session = 0
        """The number of the session that runs."""
        self._leases: dict[str, tuple[Need, Need | None]] = {}

    def take(self, name: str, value: str) -> None:
        """Take an entry that was written before."""
        need, used = json.loads(value)
        self._leases[name] = (Need.load(need), None if used is None else Need.load(used))

    def lease(self, need: Need) -> str:
        """Queue an entry for what a call may use; returns its name."""
        name = f"{self.session}.{len(self._leases)}"
        self._write(name, need, None)
        return name

    def settle(self, name: str, used: Need) -> None:
        """Queue what the call used."""
        need, _ = self._leases[name]
        self._write(name, need, used)

    def spent(self) -> Need:
        """Return what the run has spent; a call that never settled counts at its lease."""
        return sum((need if used is None else used for need, used in self._leases.values()), Need())

    def _write(self, name: str, need: Need, used: Need | None) -> None:
        self._leases[name] = (need, used)
        value = json.dumps([need.dump(), None if used is None else used.dump()])
        self._storage.write_soon(lambda db: put(db, "lease", name, value))
