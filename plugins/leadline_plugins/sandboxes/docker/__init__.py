"""Sandbox `docker`: code in containers of Docker, or of Podman, which speaks the same protocol."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

from pydantic import Field

from leadline.contracts import Context
from leadline.plugin import Limits, sandbox
from leadline_plugins.sandboxes.interpreters import PooledSandbox
from leadline_plugins.sandboxes.limits import GRACE, SandboxSettings

SOCKETS = ("/var/run/docker.sock", "$XDG_RUNTIME_DIR/podman/podman.sock", "/run/podman/podman.sock")
# Seconds a call may take: the longest `timeout`, and a minute to start.
_LONGEST = 660.0


class DockerSettings(SandboxSettings):
    """Which engine, which image, and what code may use."""

    unstored = ("host",)
    authority = {"host": "a socket", "image": "a program"}

    host: str = Field(
        "", description="unix://SOCKET or tcp://HOST:PORT; default: $DOCKER_HOST, or the socket of Docker or Podman"
    )
    image: str = Field("leadline-sandbox", description="image with python3 and matplotlib")
    cpus: float = Field(1.0, gt=0, description="processors")


def host_of(settings: DockerSettings) -> str:
    """Return the address of the engine; empty if there is none."""
    if address := settings.host or os.environ.get("DOCKER_HOST", ""):
        return address
    sockets = (Path(os.path.expandvars(path)) for path in SOCKETS)
    return next((f"unix://{path}" for path in sockets if path.is_socket()), "")


def ready(settings: DockerSettings) -> str | None:
    """Return why the sandbox cannot work here; None if it can."""
    host = host_of(settings)
    if not host:
        return "no engine found: start Docker or Podman (`podman system service`), or set plugins.docker.host"
    if host.startswith("unix://") and not Path(host.removeprefix("unix://")).exists():
        return f"there is no engine at {host}"
    from leadline_plugins.sandboxes.docker.engine import missing_image

    return missing_image(host, settings.image)


@sandbox(
    "Runs Python in a container without network or disk; each run keeps one",
    settings=DockerSettings,
    ready=ready,
    cache_key=("image", "timeout", "memory", "processes", "output", "files", "files_size"),
    limits=Limits(at_once=4, timeout=_LONGEST + GRACE),
)
class Docker(PooledSandbox):
    """Runs code in containers."""

    def __init__(self, settings: DockerSettings, context: Context) -> None:
        from leadline_plugins.sandboxes.docker.engine import Engine

        self._engine = Engine(host_of(settings), settings, context)
        super().__init__(settings, self._engine.start)

    async def __aenter__(self) -> Self:
        """Remove the containers of processes that were killed."""
        await self._engine.sweep()
        return self
