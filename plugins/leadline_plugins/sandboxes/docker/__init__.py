"""Sandbox `docker`: code in containers of Docker, or of Podman, which speaks the same protocol."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, hookimpl
from leadline.records import Code, Execution
from leadline_plugins.sandboxes.interpreters import Warm
from leadline_plugins.sandboxes.limits import GRACE, SandboxSettings, time_for

SOCKETS = ("/var/run/docker.sock", "$XDG_RUNTIME_DIR/podman/podman.sock", "/run/podman/podman.sock")
_LONGEST = 660.0
"""Seconds a call may take: the longest `timeout`, and a minute to start."""


class DockerSettings(SandboxSettings):
    """Which engine, which image, and what code may use."""

    host: str = Field(
        "", description="unix://SOCKET or tcp://HOST:PORT; by default $DOCKER_HOST, Docker's or Podman's."
    )
    image: str = Field("leadline-sandbox", description="An image with python3 and matplotlib.")
    cpus: float = Field(1.0, gt=0, description="Processors.")


def host_of(settings: DockerSettings) -> str:
    """Return the address of the engine; empty where there is none."""
    if said := settings.host or os.environ.get("DOCKER_HOST", ""):
        return said
    sockets = (Path(os.path.expandvars(path)) for path in SOCKETS)
    return next((f"unix://{path}" for path in sockets if path.is_socket()), "")


def ready(settings: DockerSettings) -> str | None:
    """Say why it cannot work here."""
    host = host_of(settings)
    if not host:
        return "no engine is found: start Docker or Podman (`podman system service`), or set plugins.docker.host"
    path = Path(host.removeprefix("unix://"))
    return f"there is no engine at {host}" if host.startswith("unix://") and not path.exists() else None


class Docker:
    """Runs code in the container of its run, kept warm; in a throw-away one where that fails."""

    def __init__(self, settings: DockerSettings, context: Context) -> None:
        from leadline_plugins.sandboxes.docker.engine import Engine

        self._settings = settings
        self._engine = Engine(host_of(settings), settings, context)
        self._warm = Warm(self._engine.start, settings.idle)

    async def __aenter__(self) -> Docker:
        """Take away what a process that was killed may have left."""
        await self._engine.sweep()
        return self

    async def __aexit__(self, *_: object) -> None:
        """End all containers."""
        await self._warm.close()

    async def execute(self, code: Code, call: Call, /) -> Execution:
        """Run code; one that fails, or is stopped, is an execution all the same."""
        seconds = time_for(code, self._settings, call.remaining())
        return await self._warm.execute(getattr(call.run, "id", ""), code, seconds)


def _make(settings: DockerSettings, context: Context) -> Docker:
    return Docker(settings, context)


@hookimpl
def leadline_sandboxes() -> Iterator[Offer[Any, Docker]]:
    """Offer the sandbox."""
    yield Offer(
        _make,
        DockerSettings,
        "Runs Python in a container: no network, nothing to write on, one kept warm a run",
        ready=ready,
        answers=("image", "timeout", "memory", "processes", "output", "files", "files_size"),
        at_once=4,
        timeout=_LONGEST + GRACE,
    )
