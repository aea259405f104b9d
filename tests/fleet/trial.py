"""Trials of a fleet under strikes: `python -m tests.fleet.trial SCENARIO [options]` prints what happened as JSON.

Machines are processes with folders of their own (`machines.py`). Orders go to a server over HTTP. While their runs are
worked on, a scenario strikes: machines are killed with their disks, paused for longer than their engine waits, cut off,
replaced one after the other, or a server that all need is gone. Then the judge compares each run with the undisturbed
one: did it end, is its report the same, was a call made again although its reply was committed, is an event missing.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.fleet.machines import Fleet, Machine, events_of, skewed
from tests.fleet.servers import Proxy, Server, seaweed, temporal
from tests.server.queue.cluster import Cluster, cluster

QUESTIONS = (
    "How deep was the harbour measured at each sounding, in fathoms?",
    "Which page measured the harbour at sounding 7?",
    "What depth did the soundings of the harbour find?",
    "How many fathoms were measured in the harbour?",
)
# Seconds without a heartbeat after which an engine gives a run to another worker.
PATIENCE = 15.0


@dataclass
class Infrastructure:
    """The servers that a fleet shares, and the environment that names them; none on one machine."""

    database: Cluster | None = None
    url: str = ""
    engine: Server | None = None
    files: Server | None = None

    def shared(self, *, database: int = 0, engine: int = 0, files: int = 0) -> dict[str, str]:
        """Return the environment of a machine; the ports are those of proxies before the servers."""
        if not self.database:
            return {}
        url = self.url.replace(f":{self.database.port}/", f":{database or self.database.port}/")
        names = {"LEADLINE_RUNS__DATABASE": url}
        if self.engine:
            names["LEADLINE_RUNS__DISPATCHER"] = "temporal"
            names["LEADLINE_PLUGINS__TEMPORAL__ADDRESS"] = f"127.0.0.1:{engine or self.engine.port}"
        if self.files:
            names["LEADLINE_RUNS__FILES"] = "s3://runs/leadline"
            names["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{files or self.files.port}"
            names |= {"AWS_ALLOW_HTTP": "true", "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
            names["AWS_REGION"] = "us-east-1"
        return names


@contextmanager
def infrastructure(kind: str) -> Iterator[Infrastructure]:
    """Run what a fleet needs: `folder` is nothing, `fleet` Postgres and Temporal, `s3` SeaweedFS as well."""
    with ExitStack() as stack:
        if kind == "folder":
            yield Infrastructure()
            return
        database = stack.enter_context(cluster())
        engine = stack.enter_context(temporal()) if not kind.startswith("postgres") else None
        files = stack.enter_context(seaweed()) if kind.endswith("s3") else None
        yield Infrastructure(database, database.database("fleet"), engine, files)


@dataclass
class Strike:
    """What happened to a machine: its processes, from when until when (`time.monotonic()`)."""

    kind: str
    machine: str
    pids: frozenset[int]
    began: float
    ended: float = 0.0
    committed: dict[str, set[str]] = field(default_factory=dict)
    """The calls whose replies were in the journals then, by run: only where journals are files."""


class Trial:
    """Orders, strikes and the judge of one trial."""

    def __init__(self, fleet: Fleet, base: Infrastructure, options: Namespace) -> None:
        self.fleet, self.base, self.options = fleet, base, options
        self.chance = random.Random(options.seed)
        self.workers: list[Machine] = []
        self.servers: list[Machine] = []
        self.orders: dict[str, tuple[str, str, float]] = {}
        """Question, user and time of each order."""
        self.ended: dict[str, float] = {}
        self.status: dict[str, str] = {}
        self.strikes: list[Strike] = []
        self.counts: Counter[str] = Counter()
        self.notes: dict[str, Any] = {}
        self.deploying = False
        self.began = time.monotonic()
        self.environment: dict[str, str] = {}
        """Settings of all machines of this trial."""

    # --- machines ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the servers and the workers, and wait until a server takes orders."""
        options = self.options
        for _ in range(options.servers):
            self.servers.append(self.fleet.server(self.environment))
            self.fleet.ready(self.servers[-1])
        if options.users:
            self.fleet.add_users(options.users)
        for number in range(options.workers):
            self.add_worker(**(skewed(options.skew * (-1) ** number) if options.skew else {}))

    def warm_up(self) -> None:
        """Order runs until each machine has worked on one; they are not judged."""
        end = time.monotonic() + 90
        while {machine.name for machine in self.workers} - {line[0] for line in self.fleet.lines()}:
            assert time.monotonic() < end, "a machine takes no runs: " + self.workers[0].text()[-2000:]
            for number in range(self.options.workers * self.options.slots + self.options.servers):
                self.order(number)
            self.work(idle, 0.2)
        self.orders.clear()
        self.ended.clear()
        self.status.clear()

    def add_worker(self, **environment: str) -> Machine:
        machine = self.fleet.worker(self.environment | environment, self.options.slots)
        self.workers.append(machine)
        return machine

    def kill(self, machine: Machine) -> None:
        """Kill a machine with its disk; another one takes its place a second later."""
        pids = machine.pause()
        strike = Strike("kill", machine.name, frozenset(pids), time.monotonic(), committed=self.journals())
        machine.kill()
        self.strikes.append(strike)
        self.workers.remove(machine)
        self.counts["kills"] += 1

    def pause(self, machine: Machine) -> Strike:
        pids = machine.pause()
        strike = Strike("pause", machine.name, frozenset(pids), time.monotonic(), committed=self.journals())
        self.strikes.append(strike)
        self.counts["pauses"] += 1
        return strike

    def journals(self) -> dict[str, set[str]]:
        """Return the calls whose replies are committed, by run; empty where journals are in Postgres."""
        return {} if self.base.database else {run: committed(self.fleet.folder / "runs", run) for run in self.active()}

    def active(self) -> list[str]:
        return [run for run in self.orders if run not in self.ended]

    def revive(self) -> None:
        """Start a machine for each that was killed more than a second ago; note those that ended by themselves."""
        for machine in [machine for machine in self.workers if not machine.runs()]:
            self.counts["machines that ended by themselves"] += 1
            self.workers.remove(machine)
        recent = sum(strike.kind == "kill" and time.monotonic() - strike.began < 1.0 for strike in self.strikes)
        if not self.deploying:
            for _ in range(self.options.workers - len(self.workers) - recent):
                skew = self.options.skew * self.chance.choice((-1, 1))
                self.add_worker(**(skewed(skew) if skew else {}))

    # --- runs --------------------------------------------------------------------------------------------------------

    def order(self, number: int, **body: Any) -> str:
        """Order a run."""
        user = f"user{number % self.options.users}" if self.options.users else ""
        question = QUESTIONS[number % len(QUESTIONS)]
        at = time.monotonic()
        reply = self.http(user).post("/v1/runs", json={"question": question, **body})
        assert reply.status_code == 202, (reply.status_code, reply.text)
        run_id: str = reply.json()["run_id"]
        self.orders[run_id] = question, user, at
        return run_id

    def http(self, user: str = "", server: int = 0) -> httpx.Client:
        return self.fleet.http(self.servers[server], user)

    def look(self) -> None:
        """Ask the server which runs have ended; a server that cannot tell is asked again."""
        for user in {self.orders[run][1] for run in self.active()}:
            try:
                reply = self.http(user).get("/v1/runs", params={"limit": 500}, timeout=10)
                runs = reply.json()["runs"] if reply.status_code == 200 else []
            except (httpx.HTTPError, ValueError):
                self.counts["lists refused"] += 1
                continue
            if reply.status_code != 200:
                self.counts["lists refused"] += 1
            for run in runs:
                has_ended = run["ended"] and run["status"] not in ("pending", "running", "waiting")
                if has_ended and run["id"] in self.orders and run["id"] not in self.ended:
                    self.ended[run["id"]] = time.monotonic()
                    self.status[run["id"]] = run["status"]

    def work(self, strike: Callable[[], object], every: float = 0.1) -> None:
        """Call `strike` again and again until all runs have ended, or the time is over."""
        self.began, looked = time.monotonic(), 0.0
        while self.active():
            if time.monotonic() - self.began > self.options.limit:
                self.notes["did not end"] = self.active()
                break
            strike()
            self.revive()
            if time.monotonic() - looked > 0.5:
                self.look()
                looked = time.monotonic()
            time.sleep(every)
        self.notes["seconds"] = round(time.monotonic() - self.began, 1)

    # --- judge -------------------------------------------------------------------------------------------------------

    def judge(self, undisturbed: Mapping[str, Any]) -> dict[str, Any]:
        """Compare each run with the undisturbed one, and count what was made again."""
        lines = [line for line in self.fleet.lines() if line[3] in self.orders]
        begun = [(machine, pid, run, key, at) for machine, sign, pid, run, key, at in lines if sign == "+"]
        first = self.first_committed()
        repeated = [call for call in begun if call[4] > first.get((call[2], call[3]), float("inf")) + 0.001]
        made = Counter((run, key) for _, _, run, key, _ in begun)
        machines = defaultdict(set)
        for machine, _, run, _, _ in begun:
            machines[run].add(machine)
        same, different, events, sessions = 0, [], Counter[str](), 0
        for run, (question, user, _) in self.orders.items():
            if run not in self.ended:
                continue
            http = self.http(user)
            view = http.get(f"/v1/runs/{run}").json()
            sessions += view["sessions"]
            events.update(faults_of(events_of(http, run)))
            report = http.get(f"/v1/runs/{run}/files/report.json")
            if report.status_code == 200 and without_time(report.json()) == undisturbed[question]:
                same += 1
            else:
                different.append(f"{run} {view['status']}: {report.status_code} {str(view['reason'])[:200]}")
        waits = sorted(at - self.orders[run][2] for run, at in first_calls(begun).items())
        takeovers = sorted(self.takeovers(begun))
        return {
            "runs": len(self.orders),
            "ended": dict(Counter(self.status.values())),
            "same": same,
            "different": different[:5],
            **self.counts,
            "calls": len(begun),
            "repeated though committed": len(repeated),
            "in flight, made again": sum(count - 1 for count in made.values()) - len(repeated),
            "sessions": sessions,
            "runs on several machines": sum(len(names) > 1 for names in machines.values()),
            "events": dict(events),
            "taken over after s, p50/p95/max": quantiles(takeovers),
            "wait s, p50/p95/max": quantiles(waits),
            **self.zombies(begun, lines),
            **self.notes,
        }

    def first_committed(self) -> dict[tuple[str, str], float]:
        """Return when the reply of each call was committed first, at the latest."""
        first: dict[tuple[str, str], float] = {}
        if not self.base.database:
            for strike in self.strikes:
                for run, keys in strike.committed.items():
                    for key in keys:
                        first.setdefault((run, key), strike.began)
            return first
        import psycopg

        offset = time.monotonic() - time.time()
        with psycopg.connect(self.base.url) as connection:
            rows = connection.execute(
                "select path, name, extract(epoch from first_at) from leadline_entries where space = 'call'"
            ).fetchall()
        return {(path.rpartition("/")[2], key): float(at) + offset for path, key, at in rows}

    def takeovers(self, begun: Sequence[tuple[str, int, str, str, float]]) -> Iterator[float]:
        """Yield after how many seconds each run of a machine that was struck went on elsewhere."""
        by_run = defaultdict(list)
        for machine, _, run, _, at in begun:
            by_run[run].append((at, machine))
        for strike in self.strikes:
            for calls in by_run.values():
                before = [(at, machine) for at, machine in calls if at <= strike.began]
                after = [at for at, machine in calls if at > strike.began and machine != strike.machine]
                if before and max(before)[1] == strike.machine and after:
                    yield min(after) - strike.began

    def zombies(
        self, begun: Sequence[tuple[str, int, str, str, float]], lines: Sequence[tuple[str, str, int, str, str, float]]
    ) -> dict[str, Any]:
        """Count what machines did in the seconds after they woke up, on runs that others had by then."""
        late, told = 0, list[float]()
        for strike in self.strikes:
            if strike.kind == "kill":
                continue
            elsewhere: dict[str, float] = {}
            for _, pid, run, _, at in begun:
                if pid not in strike.pids and strike.began < at < strike.ended:
                    elsewhere[run] = at
            woken = [
                (sign, run, at - strike.ended)
                for _, sign, pid, run, _, at in lines
                if pid in strike.pids and run in elsewhere and strike.ended < at < strike.ended + 5.0
            ]
            again = self.begins(strike)
            late += sum(sign == "+" and run not in again for sign, run, _ in woken)
            told += {run: after for sign, run, after in sorted(woken, key=lambda item: item[2]) if sign == "x"}.values()
        return {"begun by zombies": late, "zombie told after s, p50/p95/max": quantiles(sorted(told))}

    def begins(self, strike: Strike) -> set[str]:
        """Return the runs that a machine took again after it was struck, as its log tells."""
        (machine,) = (machine for machine in self.fleet.machines if machine.name == strike.machine)
        begun = re.findall(r"^(\S+Z) INFO leadline\.worker run begins run_id=(\w+)", machine.text(), re.MULTILINE)
        since = time.time() - (time.monotonic() - strike.began)
        return {run for at, run in begun if datetime.fromisoformat(at).timestamp() > since}


