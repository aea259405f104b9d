"""Write the metadata of a run as it changes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from leadline._runtime.runs.folder import write_metadata
from leadline.errors import LeadlineError
from leadline.runs import Metadata

# Seconds from a change of a stage until it is in the metadata.
INTERVAL = 0.2


class Summary(Protocol):
    """Returns the metadata of a run as of now; its exit code is known once it has ended."""

    def __call__(self, *, ended: bool = False) -> Metadata: ...


class MetadataWriter:
    """Writes summaries of a run to its folder, one after another, so that the newest is written last.

    Without a folder, nothing is written.
    """

    def __init__(self, summary: Summary, folder: Path | None) -> None:
        self._summary: Summary | None = summary
        self._folder = folder
        self._writing = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._update: asyncio.Task[None] | None = None

    async def write(self, *, ended: bool = False) -> Metadata:
        """Write the summary and return it. Raises `LeadlineError` and `OSError`."""
        async with self._writing:
            if self._summary is None:
                raise LeadlineError("the run has ended")
            metadata = self._summary(ended=ended)
            if self._folder:
                await asyncio.to_thread(write_metadata, self._folder, metadata)
            return metadata

    async def update(self) -> None:
        """Write the summary of a run that continues; a full disk is reported by the journal."""
        with suppress(LeadlineError, OSError):
            await self.write()

    def update_soon(self) -> None:
        """Write the summary in a moment: stages often start and finish in groups."""

        def write() -> None:
            self._timer = None
            self._update = asyncio.create_task(self.update(), name="metadata")

        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, write)

    def close(self) -> None:
        """Write nothing more, and let go of the run: timers of ended calls keep this writer for a while."""
        self._summary = None

    async def settle(self) -> None:
        """Drop what was to be written in a moment, and wait for what is being written."""
        if self._timer:
            self._timer.cancel()
        if self._update:
            await asyncio.wait({self._update})
