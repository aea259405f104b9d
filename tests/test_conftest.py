"""The walls around the tests stand: another machine cannot be reached, the user's folders are not the test's."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest


@pytest.mark.parametrize("host", ["192.0.2.1", "example.org", "2001:db8::1"])
def test_other_machines_cannot_be_reached(host: str) -> None:
    with pytest.raises(RuntimeError, match="tests"):
        socket.create_connection((host, 80), timeout=1)


def test_nor_by_datagrams() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock, pytest.raises(RuntimeError, match="stay on"):
        sock.sendto(b"x", ("192.0.2.1", 53))


async def test_nor_from_a_coroutine() -> None:
    with pytest.raises(RuntimeError, match="tests"):
        await asyncio.open_connection("192.0.2.1", 80)


def test_the_folders_are_the_test_s_own(own_folders: Path) -> None:
    assert Path.home().parent == own_folders
    assert Path(os.environ["XDG_CACHE_HOME"]).parent == own_folders
    assert Path.cwd().parent == own_folders
