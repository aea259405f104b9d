"""The knowledge base over HTTP: each user has documents of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.conftest import QUESTION, Served, finish, order, running

import leadline
from leadline.errors import ConfigError, UsageError
from leadline.records import Source
from leadline_server.documents import check_shared
from leadline_server.limits import Limits
from leadline_server.service import Service

HARBOUR = b"# Harbour\n\nThe harbour is nine fathoms deep at the mole.\n"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("knowledge")
    limits = Limits(requests=100_000, upload=20_000, documents=3)
    with running(folder, "alice", "bob", limits=limits) as server:
        yield server


@pytest.fixture
def alice(team: Served) -> Iterator[httpx.Client]:
    """A client of a user without documents."""
    client = team.client("alice")
    yield client
    for document in client.get("/v1/knowledge").json()["documents"]:
        client.delete(f"/v1/knowledge/{document['id']}", params={"purge": "1"})


def upload(http: httpx.Client, name: str, data: bytes = HARBOUR) -> httpx.Response:
    return http.post("/v1/knowledge", params={"name": name}, content=data)


def quotes(http: httpx.Client) -> list[str]:
    reply = http.get("/v1/knowledge/search", params={"q": "How deep is the harbour?"})
    assert reply.status_code == 200, reply.text
    return [one["quote"] for one in reply.json()["evidence"]]


def test_an_uploaded_file_is_listed_found_and_removed(alice: httpx.Client) -> None:
    assert quotes(alice) == []
    added = upload(alice, "harbour.md").json()
    assert (added["added"], added["documents"][0]["name"]) == (1, "harbour.md")
    assert quotes(alice) == ["The harbour is nine fathoms deep at the mole."]
    (document,) = alice.get("/v1/knowledge").json()["documents"]
    assert (document["title"], document["passages"], document["shared"]) == ("Harbour", 1, False)
    assert alice.delete(f"/v1/knowledge/{document['id']}").status_code == 200
    assert quotes(alice) == []
    assert alice.delete(f"/v1/knowledge/{document['id']}").status_code == 404


def test_the_same_name_replaces_a_file(alice: httpx.Client) -> None:
    upload(alice, "harbour.md")
    assert upload(alice, "harbour.md", HARBOUR.replace(b"nine", b"ten")).json()["replaced"] == 1
    assert quotes(alice) == ["The harbour is ten fathoms deep at the mole."]


def test_another_user_finds_and_removes_nothing_of_it(team: Served, alice: httpx.Client) -> None:
    (document,) = upload(alice, "harbour.md").json()["documents"]
    bob = team.client("bob")
    assert quotes(bob) == []
    assert bob.get("/v1/knowledge").json()["documents"] == []
    assert bob.delete(f"/v1/knowledge/{document['id']}").status_code == 404
    assert quotes(alice)


def test_no_other_account_of_the_machine_reads_anything_of_a_user(team: Served, alice: httpx.Client) -> None:
    upload(alice, "harbour.md")
    finish(alice, order(alice))
    top = team.folder
    found = [path for path in top.rglob("*") if path.is_file()]
    files = {path: [path, *path.parents[: len(path.relative_to(top).parts) - 1]] for path in found}
    names = {path.name for path in files} | {path.parent.parent.name for path in files}
    assert {"journal.sqlite", "report.md", "events.jsonl", "rows.sqlite", "documents.sqlite", "files"} <= names
    assert [path for path, way in files.items() if all(one.stat().st_mode & 0o055 for one in way)] == []
    private = [path for path in files if path.suffix in (".sqlite", ".i8") or path.name == "events.jsonl"]
    assert {path.stat().st_mode & 0o777 for path in private} == {0o600}


def test_a_question_to_documents_is_never_asked_of_the_web_instead(
    team: Served, alice: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*args: object, **options: object) -> None:
        raise ConfigError("knowledge.store: the folder is gone")

    for method in ("version", "documents"):
        monkeypatch.setattr(f"leadline._runtime.runs.adhoc.KnowledgeClient.{method}", failing)
    for body in ({"web": False}, {"documents": ["harbour.md"]}, {"documents": ["harbour.md"], "web": False}):
        reply = alice.post("/v1/runs", json={"question": QUESTION, **body})
        assert (reply.status_code, "the folder is gone" in reply.text) == (422, True), body
    monkeypatch.undo()


def test_documents_are_searched_by_a_pipeline_with_engines_of_its_own(tmp_path: Path) -> None:
    own: Any = {"pipelines__own": {"stages": ["query", "search"], "settings": {"search.engines": ["fakeweb"]}}}
    with running(tmp_path, search__engines=["knowledge"], **own) as served:
        http = served.client()
        upload(http, "harbour.md")
        view = finish(http, order(http, pipeline="own", documents=["harbour.md"], web=False))
        assert view["engines"] == ["knowledge"]


def test_a_document_has_a_name_for_users_and_its_path_is_no_name(tmp_path: Path) -> None:
    (path := tmp_path / "port" / "pier.txt").parent.mkdir()
    path.write_bytes(HARBOUR)
    folders: Any = {"search__engines": ["local"], "plugins__local__folders": [str(path.parent)]}
    with running(tmp_path, "alice", **folders) as served:
        http = served.client("alice")
        finish(http, order(http, documents=["port/", "port/pier.txt"]))
        for names in ([str(path)], [str(path.parent)], ["/no/such"], ["port", "port/pier"]):
            reply = http.post("/v1/runs", json={"question": QUESTION, "documents": names})
            expected = {"code": "no_such_document", "message": f"documents: there is no {names[-1]!r}"}
            assert (reply.status_code, reply.json() | expected) == (422, reply.json())


@pytest.mark.parametrize("name", ["", " ", "x" * 301, "a\nb.txt"])
def test_a_file_needs_a_name(name: str, alice: httpx.Client) -> None:
    assert upload(alice, name).status_code == 422


def test_files_that_cannot_be_read_and_too_large_or_too_many_are_refused(alice: httpx.Client) -> None:
    for data in (b"", b"%PDF-1.7 broken"):
        reply = upload(alice, "broken.pdf", data)
        assert (reply.status_code, reply.json()["code"]) == (422, "unreadable_file")
    assert upload(alice, "large.txt", b"x" * 20_001).status_code == 413
    for number in range(3):
        assert upload(alice, f"{number}.txt", b"Text %d." % number).status_code == 200
    reply = upload(alice, "4.txt")
    assert (reply.status_code, reply.json()["code"]) == (409, "too_many_documents")
    assert upload(alice, "2.txt", b"Another text.").status_code == 200, "a file may still be replaced"
    for document in alice.get("/v1/knowledge").json()["documents"]:
        alice.delete(f"/v1/knowledge/{document['id']}")
    assert upload(alice, "5.txt").status_code == 409, "removed documents take room for a day"
    for document in alice.get("/v1/knowledge?removed=1").json()["documents"]:
        alice.delete(f"/v1/knowledge/{document['id']}", params={"purge": "1"})
    assert upload(alice, "5.txt").status_code == 200


def test_no_file_is_added_to_a_full_disk(alice: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Service, "disk", lambda service: (10**12, 0))
    assert upload(alice, "harbour.md").json()["code"] == "disk_full"


def test_a_document_called_as_the_id_of_another_one_does_not_stand_in_for_it(team: Served, alice: httpx.Client) -> None:
    (own,) = upload(alice, "harbour.md").json()["documents"]
    bob = team.client("bob")
    (other,) = upload(bob, own["id"], HARBOUR.replace(b"nine", b"ten")).json()["documents"]
    bob.post("/v1/knowledge/changes", json={"names": [other["id"]], "to": "shared"})
    assert len(quotes(alice)) == 2
    reply = alice.get(f"/v1/knowledge/{own['id']}").json()
    assert [document["name"] for document in reply["documents"]] == ["harbour.md"]
    bob.post("/v1/knowledge/changes", json={"names": [own["id"]], "to": "private"})
    assert len(quotes(alice)) == 1


def test_a_title_of_any_length_is_shown_cut(alice: httpx.Client) -> None:
    (document,) = upload(alice, "long.html", b"<title>" + b"T" * 9_000 + b"</title><p>Text.").json()["documents"]
    assert document["title"] == "T" * 300


def test_names_lead_out_of_no_folder(team: Served, alice: httpx.Client) -> None:
    assert upload(alice, "../../../outside.txt", b"Outside.").status_code == 200
    written = {path.name for path in Path(team.folder).rglob("*") if path.is_file()}
    assert "outside.txt" not in written


@pytest.mark.parametrize("limit", ["0", "51", "x"])
def test_a_limit_outside_its_range_is_refused(limit: str, alice: httpx.Client) -> None:
    assert alice.get("/v1/knowledge/search", params={"q": "harbour", "limit": limit}).status_code == 422


def test_a_search_does_not_read_the_documents_whole(alice: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty documents of megabytes, unpacked and validated for every request, would keep all others waiting."""
    upload(alice, "harbour.md")
    monkeypatch.setattr(Source, "model_validate_json", None)
    assert quotes(alice) == ["The harbour is nine fathoms deep at the mole."]


def test_documents_that_other_machines_would_not_find_are_refused() -> None:
    several = {"runs.database": "postgresql://db.example/leadline"}
    with pytest.raises(UsageError, match=r"need plugins\.knowledge\.database and a vector store"):
        check_shared(leadline.Client(set=several).knowledge.settings)
    for settings in ({}, {**several, "plugins.knowledge.database": several["runs.database"]}):
        check_shared(leadline.Client(set=settings).knowledge.settings)
