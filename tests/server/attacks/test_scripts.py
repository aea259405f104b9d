"""Scripts in what third parties write: titles, texts, addresses and names of pages that a run cites."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.server.attacks.conftest import Target, target

from leadline.contracts import Call
from leadline.records import Blob, FetchRequest, Hit, SearchPage, SearchRequest
from leadline.testing import fakes

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg onload=alert(3)>"
PLACES = [
    'https://example.org/a"onmouseover=alert(4)//<script>alert(5)</script>',
    "https://example.org/b'><img src=x onerror=alert(6)>",
    "https://example.org/c?x=javascript:alert(7)",
]
TEXT = " ".join(
    f"The harbour of sounding-of-alice measured {place + 7} fathoms at sounding {place}."
    + (f" {SCRIPT} [x](javascript:alert(8)) measured {place} fathoms at that sounding." if place % 5 == 0 else "")
    for place in range(20)
)


async def _search(self: object, request: SearchRequest, call: Call, /) -> SearchPage:
    return SearchPage(hits=tuple(Hit(url=url, title=f"{SCRIPT} harbour", snippet=TEXT[:300]) for url in PLACES))


async def _fetch(self: object, request: FetchRequest, call: Call, /) -> Blob:
    return Blob(name=f"{SCRIPT}.txt", media_type="text/plain", data=TEXT.encode())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A server with a run whose engine and pages are hostile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fakes.FakeEngine, "search", _search)
        patch.setattr(fakes.FakePages, "fetch", _fetch)
        with target(tmp_path_factory.mktemp("hostile")) as found:
            yield found


def test_no_page_has_an_element_or_attribute_of_a_third_party(hostile: Target) -> None:
    tried = 0
    for route in hostile.routes:
        if route.method != "GET":
            continue
        reply = hostile.send("GET", route.at(**hostile.values), Accept="text/html")
        if not reply.headers.get("content-type", "").startswith("text/html"):
            continue
        assert_harmless(reply.body.decode(), route.path)
        tried += 1
    assert tried >= 5


def test_the_report_as_a_file_is_in_a_sandbox_and_has_no_script_of_a_third_party(hostile: Target) -> None:
    reply = hostile.send("GET", f"/v1/runs/{hostile.run}/files/report.html")
    assert reply.status == 200
    assert "sandbox" in reply.headers["content-security-policy"]
    assert "alert(1)" in reply.body.decode()  # the text is cited, as text
    assert_harmless(reply.body.decode(), "report.html", own_scripts=True)


def assert_harmless(html: str, path: str, *, own_scripts: bool = False) -> None:
    page = LexborHTMLParser(html)
    for node in page.css("script"):
        assert "alert" not in node.text(), path
        assert own_scripts or (node.attributes.get("src") or "").startswith("/static/"), path
    for node in page.css("*"):
        for name, value in node.attributes.items():
            assert not name.startswith("on"), (path, name)
            if name in ("href", "src", "action", "formaction", "data"):
                assert not (value or "").strip().lower().startswith(("javascript:", "data:text", "vbscript:")), path
    assert not page.css("img[src=x], svg[onload]"), path
