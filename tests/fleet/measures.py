"""Figures of a fleet at work: `python -m tests.fleet.measures NAME [options]` prints them as JSON.

`load`: a long queue; `turns`: users who order unequally much; `cancel`: from the request to the committed end;
`question`: a person answers when the worker has been replaced; `limits`: those of a provider for all machines;
`documents`: a new machine with empty caches; `reader`: the events of a run that moves; `live`: text from another
machine; `throughput`: runs a minute and processor time.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import threading
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.fleet.machines import Fleet, events_of
from tests.fleet.servers import wait_until
from tests.fleet.trial import QUESTIONS, Infrastructure, Trial, infrastructure, parser, quantiles
from tests.plugins.vectors.qdrant_server import KEY, qdrant_server

# A run of few calls.
LIGHT = {
    "LEADLINE_SEARCH__ENGINES": "north",
    "LEADLINE_SEARCH__RESULTS_PER_QUERY": "2",
    "LEADLINE_RESEARCH__PAGES_PER_QUERY": "2",
    "LEADLINE_REPORT__FORMATS": "json",
}


def load(trial: Trial) -> dict[str, Any]:
    """Put many orders, and measure how fast they are accepted, and how fast the rest still is."""
    options = trial.options
    took: list[float] = []
    began, since = time.monotonic(), datetime.now(UTC)
    limit = httpx.Limits(max_connections=8)
    base = f"http://127.0.0.1:{trial.servers[0].port}"
    tokens = [*trial.fleet.tokens.values()] or [""]
    with httpx.Client(base_url=base, timeout=60, limits=limit, trust_env=False) as http:

        def order(number: int) -> str:
            at = time.monotonic()
            token = tokens[number % len(tokens)]
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            reply = http.post("/v1/runs", json={"question": QUESTIONS[number % 4]}, headers=headers)
            assert reply.status_code == 202, reply.text
            took.append(time.monotonic() - at)
            run_id: str = reply.json()["run_id"]
            return run_id

        with ThreadPoolExecutor(4) as pool:
            runs = set(pool.map(order, range(options.runs)))
    seconds = time.monotonic() - began
    user = "user0" if options.users else ""
    lists = []
    for _ in range(50):
        at = time.monotonic()
        assert trial.http(user).get("/v1/runs", params={"limit": 50}).status_code == 200
        lists.append(time.monotonic() - at)
    before = {line[3] for line in trial.fleet.lines()}
    time.sleep(options.after)
    starts = sorted(
        {line[3]: line[5] for line in reversed([*trial.fleet.lines()]) if line[1] == "+"}.items(),
        key=lambda item: item[1],
    )
    return {
        "orders": len(runs),
        "accepted a second": round(options.runs / seconds, 1),
        "POST s, p50/p95/max": quantiles(sorted(took)),
        "list of 50 s, p50/p95/max": quantiles(sorted(lists)),
        "runs begun meanwhile": len(starts),
        "runs begun a second at full length": round((len(starts) - len(before)) / options.after, 2),
        "server MB": trial.servers[0].memory(),
        "engine MB": trial.base.engine.memory() if trial.base.engine else 0,
        "next run on a place after s, p50/p95/max": claims(trial, since),
    }


def claims(trial: Trial, since: datetime) -> list[float]:
    """Return how long a place of a machine stays empty while orders wait: from the end of a run to the next begin."""
    gaps = []
    for machine in trial.workers:
        found = re.findall(r"^(\S+Z) INFO leadline\.worker run (begins|ended)", machine.text(), re.MULTILINE)
        events = [(datetime.fromisoformat(at), word) for at, word in found]
        times = {word: [at for at, said in events if said == word and at > since] for word in ("begins", "ended")}
        later = zip(times["begins"][trial.options.slots :], times["ended"], strict=False)
        gaps += [(begin - end).total_seconds() for begin, end in later]
    return quantiles(sorted(gaps))


def turns(trial: Trial) -> dict[str, Any]:
    """Have one user order much and the others little; compare the order of the starts with turns."""
    options = trial.options
    few = max(2, options.runs // 10)
    ordered: dict[str, str] = {}

    def order(user: str, count: int) -> None:
        for number in range(count):
            reply = trial.http(user).post("/v1/runs", json={"question": QUESTIONS[number % 4]})
            assert reply.status_code == 202, reply.text
            ordered[reply.json()["run_id"]] = user

    order("user0", options.runs)
    for number in range(1, options.users):
        order(f"user{number}", few)
    at = time.monotonic()
    total = few * options.users
    begun: dict[str, float] = {}

    def small_have_begun() -> bool:
        for _, sign, _, run, _, when in trial.fleet.lines():
            if sign == "+" and run in ordered:
                begun.setdefault(run, when)
        return bool(sum(ordered[run] != "user0" for run in begun) == few * (options.users - 1))

    wait_until(small_have_begun, options.limit, "the runs of the users with few", 0.5)
    sequence = [ordered[run] for run, when in sorted(begun.items(), key=lambda item: item[1]) if when > at]
    before = Counter(ordered[run] for run, when in begun.items() if when <= at)
    counts: Counter[str] = Counter()
    apart = 0
    for user in sequence:
        counts[user] += 1
        waiting = [
            name
            for name in (f"user{n}" for n in range(options.users))
            if counts[name] + before[name] < (options.runs if name == "user0" else few)
        ]
        if len(waiting) > 1:
            apart = max(apart, max(counts[name] for name in waiting) - min(counts[name] for name in waiting))
    last = max(index for index, user in enumerate(sequence) if user != "user0")
    return {
        "users": options.users,
        "orders": [options.runs, few],
        "begun before all were ordered": dict(before),
        "starts of the first user before the last of the others": sequence[:last].count("user0"),
        "fair": few,
        "users apart at most": apart,
        "starts looked at": min(len(sequence), total),
    }


def ended(http: httpx.Client, run: str, seconds: float, pause: float) -> dict[str, Any]:
    """Wait for the end of a run, and return its view."""
    end = time.monotonic() + seconds
    while True:
        view: dict[str, Any] = http.get(f"/v1/runs/{run}").json()
        if view["ended"] and view["status"] not in ("pending", "running", "waiting"):
            return view
        assert time.monotonic() < end, f"{run} does not end: {view['status']} {view['reason']}"
        time.sleep(pause)


def on_workers(trial: Trial, run: str) -> bool:
    """Tell whether the last call of a run was made by a machine that does not serve."""
    machines = [line[0] for line in trial.fleet.lines() if line[3] == run]
    return bool(machines and machines[-1].startswith("worker"))


def cancel(trial: Trial) -> dict[str, Any]:
    """Cancel running runs, and wait for their committed ends."""
    took, refused = [], 0
    http = trial.http()
    for number in range(trial.options.runs):
        run = trial.order(number)
        wait_until(lambda run=run: any(line[3] == run for line in trial.fleet.lines()), 60, "a run begins", 0.05)  # type: ignore[misc]
        time.sleep(trial.chance.uniform(0.2, 0.8))
        elsewhere = on_workers(trial, run)
        at = time.monotonic()
        refused += http.post(f"/v1/runs/{run}/cancel", json={"reason": "not needed"}).status_code != 200
        ended(http, run, 60, 0.01)
        seconds = time.monotonic() - at
        assert http.get(f"/v1/runs/{run}").json()["status"] == "cancelled"
        if elsewhere:
            took.append(seconds)
    return {"cancelled": len(took), "refused": refused, "committed end after s, p50/p95/max": quantiles(sorted(took))}


def question(trial: Trial) -> dict[str, Any]:
    """Have runs ask; replace all workers while they wait; answer, and see how they go on."""
    http, runs = trial.http(), []
    for _ in range(trial.options.runs):
        reply = http.post("/v1/runs", json={"question": "what is it"})
        runs.append(reply.json()["run_id"])
    asked = {}
    for run in runs:
        wait_until(lambda run=run: http.get(f"/v1/runs/{run}").json()["questions"], 60, "a run asks", 0.1)  # type: ignore[misc]
        asked[run] = http.get(f"/v1/runs/{run}").json()["questions"][0]["id"]
    # More runs than places wait by now: others still get theirs.
    places = trial.options.workers * trial.options.slots
    at = time.monotonic()
    other = http.post("/v1/runs", json={"question": QUESTIONS[0]}).json()["run_id"]
    ended(http, other, 60, 0.1)
    beside = time.monotonic() - at
    before = {run: {line[4] for line in trial.fleet.lines() if line[3] == run and line[1] == "+"} for run in runs}
    for machine in [*trial.workers]:
        trial.kill(machine)
    trial.counts.clear()
    time.sleep(1.5)
    trial.revive()
    time.sleep(trial.options.after)
    taken, answered = [], {}
    for run in runs:
        at = time.monotonic()
        content = {"question_id": asked[run], "content": {"answer": QUESTIONS[0]}}
        reply = http.post(f"/v1/runs/{run}/answers", json=content, timeout=30)
        taken.append(time.monotonic() - at)
        answered[run] = reply.status_code
    for run in runs:
        ended(http, run, 90, 0.1)
    views = [http.get(f"/v1/runs/{run}").json() for run in runs]
    again = sum(line[1] == "+" and line[4] in before.get(line[3], ()) for line in trial.fleet.lines()) - sum(
        map(len, before.values())
    )
    queries = [[event for event in events_of(http, run) if event["kind"] == "query"] for run in runs]
    return {
        "runs that waited": len(runs),
        "places": places,
        "another run beside them s": round(beside, 2),
        "answers": dict(Counter(answered.values())),
        "answer taken after s, p50/p95/max": quantiles(sorted(taken)),
        "ended": dict(Counter(view["status"] for view in views)),
        "sessions": [view["sessions"] for view in views],
        "repeated": again,
        "answer used": sum("harbour" in json.dumps(found) for found in queries),
    }


def limits(trial: Trial) -> dict[str, Any]:
    """Read from the probes how a provider's limits were kept: 5 calls at once, 20 starts a second; kill a machine."""
    options = trial.options
    for number in range(options.runs):
        trial.order(number)
    began = time.monotonic()
    time.sleep(options.after)
    machine = trial.workers[-1]
    trial.kill(machine)
    killed = trial.strikes[-1]
    trial.options.workers -= 1
    time.sleep(options.outage)
    lines = sorted(trial.fleet.lines("FetchRequest"), key=lambda line: line[5])
    held: dict[tuple[int, str, str], float] = {}
    most, most_after, starts, busy = 0, 0, [], []
    for name, sign, pid, run, key, at in lines:
        if at >= killed.began:
            held = {call: when for call, when in held.items() if call[0] not in killed.pids}
        if sign == "+":
            held[pid, run, key] = at
            starts.append((at, name))
        else:
            held.pop((pid, run, key), None)
        most = max(most, len(held))
        if at > killed.began:
            most_after = max(most_after, len(held))
            busy.append((at, len(held)))
    times = [at for at, _ in starts]
    within = max((sum(at <= other < at + 1.0 for other in times) for at in times), default=0)
    full = next((at for at, count in busy if count >= 5), None)
    span = [at for at in times if at > began + 3 and at < killed.began]
    ends = {(line[2], line[3], line[4]): line[5] for line in lines if line[1] != "+"}
    calls = [(line[5], ends.get((line[2], line[3], line[4]), killed.began)) for line in lines if line[1] == "+"]
    held_seconds = sum(
        max(0.0, min(end, killed.began) - max(start, began + 3)) for start, end in calls if start < killed.began
    )
    return {
        "most at once": most,
        "most starts in a second": within,
        "starts a second before the kill": round(len(span) / max(0.1, killed.began - began - 3), 1),
        "share of the places used before it": round(held_seconds / 5 / (killed.began - began - 3), 2),
        "all places used again after s": round(full - killed.began, 2) if full else None,
        "starts a second by machine": {
            name: round(sum(other == name for _, other in starts) / (lines[-1][5] - began), 1)
            for name in sorted({name for _, name in starts})
        },
    }


