"""What code may use in any sandbox, and how the interpreter inside is started with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from pydantic import Field

from leadline.hookspecs import PluginSettings
from leadline.records import Code

GRACE = 5.0
"""Seconds beyond its time that an interpreter has to say what became of the code."""


class SandboxSettings(PluginSettings):
    """What code may use, in every sandbox."""

    timeout: float = Field(60, gt=0, le=600, description="Seconds that code may run at most.")
    memory: int = Field(512, ge=64, description="Megabytes of memory.")
    processes: int = Field(64, ge=8, description="Processes and threads.")
    output: int = Field(1_000_000, ge=1000, description="Bytes of each output; the rest is left out.")
    files: int = Field(32, ge=0, description="Files that come back at most.")
    files_size: int = Field(16, ge=1, description="Megabytes of all files that come back.")
    preload: tuple[str, ...] = Field(("matplotlib.pyplot",), description="Modules imported once, where they are there.")
    idle: float = Field(120, gt=0, description="Seconds after which a warm interpreter ends that nobody needs.")

    def limits(self) -> dict[str, Any]:
        """Return the limits as the interpreter inside reads them; sizes in bytes."""
        return {
            "preload": self.preload,
            "memory": self.memory * 1_000_000,
            "output": self.output,
            "files": self.files,
            "bytes": self.files_size * 1_000_000,
        }


def time_for(code: Code, settings: SandboxSettings, remaining: float) -> float:
    """Return the seconds that code may run: its own, the sandbox's, those the call has left."""
    return max(0.1, min(code.seconds or settings.timeout, settings.timeout, remaining - GRACE))


def command(python: Sequence[str], settings: SandboxSettings, **more: Any) -> list[str]:
    """Return how the interpreter inside is started."""
    source = files(__package__).joinpath("inside.py").read_text(encoding="utf-8")
    return [*python, "-B", "-s", "-c", source, json.dumps(settings.limits() | more)]
