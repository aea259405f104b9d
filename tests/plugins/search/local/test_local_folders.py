"""What a folder may hold: hostile files are passed over or listed, never fatal, and nothing outside is read."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from leadline.errors import Denied, Unsupported
from leadline.records import FetchRequest, SearchRequest
from leadline.testing.context import FakeRun
from leadline_plugins.search.local.folders import LocalSettings, walk_of
from leadline_plugins.search.local.provider import Addresses

PICTURE = ") Tj ET q 500 0 0 700 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q BT ("


async def test_broken_files_are_listed_with_the_reason_and_the_others_are_found(desk: Any) -> None:
    desk.write("good.txt", "Tallow and rope.")
    desk.write("binary.txt", b"tallow \x00\x01\x02")
    desk.write("broken.pdf", b"%PDF-1.4 tallow")
    desk.write("broken.docx", b"PK tallow")
    desk.write("empty.md", b"")
    desk.write("photo.gif", b"GIF89a tallow")
    assert await desk.names("tallow") == ["good.txt"]
    problems = await desk.problems()
    assert sorted(problems) == ["binary.txt", "broken.docx", "broken.pdf", "empty.md"]
    assert "binary, not text" in problems["binary.txt"]
    assert "not a readable PDF" in problems["broken.pdf"]


async def test_a_huge_file_is_listed_and_not_read(desk: Any) -> None:
    huge = desk.write("huge.txt", b"tallow")
    os.truncate(huge, 100_000_000)
    desk.write("good.txt", "Tallow and rope.")
    assert await desk.names("tallow") == ["good.txt"]
    assert await desk.problems() == {"huge.txt": "is larger than max_file_mb: 100 MB of 50 MB"}
    assert set(await desk.names("tallow", max_file_mb=0.0001)) == {"good.txt"}


async def test_special_files_are_skipped(desk: Any) -> None:
    desk.write("good.txt", "Tallow and rope.")
    os.mkfifo(desk.docs / "pipe.txt")
    (desk.docs / "loop").symlink_to(desk.docs)
    (desk.docs / "self.txt").symlink_to("self.txt")
    (desk.docs / "gone.txt").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as unix:
        os.chdir(desk.docs)
        unix.bind("socket.txt")
        assert await desk.names("tallow") == ["good.txt"]
        assert await desk.problems() == dict.fromkeys(("self.txt", "gone.txt"), "is a link to nothing")


async def test_a_link_to_a_hidden_file_of_the_folder_is_followed_and_others_are_named(
    desk: Any, tmp_path: Path
) -> None:
    kept, outside = desk.write(".data/7f3a", "Tallow and rope."), tmp_path / "secret.txt"
    outside.write_text("Tallow that is secret.")
    desk.write("plain.txt", "Tallow, plain.")
    for name, target in {"kept.txt": kept, "again.txt": "plain.txt", "out.txt": outside, "dir": kept.parent}.items():
        (desk.docs / name).symlink_to(target)
    assert sorted(await desk.names("tallow")) == ["kept.txt", "plain.txt"]
    assert await desk.problems() == {
        "out.txt": "is a link that leads out of the folder, and is not followed",
        "dir": "is a link to a folder that `exclude` leaves out",
    }
    (hit,) = await desk.hits("rope")
    assert (await desk.fetcher().fetch(FetchRequest(url=hit.url), desk.call)).data == b"Tallow and rope."


async def test_unread_files_are_reported_in_every_run(desk: Any, pdf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")  # without tesseract
    desk.write("good.txt", "Tallow and rope.")
    desk.write("empty.md", b"")
    desk.write("photo.png", b"tallow")
    desk.write("scan.pdf", pdf([["Tallow."], [PICTURE]]))
    engine = desk.engine()
    for _ in range(2):  # the second run finds the index as the first one left it
        desk.call.run = FakeRun()
        await engine.search(SearchRequest(query="tallow"), desk.call)
        told = [data["message"] for kind, data in desk.call.run.emitted if kind == "notice"]
        assert told == [
            "1 file was not read: docs/empty.md (no text)",
            "1 file was read in part: docs/scan.pdf "
            "(page 2 of 2 is a picture, whose text was not read (OCR needs tesseract))",
            "1 file is of a kind that no parser of read.parsers reads: 1 .png (a picture: install tesseract)",
        ]


async def test_hidden_and_excluded_files_are_skipped(desk: Any) -> None:
    for name in ("a.txt", ".git/b.txt", ".hidden.txt", "node_modules/c/d.txt", "drafts/e.txt", "sub/f.md"):
        desk.write(name, f"Tallow in {name}.")
    assert sorted(await desk.names("tallow")) == ["a.txt", "e.txt", "f.md"]
    assert sorted(await desk.names("tallow", exclude=["drafts", ".*"], include=["*.txt"])) == ["a.txt", "d.txt"]
    assert sorted(await desk.names("tallow", include=["sub/*"])) == ["f.md"]


async def test_a_single_file_and_overlapping_folders_are_folders_too(desk: Any) -> None:
    path = desk.write("sub/a.txt", "Tallow.")
    desk.write("sub/b.txt", "Tallow.")
    assert await desk.names("tallow", folders=[path]) == ["a.txt"]
    assert sorted(await desk.names("tallow", folders=[desk.docs, desk.docs / "sub"])) == ["a.txt", "b.txt"]


async def test_an_unreadable_file_is_read_when_it_becomes_readable(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = desk.write("locked.txt", "Tallow.")
    real = os.open

    def refuse(file: Any, *arguments: Any, **options: Any) -> int:
        if str(file) == str(path):
            raise PermissionError(13, "Permission denied")
        return real(file, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr("leadline_plugins.search.local.folders.os.open", refuse)
        assert await desk.problems() == {"locked.txt": "cannot be read: Permission denied"}
    assert await desk.names("tallow") == ["locked.txt"]


async def test_a_folder_that_cannot_be_listed_is_a_problem(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write("shut/a.txt", "Tallow.")
    desk.write("b.txt", "Tallow.")
    real = os.scandir

    def refuse(folder: str) -> Any:
        if folder.endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return real(folder)

    monkeypatch.setattr("leadline_plugins.search.local.folders.os.scandir", refuse)
    assert await desk.names("tallow") == ["b.txt"]
    assert await desk.problems() == {"shut": "cannot be listed: Permission denied"}


async def test_the_fetcher_reads_nothing_outside_its_folders(desk: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (desk.docs / "link.txt").symlink_to(secret)
    inside = desk.write("in.txt", "Tallow.")
    fetcher = desk.fetcher()
    outside = [Path("/etc/passwd"), secret, desk.docs / "link.txt"]
    urls = [*(path.as_uri() for path in outside), f"file://{desk.docs}/../secret.txt"]
    urls += ["file://host/etc/passwd", "https://x.org/a", "file:///a%00b", "nonsense", "local://[", "local://test"]
    of_this = desk.addresses().of(str(inside))
    urls += [of_this.replace("in.txt", name) for name in ("../secret.txt", "%2e%2e/secret.txt", "link.txt", "a%00b")]
    urls += [of_this.replace("/docs/", "/other/"), of_this.replace("//test/", "//papers/")]
    for url in urls:
        assert not fetcher.accepts(url)
        with pytest.raises(Denied):
            await fetcher.fetch(FetchRequest(url=url), desk.call)
    assert all(map(fetcher.accepts, [of_this, inside.as_uri()]))


async def test_the_fetcher_reads_only_files_of_the_search(desk: Any) -> None:
    """Any engine, and any report, may name an address in the folders."""
    for name in (
        ".env",
        "a.txt",
        "a.png",
        "b/~c.txt",
        "b/c.txt",
        "node_modules/x.txt",
        "drafts/d.txt",
        "drafts/old/d.txt",
    ):
        desk.write(name, "Tallow.")
    for name in ("journal.sqlite", "metadata.json", "report.md"):
        desk.write(f"run/{name}", "Tallow.")
    desk.write("run/images/e.txt", "Tallow.")
    desk.write("base/documents.sqlite", "Tallow.")
    desk.write("base/files/f.txt", "Tallow.")
    patterns: list[dict[str, Any]] = [
        {},
        {"exclude": ["drafts/old", "b"]},
        {"include": ["drafts/*", "c.*"], "exclude": []},
        {"folders": [desk.docs / ".env", desk.docs / "drafts"]},
        {"folders": [desk.docs, desk.docs / "node_modules"]},
    ]
    files = [path for path in desk.docs.rglob("*") if path.is_file()]
    for settings in patterns:
        walk = walk_of(LocalSettings(**{"folders": [desk.docs], **settings}), desk.context)
        assert walk.files().keys() == {str(path) for path in files if walk.accepts(path)}, settings
        fetcher = desk.fetcher(**settings)
        assert walk.files().keys() == {str(path) for path in files if fetcher.accepts(path.as_uri())}, settings
    hidden = FetchRequest(url="local://test/docs/.env")
    assert not desk.fetcher().accepts(hidden.url)
    with pytest.raises(Denied, match="is left out of plugins.test"):
        await desk.fetcher().fetch(hidden, desk.call)


async def test_the_fetcher_names_missing_files(desk: Any) -> None:
    with pytest.raises(Unsupported, match="No such file"):
        await desk.fetcher().fetch(FetchRequest(url="local://test/docs/gone.txt"), desk.call)
    os.mkfifo(desk.docs / "pipe")
    with pytest.raises(Unsupported, match="not a regular file"):
        await desk.fetcher().fetch(FetchRequest(url="local://test/docs/pipe"), desk.call)
    desk.write("large.txt", b"x" * 2000)
    with pytest.raises(Unsupported, match="larger than"):
        await desk.fetcher(max_file_mb=0.001).fetch(FetchRequest(url="local://test/docs/large.txt"), desk.call)


async def test_runs_and_the_cache_are_no_documents(desk: Any) -> None:
    desk.write("good.txt", "Tallow and rope.")
    for folder in ("runs/1f2e3d4c_20260131_235959", "notes/old run"):
        desk.write(f"{folder}/journal.sqlite", b"")
        desk.write(f"{folder}/metadata.json", "{}")
        desk.write(f"{folder}/plan.md", "Tallow, says the plan.")
        desk.write(f"{folder}/figures/1.txt", "Tallow, says the figure.")
    desk.write("house/kept/pages.txt", "Tallow, says the cache.")
    desk.write("elsewhere/queue.txt", "Tallow, says the queue.")
    desk.context.own = (desk.docs / "house", desk.docs / "elsewhere")
    assert await desk.names("tallow") == ["good.txt"]
    run = desk.docs / "notes" / "old run"
    assert sorted(await desk.names("tallow", folders=[run])) == ["1.txt", "plan.md"], "it was asked for by its name"


async def test_a_folder_of_runs_can_be_searched(desk: Any) -> None:
    desk.write("good.txt", "Tallow and rope.")
    desk.write("sheet/journal.sqlite", b"")
    desk.write("sheet/log.txt", "Tallow in a log.")
    desk.context.own = (desk.docs,)
    assert sorted(await desk.names("tallow")) == ["good.txt", "log.txt"], "another program's journal makes no run"


async def test_addresses_begin_with_the_name_of_the_folder(desk: Any, tmp_path: Path) -> None:
    desk.write("sub/a.txt", "Tallow.")
    assert [hit.url for hit in await desk.hits("tallow")] == ["local://test/docs/sub/a.txt"]
    with pytest.raises(Unsupported) as told:
        await desk.fetcher().fetch(FetchRequest(url="local://test/docs/gone.txt"), desk.call)
    assert str(tmp_path) not in str(told.value)


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["docs"], ["docs/readme.txt"]),
        (["east/docs", "west/docs"], ["east/docs/readme.txt", "west/docs/readme.txt"]),
        (["docs", "docs/docs"], ["top/docs/readme.txt", "top/docs/docs/readme.txt"]),
        (["docs/readme.txt"], ["readme.txt"]),
        (["docs/readme.txt", "east/docs"], ["readme.txt", "docs/readme.txt"]),
    ],
)
def test_folders_with_equal_names_have_different_addresses(
    tmp_path: Path, folders: list[str], names: list[str]
) -> None:
    top = tmp_path.resolve() / "top"
    roots = [top / folder for folder in folders]
    files = [root if root.suffix else root / "readme.txt" for root in roots]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("Tallow.")
    addresses = Addresses("papers", roots)
    urls = [addresses.of(str(file)) for file in files]
    assert [addresses.path(url) for url in urls] == files
    assert urls == [f"local://papers/{name}" for name in names]
