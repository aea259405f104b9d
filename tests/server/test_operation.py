"""What an operator is told: readiness, metrics, alerts, and `leadline doctor --server`."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.conftest import PATIENCE, QUESTION, Served, events, finish, order, running

import leadline
from leadline._settings.sources import read_dotenv
from leadline.cli import main
from leadline.records import Report
from leadline_server.active_runs import ActiveRuns
from leadline_server.limits import Limits
from leadline_server.logs import AUDIT
from leadline_server.prometheus import RUN_METRICS, SERVER_METRICS
from leadline_server.queue import QueuedRun, Quota, open_queue
from leadline_server.queue.records import unavailable
from leadline_server.queue.sql import Queue
from leadline_server.store import Store

EXAMPLES = Path(__file__).parents[2] / "examples" / "serve"


def _down(queue: Queue) -> Any:
    raise unavailable("/srv/queue", "disk I/O error")


@pytest.mark.parametrize(
    ("workers", "code"),
    [
        (_down, "queue_unavailable"),
        (lambda queue: time.sleep(1), "queue_unavailable"),
        (lambda queue: [], "no_workers"),
    ],
)
def test_a_server_is_not_ready_while_nobody_would_take_a_run(
    workers: Callable[[Queue], Any], code: str, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert http.get("/readyz").status_code == 200
    monkeypatch.setattr(Queue, "workers", workers)
    monkeypatch.setattr("leadline_server.info_routes._PATIENCE", 0.1)
    reply = http.get("/readyz")
    assert (reply.status_code, reply.json()["code"]) == (503, code)
    assert "/srv" not in reply.text
    metrics = http.get("/metrics")
    assert metrics.status_code == 200
    assert f"leadline_queue_up {0.0 if code == 'queue_unavailable' else 1.0}" in metrics.text


def test_a_disk_that_is_almost_full_takes_no_new_run(
    http: httpx.Client, done: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leadline_server.service.LEAST_FREE", 2**60)
    asked = {"question": QUESTION}
    chat = {"model": "leadline-research", "messages": [{"role": "user", "content": QUESTION}]}
    replies = [
        http.get("/readyz"),
        http.post("/v1/runs", json=asked),
        http.post(f"/v1/runs/{done}/resume"),
        http.post("/api/research/start", json=asked),
    ]
    assert {(reply.status_code, reply.json()["code"]) for reply in replies} == {(503, "disk_full")}
    assert "almost full" in replies[0].json()["message"]
    assert http.post("/v1/chat/completions", json=chat).json()["error"]["code"] == "disk_full"
    page = http.post("/runs", data=asked, headers={"Accept": "text/html"})
    assert "almost full" in page.text or page.status_code == 403  # without the value of the form
    assert http.get(f"/v1/runs/{done}").status_code == 200
    free = re.search(r"^leadline_disk_free_bytes (\S+)", http.get("/metrics").text, re.MULTILINE)
    assert free
    assert float(free[1]) > 0


def test_metrics_have_the_process_the_version_and_the_time_of_requests(http: httpx.Client) -> None:
    http.get("/v1/runs")
    text = http.get("/metrics").text
    for pattern in (
        r"process_resident_memory_bytes [\d.e+]+",
        r'leadline_build_info\{version="[\w.+]+"\} 1.0',
        r'leadline_http_request_seconds_count\{method="GET",route="/v1/runs"\} \d+\.0',
    ):
        assert re.search(f"^{pattern}$", text, re.MULTILINE), pattern


def test_an_order_tells_its_status_and_its_place(http: httpx.Client, served: Served) -> None:
    with served.gate.closed():
        reply = http.post("/v1/runs", json={"question": QUESTION}).json()
        assert reply["run_id"] == reply["id"] == http.get(f"/v1/runs/{reply['id']}").json()["run_id"]
        assert reply["status"] in ("pending", "running")
        assert (reply["place"] is None) == (reply["status"] != "pending")
        assert reply["run_id"] in [run["run_id"] for run in http.get("/v1/runs").json()["runs"]]
    order(http)


def test_the_place_counts_the_turns_of_others() -> None:
    active = ActiveRuns(queue=None)  # type: ignore[arg-type]
    users = ["a", "a", "a", "b", "b", "b", "b", "c"]
    runs = [QueuedRun(f"{n}", user, None, "waiting", 0, "", n, False, False, "", "") for n, user in enumerate(users)]
    active._known = {run.run_id: run for run in runs}
    assert [active.before(run.run_id) for run in runs] == [2, 4, 6, 2, 4, 6, 7, 2]
    assert active.before("unknown") == 0


async def test_who_waits_for_a_change_can_be_cancelled_at_the_moment_of_a_change() -> None:
    active = ActiveRuns(queue=None)  # type: ignore[arg-type]
    waiting = asyncio.create_task(active.changed(active.version, PATIENCE))
    await asyncio.sleep(0.01)
    active._changed.set()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


def test_doctor_looks_at_a_running_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def findings(url: str, token: str) -> tuple[int, dict[str, tuple[str, str]]]:
        monkeypatch.setenv("LEADLINE_TOKEN", token)
        code = main(["doctor", "--json", "--server", url])
        found = json.loads(capsys.readouterr().out)["findings"]
        return code, {item["what"]: (item["state"], item["detail"]) for item in found}

    with running(tmp_path, "alice") as server:
        server.client().get("/readyz")
        code, found = findings(server.url, server.tokens["alice"])
        assert (code, {state for state, _ in found.values()}) == (0, {"ok"})
        assert found["access"] == ("ok", "as alice")
        code, found = findings(server.url, "leadline_wrong")
        assert (code, found["access"][0], "not valid" in found["access"][1]) == (78, "bad", True)
        assert findings(server.url, "")[1]["access"][0] == "note"
        monkeypatch.setattr("leadline_server.service.LEAST_FREE", 2**60)
        code, found = findings(f"{server.url}/", "")
        assert (code, found["runs"][0], "almost full" in found["runs"][1]) == (78, "bad", True)
    code, found = findings(server.url, "")
    assert (code, [*found], "leadline serve" in found["server"][1]) == (78, ["server"], True)


def test_dashboard_and_alerts_name_metrics_that_exist() -> None:
    known = {metric.exported for metric in RUN_METRICS + SERVER_METRICS}
    known |= {f"{metric.exported}_bucket" for metric in RUN_METRICS + SERVER_METRICS if metric.form == "Histogram"}
    board = json.loads((EXAMPLES / "grafana.json").read_text(encoding="utf-8"))
    texts = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    alerts = (EXAMPLES / "alerts.yml").read_text(encoding="utf-8")
    assert {*re.findall(r"leadline_\w+", " ".join([*texts, alerts]))} <= known
    assert len(board["panels"]) == 12


@pytest.mark.skipif(not shutil.which("promtool"), reason="needs promtool: apt-get install prometheus")
def test_each_alert_is_raised_by_its_cause_and_not_without(tmp_path: Path) -> None:
    for file in (EXAMPLES / "alerts.yml", Path(__file__).with_name("alerts_test.yml")):
        shutil.copy(file, tmp_path)
    command = ["promtool", "test", "rules", "alerts_test.yml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_old_runs_are_deleted_as_the_settings_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path, "alice") as server:
        http = server.client("alice")
        old, new = order(http), order(http)
        finish(http, old)
        finish(http, new)
        assert len(http.get("/v1/runs").json()["runs"]) == 2
        assert [http.post(f"/v1/runs/{run}/share", json={}).status_code for run in (old, new)] == [201, 201]
    [folder] = (tmp_path / "runs" / "principals").iterdir()
    metadata = folder / old / "metadata.json"
    data = json.loads(metadata.read_text())
    metadata.write_text(json.dumps({**data, "ended": "2026-01-01T00:00:00Z"}))
    with running(tmp_path, runs__keep_days=90) as server:
        http = server.client()
        http.headers["Authorization"] = f"Bearer {Store(tmp_path / 'runs').add_token('phone', 'alice')}"
        until = time.monotonic() + PATIENCE
        while (folder / old).exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert [run["run_id"] for run in http.get("/v1/runs").json()["runs"]] == [new]
        assert http.get(f"/v1/runs/{old}").status_code == 404
        assert http.get(f"/v1/runs/{new}").status_code == 200
    assert [share.run_id for share in Store(tmp_path / "runs").shares("alice")] == [new]
    assert f'"run_id": "{old}", "reason": "older than 90 days"' in (tmp_path / "runs" / AUDIT).read_text()


def test_a_report_that_is_made_again_keeps_no_reader_of_another_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, ready, read = threading.Event(), threading.Event(), leadline.Client.report

    async def report(client: leadline.Client, folder: Path, **options: Any) -> Report:
        if folder.name == slow:
            began.set()
            await asyncio.to_thread(ready.wait, PATIENCE)
        return await read(client, folder, **options)

    monkeypatch.setattr(leadline.Client, "report", report)
    with running(tmp_path) as server, ThreadPoolExecutor() as readers:
        http = server.client()
        slow, other = order(http), order(http)
        finish(http, slow)
        finish(http, other)
        waiting = readers.submit(http.post, f"/v1/runs/{slow}/share", json={})
        assert began.wait(PATIENCE)
        assert server.client().post(f"/v1/runs/{other}/share", json={}, timeout=5).status_code == 201
        ready.set()
        assert waiting.result().status_code == 201


def test_runs_of_all_users_are_deleted_by_their_age(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(tmp_path, "alice") as server:
        run = order(server.client("alice"))
        finish(server.client("alice"), run)
        command = ["runs", "delete", "--folder", str(tmp_path / "runs"), "--yes", "--older-than"]
        assert main([*command, "1d"]) == 0
        assert "No run" in capsys.readouterr().err
        assert main([*command, "soon"]) == 64
        assert main([*command, "0"]) == 0
        assert run in capsys.readouterr().err
        assert server.client("alice").get(f"/v1/runs/{run}").status_code == 404
    assert main(["runs", "delete", "--yes"]) == 64


def test_a_run_that_no_worker_can_continue_says_why(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        server.gate.is_open.clear()
        run = order(server.client())
        events(server.client(), run, until="call.started")
    (tmp_path / "runs" / run / "journal.sqlite").write_bytes(b"no database" * 1000)
    with running(tmp_path) as server:
        [*_, end] = events(server.client(), run)
        view = server.client().get(f"/v1/runs/{run}").json()
    assert view["status"] == json.loads(end["data"])["data"]["status"] == "failed"
    assert "journal.sqlite is damaged" in view["reason"]["message"]
    assert "journal.sqlite is damaged" in end["data"]


def test_a_backup_of_a_working_server_goes_on_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    there.mkdir()
    with running(here, "alice") as server:
        http = server.client("alice")
        done = order(http)
        finish(http, done)
        with server.gate.closed():
            run = order(http)
            events(http, run, until="call.started")
            monkeypatch.chdir(here)
            Path("leadline.toml").write_text("[runs]\nkeep_days = 0\n")
            assert main(["serve", "backup", str(tmp_path / "all.tar.gz")]) == 0
            assert main(["serve", "backup", str(tmp_path / "all.tar.gz")]) == 1  # never overwritten
    assert (tmp_path / "all.tar.gz").stat().st_mode & 0o77 == 0
    monkeypatch.chdir(there)
    assert main(["serve", "restore", str(tmp_path / "all.tar.gz")]) == 0
    assert "keep_days" in Path("leadline.toml").read_text()
    with closing(open_queue("", there / "runs")) as queue:
        assert queue.workers() == []  # those of the other server are not its own to watch and to kill
    assert main(["serve", "restore", str(tmp_path / "all.tar.gz")]) == 64
    assert "is not empty" in capsys.readouterr().err
    with running(there) as restored:
        http = restored.client()
        http.headers["Authorization"] = f"Bearer {server.tokens['alice']}"
        assert finish(http, run)["status"] == "complete"
        assert http.get(f"/v1/runs/{done}").json()["status"] == "complete"


def test_a_user_who_has_spent_the_quota_orders_no_run_until_the_day_ends(tmp_path: Path) -> None:
    with running(tmp_path, "alice", "bob", limits=Limits(quota=Quota(tokens_day=1_000))) as server:
        http, queue = server.client("alice"), open_queue("", tmp_path / "runs")
        finish(http, order(http))
        assert [(item.principal, item.model, item.tokens) for item in queue.spent("")] == [("alice", "", 0)]
        queue.spend("earlier", "alice", {"house": (1_000, 0.0)})
        queue.close()
        reply = http.post("/v1/runs", json={"question": QUESTION})
        assert (reply.status_code, reply.json()["code"]) == (429, "too_many_requests")
        assert "1,000 of 1,000 tokens of this day" in reply.json()["message"]
        assert int(reply.headers["Retry-After"]) > 10 or time.gmtime().tm_hour == 23
        order(server.client("bob"))


def test_a_folder_of_another_user_as_working_folder_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))  # as root's home for everybody else

    for look in ("is_file", "exists"):
        monkeypatch.setattr(Path, look, forbidden)
    assert read_dotenv(Path("home/.env")) == {}
    assert main(["serve", "--help-of-nothing"]) == 64
