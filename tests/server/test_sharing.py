"""Reports that others read by a link."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.server.conftest import Served, finish, order, running
from tests.server.page.conftest import browser_of, form, text

from leadline_server.limits import Limits


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with running(tmp_path_factory.mktemp("office"), "alice", "bob") as server:
        yield server


@pytest.fixture(scope="module")
def run(office: Served) -> str:
    run = order(office.client("alice"))
    finish(office.client("alice"), run)
    return run


def link(http: httpx.Client, run: str, **wanted: object) -> str:
    """Share a run and return the path of its link."""
    reply = http.post(f"/v1/runs/{run}/share", json=wanted)
    assert reply.status_code == 201, reply.text
    return httpx.URL(reply.json()["url"]).path


def test_a_link_shows_the_report_to_those_it_is_for_and_nothing_else_of_the_run(office: Served, run: str) -> None:
    alice, bob, nobody = office.client("alice"), office.client("bob"), office.client()
    path = link(alice, run)
    assert nobody.get(path).status_code == 404
    assert bob.get(path).status_code == 200
    public = link(alice, run, audience="anyone", days=7)
    assert bob.get(path).status_code == 404, "a new link ends the one before"
    page = nobody.get(public)
    assert (page.headers["x-robots-tag"], page.headers["referrer-policy"]) == ("noindex, nofollow", "no-referrer")
    for hidden in (run, "alice", f"/runs/{run}", "Trail", "free"):
        assert hidden not in page.text
    assert nobody.get(f"/v1/runs/{run}").status_code == 401
    report = nobody.get(f"{public}/download/json").json()
    own = alice.get(f"/v1/runs/{run}/files/report.json").json()
    assert [source["document"]["text"] for source in report["sources"]] == [""] * len(own["sources"])
    assert own["sources"][0]["document"]["text"]
    assert {passage["quote"] for passage in report["evidence"]} <= {passage["quote"] for passage in own["evidence"]}
    markdown = nobody.get(f"{public}/download/markdown")
    assert (markdown.status_code, run in markdown.text, markdown.headers["x-robots-tag"]) == (
        200,
        False,
        "noindex, nofollow",
    )
    assert nobody.post(public).status_code in (401, 403, 405)
    assert bob.post(f"/v1/runs/{run}/share", json={}).status_code == 404
    assert bob.delete(f"/v1/runs/{run}/share").status_code == 404
    assert bob.patch(f"/v1/runs/{run}", json={"title": "Mine"}).status_code == 404


def test_a_link_that_ended_is_like_one_that_never_was(office: Served, run: str) -> None:
    alice, nobody = office.client("alice"), office.client()
    ended = link(alice, run, audience="anyone")
    assert alice.get(f"/v1/runs/{run}/share").json()["url"] == ""
    assert alice.delete(f"/v1/runs/{run}/share").json() == {"ok": True}
    expired = link(alice, run, audience="anyone", days=1)
    with sqlite3.connect(office.folder / "runs" / ".server.sqlite") as database:
        database.execute("UPDATE leadline_shares SET expires = ?", (time.time() - 1,))
        assert database.execute("SELECT typeof(hash), length(hash) FROM leadline_shares").fetchall() == [("blob", 32)]
    wrong = "/shared/share_" + "x" * 43
    for_people = link(alice, order_and_finish(alice), audience="team")

    def seen(path: str) -> tuple[int, str]:
        reply = nobody.get(path, headers={"Accept": "text/html", "X-Request-ID": "12345678"})
        return reply.status_code, re.sub(r"share_[\w-]+|value=\"[\w-]{43}\"", "", reply.text)

    assert seen(wrong)[0] == 404
    assert seen(wrong) == seen(ended) == seen(expired) == seen(for_people)
    assert nobody.get(f"{ended}/download/pdf").status_code == nobody.get(f"{wrong}/figures/x").status_code == 404


def order_and_finish(http: httpx.Client) -> str:
    run = order(http)
    finish(http, run)
    return run


def test_links_end_with_their_run_and_their_secrets_stand_in_no_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(tmp_path, "alice", limits=Limits(requests=1_000, guesses=2)) as server, caplog.at_level("DEBUG"):
        alice, nobody = server.client("alice"), server.client()
        run = order_and_finish(alice)
        path = link(alice, run, audience="anyone")
        assert nobody.get(path).status_code == 200
        assert alice.put(path).status_code == 405
        alice.delete(f"/v1/runs/{run}")
        assert [nobody.get(path).status_code for _ in range(3)] == [404, 404, 429]
        secret = path.removeprefix("/shared/")
        audit = [json.loads(line) for line in (tmp_path / "runs" / ".audit.jsonl").read_text().splitlines()]
        assert [line["action"] for line in audit if "shared" in line["action"]] == [
            "run shared",
            "run no longer shared",
        ]
        logged = "".join(f"{record.__dict__}" for record in caplog.records if record.name.startswith("leadline"))
        assert "/shared/share_…" in logged
        everything = logged + "".join(
            file.read_bytes().decode("latin-1") for file in (tmp_path / "runs").rglob("*") if file.is_file()
        )
        assert secret not in everything


def test_a_report_is_shared_and_unshared_on_its_page_without_javascript(office: Served, run: str) -> None:
    alice = browser_of(office)
    alice.submit(form(alice.open("/login"), "/login"), token=office.tokens["alice"])
    share = alice.open(f"/runs/{run}/share")
    if "End the link" in text(share):  # of another test
        alice.submit(form(share, f"/runs/{run}/share"), to="end")
        share = alice.open(f"/runs/{run}/share")
    assert "They do not see the texts of its sources" in text(share)
    shared = alice.submit(form(share, f"/runs/{run}/share"), audience="anyone", days="30")
    (address,) = re.findall(r'value="(http[^"]+)"', shared.text)
    nobody = browser_of(office)
    page = nobody.open(httpx.URL(address).path)
    cite = page.css_first(".report a.citation")
    assert cite is not None
    target = (cite.attributes["href"] or "").removeprefix("#")
    assert page.css_first(f"[id='{target}']") is not None, "a citation leads to its passage on the same page"
    door = nobody.http.get(address, headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
    assert 'http-equiv="refresh"' in door.text
    alice.submit(form(alice.open(f"/runs/{run}/share"), f"/runs/{run}/share"), to="end")
    nobody.open(httpx.URL(address).path, 404)
