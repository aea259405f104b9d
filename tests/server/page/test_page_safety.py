"""The page is safe from other sites, and from what third parties write."""

from __future__ import annotations

import httpx
import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.server.conftest import QUESTION, Served
from tests.server.page.conftest import Browser, form


def test_a_form_needs_the_origin_and_the_token_of_this_site(browser: Browser, served: Served) -> None:
    asking = form(browser.open("/"), "/runs")
    token = asking.css_first("input[name=form_token]")
    assert token is not None
    good = {"form_token": token.attributes["value"] or "", "question": QUESTION}
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert browser.http.post("/runs", data=good, headers=headers).status_code == 403
    origin = {"Origin": served.url}
    for bad in ({"question": QUESTION}, good | {"form_token": "x" * 43}, good | {"form_token": ""}):
        assert browser.http.post("/runs", data=bad, headers=origin).status_code == 403
    stranger = httpx.post(f"{served.url}/runs", data=good, headers=origin, trust_env=False)
    assert stranger.status_code == 403
    json = {**origin, "Content-Type": "text/plain"}
    assert browser.http.post("/runs", content=b"question=x", headers=json).status_code == 415


@pytest.mark.parametrize("path", ["/", "/runs", "/settings", "/nowhere"])
def test_pages_allow_only_their_own_scripts_and_styles(browser: Browser, path: str) -> None:
    reply = browser.http.get(path)
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    page = LexborHTMLParser(reply.text)
    assert not page.css("script:not([src]), style, [style], [onclick], iframe")
    assert all((one.attributes["src"] or "").startswith("/static/") for one in page.css("script, img"))
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
