"""What holds for every test: no network but this machine's own, and no folder but the test's own.

Subprocesses inherit the private folders by their environment; the network is closed to the test process itself.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# The same code passes or fails alike wherever `make test` runs it; `make test-all` looks for examples nobody knows yet.
# How long an example takes says more about what else the machine does.
settings.register_profile("exploring", max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", settings.get_profile("exploring"), max_examples=40, derandomize=True)
settings.load_profile("fixed")

_CONNECTS = ("connect", "connect_ex", "sendto")
"""The ways in which a socket leaves the machine."""


class NetworkBlocked(RuntimeError):
    """A test tried to reach another machine."""


def is_local(address: object) -> bool:
    """Tell whether a socket's address stays on this machine: loopback, or a path (Unix)."""
    if not isinstance(address, tuple):
        return True
    host = str(address[0])
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host in ("", "localhost")


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Refuse connections to other machines, and the look-up of their names."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _CONNECTS:
            patch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
        patch.setattr(socket, "getaddrinfo", _guarded_lookup(socket.getaddrinfo))
        yield


def _guarded(real: Any) -> Any:
    def connect(self: socket.socket, *arguments: Any) -> Any:
        # The address is the last argument, also of sendto(data, flags, address).
        if not is_local(arguments[-1]):
            raise NetworkBlocked(f"tests stay on this machine: {arguments[-1]!r}")
        return real(self, *arguments)

    return connect


def _guarded_lookup(real: Any) -> Any:
    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name is not None and not is_local((name, 0)):
            raise NetworkBlocked(f"tests look up no other machine: {name!r}")
        return real(host, *arguments, **options)

    return getaddrinfo


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a home, a cache, a configuration and a working folder of its own; returns their parent."""
    top = tmp_path_factory.mktemp("own")
    for variable, name in (
        ("HOME", "home"),
        ("USERPROFILE", "home"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
    ):
        (top / name).mkdir(exist_ok=True)
        monkeypatch.setenv(variable, str(top / name))
    for variable in ("LEADLINE_CONFIG", "LEADLINE_DEBUG", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    (top / "work").mkdir()
    monkeypatch.chdir(top / "work")
    return top