def documents(trial: Trial) -> dict[str, Any]:
    """Have new machines with empty caches take runs that search documents at once."""
    http, reports, waits, problems, taken = trial.http(), [], [], [], 0
    text = "When are default parameter values of a function evaluated?"
    for number in range(trial.options.runs):
        for machine in [*trial.workers]:
            trial.kill(machine)
            trial.options.workers = 1
        trial.counts.clear()
        machine = trial.add_worker()
        at = time.monotonic()
        run = http.post("/v1/runs", json={"question": text}).json()["run_id"]
        ended(http, run, 90, 0.1)
        waits.append(time.monotonic() - at)
        taken += run in machine.text()
        view = http.get(f"/v1/runs/{run}").json()
        if view["status"] != "complete":
            problems.append(f"{number}: {view['status']} {view['reason']}")
            continue
        report = http.get(f"/v1/runs/{run}/files/report.json").json()
        report["metadata"].pop("created")
        reports.append(json.dumps(report, sort_keys=True))
    return {
        "runs": trial.options.runs,
        "taken by the new machine": taken,
        "complete": len(reports),
        "different reports": len(set(reports)),
        "problems": problems[:5],
        "from order to end s, p50/p95/max": quantiles(sorted(waits)),
    }


def reader(trial: Trial) -> dict[str, Any]:
    """Read the events of runs while they are worked on, kill the machines that work on them, and go on reading."""
    http, runs = trial.http(), [trial.order(number) for number in range(trial.options.runs)]
    seen: dict[str, list[tuple[float, int, str]]] = {run: [] for run in runs}
    streams: Counter[str] = Counter()

    def follow(run: str) -> None:
        end = time.monotonic() + trial.options.limit
        while time.monotonic() < end and not (seen[run] and seen[run][-1][2] == "run.finished"):
            streams[run] += 1
            last = {"Last-Event-ID": str(seen[run][-1][1])} if seen[run] else {}
            url = f"/v1/runs/{run}/events"
            with suppress(httpx.HTTPError), http.stream("GET", url, headers=last, timeout=60) as reply:
                for line in reply.iter_lines():
                    if line.startswith("data: "):
                        event = json.loads(line[6:])
                        seen[run].append((time.monotonic(), event["seq"], event["kind"]))
            time.sleep(0.1)

    threads = [threading.Thread(target=follow, args=(run,), daemon=True) for run in runs]
    for thread in threads:
        thread.start()
    time.sleep(trial.options.after)
    for machine in [*trial.workers][: max(1, trial.options.workers - 1)]:
        trial.kill(machine)
    end = time.monotonic() + trial.options.limit
    while any(thread.is_alive() for thread in threads) and time.monotonic() < end:
        trial.revive()
        time.sleep(0.2)
    numbers = {run: [number for _, number, _ in events] for run, events in seen.items()}
    gaps = []
    moved = {run for run in runs if len({line[0] for line in trial.fleet.lines() if line[3] == run}) > 1}
    for run in moved:
        times = [at for at, _, _ in seen[run]]
        gaps += [max(later - earlier for earlier, later in pairwise(times))]
    return {
        "readers": len(runs),
        "ended": sum(bool(events) and events[-1][2] == "run.finished" for events in seen.values()),
        "moved": len(moved),
        "events": sum(map(len, numbers.values())),
        "missing": sum(len(set(range(max(found, default=-1) + 1)) - set(found)) for found in numbers.values()),
        "twice": sum(len(found) - len(set(found)) for found in numbers.values()),
        "connections": sum(streams.values()),
        "longest silence of a run that moved s, p50/p95/max": quantiles(sorted(gaps)),
    }


