"""Scripts in what others write: titles, texts, addresses and names of cited pages, tags, and links to a page."""

from __future__ import annotations

from urllib.parse import quote

from selectolax.lexbor import LexborHTMLParser
from tests.server.attacks.conftest import SCRIPT, Target

HOSTILE = "&".join(f"{name}={quote(SCRIPT)}" for name in ("q", "tag", "status", "pipeline", "question"))


def test_no_page_has_an_element_or_attribute_of_a_third_party(attacked: Target) -> None:
    tried = 0
    for route in attacked.routes:
        if route.method != "GET":
            continue
        path = route.at(**attacked.values) + (f"?{HOSTILE}" if route.reads_query else "")
        reply = attacked.send("GET", path, Accept="text/html")
        if not reply.headers.get("content-type", "").startswith("text/html"):
            continue
        assert_harmless(reply.body.decode(), route.path)
        tried += 1
    assert tried >= 5


def test_the_report_as_a_file_is_in_a_sandbox_and_has_no_script_of_a_third_party(attacked: Target) -> None:
    reply = attacked.send("GET", f"/v1/runs/{attacked.run}/files/report.html")
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
