"""A Postgres cluster of its own, from Debian's package, on a port and in a folder that nobody else uses."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# Postgres does not run as root.
_USER = "nobody"


def programs() -> Path | None:
    """Return the folder of Postgres's programs; None if it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@dataclass(frozen=True)
class Cluster:
    """A running cluster."""

    folder: Path
    port: int

    @property
    def url(self) -> str:
        """Its database."""
        return f"postgresql://leadline@127.0.0.1:{self.port}/postgres"

    def database(self, name: str) -> str:
        """Make a database and return its URL."""
        self._run("psql", "-q", self.url, "-c", f'CREATE DATABASE "{name}"')
        return self.url.removesuffix("postgres") + name

    def restart(self, mode: str = "immediate") -> None:
        """Restart it: `immediate` as after a crash, `fast` in order."""
        self._run("pg_ctl", "-D", self.folder, "-m", mode, "-w", "restart", "-l", self.folder / "log")

    def start(self) -> None:
        self._run("pg_ctl", "-D", self.folder, "-w", "start", "-l", self.folder / "log")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self.folder, "-m", "immediate", "-w", "stop")

    def _run(self, program: str, *arguments: object) -> None:
        folder = programs()
        assert folder
        command = [str(folder / program), *map(str, arguments)]
        if os.getuid() == 0:
            command = ["runuser", "-u", _USER, "--", *command]
        # Its output belongs to the server, which keeps it open.
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Run a cluster until the block is left."""
    top = Path(tempfile.mkdtemp(prefix="leadline-postgres-", dir="/tmp"))
    if os.getuid() == 0:
        shutil.chown(top, _USER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Cluster(top / "data", port)
    try:
        made._run("initdb", "-D", made.folder, "-U", "leadline", "-A", "trust", "-E", "UTF8", "--no-sync")
        with (made.folder / "postgresql.conf").open("a") as file:
            file.write(f"port = {port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n")
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(top, ignore_errors=True)
