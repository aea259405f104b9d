"""Roles on every entrance, the page of admins, models that may be chosen, and users who are exported and erased."""

from __future__ import annotations

import json
import sqlite3
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.conftest import QUESTION, Served, events, finish, order, running

from leadline.errors import ConfigError
from leadline_server.sign_in import AccessSettings
from leadline_server.store import Store

MCP = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with the admin root, the user alice, and tokens of a reader: rita, and another one of alice."""
    folder = tmp_path_factory.mktemp("office")
    store = Store(folder / "runs")
    tokens = {
        "root": store.add_token("root", "root", "admin"),
        "rita": store.add_token("rita", "rita", "reader"),
        "alice reads": store.add_token("alice reads", "alice", "reader"),
    }
    store.close()
    with running(folder, "alice") as server:
        server.tokens |= tokens
        yield server


@pytest.fixture(scope="module")
def run(office: Served) -> str:
    alice = office.client("alice")
    run = order(alice)
    finish(alice, run)
    return run


def test_a_reader_reads_and_changes_nothing_on_any_address(office: Served, run: str) -> None:
    reader = office.client("alice reads")
    assert reader.get(f"/v1/runs/{run}").json()["run_id"] == run
    assert reader.get(f"/v1/runs/{run}/files/report.md").status_code == 200
    for method, path in (
        ("POST", "/v1/runs"),
        ("POST", "/v1/chat/completions"),
        ("POST", "/api/research/start"),
        ("POST", f"/v1/runs/{run}/resume"),
        ("POST", f"/v1/runs/{run}/cancel"),
        ("DELETE", f"/v1/runs/{run}"),
        ("POST", "/v1/knowledge?name=a.txt"),
        ("POST", "/runs"),
        ("POST", "/runs/"),
        ("POST", "/documents"),
        ("PUT", "/v1/runs"),
    ):
        reply = reader.request(method, path, json={"question": QUESTION})
        assert (reply.status_code, "readers start and change nothing" in reply.text) == (403, True), path
    page = office.client()
    assert page.post("/v1/session", json={"token": office.tokens["rita"]}).json()["role"] == "reader"
    assert "your role starts no runs" in page.get("/").text
    assert page.get("/v1/session").status_code == 200
    assert page.delete("/v1/session", headers={"Origin": office.url}).json() == {"ok": True}
    assert '"action": "refused"' in (office.folder / "runs" / ".audit.jsonl").read_text()


def call(http: httpx.Client, tool: str, session: str = "", **arguments: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    reply = http.post("/mcp", json=body, headers={**MCP, **({"Mcp-Session-Id": session} if session else {})})
    text = reply.text.partition("data: ")[2].partition("\n")[0] or reply.text
    return dict(json.loads(text))


def session_of(http: httpx.Client) -> str:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}
    reply = http.post("/mcp", json=body, headers=MCP)
    assert reply.status_code == 200, reply.text
    return str(reply.headers["mcp-session-id"])


def test_a_reader_starts_nothing_by_mcp_either(office: Served, run: str) -> None:
    reader, alice = office.client("alice reads"), office.client("alice")
    mine, other = session_of(reader), session_of(alice)
    for tool, arguments in (
        ("research", {"question": QUESTION}),
        ("research_start", {"question": QUESTION}),
        ("research_start", {"run_id": run}),
        ("research_cancel", {"run_id": run}),
        ("research_answer", {"run_id": run, "answer": "x"}),
        ("verify_report", {"run_id": run}),
    ):
        result = call(reader, tool, mine, **arguments)["result"]
        assert (result["isError"], "readers start" in result["content"][0]["text"]) == (True, True), tool
    assert call(reader, "research_result", mine, run_id=run)["result"]["isError"] is False
    assert "result" not in call(reader, "research_start", other, question=QUESTION)  # a session of another token


def test_only_an_admin_sees_users_usage_and_the_runs_of_others(office: Served, run: str) -> None:
    for path in ("/v1/admin", "/v1/admin/runs?user=alice", "/admin", "/admin/", "/admin?user=alice"):
        assert office.client("alice").get(path).status_code == 403
        assert office.client("rita").get(path).status_code == 403
    root = office.client("root")
    seen = root.get("/v1/admin").json()
    users = {user["name"]: user for user in seen["users"]}
    assert {"alice", "rita", "root"} <= users.keys()
    assert users["alice"]["runs"] >= 1
    assert {token["name"]: token["role"] for token in seen["tokens"]}["alice reads"] == "reader"
    assert not any(secret in json.dumps(seen) for secret in office.tokens.values())
    runs = root.get("/v1/admin/runs", params={"user": "alice"}).json()["runs"]
    assert run in [item["run_id"] for item in runs]
    assert QUESTION not in json.dumps(runs)
    page = root.get("/admin", params={"user": "alice"}).text
    assert run in page
    assert "fathom" not in page
    assert root.get(f"/v1/runs/{run}").status_code == 404  # the report is the user's


def test_a_request_chooses_only_a_model_of_its_user_on_every_entrance(tmp_path: Path) -> None:
    models = {"roles": {"user": ["openai:small"]}, "users": {"root": ["openai:small", "openai:large"]}}
    access = AccessSettings.model_validate({"models": models})
    with running(tmp_path, "alice", "root", access=access, plugins__openai__base_url="http://127.0.0.1:9/v1") as server:
        alice, root = server.client("alice"), server.client("root")
        for key in ("ai.roles.thinking", "ai.roles.task"):
            wanted = {key: "openai:large"}
            message = {"role": "user", "content": QUESTION}
            chat = {"model": "leadline-research", "messages": [message], "leadline": {"set": wanted}}
            for reply in (
                alice.post("/v1/runs", json={"question": QUESTION, "set": wanted}),
                alice.post("/v1/chat/completions", json=chat),
            ):
                assert reply.status_code == 403
                assert "may not be 'openai:large'" in reply.text
                assert "openai:small" in reply.text
            assert f'name="set.{key}"' in alice.get("/").text
            assert "openai:large" not in alice.get("/").text
            assert root.post("/v1/runs", json={"question": QUESTION, "set": {key: "openai:large"}}).status_code == 202
        assert alice.get("/v1/session").json()["models"] == ["openai:small"]


def test_a_model_that_no_run_can_use_ends_the_server_at_its_start(tmp_path: Path) -> None:
    access = AccessSettings.model_validate({"models": {"roles": {"user": ["nobody:large"]}}})
    message = "models.roles.user: no run can use 'nobody:large'"
    with pytest.raises(ConfigError, match=message), running(tmp_path, "alice", access=access):
        pass


# --- export and erase ------------------------------------------------------------------------------------------------


def leadline(folder: Path, *command: str) -> int:
    from leadline.cli import main

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return int(main(["serve", "user", *command, "--folder", "runs"]) or 0)


@pytest.mark.slow
def test_everything_of_a_user_is_exported_and_erased_also_while_a_run_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "the quicksilver barometer of {}'s aunt"
    with running(tmp_path, "alice", "bob", plugins__knowledge__folder=str(tmp_path / "leadline-knowledge")) as server:
        alice, bob = server.client("alice"), server.client("bob")
        for http, user in ((bob, "bob"), (alice, "alice")):
            text = f"# Aunt\n\nIn 1901 {secret.format(user)} fell."
            assert http.post("/v1/knowledge?name=aunt.txt", content=text.encode()).status_code == 200
            added = http.post("/v1/knowledge?name=barometer.txt", content=text.encode()).json()["documents"]
            shared = http.post("/v1/knowledge/changes", json={"names": [added[0]["id"]], "to": "shared"})
            assert shared.status_code == 200, shared.text
            asked = order(http, f"How deep is {secret.format(user)}?")
            finish(http, asked)
            link = http.post(f"/v1/runs/{asked}/share", json={"audience": "anyone"}).json()["url"]
        assert leadline(tmp_path, "export", "../alice", "x.tar.gz") == 64
        assert leadline(tmp_path, "erase", "", "--yes") == 64
        assert leadline(tmp_path, "erase", ".", "--yes") == 64
        assert leadline(tmp_path, "export", "alice", "alice.tar.gz") == 0
        assert leadline(tmp_path, "export", "alice", "alice.tar.gz") != 0  # nothing is overwritten
        with tarfile.open(tmp_path / "alice.tar.gz") as archive:
            names = archive.getnames()
            usage = json.load(archive.extractfile("usage.json") or pytest.fail("no usage"))
            documents = json.load(archive.extractfile("documents.json") or pytest.fail("no documents"))
            shares = json.load(archive.extractfile("shares.json") or pytest.fail("no shares"))
        assert [(item["run_id"], item["audience"]) for item in shares] == [(asked, "anyone")]
        assert server.client().get(httpx.URL(link).path).status_code == 200
        assert {item["principal"] for item in usage} == {"alice"}
        assert [(item["name"], item["shared"]) for item in documents["documents"]] == [
            ("aunt.txt", False),
            ("barometer.txt", True),
        ]
        assert "alice's aunt" in json.dumps(documents)
        assert any(name.endswith("report.md") for name in names)
        assert any(name.startswith("documents/files/") for name in names)
        assert (tmp_path / "alice.tar.gz").stat().st_mode & 0o077 == 0
        (tmp_path / "alice.tar.gz").unlink()
        with server.gate.closed():
            waiting = order(alice, f"How heavy is {secret.format('alice')}?")
            events(alice, waiting, until="run.started")
            assert leadline(tmp_path, "erase", "alice") == 64  # nobody can confirm it
            assert alice.get(f"/v1/runs/{waiting}").status_code == 200
            assert leadline(tmp_path, "erase", "alice", "--yes") == 0
        assert alice.get("/v1/runs").status_code == 401
        assert server.client().get(httpx.URL(link).path).status_code == 404
        assert len(bob.get("/v1/runs").json()["runs"]) == 1
        assert len(bob.get("/v1/knowledge").json()["documents"]) == 2
        assert leadline(tmp_path, "erase", "alice", "--yes") == 64
        assert "nothing is known of the user 'alice'; the users: bob" in capsys.readouterr().err
    lines = [json.loads(line) for line in (tmp_path / "runs" / ".audit.jsonl").read_text().splitlines()]
    about = [line for line in lines if "alice" in json.dumps(line)]
    assert [(line["action"], line["erased"]) for line in about] == [("user erased", "alice")]
    left = [path for top in ("runs", "leadline-knowledge") for path in (tmp_path / top).rglob("*") if path.is_file()]
    assert any(b"bob's aunt" in path.read_bytes() for path in left)
    assert [path for path in left if b"alice's aunt" in path.read_bytes() or "alice" in path.name] == []
    queue = sqlite3.connect(tmp_path / "runs" / ".queue.sqlite")
    tables = [name for (name,) in queue.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows = [row for name in tables for row in queue.execute(f"SELECT * FROM {name}") if "alice" in str(row)]
    queue.close()
    assert rows == []
