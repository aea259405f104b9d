"""Limits of code in every sandbox, and the command that starts the interpreter with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from pydantic import Field

from leadline.plugin import PluginSettings
from leadline.records import Code

# Seconds after the time limit in which the interpreter must report.
GRACE = 5.0


class SandboxSettings(PluginSettings):
    """Limits of code, in every sandbox."""

    timeout: float = Field(60, gt=0, le=600, description="seconds that code may run")
    memory: int = Field(512, ge=64, description="megabytes of memory")
    processes: int = Field(64, ge=8, description="processes and threads")
    output: int = Field(1_000_000, ge=1000, description="bytes of each output; the rest is cut off")
    files: int = Field(32, ge=0, description="most files that are returned")
    files_size: int = Field(16, ge=1, description="megabytes of all returned files")
    preload: tuple[str, ...] = Field(("matplotlib.pyplot",), description="modules that are imported once, if installed")
    idle: float = Field(120, gt=0, description="seconds until an unused interpreter ends")

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
    """Return the seconds that code may run: the least of its limit, the sandbox's and that of the call."""
    return max(0.1, min(code.seconds or settings.timeout, settings.timeout, remaining - GRACE))


def command(python: Sequence[str], settings: SandboxSettings, **more: Any) -> list[str]:
    """Return the command that starts the interpreter inside."""
    source = files(__package__).joinpath("inside.py").read_text(encoding="utf-8")
    return [*python, "-B", "-s", "-c", source, json.dumps(settings.limits() | more)]
