"""Requests to the Docker API: create a container, attach to it, start it, remove it.

They use httpx, which also provides the connection that an attach upgrades to, so no SDK is needed. Podman's service has
the same API.
"""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadline.contracts import Context
from leadline.errors import Unavailable, Unsupported
from leadline_plugins.sandboxes.docker.endpoint import NO_IMAGE, START, Endpoint, client_for
from leadline_plugins.sandboxes.interpreters import LONGEST_REPLY, InterpreterLost, message_length, with_length
from leadline_plugins.sandboxes.limits import command

if TYPE_CHECKING:
    from httpx import AsyncClient, Response

    from leadline_plugins.sandboxes.docker import DockerSettings

_PIECE = 1 << 16
_STDOUT, _STDERR = 1, 2
# Bytes of the errors that are kept.
_ERRORS_KEPT = 2000


class Container:
    """Exchanges messages with the interpreter inside; its output arrives in frames with a header of eight bytes."""

    def __init__(self, name: str, client: AsyncClient, stream: Any) -> None:
        self._name = name
        self._client = client
        self._stream = stream
        self._raw = bytearray()
        self._output = bytearray()
        self._errors = bytearray()
        self._seconds: float | None = None

    async def ready(self, seconds: float) -> None:
        """Wait until the interpreter is ready."""
        self._seconds = seconds
        await self._message()

    async def ask(self, message: bytes) -> bytes:
        """Return the reply. Raises `InterpreterLost`."""
        self._seconds = None
        try:
            await self._stream.write(with_length(message), timeout=None)
        except Exception as error:  # any error of the transport means that it is gone
            raise InterpreterLost(f"the connection broke: {type(error).__name__}") from error
        return await self._message()

    async def _message(self) -> bytes:
        size = message_length(await self._take(4))
        return await self._take(size)

    async def _take(self, size: int) -> bytes:
        while len(self._output) < size:
            await self._frame()
        taken = bytes(self._output[:size])
        del self._output[:size]
        return taken

    async def _frame(self) -> None:
        kind, length = struct.unpack(">BxxxL", await self._read(8))
        if length > LONGEST_REPLY:
            raise InterpreterLost(f"a frame of {length:,} bytes")
        data = await self._read(length)
        if kind == _STDOUT:
            self._output += data
        elif kind == _STDERR:
            self._errors = (self._errors + data)[-_ERRORS_KEPT:]

    async def _read(self, size: int) -> bytes:
        while len(self._raw) < size:
            try:
                piece = await self._stream.read(_PIECE, timeout=self._seconds)
            except Exception as error:
                raise InterpreterLost(f"the connection broke: {type(error).__name__}") from error
            if not piece:
                raise InterpreterLost(
                    "it ended" + (f": {self._errors.decode(errors='replace').strip()}" if self._errors else "")
                )
            self._raw += piece
        taken = bytes(self._raw[:size])
        del self._raw[:size]
        return taken

    async def close(self) -> None:
        """Close the connection and remove the container, whatever it does."""
        with suppress(Exception):  # it may have ended by itself
            await self._stream.aclose()
        with suppress(Exception):
            await self._client.delete(f"/containers/{self._name}", params={"force": "1", "v": "1"})


_OWNER = "leadline.owner"
_ENV = {
    "HOME": "/tmp/.cache",  # noqa: S108 - of the container
    "MPLCONFIGDIR": "/tmp/.cache",  # noqa: S108
    "MPLBACKEND": "Agg",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def config(settings: DockerSettings, owner: str) -> dict[str, Any]:
    """Return the configuration of a container without network, writable files or privileges."""
    memory = settings.memory * 1_000_000
    return {
        "Image": settings.image,
        "Entrypoint": [],
        "Cmd": command(["python3"], settings),
        "Env": [f"{name}={value}" for name, value in _ENV.items()],
        "User": "65534:65534",
        "WorkingDir": "/tmp",  # noqa: S108
        "Labels": {_OWNER: owner},
        "OpenStdin": True,
        "StdinOnce": True,  # when our end closes, and be it by kill -9, so does its input, and it ends
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "NetworkDisabled": True,
        "HostConfig": {
            "NetworkMode": "none",
            "ReadonlyRootfs": True,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
            "Memory": memory,
            "MemorySwap": memory,
            "NanoCpus": int(settings.cpus * 1e9),
            "PidsLimit": settings.processes,
            "IpcMode": "none",
            "Tmpfs": {"/tmp": f"rw,nosuid,nodev,noexec,mode=1777,size={memory // 4}"},  # noqa: S108
            "AutoRemove": True,
            "LogConfig": {"Type": "none"},
        },
    }


class Engine:
    """Containers of one process."""

    def __init__(self, endpoint: Endpoint, settings: DockerSettings, context: Context) -> None:
        self._host = endpoint.host
        self._settings = settings
        self._client = client_for(endpoint, context.http)

    async def start(self) -> Container:
        """Return a container whose interpreter is ready."""
        made = await self._ask("POST", "/containers/create", json=config(self._settings, _owner()))
        name: str = made.json()["Id"]
        container = Container(name, self._client, await self._attach(name))
        try:
            await self._ask("POST", f"/containers/{name}/start")
            await container.ready(START)
        except InterpreterLost as lost:
            await container.close()
            raise Unavailable(f"the container did not start: {lost}") from lost
        except BaseException:
            await container.close()
            raise
        return container

    async def _attach(self, name: str) -> Any:
        headers = {"Connection": "Upgrade", "Upgrade": "tcp"}
        path = f"/containers/{name}/attach?stream=1&stdin=1&stdout=1&stderr=1"
        response = await self._client.send(self._client.build_request("POST", path, headers=headers), stream=True)
        if response.status_code not in (101, 200):
            raise Unavailable(f"the engine at {self._host} refuses to attach: HTTP {response.status_code}")
        return response.extensions["network_stream"]

    async def sweep(self) -> None:
        """Remove the containers of processes of this machine that have ended."""
        filters = '{"label": ["' + _OWNER + '"]}'
        reply = await self._ask("GET", "/containers/json", params={"all": "1", "filters": filters})
        for container in reply.json():
            if _is_orphan(container.get("Labels", {}).get(_OWNER, "")):
                await self._client.delete(f"/containers/{container['Id']}", params={"force": "1"})

    async def _ask(self, method: str, path: str, **options: Any) -> Response:
        import httpx

        try:
            response = await self._client.request(method, path, **options)
        except httpx.TransportError as error:
            raise Unavailable(f"no engine responds at {self._host}: {type(error).__name__}: {error}") from error
        if response.status_code == 404 and path.endswith("/create"):
            raise Unsupported(NO_IMAGE.format(self._settings.image))
        if response.is_error:
            raise Unavailable(
                f"the engine at {self._host} returned HTTP {response.status_code}: {response.text.strip()[:300]}"
            )
        return response


def _owner() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{_born(os.getpid())}"


def _is_orphan(owner: str) -> bool:
    """Return whether the owner was a process of this machine that has ended."""
    machine, _, rest = owner.partition(":")
    pid, _, born = rest.partition(":")
    return machine == socket.gethostname() and pid.isdigit() and (not born or _born(int(pid)) != born)


def _born(pid: int) -> str:
    """Return the start of a process in ticks, because ids are reused; empty if unknown."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
