"""The engine of Docker or Podman: where it is, as the Docker client finds it, and an HTTP client for it.

It is reached at a socket, by TCP (with TLS), or by the program `ssh`, which forwards to the engine's socket.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from leadline.errors import Unavailable, Unsupported

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport, AsyncClient, Request, Response

SOCKETS = ("/var/run/docker.sock", "$XDG_RUNTIME_DIR/podman/podman.sock", "/run/podman/podman.sock")
# Seconds until the engine has decode_reply and a container is ready.
START = 30.0
# Seconds until it tells whether it has an image.
_PROBE = 2.0
# Attempts to connect while `ssh` starts, after 0, 0.5, 1, 2 and 4 seconds.
_RETRIES = 5
NO_IMAGE = "the engine has no image {!r}: build it with `python -m leadline_plugins.sandboxes.docker.image`"


class Endpoint(NamedTuple):
    """Address of an engine; `tls` is the folder of ca.pem, cert.pem and key.pem."""

    host: str
    tls: Path | None = None
    verify: bool = True

    @property
    def certificates(self) -> ssl.SSLContext | bool:
        """What a transport of httpx verifies with. Raises `Unsupported` if the files cannot be read."""
        if self.tls is None:
            return False
        ca, certificate, key = (self.tls / name for name in ("ca.pem", "cert.pem", "key.pem"))
        try:
            context = ssl.create_default_context(cafile=ca if ca.exists() else None)
            if certificate.exists():
                context.load_cert_chain(certificate, key)
        except OSError as error:
            raise Unsupported(f"plugins.docker.host: the certificates in {self.tls} cannot be read: {error}") from error
        if not self.verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context

    @property
    def route(self) -> tuple[str, str | None]:
        """The base of addresses and the socket, if any. Raises `Unsupported` for an address of another kind."""
        scheme, _, address = self.host.partition("://")
        if scheme not in ("unix", "tcp", "http"):
            raise Unsupported(
                f"plugins.docker.host: {self.host!r} is neither unix://SOCKET, tcp://HOST:PORT, ssh://[USER@]HOST nor "
                "the name of a Docker context"
            )
        return ("http://engine", address) if scheme == "unix" else (f"http{'s' if self.tls else ''}://{address}", None)


def endpoint_of(host: str) -> Endpoint | None:
    """Return the engine of the setting `host`; without one the Docker client's, or that of a socket; None without any.

    As for the Docker client, DOCKER_CONTEXT comes before DOCKER_HOST, and that before `docker context use`.
    """
    folder, environ = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker"), os.environ
    if not host and not environ.get("DOCKER_CONTEXT"):
        host = environ.get("DOCKER_HOST", "")
    context = host if "://" not in host else ""
    if not host and not (context := environ.get("DOCKER_CONTEXT", "")):
        context = str(_json(folder / "config.json").get("currentContext") or "")
    if context and context != "default":
        return _of_context(folder, context)
    if "://" in host:
        secured = host.startswith("tcp://") and environ.get("DOCKER_TLS_VERIFY")
        return Endpoint(host, Path(environ.get("DOCKER_CERT_PATH") or folder) if secured else None)
    sockets = (Path(os.path.expandvars(path)) for path in SOCKETS)
    return next((Endpoint(f"unix://{path}") for path in sockets if path.is_socket()), None)


def _of_context(folder: Path, name: str) -> Endpoint:
    digest = hashlib.sha256(name.encode()).hexdigest()
    meta: Any = (_json(folder / "contexts/meta" / digest / "meta.json").get("Endpoints") or {}).get("docker") or {}
    if not meta.get("Host"):
        raise Unsupported(f"plugins.docker.host: there is no Docker context {name!r}; see `docker context ls`")
    tls = folder / "contexts/tls" / digest / "docker"
    return Endpoint(meta["Host"], tls if tls.is_dir() else None, not meta.get("SkipTLSVerify"))


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def client_for(endpoint: Endpoint, make: Callable[..., AsyncClient]) -> AsyncClient:
    """Return a client of an engine. Raises `Unsupported` for an address of another kind."""
    import httpx

    if endpoint.host.startswith("ssh://"):
        return make(transport=_by_ssh(endpoint.host), base_url="http://engine", timeout=START, trust_env=False)
    base, socket_path = endpoint.route
    # A plain transport provides the connection that an attach upgrades to.
    transport = httpx.AsyncHTTPTransport(verify=endpoint.certificates, uds=socket_path)
    return make(transport=transport, base_url=base, timeout=START, trust_env=False)


def _by_ssh(host: str) -> AsyncBaseTransport:
    """Return a transport through `ssh`, which forwards a socket to that of the engine and ends with this process."""
    import httpx

    class Transport(httpx.AsyncHTTPTransport):
        def __init__(self) -> None:
            self._folder, address = TemporaryDirectory(prefix="leadline-"), urlsplit(host)
            local, self._log = f"{self._folder.name}/engine", Path(self._folder.name, "log")
            forward = f"{local}:{address.path or SOCKETS[0]}"
            options = ["-oBatchMode=yes", "-oExitOnForwardFailure=yes", "-T", "-E", str(self._log), "-L", forward]
            # `cat` ends with our end of the pipe, and be it by kill -9, and then so does ssh.
            command = ["ssh", *options, "--", f"ssh://{address.netloc}", "cat"]
            try:
                self._ssh = Popen(command, stdin=PIPE, stdout=DEVNULL, start_new_session=True)  # noqa: S603
            except OSError as error:
                raise Unsupported(f"plugins.docker.host: {host} needs the program ssh: {error}") from error
            super().__init__(verify=False, uds=local, retries=_RETRIES)

        async def handle_async_request(self, request: Request) -> Response:
            try:
                return await super().handle_async_request(request)
            except httpx.ConnectError as error:
                with suppress(TimeoutExpired):  # it says why before it ends
                    await asyncio.to_thread(self._ssh.wait, _PROBE)
                words = " ".join(self._log.read_text(errors="replace").split()) if self._log.exists() else "no answer"
                raise Unavailable(f"ssh does not reach {host}: {words[-300:]}") from error

        async def aclose(self) -> None:
            await super().aclose()
            self._ssh.terminate()
            await asyncio.to_thread(self._ssh.communicate)
            self._folder.cleanup()

    return Transport()


def missing_image(endpoint: Endpoint, image: str) -> str | None:
    """Return why an engine cannot start containers of an image; None if it can, or is asked by ssh."""
    import httpx

    if endpoint.host.startswith("ssh://"):
        return None
    try:
        base, socket_path = endpoint.route
        transport = httpx.HTTPTransport(verify=endpoint.certificates, uds=socket_path)
        with httpx.Client(transport=transport, timeout=_PROBE, trust_env=False) as client:
            missing = client.get(f"{base}/images/{image}/json").status_code == 404
    except (Unsupported, httpx.TransportError) as error:
        return f"no engine responds at {endpoint.host}: {error}"
    return NO_IMAGE.format(image) if missing else None