def live(trial: Trial) -> dict[str, Any]:
    """Read the text that a model on another machine writes."""
    http, first, ages, elsewhere, none = trial.http(), [], [], 0, 0
    for number in range(trial.options.runs):
        run = http.post("/v1/runs", json={"question": f"What time is it, {number}?", "pipeline": "chat"}).json()[
            "run_id"
        ]
        found = []
        with http.stream("GET", f"/v1/runs/{run}/events", params={"deltas": "1"}, timeout=60) as reply:
            for line in reply.iter_lines():
                if line.startswith("data: ") and '"call.delta"' in line:
                    at = time.monotonic()
                    text = json.loads(line[6:])["data"].get("text", "")
                    found += [at - float(written) for written in re.findall(r"written (\d+\.\d{6})", text)]
        if not on_workers(trial, run):
            continue
        elsewhere += 1
        none += not found
        first += found[:1]
        ages += found
    stored = None
    if trial.base.database:
        import psycopg

        with psycopg.connect(trial.base.url) as connection:
            tables = connection.execute(
                "select table_name, column_name from information_schema.columns "
                "where table_schema = 'public' and data_type = 'text'"
            ).fetchall()
            stored = sum(
                connection.execute(f"select count(*) from {table} where {column} like '%call.delta%'").fetchone()[0]  # type: ignore[index]
                for table, column in tables
            )
    return {
        "runs on other machines": elsewhere,
        "without text": none,
        "age of the first piece s, p50/p95/max": quantiles(sorted(first)),
        "age of all pieces s, p50/p95/max": quantiles(sorted(ages)),
        "rows with deltas": stored,
    }


