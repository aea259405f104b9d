"""The page of the documents of the knowledge base."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from tests.server.conftest import PATIENCE, Served, running
from tests.server.page.conftest import Browser, browser_of, form, text

PIER = b"# Pier\n\nThe eastern pier of the harbour is of oak, and 40 fathoms long since the storm of 1952.\n"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with running(tmp_path_factory.mktemp("documents"), "alice", "bob") as server:
        yield server


def visitor(team: Served, name: str) -> Browser:
    browser = browser_of(team)
    browser.submit(form(browser.open("/login"), "/login"), token=team.tokens[name])
    return browser


def add(browser: Browser, *files: tuple[str, bytes], token: str = "") -> str:
    """Add files; return the text of the reply."""
    given = form(browser.open("/documents"), "/documents").css_first("input[name=form_token]")
    assert given is not None
    origin = str(browser.http.base_url).rstrip("/")
    reply = browser.http.post(
        "/documents",
        data={"form_token": token or given.attributes["value"] or ""},
        files=[("file", file) for file in files],
        headers={"Origin": origin},
    )
    return f"{reply.status_code} {reply.text}"


def test_documents_are_added_found_and_removed_by_their_owner_alone(team: Served) -> None:
    alice, bob = visitor(team, "alice"), visitor(team, "bob")
    assert "No documents yet" in text(alice.open("/documents"))
    assert add(alice, ("pier.md", PIER)).startswith("200")
    assert "1 document" in text(alice.open("/documents"))
    assert "of oak" in text(alice.open("/documents?q=oak+pier+of+the+harbour"), ".found")
    assert "No documents yet" in text(bob.open("/documents"))
    stranger = form(alice.open("/documents"), "/documents/remove").css_first("input[name=document]")
    assert stranger is not None
    removing = form(alice.open("/documents"), "/documents/remove")
    alice.submit(removing)
    assert "No documents yet" in text(alice.open("/documents"))


def test_a_form_takes_its_turn_before_its_files_are_read(team: Served) -> None:
    """One file of a user is read at a time, whether it comes by the page or by the API."""
    alice = visitor(team, "alice")
    token = form(alice.open("/documents"), "/documents").css_first("input[name=form_token]")
    assert token is not None
    cookies = "; ".join(f"{name}={value}" for name, value in alice.http.cookies.items())
    host, port = urlsplit(team.url).netloc.split(":")
    body = f'--b\r\nContent-Disposition: form-data; name="form_token"\r\n\r\n{token.attributes["value"]}\r\n--b--\r\n'
    waiting = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
    waiting.putrequest("POST", "/documents")
    lines = {"Origin": team.url, "Cookie": cookies, "Content-Type": "multipart/form-data; boundary=b"}
    for name, value in (lines | {"Content-Length": str(len(body))}).items():
        waiting.putheader(name, value)
    waiting.endheaders(body[:-1].encode())
    until = time.monotonic() + PATIENCE
    while not (reply := add(alice, ("pier.md", PIER))).startswith("429"):
        assert time.monotonic() < until, reply
    api = team.client("alice").post("/v1/knowledge?name=pier.md", content=PIER)
    assert api.status_code == 429
    waiting.send(body[-1:].encode())
    assert waiting.getresponse().status == 422, "no file was chosen"
    waiting.close()
    assert add(alice, ("pier.md", PIER)).startswith("200")
    alice.submit(form(alice.open("/documents"), "/documents/remove"))


def test_a_file_that_cannot_be_read_and_a_form_of_another_site_are_refused(team: Served) -> None:
    bob = visitor(team, "bob")
    assert "broken.pdf" in add(bob, ("broken.pdf", b"%PDF-1.7 nothing"))
    assert add(bob).startswith("4")
    assert add(bob, ("pier.md", PIER), token="x" * 43).startswith("403")
    assert "No documents yet" in text(bob.open("/documents"))
