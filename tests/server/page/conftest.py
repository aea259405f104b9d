"""A browser without JavaScript: httpx with cookies, that fills in and sends the forms of a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode
from tests.server.conftest import Served, connected


@dataclass
class Browser:
    """Keeps cookies, sends Origin with forms, and follows redirections."""

    http: httpx.Client

    def open(self, path: str, status: int = 200) -> LexborHTMLParser:
        reply = self.http.get(path)
        assert reply.status_code == status, reply.text
        return LexborHTMLParser(reply.text)

    def submit(self, form: LexborNode, status: int = 200, **values: str) -> httpx.Response:
        """Send a form with its hidden fields and these values."""
        fields = {
            one.attributes["name"] or "": one.attributes.get("value") or ""
            for one in form.css("input[type=hidden]")
            if one.attributes.get("name")
        }
        origin = str(self.http.base_url).rstrip("/")
        action = form.attributes.get("action") or ""
        reply = self.http.post(action, data=fields | values, headers={"Origin": origin})
        assert reply.status_code == status, reply.text
        return reply


def form(page: LexborHTMLParser, action: str) -> LexborNode:
    """Return the form of a page with this action."""
    found = page.css_first(f'form[method=post][action="{action}"]')
    assert found is not None, f"no form {action}"
    return found


def text(page: LexborHTMLParser, selector: str = "main") -> str:
    """Return the text of an element on one line."""
    found = page.css_first(selector)
    assert found is not None, f"no {selector}"
    return " ".join(found.text(separator=" ").split())


def browser_of(served: Served) -> Browser:
    client = connected(served.url, follow_redirects=True)
    client.headers["Accept"] = "text/html"
    served.clients.append(client)
    return Browser(client)


@pytest.fixture
def browser(served: Served) -> Browser:
    return browser_of(served)


def write(folder: Path, name: str, content: str) -> None:
    (folder / name).write_text(content, "utf-8")