def throughput(trial: Trial) -> dict[str, Any]:
    """Measure runs a minute, and the processor time of a run on all machines."""
    options = trial.options
    machines = [*trial.servers, *trial.workers]
    before = sum(machine.processor() for machine in machines)
    began = time.monotonic()
    for number in range(options.runs):
        trial.order(number)
    trial.work(lambda: None)
    seconds = time.monotonic() - began
    used = sum(machine.processor() for machine in machines) - before
    return {
        "runs": len(trial.ended),
        "runs a minute": round(60 * len(trial.ended) / seconds, 1),
        "processor seconds of a run": round(used / max(1, len(trial.ended)), 3),
        "seconds": round(seconds, 1),
    }


MEASURES: dict[str, Callable[[Trial], dict[str, Any]]] = {
    item.__name__: item for item in (load, turns, cancel, question, limits, documents, reader, live, throughput)
}


def environment_of(name: str) -> dict[str, str]:
    """Return the settings of the machines for a measure."""
    documents_only = {"LEADLINE_SEARCH__ENGINES": "local", "LEADLINE_SEARCH__STRAGGLER": "2"}
    limited = {
        f"LEADLINE_LIMITS__{engine}__{key}": value
        for engine in ("NORTH",)
        for key, value in (("AT_ONCE", "5"), ("INTERVAL", "0.05"))
    }
    return {
        "load": LIGHT,
        "turns": LIGHT,
        "question": LIGHT | {"LEADLINE_CLARIFY__MODE": "ask"},
        "limits": LIGHT
        | limited
        | {"LEADLINE_SEARCH__RESULTS_PER_QUERY": "24", "LEADLINE_RESEARCH__PAGES_PER_QUERY": "24"},
        "documents": documents_only,
        "live": {"LEADLINE_AI__PROVIDERS": "north"},
    }.get(name, {})