def committed(runs: Path, run: str) -> set[str]:
    """Return the calls whose replies are in the journal of a run, in a folder of runs."""
    with suppress(sqlite3.Error, StopIteration):
        path = next(iter([*runs.glob(f"{run}/journal.sqlite"), *runs.glob(f"*/{run}/journal.sqlite")]))
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as journal:
            return {name for (name,) in journal.execute("select name from entries where space = 'call'")}
    return set()


def first_calls(begun: Iterable[tuple[str, int, str, str, float]]) -> dict[str, float]:
    """Return when the first call of each run began."""
    first: dict[str, float] = {}
    for _, _, run, _, at in begun:
        first[run] = min(at, first.get(run, at))
    return first


def without_time(report: Any) -> Any:
    """Return a report without what differs between two runs of the same question."""
    report["metadata"].pop("created", None)
    return report


def faults_of(events: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """Count the events of a run, those that are missing, and those that came twice or in the wrong order."""
    numbers = [event["seq"] for event in events]
    expected = set(range(max(numbers, default=-1) + 1))
    return Counter(
        events=len(numbers),
        missing=len(expected - set(numbers)) + (not events or events[-1]["kind"] != "run.finished"),
        twice=len(numbers) - len(set(numbers)),
        disordered=numbers != sorted(numbers),
    )


def quantiles(values: Sequence[float]) -> list[float]:
    """Return the median, the 95th percentile and the maximum of sorted values."""
    if not values:
        return []
    return [round(values[min(len(values) - 1, int(len(values) * part))], 3) for part in (0.5, 0.95, 1.0)]


def undisturbed_reports(folder: Path) -> dict[str, Any]:
    """Return the report of each question, as one machine makes it."""
    reports: dict[str, Any] = {}
    with Fleet(folder, {}, delay=0.0) as alone:
        server = alone.server({}, runs=4)
        alone.ready(server)
        http = alone.http(server)
        runs = {http.post("/v1/runs", json={"question": text}).json()["run_id"]: text for text in QUESTIONS}
        end = time.monotonic() + 60
        for run, text in runs.items():
            while not (view := http.get(f"/v1/runs/{run}").json())["ended"]:
                assert time.monotonic() < end, view
                time.sleep(0.1)
            assert view["status"] == "complete", view
            reports[text] = without_time(http.get(f"/v1/runs/{run}/files/report.json").json())
    return reports


# --- scenarios --------------------------------------------------------------------------------------------------------


def strikes(trial: Trial) -> Callable[[], None]:
    """Kill and pause machines at random moments."""
    options, chance = trial.options, trial.chance
    upcoming = time.monotonic() + chance.uniform(1.0, 3.0)
    paused: list[tuple[float, Machine, Strike]] = []

    def strike() -> None:
        nonlocal upcoming
        for item in [item for item in paused if time.monotonic() > item[0]]:
            paused.remove(item)
            item[2].ended = time.monotonic()
            item[1].wake()
        if len(trial.strikes) >= options.strikes or time.monotonic() < upcoming:
            return
        asleep = {item[1].name for item in paused}
        awake = [item for item in trial.workers if item.runs() and item.name not in asleep]
        calling = {line[0] for line in trial.fleet.lines() if line[5] > time.monotonic() - 1.0}
        busy = [item for item in awake if item.name in calling]
        if not busy:
            return
        upcoming = time.monotonic() + chance.uniform(0.5, 1.5) * options.every
        machine = chance.choice(busy)
        if chance.random() < options.kill_share:
            trial.kill(machine)
        elif len(awake) > 1:
            paused.append((time.monotonic() + options.pause, machine, trial.pause(machine)))

    return strike


def outage(trial: Trial, stop: Callable[[], object], start: Callable[[], object], name: str) -> Callable[[], None]:
    """Stop a server after a while, and start it again."""
    options, state = trial.options, Counter[str]()
    times: dict[str, float] = {}

    def strike() -> None:
        now = time.monotonic() - trial.began
        if now > options.after and not state["stopped"]:
            state["stopped"] = 1
            times["stopped"] = time.monotonic()
            stop()
        elif state["stopped"] and not state["started"] and time.monotonic() - times["stopped"] > options.outage:
            state["started"] = 1
            start()
            trial.notes["back at"] = time.monotonic()
            trial.notes[f"{name} was away for s"] = round(time.monotonic() - times["stopped"], 1)

    return strike


def deploy(trial: Trial) -> Callable[[], None]:
    """Replace the workers one after the other, as a rolling deploy does."""
    done = False

    def strike() -> None:
        nonlocal done
        if done or time.monotonic() - trial.began < trial.options.after:
            return
        done = True
        trial.deploying = True
        for machine in [*trial.workers]:
            seconds, code = machine.terminate()
            trial.counts["replaced"] += 1
            trial.notes.setdefault("ended after s, with code", []).append((round(seconds, 2), code))
            trial.workers.remove(machine)
            trial.add_worker()
            time.sleep(3.0)
            trial.look()
        trial.deploying = False

    return strike


def idle() -> None:
    """Strike nothing."""


def run_trial(options: Namespace) -> dict[str, Any]:
    """Carry a scenario out and return what the judge says."""
    top = Path(tempfile.mkdtemp(prefix="leadline-fleet-", dir="/tmp"))
    with ExitStack() as stack:
        undisturbed = undisturbed_reports(top / "alone")
        base = stack.enter_context(infrastructure(options.fleet))
        shared = base.shared()
        if options.scenario == "files":
            assert base.files
            store = Proxy(base.files.port)
            stack.callback(store.close)
            shared = base.shared(files=store.port)
        fleet = stack.enter_context(Fleet(top / "fleet", shared, delay=options.delay))
        trial = Trial(fleet, base, options)
        strike: Callable[[], object] = idle
        trial.start()
        if options.scenario == "cut":
            assert base.database
            assert base.engine
            proxies = [Proxy(base.database.port), Proxy(base.engine.port)]
            for proxy in proxies:
                stack.callback(proxy.close)
            shared = base.shared(database=proxies[0].port, engine=proxies[1].port)
            machine = trial.add_worker(**shared)
            options.workers += 1

            def cut(*, silent: bool) -> None:
                for proxy in proxies:
                    proxy.silent = silent
                if silent:
                    trial.strikes.append(Strike("cut", machine.name, frozenset(machine.all()), time.monotonic()))
                else:
                    trial.strikes[-1].ended = time.monotonic()

            strike = outage(trial, lambda: cut(silent=True), lambda: cut(silent=False), "the connection")
        trial.warm_up()
        for number in range(options.runs):
            trial.order(number)
        if options.scenario in ("strikes", "kills", "pauses"):
            strike = strikes(trial)
        elif options.scenario == "database":
            assert base.database
            strike = outage(trial, base.database.stop, base.database.start, "Postgres")
        elif options.scenario == "engine":
            assert base.engine
            strike = outage(trial, base.engine.kill, base.engine.start, "Temporal")
        elif options.scenario == "files":
            switch = (lambda: setattr(store, "closed", True), lambda: setattr(store, "closed", False))
            strike = outage(trial, *switch, "S3")
        elif options.scenario == "deploy":
            strike = deploy(trial)
        trial.work(strike)
        if options.scenario == "cut":  # its runs have ended elsewhere; does it take runs again?
            while "back at" not in trial.notes:
                strike()
                time.sleep(0.2)
            for number in range(options.workers * options.slots):
                trial.order(number)
            trial.work(idle)
        if trial.counts["pauses"]:
            time.sleep(3.0)
        for item in trial.strikes:
            item.ended = item.ended or time.monotonic()
        for machine in trial.workers:
            machine.wake()
        if trial.strikes and trial.strikes[-1].kind != "kill":
            time.sleep(5.0)  # a zombie may wake up
        result = trial.judge(undisturbed)
        back = trial.notes.pop("back at", None)
        if back:
            begun = [line[5] for line in fleet.lines() if line[1] == "+" and line[5] > back]
            result["work went on after s"] = round(min(begun) - back, 2) if begun else None
            result.pop("back at", None)
            if options.scenario == "cut":
                own = [
                    line[5] for line in fleet.lines() if line[0] == machine.name and line[5] > back and line[1] == "+"
                ]
                result["cut machine works again after s"] = round(min(own) - back, 2) if own else None
        if not options.keep and result["same"] == options.runs:
            stack.callback(shutil.rmtree, top, ignore_errors=True)
        else:
            result["folder"] = str(top)
    return {"scenario": options.scenario, "fleet": options.fleet, "seed": options.seed, **result}


SCENARIOS = ("calm", "strikes", "kills", "pauses", "database", "engine", "files", "cut", "deploy")


def parser(scenarios: Sequence[str] = SCENARIOS) -> ArgumentParser:
    result = ArgumentParser(description="Try a fleet of machines.")
    result.add_argument("scenario", choices=scenarios)
    result.add_argument("--fleet", choices=("folder", "postgres", "postgres-s3", "fleet", "s3"), default="fleet")
    for name, default, what in (
        ("runs", 12, "runs to order"),
        ("workers", 2, "machines that work, beside the servers"),
        ("slots", 2, "runs of a machine at once"),
        ("servers", 1, "machines that serve"),
        ("users", 0, "users who order in turns; 0: nobody"),
        ("strikes", 4, "kills and pauses"),
        ("seed", 1, "seed of the strikes"),
    ):
        result.add_argument(f"--{name}", type=int, default=default, help=what)
    for name, value, what in (
        ("delay", 1.0, "seconds that a call takes at most"),
        ("every", 4.0, "seconds between two strikes, on average"),
        ("pause", PATIENCE + 6, "seconds of a pause"),
        ("kill-share", -1.0, "share of kills among the strikes"),
        ("after", 6.0, "seconds until a server is stopped"),
        ("outage", 20.0, "seconds for which it is gone"),
        ("skew", 0.0, "seconds that the clocks of machines are off, half of them fast and half slow"),
        ("limit", 300.0, "seconds after which the runs must have ended"),
    ):
        result.add_argument(f"--{name}", type=float, default=value, help=what)
    result.add_argument("--keep", action="store_true", help="keep the folders")
    return result


def parsed(arguments: Sequence[str]) -> Namespace:
    """Return the options of a trial."""
    options = parser().parse_args(arguments)
    shares = {"kills": 1.0, "pauses": 0.0}
    if options.kill_share < 0:
        options.kill_share = shares.get(options.scenario, 0.7)
    return options


if __name__ == "__main__":
    print(json.dumps(run_trial(parsed(sys.argv[1:])), indent=1))
