"""What a user sees: documents of every format found, quoted verbatim, fetched again."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest

from leadline.errors import Unsupported
from leadline.records import FetchRequest, SearchRequest
from leadline_plugins.search.local import LocalSettings
from leadline_plugins.search.local.folders import ready

TOPICS = ("tallow", "anchor", "sextant", "compass")


def plain_file(text: str) -> bytes:
    return text.encode()


def html_file(text: str) -> bytes:
    return f"<p>{text}</p>".encode()


def word_file(text: str) -> bytes:
    docx = pytest.importorskip("docx")
    word, data = docx.Document(), BytesIO()
    word.add_paragraph(text)
    word.save(data)
    return data.getvalue()


async def test_every_format_is_found_and_fetched_again(desk: Any, pdf: Any) -> None:
    sentence = "The {} belongs on every ship that leaves the harbour."
    makers: dict[str, Callable[[str], bytes]] = {
        "a.md": plain_file,
        "b.html": lambda text: f"<p>{text}</p>".encode(),
        "c.docx": word_file,
        "d.pdf": lambda text: pdf([[text]]),
    }
    for (name, make), topic in zip(makers.items(), TOPICS, strict=True):
        desk.write(name, make(sentence.format(topic)))
    for name, topic in zip(makers, TOPICS, strict=True):
        best = (await desk.hits(topic))[0]
        assert desk.path(best.url).name == name
        document = await desk.context.parse(
            await desk.fetcher().fetch(FetchRequest(url=best.url), desk.call), desk.call
        )
        assert best.snippet in document.text
        assert topic in best.snippet


async def test_a_document_is_one_hit_with_its_best_passage(desk: Any) -> None:
    filler = "Nothing of interest stands in this paragraph, which only fills the page.\n\n" * 60
    desk.write("long.txt", f"Log book\n\n{filler}The tallow brought up black sand.\n\n{filler}")
    desk.write("other.txt", "Other\n\nSand on the beach.")
    first, *_ = hits = await desk.hits("tallow sand")
    assert len(hits) == len({hit.url for hit in hits}) == 2
    assert "The tallow brought up black sand." in first.snippet
    assert first.snippet == first.passages[0].text
    assert first.title == "Log book"
    assert first.score is not None


@pytest.mark.parametrize(
    ("query", "name"),
    [("测深锤有什么用", "zh.txt"), ("測鉛線とは何か", "ja.txt"), ("측심추", "ko.txt"), ("São Tomé", "pt.txt")],
)
async def test_every_script_is_found(desk: Any, query: str, name: str) -> None:
    desk.write("zh.txt", "测深锤是水手用来测量水深的工具。")
    desk.write("ja.txt", "測鉛線は水深を測るための道具である。")
    desk.write("ko.txt", "측심추는 수심을 재는 도구이다.")
    desk.write("pt.txt", "Sao Tome is an island.")
    assert (await desk.names(query))[0] == name


async def test_a_document_that_the_best_one_names_follows_it(desk: Any) -> None:
    desk.write("band.txt", "Black Sand (band)\n\nBlack Sand is a band whose singer is Edda Holm.")
    desk.write("singer.txt", "Edda Holm\n\nBorn in Bergen in 1950 as the child of a pilot.")
    for number in range(20):
        desk.write(
            f"noise{number}.txt", f"Note {number}\n\nA band on the beach played and a singer sang, part {number}."
        )
    names = await desk.names("Where was the singer of Black Sand born?")
    assert set(names[:2]) == {"band.txt", "singer.txt"}


@pytest.mark.parametrize("query", ["", "   ", "?!", "\x00", "the of", "unheard-of-word", "x" * 1_000_000])
async def test_a_query_for_nothing_finds_nothing(desk: Any, query: str) -> None:
    desk.write("a.txt", "Tallow and rope.")
    assert await desk.hits(query) == ()


async def test_pages_follow_each_other_without_gap_or_repetition(desk: Any) -> None:
    for number in range(7):
        desk.write(f"{number}.txt", f"Tallow {number} " * (number + 1))
    engine, cursor, found = desk.engine(), None, []
    while True:
        page = await engine.search(SearchRequest(query="tallow", limit=3, cursor=cursor), desk.call)
        found += [hit.url for hit in page.hits]
        if (cursor := page.cursor) is None:
            break
    assert len(found) == len(set(found)) == 7
    with pytest.raises(Unsupported, match="not a cursor"):
        await engine.search(SearchRequest(query="tallow", cursor="later"), desk.call)


@pytest.mark.parametrize("name", ["two\nlines.txt", "中文 文件.txt", "per%20cent#?.txt", "'\"<&>.txt"])
async def test_any_file_name_survives_the_url(desk: Any, name: str) -> None:
    path = desk.write(name, "Tallow.")
    (hit,) = await desk.hits("tallow")
    assert hit.url.isascii()
    assert "\n" not in hit.url
    assert desk.path(hit.url) == path.resolve()
    assert (await desk.fetcher().fetch(FetchRequest(url=hit.url), desk.call)).data == b"Tallow."


def test_a_name_outside_utf8_survives_the_url(desk: Any) -> None:
    name = f"{desk.docs.resolve()}/caf\udce9.txt"
    assert str(desk.path(desk.addresses().of(name))) == name


async def test_an_unreadable_file_whose_name_is_no_utf8_costs_no_other(desk: Any) -> None:
    desk.write("lamps.txt", "Tallow.")
    (desk.docs / "caf\udce9.txt").write_bytes(b"\0\1\2\3" * 100)
    assert [hit.title for hit in await desk.hits("tallow")] == ["lamps"]


def test_a_missing_folder_is_reported_with_the_setting(desk: Any) -> None:
    assert ready(LocalSettings()) == "no folder is set: plugins.local.folders, or --docs DIR"
    assert ready(LocalSettings(folders=[desk.docs / "gone"])) == f"no such folder: {desk.docs / 'gone'}"
    assert ready(LocalSettings(folders=[desk.docs])) == f"{desk.docs} has no files to search"
    desk.write("a.txt", "Tallow.")
    assert ready(LocalSettings(folders=[desk.docs])) is None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ((), r"no documents that can be read are in docs \(no files\)"),
        (
            ("a.xyz", "b.xyz", "c.q", "d"),
            r"docs \(4 refused: 2 \.xyz, 1 \.q, 1 without extension; no parser of read\.parsers accepts ",
        ),
    ],
)
async def test_folder_without_documents_is_a_failure_with_the_refused_files(
    desk: Any, files: tuple[str, ...], expected: str
) -> None:
    for name in files:
        desk.write(name, b"\x00\x01")
    with pytest.raises(Unsupported, match=expected):
        await desk.hits("bridge")
