"""Folders of the operator in the one list of documents: read, kept up to date, and chosen for a question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.plugins.knowledge.test_knowledge import client_in, names, quotes

from leadline import Client
from leadline.errors import CallFailed
from leadline.records import Blob
from leadline_plugins.documents.store import DocumentStore

PIER = Blob(name="port/pier.md", media_type="text/markdown", data=b"# Pier\n\nThe pier of the harbour is of oak.\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "harbour.md").write_text("# Harbour\n\nThe harbour is nine fathoms deep at the mole.\n")
    (folder / "broken.pdf").write_text("nothing")
    return folder


def sharing(tmp_path: Path, folder: Path, **settings: Any) -> Client:
    return client_in(tmp_path, **{"plugins.local.folders": [str(folder)]}, **settings)


async def test_the_index_of_a_folder_is_made_before_it_is_searched(tmp_path: Path, folder: Path) -> None:
    async with sharing(tmp_path, folder) as client:
        await client.knowledge.warm()
        (index,) = (tmp_path / "cache").rglob("documents.sqlite")
        assert DocumentStore(index.parent).count() == 1


async def test_files_of_shared_folders_are_documents_of_everybody_and_follow_their_files(
    tmp_path: Path, folder: Path
) -> None:
    async with sharing(tmp_path, folder) as client:
        base = client.knowledge
        assert (await base.read_folders()).added == 1
        listed = await base.documents(principal="ada")
        assert [(it.name, it.from_folder, it.shared) for it in listed.documents] == [
            ("handbook/harbour.md", True, True)
        ]
        assert [file.name for file in listed.unread] == ["handbook/broken.pdf"]
        again = await base.read_folders()
        assert (again.added, again.replaced, again.problems) == (0, 0, ()), "nothing is parsed twice"
        for to in ("removed", "private"):
            assert not (await base.change(to, "handbook/", principal="ada")).documents
            assert not (await base.change(to, "handbook/")).documents
        assert not (await base.remove("handbook/")).documents
        (folder / "harbour.md").write_text(
            "# Harbour\n\nThe harbour is ten fathoms deep at the mole since the flood.\n"
        )
        (folder / "broken.pdf").unlink()
        assert (await base.read_folders()).replaced == 1
        assert await quotes(client) == ["The harbour is ten fathoms deep at the mole since the flood."]
        assert (await base.documents()).unread == ()
        away = folder.rename(tmp_path / "away")
        await base.read_folders()
        assert await names(client) == ["handbook/harbour.md"], "a folder that cannot be read has not lost its files"
        away.rename(folder)
        (folder / "harbour.md").unlink()
        await base.read_folders()
        assert await names(client) == []


async def test_a_folder_that_is_shared_no_more_leaves_the_list(tmp_path: Path, folder: Path) -> None:
    async with sharing(tmp_path, folder) as client:
        await client.knowledge.read_folders()
        await client.knowledge.add(files=[PIER])
    async with client_in(tmp_path) as client:
        await client.knowledge.read_folders()
        assert await names(client) == ["port/pier.md"]


async def test_only_the_chosen_documents_are_searched(tmp_path: Path, folder: Path) -> None:
    async with sharing(tmp_path, folder) as client:
        await client.knowledge.read_folders()
        await client.knowledge.add(files=[PIER], principal="ada")
    question = "How deep is the harbour, and of what is its pier?"
    for chosen, expected in (
        ("handbook/", {"The harbour is nine fathoms deep at the mole."}),
        ("port/pier.md", {"The pier of the harbour is of oak."}),
    ):
        async with sharing(tmp_path, folder, **{"knowledge.documents": [chosen]}) as client:
            assert {*await quotes(client, question, principal="ada")} == expected
    async with sharing(tmp_path, folder, **{"knowledge.documents": ["port/pier.md"]}) as client:
        with pytest.raises(CallFailed, match="the chosen documents are not there"):
            await quotes(client, question, principal="bob")


async def test_a_removed_document_can_be_restored_for_a_day(tmp_path: Path) -> None:
    async with client_in(tmp_path) as client:
        base = client.knowledge
        await base.add(files=[PIER], principal="ada")
        await base.change("removed", "port/", principal="ada")
        (removed,) = (await base.documents(removed=True, principal="ada")).documents
        assert not (await base.documents(removed=True, principal="bob")).documents
        assert not (await base.change("restored", removed.id, principal="bob")).documents
        await base.change("restored", removed.id, principal="ada")
        assert await names(client, principal="ada") == ["port/pier.md"]
        await base.change("removed", removed.id, principal="ada")
        for path in tmp_path.rglob("removed/*.json"):
            path.write_text(path.read_text().replace('"removed":"20', '"removed":"19'))
        assert not (await base.documents(removed=True, principal="ada")).documents
        assert not [path for path in tmp_path.rglob("removed/*") if path.is_file()], "its bytes are gone, too"
