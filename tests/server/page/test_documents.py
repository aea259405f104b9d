"""The page of documents: what a user adds, opens, shares, removes and asks about, without JavaScript."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from tests.server.conftest import PATIENCE, Served, finish, order, running
from tests.server.page.conftest import Browser, browser_of, form, text

from leadline.records import Evidence
from leadline_server.documents import Documents
from leadline_server.page.pages import text_pages

PIER = b"# Pier\n\nThe eastern pier of the harbour is of oak, and 40 fathoms long since the storm of 1952.\n"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("documents")
    with running(folder, "alice", "bob") as server:
        yield server


def visitor(team: Served, name: str) -> Browser:
    browser = browser_of(team)
    browser.submit(form(browser.open("/login"), "/login"), token=team.tokens[name])
    return browser


def selected(browser: Browser) -> str:
    """Return the id of the last document of the list."""
    return browser.open("/documents").css("#list tbody input")[-1].attributes["value"] or ""


def change(browser: Browser, to: str, name: str, status: int = 200) -> str:
    """Send the form that changes documents, with one of them; return the page that follows."""
    token = form(browser.open("/documents"), "/documents").css("input[name=form_token]")[0].attributes["value"]
    origin = str(browser.http.base_url).rstrip("/")
    data = {"form_token": token, "to": to, "document": name}
    reply = browser.http.post("/documents/change", data=data, headers={"Origin": origin})
    assert reply.status_code == status, reply.text
    return reply.text


def add(browser: Browser, *files: tuple[str, bytes], token: str = "", collection: str = "") -> str:
    """Add files; return the text of the reply."""
    given = form(browser.open("/documents"), "/documents").css_first("input[name=form_token]")
    assert given is not None
    origin = str(browser.http.base_url).rstrip("/")
    reply = browser.http.post(
        "/documents",
        data={"form_token": token or given.attributes["value"] or "", "collection": collection},
        files=[("file", file) for file in files],
        headers={"Origin": origin},
    )
    return f"{reply.status_code} {reply.text}"


def test_shared_folders_that_are_being_read_are_not_taken_for_empty(
    team: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = visitor(team, "alice")
    assert "No documents yet" in text(alice.open("/documents"))
    monkeypatch.setattr(Documents, "is_reading", True)
    assert "The shared folders are being read" in text(alice.open("/documents"))
    assert "No documents yet" not in text(alice.open("/documents"))
    assert "Documents are being read" in text(alice.open("/"), ".sources")


def test_documents_are_added_found_and_removed_by_their_owner_alone(team: Served) -> None:
    alice, bob = visitor(team, "alice"), visitor(team, "bob")
    assert "No documents yet" in text(alice.open("/documents"))
    assert "1 document added." in add(alice, ("pier.md", PIER))
    assert "1 document" in text(alice.open("/documents"))
    matches = alice.open("/documents?q=oak+pier+of+the+harbour")
    assert "of oak" in text(matches, ".found")
    passage = matches.css(".found a")[0].attributes["href"] or ""
    assert "of oak" in text(alice.open(passage), f"#{passage.partition('#')[2]}")
    assert "No documents yet" in text(bob.open("/documents"))
    bob.open(passage, 404)
    name = selected(alice)
    for to in ("removed", "deleted", "shared"):
        change(bob, to, name, status=404)
    assert "pier removed." in change(alice, "removed", name).lower()
    assert "It can be restored until" in text(alice.open(f"/documents/{name}"), ".undo")
    bob.open(f"/documents/{name}", 404)
    assert "No documents yet" in text(alice.open("/documents"))
    assert "1 document" in change(alice, "restored", name)
    assert "of oak" in text(alice.open("/documents?q=oak+pier+of+the+harbour"), ".found")
    change(alice, "removed", name)
    add(alice, ("pier.md", PIER + b"It was painted in 1960.\n"))
    assert "removed" not in text(alice.open("/documents")), "the new one took its place"
    change(alice, "elsewhere", name, status=422)
    change(alice, "deleted", name)
    assert "No documents yet" in text(alice.open("/documents"))


def test_a_shared_collection_is_found_by_everybody_and_changed_by_its_owner_alone(team: Served) -> None:
    alice, bob = visitor(team, "alice"), visitor(team, "bob")
    assert add(alice, ("pier.md", PIER), collection="Port").startswith("200")
    assert add(alice, ("secret.md", b"# Secret\n\nThe lighthouse is of gold.\n")).startswith("200")
    change(alice, "shared", "Port/")
    assert "shared by alice" in text(bob.open("/documents"))
    assert "of oak" in text(bob.open("/documents?q=oak+pier+of+the+harbour"), ".found")
    assert "of gold" not in text(bob.open("/documents?q=lighthouse+of+gold"))
    for to in ("private", "removed", "deleted"):
        change(bob, to, "Port/", status=404)
    change(alice, "private", "Port/")
    assert "No documents yet" in text(bob.open("/documents"))
    for name in ("Port/", "secret.md"):
        change(alice, "deleted", name)


def test_a_question_is_answered_from_the_chosen_documents(team: Served) -> None:
    alice = visitor(team, "alice")
    add(alice, ("pier.md", PIER))
    name, http = selected(alice), team.client("alice")
    add(alice, ("mole.md", b"# Mole\n\nThe mole of the harbour is of oak, too, since 1961.\n"))
    asking = change(alice, "ask", name)
    assert f'value="{name}" checked' in asking
    question = "Of what is the pier of the harbour, and since when?"
    for body, engines in (
        ({}, ["knowledge", "fakeweb"]),
        ({"documents": [name], "web": False}, ["knowledge"]),
        ({"documents": []}, ["fakeweb"]),
    ):
        view = finish(http, order(http, question=question, **body))
        assert sorted(view["engines"]) == sorted(engines), body
    run_id = order(http, question=question, documents=[name], web=False)
    finish(http, run_id)
    report = http.get(f"/v1/runs/{run_id}/files/report.json")
    titles = {source["hit"]["title"] for source in report.json()["sources"]}
    assert titles == {"Pier"}
    cite = alice.open(f"/runs/{run_id}").css(".report .citation")[0].attributes["href"] or ""
    passage = alice.open(cite).css(".passage h2 a")[0].attributes["href"] or ""
    assert passage.startswith(f"/documents/{name}?")
    assert "of oak" in text(alice.open(passage), "#passage"), "marked where it stands"
    after = alice.submit(form(alice.open(f"/runs/{run_id}"), "/runs"), question="How long is the pier of the harbour?")
    assert finish(http, after.url.path.removeprefix("/runs/"))["engines"] == ["knowledge"], "nor does it ask the web"
    chat = {"model": "leadline-research", "messages": [{"role": "user", "content": question}]}
    reply = http.post("/v1/chat/completions", json=chat)
    assert reply.status_code == 200, reply.text
    assert "of oak" in reply.json()["choices"][0]["message"]["content"]
    short = http.post("/api/research/start", json={"query": question}).json()["task_id"]
    assert "knowledge" in finish(http, short)["engines"]
    theirs = team.client("bob").post("/v1/runs", json={"question": question, "documents": [name]})
    assert (theirs.status_code, theirs.json()["code"]) == (422, "no_such_document")
    neither = http.post("/v1/runs", json={"question": question, "documents": [], "web": False})
    assert (neither.status_code, neither.json()["code"]) == (422, "nothing_to_search")
    for document in http.get("/v1/knowledge").json()["documents"]:
        assert http.delete(f"/v1/knowledge/{document['id']}?purge=1").status_code == 200


@pytest.mark.parametrize(
    ("heading", "title"), [(b"<b>Mole</b> of <branch>", "Mole of <branch>"), (b'<img src="a.svg">', "mole")]
)
def test_the_title_of_a_document_has_no_tags(team: Served, heading: bytes, title: str) -> None:
    alice, http = visitor(team, "alice"), team.client("alice")
    add(alice, ("mole.md", b"# " + heading + b"\n\nThe mole of the harbour is of oak.\n"))
    [document] = http.get("/v1/knowledge").json()["documents"]
    assert document["title"] == title
    assert http.delete(f"/v1/knowledge/{document['id']}?purge=1").status_code == 200


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
    change(alice, "deleted", selected(alice))


def test_a_file_that_cannot_be_read_and_a_form_of_another_site_are_refused(team: Served) -> None:
    bob = visitor(team, "bob")
    refused = add(bob, ("broken.pdf", b"%PDF-1.7 nothing"))
    assert "<b>broken.pdf</b> cannot be read. Save it as PDF" in refused
    assert "not a readable PDF" in refused.partition("<summary>")[2], "one click away"
    assert add(bob).startswith("4")
    assert add(bob, ("pier.md", PIER), token="x" * 43).startswith("403")
    assert "No documents yet" in text(bob.open("/documents"))


def test_each_page_of_a_document_of_thousands_has_its_passages() -> None:
    starts = range(0, 1_000_000, 200)
    passages = [Evidence(id=f"e{start}", source_id="s", quote="x" * 150, span=(start, start + 150)) for start in starts]
    pages = text_pages("x" * 1_000_000, starts, passages)
    assert len(pages) == len(starts)
    assert pages[1] == (2, [("e200", "x" * 150), ("", "x" * 50)])
