"""Searches for pictures: what each engine is asked, and answers after its documentation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from leadline.records import SearchPage
from leadline.testing.servers import ScriptedServer, json_answer

Search = Callable[..., Awaitable[SearchPage]]
PICTURE, PAGE = "https://img.example.org/kelp.jpg", "https://example.org/kelp"
COMMONS = {
    "pageid": 7,
    "index": 1,
    "title": "File:Kelp forest.jpg",
    "imageinfo": [
        {
            "thumburl": PICTURE,
            "url": "https://img.example.org/large.jpg",
            "descriptionurl": PAGE,
            "extmetadata": {
                "ImageDescription": {"value": "A <b>kelp</b> forest"},
                "LicenseShortName": {"value": "CC BY-SA 4.0"},
                "Artist": {"value": '<a href="//x.example">Ann</a>'},
            },
        }
    ],
}
ENGINES: dict[str, tuple[str, dict[str, str], Any, str]] = {
    "searxng": (
        "/search",
        {"categories": "images", "q": "kelp forests"},
        {"results": [{"url": PAGE, "title": "A kelp forest", "img_src": PICTURE, "thumbnail_src": "x"}]},
        "",
    ),
    "brave": (
        "/images/search",
        {"q": "kelp forests", "safesearch": "strict"},
        {"results": [{"url": PAGE, "title": "A kelp forest", "properties": {"url": PICTURE}}]},
        "",
    ),
    "wikipedia": (
        "/w/api.php",
        {"gsrsearch": "kelp forests filetype:bitmap|drawing", "gsrnamespace": "6", "prop": "imageinfo"},
        {"query": {"pages": [COMMONS]}},
        "Ann, CC BY-SA 4.0",
    ),
}


@pytest.mark.parametrize("name", ENGINES)
async def test_a_picture_has_its_page_its_caption_and_its_licence(
    search: Search, server: ScriptedServer, name: str, offer_of: Callable[[str], Any]
) -> None:
    path, wanted, answer, rights = ENGINES[name]
    server.answers = [json_answer(answer)]
    page = await search(name, request={"images": True})
    parts = urlsplit(server.asked[0].path)
    asked = {key: value for key, (value,) in parse_qs(parts.query).items()}
    assert parts.path == path
    assert asked | wanted == asked
    (hit,) = page.hits
    assert (hit.url, hit.title, hit.images, hit.rights) == (PAGE, "A kelp forest", (PICTURE,), rights)
    assert offer_of(name).images


@pytest.mark.parametrize("name", ENGINES)
async def test_a_result_without_a_picture_is_left_out(search: Search, server: ScriptedServer, name: str) -> None:
    bare = {"url": PAGE, "title": "A kelp forest", "index": 1, "imageinfo": []}
    server.answers = [json_answer({"results": [bare], "query": {"pages": [bare]}})]
    assert (await search(name, request={"images": True})).hits == ()
