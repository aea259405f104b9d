"""The knowledge base, through the client: documents of users, versions, hostile files, embedders."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from leadline import Client
from leadline.errors import CallFailed, UsageError
from leadline.plugin import ai_provider, embedder
from leadline.records import Blob, Document, Embeddings, EmbedRequest, Message
from leadline.testing.fakes import ScriptedChat
from leadline.testing.plugins import plugin
from leadline_plugins.documents.store import Entry
from leadline_plugins.knowledge.shelf import Shelf, file_digest

DEPTH = "How deep is the harbour at the mole?"


class _Lengths:
    """An embedder whose vectors have another size than those of `static`."""

    async def embed(self, request: EmbedRequest, call: Any, /) -> Embeddings:
        return Embeddings(vectors=tuple((float(len(text)), 1.0, 2.0) for text in request.texts))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "trade").mkdir(parents=True)
    (folder / "harbour.md").write_text("# Harbour\n\nThe harbour is nine fathoms deep at the mole.\n")
    (folder / "trade" / "tea.txt").write_text("Tea was dear in the spring of 1802.\n")
    return folder


def client_in(folder: Path, **settings: Any) -> Client:
    return Client(
        set={
            "plugins.knowledge.folder": str(folder / "knowledge"),
            "plugins.flat.folder": str(folder / "vectors"),
            **settings,
        },
        folder=folder / "runs",
        cache=folder / "cache",
        plugins=[plugin("lengths", embedder("Lengths")(lambda: _Lengths()))],
    )


@pytest.fixture
async def client(tmp_path: Path, places: dict[str, Any]) -> AsyncIterator[Client]:
    async with client_in(tmp_path, **places) as client:
        yield client


async def quotes(client: Client, question: str = DEPTH, **options: Any) -> list[str]:
    return [one.quote for one in (await client.knowledge.search(question, **options)).evidence]


async def names(client: Client, **options: Any) -> list[str]:
    return [document.name for document in (await client.knowledge.documents(**options)).documents]


async def test_documents_of_a_folder_are_found_with_their_place(client: Client, docs: Path) -> None:
    added = await client.knowledge.add(docs)
    assert (added.added, added.problems) == (2, ())
    assert await names(client) == ["docs/harbour.md", "docs/trade/tea.txt"]
    found = await client.knowledge.search(DEPTH)
    best, source = found.evidence[0], found.sources[0]
    assert best.quote == "The harbour is nine fathoms deep at the mole."
    assert source.document.text[slice(*best.span)] == best.quote
    (brief, *_) = (await client.knowledge.search(DEPTH, whole=False)).sources
    assert brief == source.model_copy(update={"document": Document(text="", title=source.document.title)})
    assert best.path == ("Harbour",)
    assert source.hit.url.startswith("knowledge://shared/")
    assert str(docs.parent) not in found.model_dump_json(), "no address tells where on the machine a file is"


async def test_a_changed_file_replaces_its_earlier_version(client: Client, docs: Path, places: dict[str, Any]) -> None:
    await client.knowledge.add(docs)
    (docs / "harbour.md").write_text("# Harbour\n\nThe harbour is eleven fathoms deep at the mole.\n")
    again = await client.knowledge.add(docs)
    assert (again.added, again.replaced, again.unchanged) == (0, 1, 1)
    assert await quotes(client, limit=10) == [
        "The harbour is eleven fathoms deep at the mole.",
        "Tea was dear in the spring of 1802.",
    ]
    kept = 0 if "plugins.knowledge.database" in places else 2
    assert len(list((docs.parent / "knowledge").rglob("files/*/*"))) == kept, "the copy of the old version is gone"


async def test_an_unchanged_file_is_neither_parsed_nor_embedded(client: Client, docs: Path) -> None:
    await client.knowledge.add(docs)
    stamp = {path: path.stat().st_mtime_ns for path in (docs.parent / "vectors").rglob("*.i8")}
    assert (await client.knowledge.add(docs)).unchanged == 2
    assert {path: path.stat().st_mtime_ns for path in (docs.parent / "vectors").rglob("*.i8")} == stamp


async def test_files_that_cannot_be_read_are_named_and_the_others_added(client: Client, docs: Path) -> None:
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 20)
    (docs / "empty.txt").touch()
    (docs / "bomb.docx").write_bytes(b"PK\x03\x04" + b"\0" * 5000)
    program = docs.parent / "program.exe"
    program.write_bytes(b"MZ")
    added = await client.knowledge.add(docs, program)
    assert added.added == 2
    problems = {Path(one.name).name for one in added.problems}
    assert problems == {"broken.pdf", "empty.txt", "bomb.docx", "program.exe"}
    assert all(one.reason for one in added.problems)


async def test_documents_are_removed_by_id_name_path_and_folder(client: Client, docs: Path) -> None:
    for name in ("docs/harbour.md", str(docs / "harbour.md"), "docs", "docs/", "ID"):
        await client.knowledge.add(docs)
        (one, *_) = (await client.knowledge.documents("docs/harbour.md")).documents
        removed = await client.knowledge.remove(one.id if name == "ID" else name)
        assert "docs/harbour.md" in [document.name for document in removed.documents], name
        assert "docs/harbour.md" not in await names(client), name
    assert not (await client.knowledge.remove("docs/harbour.md")).documents
    with pytest.raises(UsageError, match="no document is named"):
        await client.knowledge.remove()


async def test_a_user_finds_the_shared_documents_and_its_own_and_nobody_elses(client: Client, docs: Path) -> None:
    await client.knowledge.add(docs / "harbour.md")
    upload = Blob(name="../log.txt", media_type="text/plain", data=b"The harbour was dredged by Ada in 1911.")
    await client.knowledge.add(files=[upload], principal="ada")
    assert await names(client, principal="ada") == ["../log.txt", "docs/harbour.md"]
    assert await names(client, principal="bob") == await names(client) == ["docs/harbour.md"]
    assert any("Ada" in quote for quote in await quotes(client, principal="ada"))
    assert not any("Ada" in quote for quote in [*await quotes(client, principal="bob"), *await quotes(client)])
    assert not (await client.knowledge.remove("docs/harbour.md", principal="ada")).documents
    assert await names(client) == ["docs/harbour.md"], "a user removes no shared document"


async def test_another_embedder_is_refused_with_the_command_that_embeds_again(tmp_path: Path, docs: Path) -> None:
    async with client_in(tmp_path) as client:
        await client.knowledge.add(docs)
    async with client_in(tmp_path, **{"knowledge.embedder": "lengths"}) as client:
        for work in (client.knowledge.search(DEPTH), client.knowledge.add(docs)):
            with pytest.raises(
                CallFailed, match=r"embedded with static, and knowledge.embedder is lengths: run .*reembed"
            ):
                await work
        assert (await client.knowledge.add(reembed=True)).embedded_again == 2
        assert (await quotes(client))[0] == "The harbour is nine fathoms deep at the mole."
        assert (await client.knowledge.documents()).embedder == "lengths"
        assert len(list((tmp_path / "vectors").rglob("*.i8"))) == 1, "the old vectors are gone"
    async with client_in(tmp_path) as client:
        with pytest.raises(CallFailed, match="embedded with lengths"):
            await client.knowledge.search(DEPTH)


async def test_another_store_is_refused_with_the_command_and_what_stays_behind(tmp_path: Path, docs: Path) -> None:
    async with client_in(tmp_path) as client:
        await client.knowledge.add(docs)
    other = {"plugins.other.use": "flat", "plugins.other.folder": str(tmp_path / "other")}
    async with client_in(tmp_path, **{"knowledge.store": "other"}, **other) as client:
        told = r"are in flat, and knowledge\.store is other: run .*reembed`, which leaves those in flat"
        for work in (client.knowledge.search(DEPTH), client.knowledge.add(docs)):
            with pytest.raises(CallFailed, match=told):
                await work
        await client.knowledge.add(reembed=True)
        assert (await quotes(client))[0] == "The harbour is nine fathoms deep at the mole."


async def test_a_cached_answer_ends_with_a_change_of_the_documents(
    tmp_path: Path, docs: Path, places: dict[str, Any]
) -> None:
    settings = {
        **places,
        "pipeline": "knowledge",
        "ai.providers": ["embedded"],
        "cache.answers": "300s",
        "report.formats": ["json"],
    }

    async def cached(client: Client) -> bool:
        result = await client.research(DEPTH)
        assert result.status == "complete", result.reason
        return any("answered from the cache" in notice for notice in result.metadata.notices)

    async with client_in(tmp_path, **settings) as client:
        await client.knowledge.add(docs)
        assert [await cached(client), await cached(client)] == [False, True]
        upload = Blob(name="log.txt", media_type="text/plain", data=b"The mole was dredged to ten fathoms in 1911.")
        await client.knowledge.add(files=[upload])
        assert [await cached(client), await cached(client)] == [False, True]
        await client.knowledge.remove("log.txt")
        assert await cached(client), "the documents are those of the first answer"


async def test_an_answer_cites_the_page_of_a_document(tmp_path: Path, pdf: Any) -> None:
    pages = [["The tea house was built of larch in 1790."], ["The harbour is nine fathoms deep at the mole."]]
    settings = {"pipeline": "knowledge", "ai.providers": ["embedded"], "report.formats": ["markdown"]}
    async with client_in(tmp_path, **settings) as client:
        survey = Blob(name="survey.pdf", media_type="application/pdf", data=pdf(pages, "Survey"))
        await client.knowledge.add(files=[survey])
        result = await client.research(DEPTH)
    assert result.status == "complete", result.reason
    assert "#### *p. 2*\n\n> The harbour is nine fathoms deep at the mole. [1]" in result.text
    cited = (result.folder / "report.md").read_text().partition("## Cited Sources")[2]
    assert "[1] Survey - survey.pdf (p. 2)" in cited


async def test_two_additions_at_once_wait_for_each_other(client: Client, docs: Path) -> None:
    first, second = await asyncio.gather(client.knowledge.add(docs), client.knowledge.add(docs))
    assert sorted([first.added, second.added]) == [0, 2]
    assert len(await quotes(client, limit=10)) == 2


async def test_progress_counts_files(client: Client, docs: Path) -> None:
    told: list[tuple[int, int, int]] = []
    await client.knowledge.add(docs, progress=lambda *figures: told.append(figures))
    assert told == [(2, 2, 0)]


async def test_research_searches_and_reads_it_as_an_engine(tmp_path: Path, docs: Path) -> None:
    async with client_in(tmp_path) as client:
        await client.knowledge.add(docs)
    settings = {"search.engines": ["knowledge"], "ai.providers": ["embedded"], "report.formats": ["markdown"]}
    async with client_in(tmp_path, **settings) as client:
        result = await client.research(DEPTH)
    assert result.status == "complete", result.reason
    assert "The harbour is nine fathoms deep at the mole. [1]" in result.text


async def test_without_a_model_only_what_the_words_of_the_question_find_well_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "minutes.md").write_text("The repair of the swing bridge is postponed until November.\n")
    for number in range(8):
        text = f"Release {number} gained a command that repairs a worktree of numbered files after a move."
        (tmp_path / "docs" / f"release{number}.md").write_text(text)
    settings = {"search.engines": ["knowledge"], "ai.providers": ["embedded"], "report.formats": ["markdown"]}
    async with client_in(tmp_path, **settings) as client:
        await client.knowledge.add(tmp_path / "docs")
        result = await client.research("When is the swing bridge repaired?")
        nonsense = await client.research("releaze zwing numberz")
        matches = (await client.knowledge.search("releaze zwing numberz")).evidence
    assert result.report
    quoted = {item.quote for item in result.report.evidence}
    assert quoted == {"The repair of the swing bridge is postponed until November."}
    assert matches, "vectors find something for any question"
    assert nonsense.status == "no_evidence"
    assert nonsense.reason.endswith("pages read has any text to cite for: releaze zwing numberz")


async def test_a_question_is_answered_in_one_model_call_that_cites_the_document(tmp_path: Path, docs: Path) -> None:
    said = {"sections": [{"id": "1", "text": "The harbour is nine fathoms deep at the mole [1]."}]}
    model = ScriptedChat([Message(role="assistant", text=json.dumps(said))])
    settings = {
        "pipeline": "knowledge",
        "ai.providers": ["scripted"],
        "plugins.knowledge.folder": str(tmp_path / "knowledge"),
        "plugins.flat.folder": str(tmp_path / "vectors"),
        "report.formats": ["markdown"],
    }
    scripted = plugin("scripted", ai_provider("A script")(lambda: model))
    async with Client(set=settings, folder=tmp_path / "runs", cache=tmp_path / "cache", plugins=[scripted]) as client:
        await client.knowledge.add(docs)
        result = await client.research(DEPTH)
        again = await client.replay(result.folder)
    assert result.status == "complete", result.reason
    assert len(model.asked) == 1
    assert "The harbour is nine fathoms deep at the mole [1]." in result.text
    assert "[1] Harbour - harbour.md" in (result.folder / "report.md").read_text()
    assert again.text == result.text, "a replay needs neither model nor documents"


async def test_a_base_of_somebody_else_names_no_file_outside_of_it(tmp_path: Path) -> None:
    secret, shelf = tmp_path / "secret", Shelf(tmp_path / "knowledge")
    secret.write_bytes(b"of the user")
    digest = file_digest(b"of the archive")
    shelf.keep_file(digest, b"of the archive")
    (stored,) = (tmp_path / "knowledge").glob("shared/files/*/*")
    assert shelf.read_file(digest) == b"of the archive"
    stored.unlink()
    stored.symlink_to(secret)
    for name in (digest, str(secret), f"../../../../{secret.name}"):
        with pytest.raises(OSError, match="damaged|no digest"):
            shelf.read_file(name)
    with pytest.raises(OSError, match="no digest"):
        _named(shelf, str(secret))
    stored.unlink()
    stored.with_suffix(".part").symlink_to(secret)
    shelf.keep_file(digest, b"of the archive")
    assert secret.read_bytes() == b"of the user"


def _named(shelf: Shelf, digest: str) -> None:
    """Store a document whose file has this digest, remove it, and drop its file."""
    shelf.replace([Entry("a", "k", digest)])
    shelf.remove(["a"])
    shelf.drop_files([digest])
