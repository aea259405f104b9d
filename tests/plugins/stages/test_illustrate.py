"""The stage `illustrate` in whole runs over loopback: good pictures, dead ones and hostile ones."""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from PIL import Image

import leadline
from leadline.contracts import Call
from leadline.errors import ConfigError, Unsupported
from leadline.plugin import fetcher, search_provider
from leadline.records import Blob, FetchRequest, Hit, SearchPage, SearchRequest
from leadline.testing.plugins import plugin
from leadline.testing.servers import ScriptedServer, raw_reply, scripted_server
from leadline_plugins.images import validation

ASKED = "How is the depth of a harbour measured with a lead line and tallow?"
SENTENCES = {
    "lead": "A lead line measures the depth of the harbour in fathoms, and is thrown from the ship at each sounding.",
    "tallow": "Tallow in the hollow of the lead brings up sand from the bottom of the harbour after each sounding.",
    "marks": "Marks of leather and cloth on the line tell the depth of the harbour in the dark to every sailor.",
}
MORE = "The harbour master keeps a book of all soundings, in which the depth is written down each morning."
PRIVATE = ("http://10.0.0.1/lead.png", "http://169.254.169.254/latest/lead.png", "http://localhost/lead.png")


def png(color: str = "navy", size: tuple[int, int] = (640, 400)) -> bytes:
    image = Image.linear_gradient("L").resize(size).convert("RGB")
    image.paste(color, (len(color) * 20, 100, len(color) * 40, 300))
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


class Engine:
    """Finds the same pages for every question."""

    def __init__(self, *urls: str) -> None:
        self.urls = urls

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        return SearchPage(hits=tuple(Hit(url=url, title=f"Page of the {url.rpartition('/')[2]}") for url in self.urls))


class Pictures(Engine):
    """Also finds pictures, at these addresses, each on a page of its own."""

    def __init__(self, urls: tuple[str, ...], pictures: tuple[str, ...]) -> None:
        super().__init__(*urls)
        self.pictures = pictures

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        if not request.images:
            return await super().search(request, call)
        found = {"title": SENTENCES["lead"][:60].strip(), "rights": "Ann, CC BY 4.0"}
        page = "https://pictures.example.org"
        return SearchPage(
            hits=tuple(Hit(url=f"{page}/{n}", images=(url,), **found) for n, url in enumerate(self.pictures))
        )


class PagesOnly:
    """A fetcher that stands before `web` and reads pages, as a browser does."""

    def accepts(self, url: str, /) -> bool:
        return True

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        name = request.url.rpartition("/")[2]
        if request.accept:
            raise Unsupported("pages only")
        page = f"<article><p>{SENTENCES[name]}</p><p>{MORE}</p>{figure('/lead.png', SENTENCES[name][:60])}</article>"
        return Blob(name=request.url, media_type="text/html", data=page.encode())


def figure(url: str, caption: str) -> str:
    return f"<figure><img src='{url}' alt='Drawing'><figcaption>{caption}</figcaption></figure>"


def serve(server: ScriptedServer, **pictures: list[str]) -> Engine:
    """Put up a page for each sentence, with figures that its words are the caption of."""
    for name, sentence in SENTENCES.items():
        figures = "".join(figure(url, sentence[:60]) for url in pictures.get(name, ()))
        page = f"<html lang=en><title>{name}</title><article><p>{sentence}</p><p>{MORE}</p>{figures}</article></html>"
        server.routes[f"/{name}"] = raw_reply(page.encode())
    return Engine(*(server.at(f"/{name}") for name in SENTENCES))


def client(folder: Path, server: ScriptedServer, engine: Engine, **more: Any) -> leadline.Client:
    values = {
        "search.engines": ["mine"],
        "ai.providers": ["embedded"],
        "read.fetchers": ["web"],
        "retry.base": 0,
        "plugins.web.allow": [f"127.0.0.1:{server.port}"],
        "plugins.illustrate": {"max": 20, "per_task": 20},
        "report.formats": ["markdown", "html", "json"],
    } | {name.replace("__", "."): value for name, value in more.items()}
    mine = plugin(
        "mine",
        search_provider("For a test", images=isinstance(engine, Pictures))(lambda: engine),
        fetcher("For a test")(lambda: PagesOnly()),
    )
    return leadline.Client(plugins=[mine], folder=folder / "runs", cache=folder / "cache", set=values)


def picture(body: bytes, kind: str = "image/png", **more: Any) -> bytes:
    return raw_reply(body, Content_Type=kind, **more)


def size(path: Path) -> tuple[int, int]:
    return Image.open(BytesIO(path.read_bytes())).size


def tried(result: leadline.Result) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((result.folder / "images.json").read_text())
    return found


