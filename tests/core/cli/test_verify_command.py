"""`leadline verify`: reports of any tool against sources from files and from the web."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
REPORT = """# The bay

The bay is 40 fathoms deep [1]. It was sounded in 1832 [2].

## References

1. Depths of the bay. {base}/depths
2. Soundings, {base}/soundings-of-1831
"""
PAGES = {
    "/depths": "The bay is 40 fathoms deep.",
    "/soundings-of-1831": "The bay was sounded in 1831 by Fitz.",
}


@pytest.fixture
def report() -> Path:
    path = Path("report.md")
    path.write_text(REPORT.format(base="https://example.org"))
    return path


@pytest.fixture
def web() -> Iterator[str]:
    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = PAGES.get(self.path, "")
            self.send_response(200 if text else 404)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def verdicts(done: Any) -> dict[str, str | None]:
    return {claim["claim"]: claim["verdict"] for claim in json.loads(done.out)["claims"]}


EXPECTED = {"The bay is 40 fathoms deep.": "supported", "It was sounded in 1832.": "contradicted"}


def test_sources_are_found_by_number_and_by_title(cli: Cli, report: Path) -> None:
    folder = Path("sources")
    folder.mkdir()
    (folder / "01-anything.txt").write_text(PAGES["/depths"])
    (folder / "soundings of 1831.md").write_text(PAGES["/soundings-of-1831"])
    done = cli("verify", str(report), "--sources", "sources", "--json")
    assert verdicts(done) == EXPECTED
    assert done.code == 3


def test_sources_are_fetched(cli: Cli, report: Path, web: str) -> None:
    report.write_text(REPORT.format(base=f"http://{web}"))
    done = cli("verify", str(report), "--fetch", "--json", "--set", f"plugins.web.allow={web}")
    assert verdicts(done) == EXPECTED


def test_a_source_that_cannot_be_read_is_named_and_its_claims_are_not_judged(cli: Cli, report: Path) -> None:
    Path("empty").mkdir()
    done = cli("verify", str(report), "--sources", "empty", "--json")
    assert set(verdicts(done).values()) == {None}
    assert "[1] was not read: no file in empty" in done.err
    assert done.code == 0


def test_people_are_told_what_does_not_hold(cli: Cli, report: Path) -> None:
    folder = Path("sources")
    folder.mkdir()
    (folder / "2.txt").write_text(PAGES["/soundings-of-1831"])
    done = cli("verify", str(report), "--sources", "sources")
    assert "contradicted (by rule) [2] It was sounded in 1832." in done.out
    assert "the claim says 1832, the passage 1831" in done.out


def test_without_sources_the_citations_alone_are_checked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sys.stdin", io.StringIO("The bay is deep [1][7].\n\n## Sources\n\n[1] Depths\n[2] Soundings\n")
    )
    done = cli("verify", "-")
    assert done.code == 3
    assert "no entry for 7" in done.out
    assert "--fetch" in done.err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["verify", "missing.md"], "cannot read missing.md"),
        (["verify", "report.md", "--sources", "nowhere"], "there is no such folder"),
        (["verify", "report.md", "--sources", "x", "--fetch"], "not allowed with"),
    ],
)
def test_what_cannot_be_done_is_a_usage_error(cli: Cli, report: Path, argv: list[str], said: str) -> None:
    done = cli(*argv)
    assert done.code == 64
    assert said in done.err
