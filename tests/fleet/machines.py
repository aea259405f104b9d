"""Machines of a fleet: `leadline worker` and `leadline serve` as processes, each with a folder and a home of its own.

They share nothing but what the environment names: a database, an engine, a place for files. Without a database they
share the folder of runs, which is the known-good system that the trials are tried on.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import httpx
from tests.fleet.servers import free_ports, resident, wait_until

# Debian's libfaketime, with which a machine has a clock of its own.
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
# The dispatcher, which machines import from its project.
_TEMPORAL = Path(__file__).parents[2] / "contrib" / "leadline-temporal"
_DISTRIBUTIONS = {
    "fleet-probe": {"probe": "fleet_probe", "north": "fleet_web"},
    "leadline-temporal": {"temporal": "leadline_temporal"},
}
# Sources, extent and form of the runs: a made-up web, no key, about 27 outside calls, the same report each time.
SETTINGS = {
    "SEARCH__ENGINES": "north,west,south",
    "PLUGINS__WEST__USE": "north",
    "PLUGINS__WEST__SITE": "west",
    "PLUGINS__SOUTH__USE": "north",
    "PLUGINS__SOUTH__SITE": "south",
    "SEARCH__STRAGGLER": "60",
    "READ__FETCHERS": "north",
    "SEARCH__RESULTS_PER_QUERY": "24",
    "RESEARCH__PAGES_PER_QUERY": "24",
    "AI__PROVIDERS": "embedded",
    "MIDDLEWARE": "probe",
    "CACHE__ENABLED": "false",
    "REPORT__LENGTH": "120",
}


def write_documents(folder: Path, count: int = 40) -> None:
    """Write topics of the language reference, a file each."""
    folder.mkdir(parents=True)
    wanted = ("function", "with", "attribute-access", "try", "yield", "class", "import", "naming", "calls", "async")
    for name in [*wanted, *sorted(topics)][:count]:
        if name in topics:
            (folder / f"{name}.rst").write_text(topics[name], encoding="utf-8")


def write_site(folder: Path) -> None:
    """Write the distributions with the probe, the made-up web and the dispatcher, as if they were installed."""
    for name, points in _DISTRIBUTIONS.items():
        about = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"{point} = {module}\n" for point, module in points.items()]
        (about / "entry_points.txt").write_text("".join(["[leadline.v2]\n", *lines]))
    for name in ("probe", "web"):
        shutil.copy(Path(__file__).with_name(f"{name}.py"), folder / f"fleet_{name}.py")
    (folder / "leadline_temporal").symlink_to(_TEMPORAL / "leadline_temporal")


def descendants(pid: int) -> list[int]:
    """Return the processes that descend from one, parents first."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if fields[0] not in "ZX":
                parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    family = [pid]
    for member in family:
        family += parents.get(member, [])
    return family[1:]