def told(result: leadline.Result) -> str:
    assert result.report is not None
    method: Any = result.report.metadata["method"]
    return "\n".join(notice["message"] for notice in method["notices"])


async def test_pictures_of_the_cited_pages_stand_where_they_belong_with_their_source(tmp_path: Path) -> None:
    async with scripted_server({}) as server:
        engine = serve(server, lead=["/lead.png"], tallow=["/tallow.jpg"])
        server.routes |= {"/lead.png": picture(png()), "/tallow.jpg": picture(png("red"))}
        async with client(tmp_path, server, engine) as runs:
            result = await runs.research(ASKED)
    assert result.status == "complete"
    assert result.report is not None
    figures = {figure.caption: figure for figure in result.report.figures}
    assert SENTENCES["lead"][:60].strip() in figures
    assert figures.keys() <= {SENTENCES[name][:60].strip() for name in ("lead", "tallow")}
    text = "\n\n".join(section.text or "" for section in result.report.sections)
    sources = {source.id: source for source in result.report.sources}
    evidence = {item.id: item for item in result.report.evidence}
    for one in figures.values():
        (cited,) = one.evidence_ids
        before = text.split(f"![](figure:{one.id})")[0].rstrip().split("\n\n")[-1]
        assert f"[@{cited}]" in before
        assert sources[evidence[cited].source_id].hit.url == one.credit
        assert one.alt == "Drawing"
    files = sorted(row["file"] for row in tried(result))
    assert [size(result.folder / name) for name in files] == [(640, 400)] * len(figures)
    assert "pictures" not in told(result)


async def test_every_format_shows_picture_caption_number_and_page(tmp_path: Path) -> None:
    async with scripted_server({}) as server:
        engine = serve(server, lead=["/lead.png"])
        server.routes["/lead.png"] = picture(png())
        async with client(tmp_path, server, engine) as runs:
            result = await runs.research(ASKED)
        page = server.at("/lead")
    markdown = (result.folder / "report.md").read_text()
    caption = re.escape(SENTENCES["lead"][:60].strip())
    shown = re.search(rf"!\[Drawing\]\((.+)\)\n\n\*Figure 1\. {caption}\* (\[\d\]) · Picture: <(.+)>\n", markdown)
    assert shown
    assert shown[3] == page
    assert re.search(rf"^{re.escape(shown[2])} .*<{page}>", markdown, re.MULTILINE)
    assert size(result.folder / shown[1]) == (640, 400)
    html = (result.folder / "report.html").read_text()
    data = re.search(r'<img src="data:image/png;base64,([^"]+)" alt="Drawing">', html)
    assert data
    assert Image.open(BytesIO(b64decode(data[1]))).size == (640, 400)
    assert f'· Picture: <a href="{page}"' in html
    (kept,) = json.loads((result.folder / "report.json").read_text())["figures"]
    assert kept["credit"] == page


async def test_pictures_of_a_search_are_checked_like_others_and_name_page_and_licence(tmp_path: Path) -> None:
    async with scripted_server({}) as server:
        pages = serve(server, lead=[], tallow=[])
        engine = Pictures(pages.urls, (PRIVATE[0], server.at("/found.png")))
        server.routes["/found.png"] = picture(png())
        async with client(tmp_path, server, engine, search__images=["mine"]) as runs:
            result = await runs.research(ASKED)
            assert (await runs.replay(result.folder)).report == result.report
    assert result.report is not None
    (figure,) = result.report.figures
    assert (figure.evidence_ids, figure.rights) == ((), "Ann, CC BY 4.0")
    assert figure.credit.startswith("https://pictures.example.org/")
    assert [row["url"] for row in tried(result) if row["reason"]] == [PRIVATE[0]]
    markdown = (result.folder / "report.md").read_text()
    assert re.search(r"\* · Picture: <https://pictures\.example\.org/\d> \(Ann, CC BY 4\.0\)\n", markdown)
    assert "(Ann, CC BY 4.0)" in (result.folder / "report.html").read_text()


async def test_an_engine_that_finds_no_pictures_is_refused(tmp_path: Path) -> None:
    async with scripted_server({}) as server, client(tmp_path, server, Engine(), search__images=["mine"]) as runs:
        with pytest.raises(ConfigError, match="search.images: 'mine' does not search for pictures"):
            await runs.research(ASKED)


