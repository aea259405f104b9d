"""Servers of a fleet on loopback: Temporal, SeaweedFS as S3, and a proxy that can go silent.

Postgres is that of `tests/server/queue/cluster.py`. Each server is a process with a folder and ports of its own.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path


def program(name: str) -> str | None:
    """Return the path of a program, also of one that a package has put beside this Python; None if there is none."""
    return shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))


def free_ports(count: int) -> list[int]:
    """Return ports that nobody uses now; 10,000 higher ones exist, which SeaweedFS takes beside them."""
    ports: list[int] = []
    while len(ports) < count:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        if port < 55_000 and port not in ports:
            ports.append(port)
    return ports


def wait_until(condition: Callable[[], object], seconds: float, what: str, pause: float = 0.05) -> float:
    """Wait for a condition; return how many seconds that took. Raises TimeoutError."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(pause)
    return time.monotonic() - began


def listens(port: int) -> bool:
    """Tell whether a process listens on a port."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Server:
    """A server program that can be killed and started again on the same port with the same data."""

    command: Sequence[str]
    folder: Path
    port: int
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    def start(self, seconds: float = 60.0) -> None:
        """Start it and wait until it listens."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        process = self._process

        def answers() -> bool:
            assert process.poll() is None, (self.folder / "log").read_text()[-2000:]
            return listens(self.port)

        wait_until(answers, seconds, self.command[0])

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def memory(self) -> int:
        """Return its resident memory in MB."""
        return resident(self._process.pid) if self._process else 0


def resident(pid: int) -> int:
    """Return the resident memory of a process in MB; 0 if it has ended."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) // 1024
    return 0


@contextmanager
def own_folder(name: str) -> Iterator[Path]:
    """Make a folder that is deleted afterwards."""
    top = Path(tempfile.mkdtemp(prefix=f"leadline-{name}-", dir="/tmp"))
    try:
        yield top
    finally:
        shutil.rmtree(top, ignore_errors=True)


@contextmanager
def temporal() -> Iterator[Server]:
    """Run Temporal's development server on a file; its fairness is on, with one partition for each task queue."""
    dynamic = {
        "matching.enableFairness": "true",
        "matching.useNewMatcher": "true",
        "matching.numTaskqueueReadPartitions": "1",
        "matching.numTaskqueueWritePartitions": "1",
        # The long polls of a machine that is cut off end before its runs are given out again.
        "frontend.keepAliveTime": '"5s"',
        "frontend.keepAliveTimeout": '"3s"',
    }
    (port,) = free_ports(1)
    path = program("temporal")
    assert path
    with own_folder("temporal") as folder:
        command = [path, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(port)]
        command += ["--db-filename", str(folder / "temporal.db"), "--log-level", "warn"]
        for key, value in dynamic.items():
            command += ["--dynamic-config-value", f"{key}={value}"]
        server = Server(command, folder, port)
        server.start()
        try:
            yield server
        finally:
            server.kill()


@contextmanager
def seaweed(bucket: str = "runs") -> Iterator[Server]:
    """Run SeaweedFS with its S3 interface and a bucket that everybody may use."""
    names = ("master.port", "volume.port", "filer.port", "s3.port")
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    path = program("weed")
    assert path
    with own_folder("seaweed") as folder:
        (folder / "data").mkdir()
        command = [path, "server", f"-dir={folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-filer"]
        command += ["-volume.max=20", "-master.volumeSizeLimitMB=64"]
        command += ["-s3.port.iceberg=0", "-s3.port.lance=0", *(f"-{name}={port}" for name, port in ports.items())]
        server = Server(command, folder, ports["s3.port"], {"HOME": str(folder)})
        server.start()
        try:
            wait_until(lambda: put(server, bucket), 60, "a bucket of SeaweedFS", 0.3)
            wait_until(lambda: put(server, f"{bucket}/first", b"."), 60, "an object of SeaweedFS", 0.3)
            yield server
        finally:
            server.kill()


def put(server: Server, name: str, data: bytes = b"") -> bool:
    """Make a bucket or an object; return False if the server does not do so yet."""
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}/{name}", data, method="PUT")
    with suppress(OSError), urllib.request.urlopen(request, timeout=10) as reply:
        return bool(reply.status == 200)
    return False


class Proxy:
    """Passes connections on to a port.

    While it is `silent`, nothing passes and nothing is closed; while it is `closed`, connections are cut.
    """

    def __init__(self, target: int) -> None:
        self.silent = self.closed = False
        self.target = target
        (self.port,) = free_ports(1)
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._started.wait()

    def close(self) -> None:
        """End it with all its connections."""
        self.silent, self.closed = False, True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", self.port))
        self._started.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _passing(self) -> None:
        while self.silent:
            await asyncio.sleep(0.05)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._passing()
        if self.closed:
            writer.close()
            return
        try:
            other_reader, other_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        with suppress(asyncio.CancelledError):  # at the end of the proxy
            await asyncio.gather(self._pump(reader, other_writer), self._pump(other_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                await self._passing()
                if self.closed:
                    break
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            await self._passing()
            writer.close()
