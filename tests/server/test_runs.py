"""Runs over HTTP: order, list, read, control, delete."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.conftest import QUESTION, Served, events, finish, order, running

from leadline.records import Claim, Report, Verdict
from leadline_server.evidence import evidence_view


def test_a_question_becomes_a_report_with_files(http: httpx.Client, served: Served, done: str) -> None:
    view = http.get(f"/v1/runs/{done}").json()
    stored = json.loads((served.folder / "runs" / done / "metadata.json").read_text())
    assert {key: view[key] for key in ("status", "question", "steps", "tags")} == {
        key: stored[key] for key in ("status", "question", "steps", "tags")
    }
    assert {*stored["files"]} - {*view["files"]} == {"metadata.json", "events.jsonl"}  # of the operator
    for name in view["files"]:
        sent = http.get(f"/v1/runs/{done}/files/{name}")
        assert sent.content == (served.folder / "runs" / done / name).read_bytes()
    assert "principal" not in view


def test_a_passage_is_shown_in_its_source_with_the_words_of_the_judge(http: httpx.Client, done: str) -> None:
    stored = http.get(f"/v1/runs/{done}/files/report.json").json()
    passage = stored["evidence"][0]
    view = http.get(f"/v1/runs/{done}/evidence/{passage['id']}", params={"context": 40}).json()
    start, end = (place - view["text_begins"] for place in view["span"])
    assert view["text"][start:end] == view["quote"]
    assert len(view["text"]) <= len(view["quote"]) + 80
    assert view["verdicts"] == []  # the report is a brief

    words = passage["quote"].split(maxsplit=1)[1]
    claim = Claim(id="c", section_id="s1", text="It is deep.", span=(0, 1), evidence_ids=(passage["id"],))
    verdict = Verdict(claim=claim, verdict="supported", quote=words, judge="model")
    report = Report(**{**stored, "verdicts": (verdict,)})
    [judged] = evidence_view(report, passage["id"], 40).verdicts
    first, last = (place - view["text_begins"] for place in judged.spans[0])
    assert (judged.verdict, view["text"][first:last]) == ("supported", words)


def test_a_repeated_request_with_a_key_starts_one_run(http: httpx.Client, served: Served) -> None:
    body, key = {"question": QUESTION}, {"Idempotency-Key": "only once"}
    with ThreadPoolExecutor(8) as pool:
        replies = [*pool.map(lambda _: served.client().post("/v1/runs", json=body, headers=key), range(8))]
    assert {reply.status_code for reply in replies} == {202}, [reply.text for reply in replies]
    assert len({reply.json()["id"] for reply in replies}) == 1
    other = http.post("/v1/runs", json={"question": "Another?"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "key_reused")


def test_runs_are_listed_searched_filtered_and_paged(http: httpx.Client, served: Served, done: str) -> None:
    with served.gate.closed():
        active = order(http, "Which lighthouse?", tags={"team": "light"})
        ids = [run["id"] for run in http.get("/v1/runs").json()["runs"]]
        assert {done, active} <= {*ids}
        by_tag = http.get("/v1/runs", params={"tag": "team=light"}).json()
        assert [run["id"] for run in by_tag["runs"]] == [active]
        http.post(f"/v1/runs/{active}/cancel")
    finish(http, active)
    found = http.get("/v1/runs", params={"q": "harbour", "status": "complete"}).json()["runs"]
    assert done in [run["id"] for run in found]
    assert active not in [run["id"] for run in found]
    pages, after = [], None
    while True:
        page = http.get("/v1/runs", params={"limit": 1} | ({"after": after} if after else {})).json()
        pages += [run["id"] for run in page["runs"]]
        after = page["next"]
        if after is None:
            break
    assert pages == [run["id"] for run in http.get("/v1/runs").json()["runs"]]


def test_the_state_of_an_active_run_is_live(http: httpx.Client, served: Served) -> None:
    with served.gate.closed():
        run = order(http)
        assert events(http, run, until="run.started")
        view = http.get(f"/v1/runs/{run}").json()
        assert (view["status"], view["exit_code"]) == ("running", None)
        refused = http.delete(f"/v1/runs/{run}")
        assert (refused.status_code, refused.json()["code"]) == (409, "busy")
        again = http.post(f"/v1/runs/{run}/resume")
        assert (again.status_code, again.json()["code"]) == (409, "busy")
        status = http.get("/api/research/status", params={"task_id": run}).json()
        assert (status["status"], status["progress"] < 100) == ("running", True)
        assert http.post(f"/v1/runs/{run}/stop", json={"reason": "enough"}).json() == {"ok": True}
    ended = finish(http, run)
    assert ended["status"] in ("partial", "cancelled")
    status = http.get("/api/research/status", params={"task_id": run}).json()
    assert (status["progress"], status["reason"]) == (100, ended["reason"]["message"])
    assert ended["reason"]


def test_a_cancelled_run_is_resumed_and_deleted(http: httpx.Client, served: Served) -> None:
    with served.gate.closed():
        run = order(http)
        events(http, run, until="run.started")
        http.post(f"/v1/runs/{run}/cancel", json={"reason": "a mistake"})
        view = finish(http, run)
        assert (view["status"], view["reason"]["message"]) == ("cancelled", "a mistake")
    assert http.post(f"/v1/runs/{run}/cancel").json()["code"] == "not_active"
    assert http.post(f"/v1/runs/{run}/resume").status_code == 202
    view = finish(http, run)
    assert (view["status"], view["sessions"]) == ("complete", 2)
    seen = events(http, run)
    assert [one["event"] for one in seen if "finished" in one["event"] and "call" not in one["event"]] == [
        "session.finished",
        "run.finished",
    ]
    assert http.delete(f"/v1/runs/{run}").json() == {"ok": True}
    assert http.get(f"/v1/runs/{run}").status_code == 404
    assert not (served.folder / "runs" / run).exists()


def test_a_question_of_a_run_is_answered_once(tmp_path: Path) -> None:
    with running(tmp_path, clarify__mode="ask") as served:
        http = served.client()
        run = order(http, "what is it")
        asked = json.loads(events(http, run, until="question")[-1]["data"])["data"]
        view = http.get(f"/v1/runs/{run}").json()
        assert (view["status"], view["questions"][0]["id"]) == ("waiting", asked["id"])
        unknown = http.post(f"/v1/runs/{run}/answers", json={"question_id": "no such", "content": {"answer": "x"}})
        assert unknown.status_code == 422
        for content in ('{"answer": NaN}', '{"answer": 5}', '{"wrong": "x"}', '{"answer": 1' + "0" * 4_000 + "}"):
            body = f'{{"question_id": "{asked["id"]}", "content": {content}}}'
            headers = {"Content-Type": "application/json"}
            refused = http.post(f"/v1/runs/{run}/answers", content=body, headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
            assert "answer: " in refused.json()["message"]
            assert http.get(f"/v1/runs/{run}").json()["questions"][0]["id"] == asked["id"]
        answer = {"question_id": asked["id"], "content": {"answer": QUESTION}}
        assert http.post(f"/v1/runs/{run}/answers", json=answer).json() == {"ok": True}
        finish(http, run)
        assert http.post(f"/v1/runs/{run}/answers", json=answer).status_code == 409


def test_a_run_that_waits_holds_no_place_survives_a_restart_and_goes_on_without_an_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "leadline")
    with running(tmp_path, clarify__mode="ask", worker_places=1) as served:
        http = served.client()
        run = order(http, "what is it")
        events(http, run, until="question")
        assert finish(http, order(http, QUESTION))["status"] == "complete"  # in the only place
        assert [item["id"] for item in http.get("/v1/runs?status=waiting").json()["runs"]] == [run]
        assert [record.getMessage() for record in caplog.records].count("run ended") == 1  # not of the run that waits
        assert "run waits for an answer" in caplog.text
        assert "what is it" not in caplog.text + str([record.__dict__ for record in caplog.records])
        assert re.search(r'leadline_runs_total{.*status="waiting"} 1', http.get("/metrics").text)
    with running(tmp_path, clarify__mode="ask", worker_places=1) as served:
        http = served.client()
        [question] = http.get(f"/v1/runs/{run}").json()["questions"]
        assert question["seconds"] is None
        decline = {"question_id": question["id"], "action": "decline"}
        assert http.post(f"/v1/runs/{run}/answers", json=decline).json() == {"ok": True}
        assert finish(http, run)["questions"] == []
        ends = [item["event"] for item in events(http, run) if item["event"] in ("session.finished", "run.finished")]
        assert ends == ["session.finished", "run.finished"]
        other = order(http, "what is it now")
        events(http, other, until="question")
        assert http.post(f"/v1/runs/{other}/cancel", json={"reason": "not needed"}).json() == {"ok": True}
        view = http.get(f"/v1/runs/{other}").json()
        assert (view["status"], view["reason"]["message"], view["questions"]) == ("cancelled", "not needed", [])


def test_a_run_whose_time_for_an_answer_is_over_ends_by_itself(tmp_path: Path) -> None:
    with running(tmp_path, clarify__mode="ask", plugins__clarify__timeout=0.5) as served:
        http = served.client()
        run = order(http, "what is it")
        events(http, run, until="question")
        view = finish(http, run)
        assert (view["status"], view["reason"]["message"]) == ("failed", "ask by person: nobody answered within 0.5 s")


def test_two_runs_are_compared(http: httpx.Client, done: str) -> None:
    found = http.get("/v1/compare", params={"a": done, "b": done}).json()
    assert (found["same"], found["only_first"]) == ([], [])  # a brief claims nothing
    assert found["sources_only_first"] == []


def test_the_short_routes_start_poll_and_download(http: httpx.Client) -> None:
    started = http.post("/api/research/start", json={"query": QUESTION}).json()
    run = started["task_id"]
    finish(http, run)
    status = http.get("/api/research/status", params={"task_id": run}).json()
    assert {"report.md", "search_results.json"} <= {*status.pop("files")}
    assert status == {
        "task_id": run,
        "status": "complete",
        "step": "",
        "progress": 100,
        "reason": "",
        "errors": [],
    }
    sent = http.get(f"/api/research/download/{run}", params={"format": "markdown"})
    assert re.fullmatch(r'attachment; filename="research_report_\d{8}_\d{6}\.md"', sent.headers["content-disposition"])
    assert sent.text.startswith("# ")
    made = http.get(f"/api/research/download/{run}", params={"format": "bib"})
    assert re.search(r"research_report_\d{8}_\d{6}\.bib", made.headers["content-disposition"])
    assert http.get(f"/api/research/download/{run}", params={"format": "nosuch"}).status_code == 404
    assert http.post("/api/research/start", json={"query": "a", "question": "b"}).status_code == 422


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v1/runs/00000000_20260101_000000", "not_found"),
        ("/v1/runs?limit=0", "invalid_request"),
        ("/v1/runs?limit=١", "invalid_request"),
        ("/v1/runs?after=nothing", "invalid_request"),
        ("/nowhere", "not_found"),
        ("/v1/compare", "invalid_request"),
        ("/api/research/status", "invalid_request"),
        ("/api/research/status?task_id=x", "not_found"),
    ],
)
def test_errors_have_code_message_and_hint(http: httpx.Client, path: str, code: str) -> None:
    reply = http.get(path)
    assert reply.status_code >= 400
    assert reply.json().keys() == {"code", "message", "hint"}
    assert reply.json()["code"] == code


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"question": " "}, 422),
        ({"question": "x" * 25_000}, 422),
        ({"question": "a?", "docs": ["/etc"]}, 422),
        ({"question": "a?", "formats": ["nothing"]}, 422),
        ({"question": "a?", "pipeline": "nothing"}, 422),
        ({"question": "a?", "set": {"report.length": "many"}}, 422),
        ({"question": 3}, 422),
        ({}, 422),
        ([], 422),
    ],
)
def test_wrong_orders_are_refused(http: httpx.Client, body: Any, status: int) -> None:
    reply = http.post("/v1/runs", json=body)
    assert (reply.status_code, reply.json().keys()) == (status, {"code", "message", "hint"})


@pytest.mark.parametrize("data", [b"{", b"\xff", b"", b"[" * 100_000])
def test_a_body_that_is_no_json_is_refused(http: httpx.Client, data: bytes) -> None:
    reply = http.post("/v1/runs", content=data, headers={"Content-Type": "application/json"})
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_json")


@pytest.mark.parametrize(("value", "status"), [(1, 202), (3, 403), ("1", 403), (True, 403), (-1, 403)])
def test_a_request_can_lower_the_budget_only(http: httpx.Client, value: Any, status: int) -> None:
    reply = http.post("/v1/runs", json={"question": QUESTION, "set": {"budget.money": value}})
    assert reply.status_code == status
    if status == 202:
        finish(http, reply.json()["id"])


def test_settings_and_plugins_are_described_without_secrets(tmp_path: Path) -> None:
    secret = "sk-do-not-show-me-1234567890"
    more: dict[str, Any] = {
        "plugins.openai.api_key": secret,
        "plugins.openai.headers": {"x-team": secret},
        "ai.providers": ["openai"],
    }
    with running(tmp_path, **more) as served:
        http = served.client()
        settings = http.get("/v1/settings")
        assert secret not in settings.text
        assert settings.json()["settings"]["search.engines"] == {"value": ["fakeweb"], "origin": "argument"}
        names = {one["name"] for one in http.get("/v1/plugins").json()["plugins"]}
        assert {"local", "fakeweb", "pdf"} <= names


def test_previews_cost_nothing(http: httpx.Client) -> None:
    assert http.get("/v1/explain").json()["pipeline"] == "research"
    assert http.get("/v1/estimate", params={"question": QUESTION}).json()["calls"] == 0


def test_health_readiness_and_metrics(http: httpx.Client, done: str) -> None:
    assert http.get("/healthz").json() == {"status": "ok"}
    assert http.get("/readyz").json() == {"status": "ready"}
    assert http.request("BREW", "/mcp").status_code == 405
    text = http.get("/metrics").text
    assert "BREW" not in text  # labels are not made up by clients
    assert re.search(r'^leadline_runs_total\{pipeline="research",status="complete"\} [\d.]+$', text, re.MULTILINE)
    assert "supported" not in text
    search = r'leadline_calls_total\{kind="search",origin="live",outcome="reply",provider="fakeweb"\} (\S+)'
    assert float(re.findall(search, text)[0]) >= 1
    assert re.search(r'^leadline_stage_seconds_count\{stage="verify",status="finished"\} ', text, re.MULTILINE)
    assert "# TYPE leadline_queue_depth gauge" in text
    assert done not in text
    assert "harbour" not in text


def test_a_run_that_is_continued_is_counted_without_its_earlier_calls(tmp_path: Path) -> None:
    def figures(http: httpx.Client, wanted: int) -> tuple[float, float]:
        """Return the counts of runs and of live searches, once so many runs are counted, which takes a moment."""
        for _ in range(500):
            text = http.get("/metrics").text
            runs = re.findall(
                r'^leadline_runs_total\{pipeline="research",status="complete"\} (\S+)', text, re.MULTILINE
            )
            calls = re.findall(r'^leadline_calls_total\{kind="search",origin="live",.*\} (\S+)', text, re.MULTILINE)
            if sum(map(float, runs)) >= wanted:
                break
            time.sleep(0.02)
        return sum(map(float, runs)), sum(map(float, calls))

    with running(tmp_path) as server:
        http = server.client()
        run = order(http)
        finish(http, run)
        first = figures(http, 1)
        assert http.post(f"/v1/runs/{run}/resume").status_code == 202
        finish(http, run)
        assert figures(http, 2) == (first[0] + 1, first[1])
    with running(tmp_path) as server:  # whose counters begin anew
        http = server.client()
        assert http.post(f"/v1/runs/{run}/resume").status_code == 202
        finish(http, run)
        assert figures(http, 1) == (1, 0)