async def test_dead_and_hostile_pictures_are_left_out_and_the_report_says_why(tmp_path: Path) -> None:
    async with scripted_server({}) as server:
        bad = ["/gone.png", "/fake.png", "/page.png", "/bomb.png", "/huge.png", "/slow.png", "/away.png", "/tiny.png"]
        engine = serve(server, lead=[*bad, "/round.png", "/moved.png", *PRIVATE])
        head = b"IHDR" + (60_000).to_bytes(4, "big") * 2 + b"\x08\0\0\0\0"
        bomb = b"\x89PNG\r\n\x1a\n\0\0\0\r" + head + crc32(head).to_bytes(4, "big")
        bomb += b"\0\0\0\0IDAT" + crc32(b"IDAT").to_bytes(4, "big")
        server.routes |= {
            "/fake.png": picture(b"<html>not a picture</html>"),
            "/page.png": raw_reply(b"<html>an error page</html>"),
            "/bomb.png": picture(bomb),
            "/huge.png": picture(b"\x89PNG\r\n\x1a\n" + bytes(9_000_000)),
            "/tiny.png": picture(png(size=(30, 30))),
            "/away.png": raw_reply(status="302 Found", Location="http://10.0.0.1/lead.png"),
            "/round.png": raw_reply(status="302 Found", Location="/round.png"),
            "/moved.png": raw_reply(status="301 Moved", Location="/lead.png"),
            "/lead.png": picture(png()),
        }
        server.routes["/slow.png"] = hang
        async with client(tmp_path, server, engine, plugins__web__seconds=4.0) as runs:
            result = await runs.research(ASKED)
        asked = list(server.paths)
    assert result.status == "complete"
    assert result.report is not None
    (good,) = [row for row in tried(result) if row["file"]]
    assert good["url"].endswith("/moved.png")
    assert [figure.id for figure in result.report.figures] == [good["id"]]
    reasons = {row["url"].removeprefix(f"http://127.0.0.1:{server.port}"): row["reason"] for row in tried(result)}
    expected = {
        "/gone.png": "404",
        "/fake.png": "is no picture that can be read",
        "/page.png": "is text/html, not one of image/png",
        "/bomb.png": "60,000 x 60,000 pixels, which is too large",
        "/huge.png": "is larger than 8,000,000 bytes",
        "/slow.png": "did not come within 4 s",
        "/away.png": "10.0.0.1 is private",
        "/round.png": "leads on more than",
        "/tiny.png": "too small",
        PRIVATE[0]: "10.0.0.1 is private",
        PRIVATE[1]: "cloud metadata",
        PRIVATE[2]: "is a name of local networks",
    }
    assert {url: reason in reasons[url] for url, reason in expected.items()} == dict.fromkeys(expected, True)
    assert "12 of 13 pictures found on pages were left out" in told(result)
    assert asked.count("/gone.png") == 1


async def hang(asked: Any, writer: Any) -> None:
    await asyncio.sleep(30)


@pytest.mark.parametrize("off", [{"report__citation_images": False}, {"plugins__illustrate": {"max": 0}}])
async def test_switched_off_nothing_is_fetched(tmp_path: Path, off: dict[str, Any]) -> None:
    async with scripted_server({}) as server:
        engine = serve(server, lead=["/lead.png"])
        async with client(tmp_path, server, engine, **off) as runs:
            result = await runs.research(ASKED)
        assert "/lead.png" not in server.paths
    assert not (result.folder / "images.json").exists()
    assert "pictures" not in told(result)


async def test_without_the_extra_the_report_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "can_read_pictures", lambda: False)
    async with scripted_server({}) as server:
        engine = serve(server, lead=["/lead.png"])
        async with client(tmp_path, server, engine) as runs:
            result = await runs.research(ASKED)
        assert "/lead.png" not in server.paths
    assert result.status == "complete"
    assert "no pictures were embedded: leadline plugins install 'leadline[images]'" in told(result)


async def test_pictures_that_have_to_do_with_something_else_are_not_fetched(tmp_path: Path) -> None:
    async with scripted_server({}) as server:
        engine = serve(server)
        page = server.routes["/lead"]
        assert isinstance(page, bytes)
        body = page.partition(b"\r\n\r\n")[2].replace(b"</article>", figure("/x.png", "The editor").encode())
        server.routes["/lead"] = raw_reply(body + b"</article></html>")
        async with client(tmp_path, server, engine) as runs:
            result = await runs.research(ASKED)
        assert "/x.png" not in server.paths
    assert "no picture on the pages read fits the text of the report" in told(result)


async def test_the_next_fetcher_brings_a_picture_if_the_first_reads_pages_only(tmp_path: Path) -> None:
    async with scripted_server({}) as server:
        engine = serve(server)
        server.routes["/lead.png"] = picture(png())
        async with client(tmp_path, server, engine, read__fetchers=["mine", "web"]) as runs:
            result = await runs.research(ASKED)
        assert server.paths == ["/lead.png"]
    assert result.report is not None
    assert len(result.report.figures) == 1