def signal_all(pids: Sequence[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def processor_time(pid: int) -> float:
    """Return the processor seconds of a process and of its children that were awaited."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


@dataclass
class Machine:
    """A machine: the processes of a command, in a folder of their own."""

    name: str
    folder: Path
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    pids: set[int] = field(default_factory=set)
    """All processes that it has had, as far as they were seen."""

    def start(self) -> None:
        """Start it in a new folder."""
        for name in ("home", "cache", "config", "data", "work"):
            (self.folder / name).mkdir(parents=True)
        self.resume()

    def resume(self) -> None:
        """Start it in the folder that it has."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.folder / "work",
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started = time.monotonic()

    def all(self) -> list[int]:
        """Return its processes now."""
        if not self.process or self.process.poll() is not None:
            return []
        family = [self.process.pid, *descendants(self.process.pid)]
        self.pids.update(family)
        return family

    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def pause(self) -> list[int]:
        """Stop all its processes at once; returns them, for `wake`."""
        family = self.all()
        signal_all(family, signal.SIGSTOP)
        signal_all(more := [pid for pid in self.all() if pid not in family], signal.SIGSTOP)
        return family + more

    def wake(self) -> None:
        """Let its processes go on."""
        signal_all(self.all(), signal.SIGCONT)

    def kill(self, *, with_disk: bool = True) -> None:
        """Kill it as a loss of power would, and delete its folder."""
        if not self.process:
            return
        family = [*{*self.pause(), *filter(self._owns, self.pids)}]
        signal_all(family, signal.SIGKILL)
        self.process.wait()
        wait_until(lambda: not any(Path(f"/proc/{pid}/cwd").exists() for pid in family), 10, f"the end of {self.name}")
        if with_disk:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _owns(self, pid: int) -> bool:
        """Tell whether a process is still one of this machine: its parent may have ended before it."""
        with suppress(OSError):
            return self.environment["FLEET_PROBE_LOG"].encode() in Path(f"/proc/{pid}/environ").read_bytes()
        return False

    def terminate(self, seconds: float = 40.0) -> tuple[float, int]:
        """Ask it to end; return how long it took and its exit code."""
        assert self.process
        began = time.monotonic()
        family = self.all()
        self.process.terminate()
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return seconds, -9
        signal_all([pid for pid in family[1:] if pid in descendants(1)], signal.SIGKILL)
        return time.monotonic() - began, code

    def memory(self) -> int:
        """Return its resident memory in MB."""
        return sum(map(resident, self.all()))

    def processor(self) -> float:
        """Return the processor seconds of its processes."""
        return sum(map(processor_time, self.all()))

    def text(self) -> str:
        """Return what it has logged."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class Fleet:
    """Makes machines, talks to its servers, and reads what all machines have written down."""

    def __init__(self, folder: Path, shared: Mapping[str, str], *, delay: float = 0.5) -> None:
        """`shared`: the environment by which machines find each other; empty: they share the folder of runs."""
        self.folder, self.shared, self.delay = folder, dict(shared), delay
        self.machines: list[Machine] = []
        self.tokens: dict[str, str] = {}
        self._clients: dict[str, httpx.Client] = {}
        self._number = 0
        folder.mkdir(parents=True, exist_ok=True)
        self.site, self.documents, self.calls = folder / "site", folder / "documents", folder / "calls"
        write_site(self.site)
        write_documents(self.documents)
        self.calls.mkdir()
        (folder / "logs").mkdir()

    def worker(self, environment: Mapping[str, str], runs: int = 2, workers: int = 1) -> Machine:
        """Start a machine that works on runs."""
        return self._start("worker", ["worker", f"--workers={workers}", f"--runs={runs}"], environment)

    def server(self, environment: Mapping[str, str], runs: int = 0) -> Machine:
        """Start a machine that serves, and works on `runs` at once; on a shared folder it always works."""
        (port,) = free_ports(1)
        workers, runs = (0, 1) if self.shared and not runs else (1, runs or 1)
        command = ["serve", f"--port={port}", f"--workers={workers}", f"--runs={runs}", "--max-runs=1000000"]
        command += ["--max-requests=1000000", "--max-streams=10000"]
        machine = self._start("serve", command, environment)
        machine.port = port
        return machine

    def _start(self, kind: str, arguments: Sequence[str], environment: Mapping[str, str]) -> Machine:
        name = f"{kind}{self._number}"
        self._number += 1
        folder = self.folder / "machines" / name
        own = self.environment(folder) | {"FLEET_PROBE_LOG": str(self.calls / name)} | dict(environment)
        log = self.folder / "logs" / name
        machine = Machine(name, folder, [sys.executable, "-m", "leadline", *arguments], own, log)
        machine.start()
        self.machines.append(machine)
        return machine

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the environment of a machine with this folder."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("LEADLINE_", "FAKETIME"))}
        own |= {f"LEADLINE_{name}": value for name, value in SETTINGS.items()}
        own["LEADLINE_RUNS__FOLDER"] = str((folder if self.shared else self.folder) / "runs")
        own |= {"HOME": str(folder / "home"), "PYTHONPATH": str(self.site), "FLEET_PROBE_DELAY": str(self.delay)}
        own |= {f"XDG_{name.upper()}_HOME": str(folder / name) for name in ("cache", "config", "data")}
        return own | self.shared

    def command(self, *arguments: str) -> str:
        """Run a command of Leadline to its end on a machine of its own; return what it prints."""
        folder = self.folder / "machines" / f"command{self._number}"
        self._number += 1
        folder.mkdir(parents=True)
        done = subprocess.run(
            [sys.executable, "-m", "leadline", *arguments],
            cwd=folder,
            env=self.environment(folder),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def add_users(self, count: int) -> None:
        """Make a token for each user; without any, all runs are nobody's."""
        for number in range(count):
            self.tokens[f"user{number}"] = self.command("serve", "token", "add", f"user{number}").strip()

    # --- servers -----------------------------------------------------------------------------------------------------

    def http(self, machine: Machine, user: str = "") -> httpx.Client:
        """Return a client of a server, for a user."""
        name = f"{machine.name} {user}"
        if name not in self._clients:
            headers = {"Authorization": f"Bearer {self.tokens[user]}"} if user else {}
            base = f"http://127.0.0.1:{machine.port}"
            self._clients[name] = httpx.Client(base_url=base, headers=headers, timeout=60, trust_env=False)
        return self._clients[name]

    def ready(self, machine: Machine, seconds: float = 60.0) -> float:
        """Wait until a server takes orders; return how many seconds that took."""

        def answers() -> bool:
            assert machine.runs(), machine.text()[-3000:]
            with suppress(httpx.HTTPError):
                reply = self.http(machine).get("/readyz")
                return reply.status_code == 200 or "no_workers" in reply.text
            return False

        return wait_until(answers, seconds, f"{machine.name} is not ready", 0.1)

    def lines(self, kind: str = "") -> Iterator[tuple[str, str, int, str, str, float]]:
        """Yield what the probes wrote of calls with requests of a kind: machine, sign, process, run, key, time."""
        for path in sorted(self.calls.iterdir()):
            for line in path.read_text().splitlines():
                sign, pid, run, key, at, request = line.split()
                if kind in ("", request):
                    yield path.name, sign, int(pid), run, key, float(at)

    def close(self) -> None:
        """End all machines."""
        for client in self._clients.values():
            client.close()
        for machine in self.machines:
            machine.kill()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def skewed(seconds: float) -> dict[str, str]:
    """Return the environment of a machine whose clock is so many seconds off; only the time of day is."""
    offset = f"{seconds:+.0f}s"
    return {"LD_PRELOAD": str(FAKETIME), "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def events_of(client: httpx.Client, run_id: str, seconds: float = 30.0) -> list[dict[str, Any]]:
    """Return the events of a run that has ended, as a reader gets them."""
    import json

    events: list[dict[str, Any]] = []
    end = time.monotonic() + seconds
    with client.stream("GET", f"/v1/runs/{run_id}/events", timeout=seconds) as reply:
        assert reply.status_code == 200, reply.read()
        for line in reply.iter_lines():
            if line.startswith("data: "):
                events.append(json.loads(line[6:]))
            if time.monotonic() > end:
                raise TimeoutError(f"the events of {run_id} do not end")
    return events