def measure(options: Namespace) -> dict[str, Any]:
    top = Path(tempfile.mkdtemp(prefix="leadline-fleet-", dir="/tmp"))
    with ExitStack() as stack:
        base: Infrastructure = stack.enter_context(infrastructure(options.fleet))
        shared: Mapping[str, str] = base.shared()
        fleet = stack.enter_context(Fleet(top / "fleet", shared, delay=options.delay))
        trial = Trial(fleet, base, options)
        environment = environment_of(options.scenario)
        if options.scenario == "documents":
            environment |= {"LEADLINE_PLUGINS__LOCAL__FOLDERS": f'["{fleet.documents}"]'}
        if options.scenario == "documents" and base.database:
            vectors, _ = stack.enter_context(qdrant_server())
            environment |= {
                "LEADLINE_PLUGINS__KNOWLEDGE__DATABASE": base.url,
                "LEADLINE_KNOWLEDGE__STORE": "qdrant",
                "LEADLINE_PLUGINS__QDRANT__URL": vectors,
                "LEADLINE_PLUGINS__QDRANT__API_KEY": KEY,
            }
        trial.environment = environment
        trial.start()
        if options.scenario != "documents":  # which are searched without a call that the probe sees
            trial.warm_up()
        result = MEASURES[options.scenario](trial)
        if not options.keep:
            stack.callback(shutil.rmtree, top, ignore_errors=True)
        else:
            result["folder"] = str(top)
    return {"measure": options.scenario, "fleet": options.fleet, **result}


if __name__ == "__main__":
    print(json.dumps(measure(parser(tuple(MEASURES)).parse_args(sys.argv[1:])), indent=1))
