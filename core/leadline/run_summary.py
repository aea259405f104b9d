"""A run as a list shows it. The module imports nothing heavy: listing runs takes milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

# The statuses of a run that has not ended.
ACTIVE = ("pending", "running", "waiting")


@dataclass(frozen=True)
class RunSummary:
    """A run on disk. `leadline.Client.find` returns it with its whole metadata.

    `status` is that of `leadline.runs.RunInfo`. An `unreadable` run has no further values. `seconds` is wall time over
    all sessions. `excerpt` is text of the report around a word that was searched for, on one line.
    """

    id: str
    folder: Path
    status: str
    question: str = ""
    pipeline: str = ""
    reason: str = ""
    exit_code: int | None = None
    began: datetime | None = None
    ended: datetime | None = None
    seconds: float = 0.0
    tags: Mapping[str, str] = field(default_factory=dict)
    excerpt: str = ""
    conversation: str = ""
    follows: str = ""
    title: str = ""
    pinned: bool = False
