"""Interactive figures: HTML that a chart runner made, in a frame that can neither load anything nor see the report.

The frame has no origin (`sandbox` without `allow-same-origin`). It inherits the policy of the page, which names each
script of a figure by its hash; its own policy allows inline scripts and styles, and pictures as data.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from html.parser import HTMLParser

from leadline.records import Figure

MEDIA_TYPE = "text/html"
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def interactive_html(figure: Figure) -> str:
    """Return the HTML of a figure; empty if it has none or it is not UTF-8."""
    try:
        html = figure.media.get(MEDIA_TYPE, b"").decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""
    # As browsers read it: the hashes of scripts depend on every character.
    return html.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").strip()


def frame(html: str, title: str) -> str:
    page = f'<!doctype html><meta http-equiv="Content-Security-Policy" content="{_POLICY}">{html}'
    return (
        f'<iframe sandbox="allow-scripts" referrerpolicy="no-referrer" loading="lazy" title="{escape(title)}" '
        f'srcdoc="{escape(page)}"></iframe>'
    )


def script_hashes(html: str) -> Iterator[str]:
    """Yield the hash of each inline script, as a policy names it."""
    parser = _Scripts()
    parser.feed(html)
    parser.close()
    for script in parser.scripts:
        yield "sha256-" + b64encode(sha256(script.encode()).digest()).decode()


class _Scripts(HTMLParser):
    """Gathers the inline scripts of a page. A script that a browser reads otherwise does not run."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.scripts: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "script" and "src" not in dict(attrs)
        if self._inside:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts[-1] += data
