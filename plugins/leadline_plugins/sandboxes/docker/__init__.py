"""Sandbox `docker`: code in containers of Docker, or of Podman, which speaks the same protocol."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from leadline.contracts import Context
from leadline.errors import Unsupported
from leadline.plugin import Limits, sandbox
from leadline_plugins.sandboxes.docker.endpoint import endpoint_of, missing_image
from leadline_plugins.sandboxes.interpreters import PooledSandbox
from leadline_plugins.sandboxes.limits import GRACE, SandboxSettings

# Seconds a call may take: the longest `timeout`, and a minute to start.
_LONGEST = 660.0


class DockerSettings(SandboxSettings):
    """Which engine, which image, and what code may use."""

    unstored = ("host",)
    authority = {"host": "a socket", "image": "a program"}

    host: str = Field(
        "",
        description="unix://SOCKET, tcp://HOST:PORT, ssh://[USER@]HOST or the name of a Docker context; default: the "
        "engine of the Docker client, or the socket of Docker or Podman",
    )
    image: str = Field("leadline-sandbox", description="image with python3 and matplotlib")
    cpus: float = Field(1.0, gt=0, description="processors")


def ready(settings: DockerSettings) -> str | None:
    """Return why the sandbox cannot work here; None if it can."""
    try:
        endpoint = endpoint_of(settings.host)
    except Unsupported as error:
        return str(error)
    if endpoint is None:
        return "no engine found: start Docker or Podman (`podman system service`), or set plugins.docker.host"
    return missing_image(endpoint, settings.image)


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

        if (endpoint := endpoint_of(settings.host)) is None:
            raise Unsupported("no engine of Docker or Podman found")
        self._engine = Engine(endpoint, settings, context)
        super().__init__(settings, self._engine.start)

    async def __aenter__(self) -> Self:
        """Remove the containers of processes that were killed."""
        await self._engine.sweep()
        return self
