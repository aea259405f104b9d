"""Attacks and limits: every one is refused, or harmless."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest
from tests.server.conftest import PATIENCE, QUESTION, Served, events, finish, order, running
from tests.server.queue.cluster import Cluster

from leadline.errors import LeadlineError, UsageError
from leadline_server import command
from leadline_server.limits import Address, Limits, Rate
from leadline_server.problems import Problem
from leadline_server.queue import open_queue
from leadline_server.store import FILE, Store


def code_of(reply: httpx.Response) -> tuple[int, str]:
    return reply.status_code, reply.json()["code"]


# --- tokens ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    ["Bearer", "Bearer x", "bearer leadline_x", "Bearer " + "x" * 5_000, "Bearer TOKEN-1", "Bearer TOKENx"],
)
@pytest.mark.parametrize("path", ["/v1/runs", "/healthz", "/nowhere"])
def test_a_wrong_token_is_always_refused(team: Served, given: str, path: str) -> None:
    token = team.tokens["alice"]
    given_here = given.replace("TOKEN-1", token[:-1]).replace("TOKEN", token)
    reply = team.client().get(path, headers={"Authorization": given_here})
    assert reply.status_code in (401, 429)


def test_a_server_without_tokens_refuses_a_token_of_leadline_and_ignores_other_keys(served: Served) -> None:
    http = served.client()
    assert http.get("/v1/runs", headers={"Authorization": "Bearer leadline_removed"}).status_code == 401
    assert http.get("/v1/runs", headers={"Authorization": "Bearer sk-none"}).status_code == 200
    foreign = {"Authorization": "Bearer sk-none", "Origin": "https://evil.example"}
    assert code_of(http.get("/v1/runs", headers=foreign)) == (403, "cross_origin")


def test_guesses_are_limited_and_right_tokens_still_work(tmp_path: Path) -> None:
    with running(tmp_path, "alice", limits=Limits(guesses=3)) as server:
        http = server.client()
        codes = [http.get("/v1/runs", headers={"Authorization": "Bearer guess"}).status_code for _ in range(5)]
        assert codes == [401, 401, 401, 429, 429]
        login = http.post("/v1/session", json={"token": "guess"})
        assert (login.status_code, int(login.headers["retry-after"]) >= 1) == (429, True)
        assert server.client("alice").get("/v1/runs").status_code == 200


@pytest.mark.parametrize("path", ["/v1/runs", "/v1/settings", "/metrics", "/api/research/status", "/v1/session"])
def test_everything_but_health_needs_a_token_where_there_are_tokens(team: Served, path: str) -> None:
    reply = team.client().get(path)
    assert code_of(reply) == (401, "token_required")
    assert reply.headers["www-authenticate"] == "Bearer"
    assert team.client().get("/healthz").status_code == 200


def test_only_hashes_of_tokens_are_stored(team: Served) -> None:
    with sqlite3.connect(team.folder / "runs" / FILE) as database:
        assert "".join(database.iterdump()).count(team.tokens["alice"]) == 0
    assert (team.folder / "runs" / FILE).stat().st_mode & 0o077 == 0


def test_a_removed_token_and_its_sessions_end_at_once(tmp_path: Path) -> None:
    with running(tmp_path, "alice", "bob") as server:
        alice, browser = server.client("alice"), server.client()
        assert browser.post("/v1/session", json={"token": server.tokens["alice"]}).status_code == 200
        assert [alice.get("/v1/runs").status_code, browser.get("/v1/runs").status_code] == [200, 200]
        store = Store(tmp_path / "runs")
        store.remove_token("alice")
        store.close()
        assert [alice.get("/v1/runs").status_code, browser.get("/v1/runs").status_code] == [401, 401]


@pytest.mark.parametrize("names", [(), ("research.example",)])
def test_a_server_stays_closed_when_its_last_token_is_removed(tmp_path: Path, names: tuple[str, ...]) -> None:
    with running(tmp_path, "alice", names=names) as server:
        http = server.client(**({"Host": names[0]} if names else {}))
        assert http.get("/v1/runs").status_code == 401
        store = Store(tmp_path / "runs")
        store.remove_token("alice")
        store.close()
        assert [http.get(path).status_code for path in ("/v1/runs", "/metrics", "/login", "/healthz")] == [
            *(401, 401),
            *(200, 200),
        ]


def test_a_login_that_ends_after_its_token_was_removed_is_none(stores: Callable[..., Store]) -> None:
    store = stores()
    token = store.token(store.add_token("alice", "alice"))
    assert token
    session = store.add_session(token)
    assert store.session(session) == token
    store.remove_token("alice")
    late = store.add_session(token)
    new = store.token(store.add_token("alice", "alice"))
    assert [late, store.session(session), store.session(late)] == ["", None, None]
    assert new
    assert store.session(store.add_session(new)) == new


def test_the_tables_of_the_version_before_remain_and_older_ones_are_refused(tmp_path: Path) -> None:
    store = Store(tmp_path)
    secret = store.add_token("alice", "alice")
    link = store.share("r1", "alice", "team")
    store.close()

    def change(script: str) -> None:
        with closing(sqlite3.connect(tmp_path / FILE)) as database:
            database.executescript(script)

    names = ("tokens", "sessions", "shares", "mail")
    change("".join(f"ALTER TABLE leadline_{name} RENAME TO {name};" for name in names) + "PRAGMA user_version = 6")
    with closing(Store(tmp_path)) as store:
        token, share = store.token(secret), store.shared(link)
        assert token
        assert share
        assert (store.session(store.add_session(token)), share.run_id) == (token, "r1")
    for version, message in ((5, "of an old version"), (8, "of a newer version")):
        change(f"PRAGMA user_version = {version}")
        with pytest.raises(LeadlineError, match=message):
            Store(tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_servers_on_two_machines_have_the_same_tokens_sessions_and_links(postgres: Cluster, tmp_path: Path) -> None:
    url = postgres.database(uuid4().hex)
    with (
        running(tmp_path / "a", "alice", database=url) as first,
        running(tmp_path / "b", "bob", database=url) as second,
        closing(Store(tmp_path / "a" / "runs", url)) as mine,
        closing(Store(tmp_path / "b" / "runs", url)) as other,
    ):
        browser, there = first.client(), second.client()
        assert browser.post("/v1/session", json={"token": second.tokens["bob"]}).status_code == 200
        there.cookies.update(browser.cookies)
        headers = {"Authorization": f"Bearer {first.tokens['alice']}"}
        assert [there.get("/v1/session").status_code, second.client(**headers).get("/v1/runs").status_code] == [200] * 2
        link = mine.share("r1", "alice", "team")
        assert other.shared(link)
        assert other.shares("alice") == mine.shares("alice")
        assert there.delete("/v1/session", headers={"Origin": second.url}).status_code == 200
        other.remove_token("alice")
        ended = (browser.get("/v1/session"), first.client(**headers).get("/v1/runs"))
        assert [reply.status_code for reply in ended] == [401, 401]
        assert mine.key() == other.key()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_database_that_is_away_is_an_error_and_stops_no_probe(postgres: Cluster, tmp_path: Path) -> None:
    with running(tmp_path, "alice", database=postgres.database(uuid4().hex)) as server:
        http = server.client("alice")
        assert http.get("/v1/session").status_code == 200
        postgres.stop()
        try:
            with ThreadPoolExecutor(8) as threads:
                asked = [threads.submit(http.get, "/v1/session") for _ in range(8)]
                while not asked[0].done():
                    began = time.monotonic()
                    assert server.client().get("/healthz").status_code == 200
                    assert time.monotonic() - began < 1
                assert {code_of(reply.result()) for reply in asked} == {(503, "queue_unavailable")}
            assert time.monotonic() - began < 10
        finally:
            postgres.start()
        assert http.get("/v1/session").status_code == 200


def test_logins_with_one_token_are_limited_and_those_of_others_are_not(tmp_path: Path) -> None:
    with running(tmp_path, "alice", "bob", limits=Limits(guesses=3)) as server:
        http = server.client()
        codes = [http.post("/v1/session", json={"token": server.tokens["alice"]}).status_code for _ in range(5)]
        assert codes == [200, 200, 200, 429, 429]
        assert http.post("/v1/session", json={"token": server.tokens["bob"]}).status_code == 200
        assert server.client("alice").get("/v1/runs").status_code == 200


def test_a_token_for_metrics_reads_nothing_else_and_no_other_reads_them(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    token = store.add_token("prometheus", "prometheus", "metrics")
    store.close()
    with running(tmp_path, "alice") as server:
        http = server.client(Authorization=f"Bearer {token}")
        assert http.get("/metrics").status_code == 200
        assert code_of(server.client("alice").get("/metrics")) == (403, "forbidden")
        assert code_of(http.get("/v1/runs")) == (403, "forbidden")
        assert http.post("/v1/session", json={"token": token}).status_code == 401


async def test_another_address_or_name_needs_a_token(tmp_path: Path) -> None:
    import leadline

    store, queue = Store(tmp_path / "runs"), open_queue("", tmp_path / "runs")
    for address in (Address("0.0.0.0", 0), Address(names=["leadline.example"])):
        with pytest.raises(UsageError, match="leadline serve token add"):
            await command.serve(leadline.Client(folder=tmp_path / "runs"), store, queue, address, print)
    store.close()


def test_a_server_without_tokens_serves_nobody_behind_a_proxy(served: Served) -> None:
    for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"):
        assert code_of(served.client().get("/v1/runs", headers={name: "203.0.113.9"})) == (403, "token_required")


# --- browsers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80", "192.168.1.5"])
def test_addresses_and_own_names_are_accepted(served: Served, host: str) -> None:
    assert served.client().get("/v1/runs", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_forms_are_refused(served: Served, media: str) -> None:
    body = json.dumps({"question": QUESTION}).encode()
    reply = served.client().post("/v1/runs", content=body, headers={"Content-Type": media})
    assert code_of(reply) == (415, "media_type")


def test_a_browser_logs_in_and_out(team: Served) -> None:
    browser = team.client()
    login = browser.post("/v1/session", json={"token": team.tokens["alice"]})
    assert login.json() == {"principal": "alice", "role": "user", "models": []}
    cookie = login.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert team.tokens["alice"] not in cookie
    assert browser.get("/v1/session").json() == {"principal": "alice", "role": "user", "models": []}
    assert code_of(browser.post("/v1/runs", json={"question": "a?"})) == (403, "cross_origin")
    own = {"Origin": team.url}
    assert browser.post("/v1/runs", json={"question": " "}, headers=own).status_code == 422
    again = team.client()
    again.cookies.update(browser.cookies)
    assert browser.delete("/v1/session", headers=own).json() == {"ok": True}
    assert browser.get("/v1/session").status_code == 401
    assert again.get("/v1/session").status_code == 401


@pytest.mark.parametrize(
    "cookie", ["leadline_session=", "leadline_session=x", "leadline_session=" + "a" * 9_000, "\x7f"]
)
def test_a_wrong_cookie_is_no_login(team: Served, cookie: str) -> None:
    assert team.client().get("/v1/runs", headers={"Cookie": cookie}).status_code in (400, 401)


def test_reports_are_shown_in_a_sandbox(http: httpx.Client, done: str) -> None:
    for name in http.get(f"/v1/runs/{done}").json()["files"]:
        policy = http.get(f"/v1/runs/{done}/files/{name}").headers["content-security-policy"]
        assert policy.startswith("sandbox;")
        assert "allow-" not in policy
        assert "script" not in policy
    saved = http.get(f"/v1/runs/{done}/files/report.html", params={"download": ""})
    assert saved.headers["content-disposition"].startswith("attachment")


# --- paths and headers -----------------------------------------------------------------------------------------------


def test_a_link_out_of_the_run_is_not_followed(http: httpx.Client, served: Served) -> None:
    run = order(http)
    finish(http, run)
    report = served.folder / "runs" / run / "report.md"
    report.unlink()
    report.symlink_to("/etc/passwd")
    assert http.get(f"/v1/runs/{run}/files/report.md").status_code == 404


def test_texts_of_a_request_make_no_headers_and_no_lines(http: httpx.Client) -> None:
    nasty = "harbour\r\nX-Evil: 1\r\n\r\nevent: run.finished\u2028 <script>alert(1)</script>"
    reply = http.post("/v1/runs", json={"question": nasty, "tags": {"a\r\nX-Evil": nasty}})
    run = reply.json()["id"]
    seen = events(http, run)
    assert [one["event"] for one in seen].count("run.finished") == 1
    assert all(one.keys() <= {"id", "event", "data", "retry"} for one in seen)
    sent = http.get(f"/v1/runs/{run}/files/report.html")
    assert "x-evil" not in {*reply.headers, *sent.headers}
    assert http.post("/v1/runs", json={"question": "a?"}, headers={"Idempotency-Key": "k" * 300}).status_code == 422


# --- load ------------------------------------------------------------------------------------------------------------


def _large() -> Iterator[bytes]:
    for _ in range(160):
        yield b" " * 65_536


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("path", ["/v1/runs", "/v1/session", "/api/research/start"])
def test_large_bodies_are_refused(served: Served, path: str, chunked: bool) -> None:
    content: Any = _large() if chunked else b" " * 10_485_760
    try:
        reply = served.client().post(path, content=content, headers={"Content-Type": "application/json"})
    except (httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):  # the server closes while we send
        return
    assert code_of(reply) == (413, "too_large")


@pytest.mark.parametrize("length", ["-1", "1e9", "x", "99999999999999999999999"])
def test_wrong_lengths_are_refused(served: Served, length: str) -> None:
    host, port = urlsplit(served.url).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as raw:
        head = (
            f"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}"
        )
        raw.sendall(f"{head}\r\n\r\n".encode())
        assert raw.recv(100).split()[1] in (b"400", b"413")


def test_open_streams_are_limited_and_their_places_come_back(tmp_path: Path) -> None:
    with running(tmp_path, "alice", "bob", limits=Limits(streams=2)) as server:
        alice, bob = server.client("alice"), server.client("bob")
        with server.gate.closed():
            run = order(alice)
            with alice.stream("GET", f"/v1/runs/{run}/events"), alice.stream("GET", f"/v1/runs/{run}/events"):
                full = alice.get(f"/v1/runs/{run}/events")
                assert code_of(full) == (429, "too_many_requests")
                assert int(full.headers["retry-after"]) >= 1
                other = order(bob)
                assert events(bob, other, until="run.started")
            deadline = time.monotonic() + PATIENCE
            while (reply := _status_of_stream(alice, run)) == 429 and time.monotonic() < deadline:
                time.sleep(0.05)
            assert reply == 200
        for http, one in ((alice, run), (bob, other)):
            finish(http, one)


def _status_of_stream(http: httpx.Client, run: str) -> int:
    with http.stream("GET", f"/v1/runs/{run}/events") as reply:
        return reply.status_code


def test_active_runs_and_requests_are_limited_for_each_principal(tmp_path: Path) -> None:
    with running(tmp_path, "alice", "bob", limits=Limits(runs=1, requests=5)) as server:
        alice, bob = server.client("alice"), server.client("bob")
        with server.gate.closed():
            order(alice)
            full = alice.post("/v1/runs", json={"question": QUESTION})
            assert code_of(full) == (429, "too_many_requests")
            order(bob)
            codes = [alice.get("/v1/runs").status_code for _ in range(20)]
            assert codes[-1] == 429
            assert bob.get("/v1/runs").status_code == 200


def test_a_rate_refills() -> None:
    now = [0.0]
    rate = Rate(60, "too many", clock=lambda: now[0])
    for _ in range(60):
        rate.take("a")
    with pytest.raises(Problem) as refused:
        rate.take("a")
    assert refused.value.headers == {"Retry-After": "2"}
    rate.take("b")
    now[0] += 1
    rate.take("a")


def test_a_request_that_never_arrives_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline_server.command.HEAD_TIMEOUT", 0.2)
    monkeypatch.setattr("leadline_server.requests.read_body.__defaults__", (0.2,))
    with running(tmp_path) as server:
        host, port = urlsplit(server.url).netloc.split(":")
        body = (
            b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        for sent, reply in ((b"", b""), (b"GET / HT", b""), (body, b"408")):
            with socket.create_connection((host, int(port)), timeout=PATIENCE) as raw:
                raw.sendall(sent)
                received = b""
                while piece := raw.recv(65_536):
                    received += piece
                assert reply in received.partition(b"\r\n")[0]


def test_many_threads_get_their_own_replies(team: Served) -> None:
    wrong: list[Any] = []

    def ask(user: str) -> None:
        http = team.client(user)
        wrong.extend(who for _ in range(20) if (who := http.get("/v1/session").json()["principal"]) != user)

    threads = [threading.Thread(target=ask, args=(user,)) for user in ("alice", "bob") * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
