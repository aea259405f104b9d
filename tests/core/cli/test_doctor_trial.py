"""`doctor` tries each chosen engine and fetcher: settings that it accepts run."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
TWO_INSTANCES = """
[search]
engines = ["papers", "minutes"]

[plugins.papers]
use = "local"
folders = ["docs"]

[plugins.minutes]
use = "local"
folders = ["minutes"]
"""
QUESTION = "When was the lighthouse of Port Ellery lit?"


@pytest.fixture
def two_folders(docs: Path) -> Path:
    """Return a folder with settings of two instances of `local`, as the how-to page has them."""
    minutes = docs.parent / "minutes"
    minutes.mkdir()
    (minutes / "may.md").write_text(
        "# Minutes of May\n\nThe council of Port Ellery met on the third of May this year.\n"
    )
    settings = docs.parent / "leadline.toml"
    settings.write_text(TWO_INSTANCES)
    return docs.parent


@pytest.fixture
def nobody() -> str:
    """Return an address of this machine at which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def findings(cli: Cli, *options: str) -> tuple[int, dict[str, tuple[str, str]]]:
    done = cli("doctor", "--json", *options)
    listed = json.loads(done.out)["findings"]
    return done.code, {item["what"]: (item["state"], item["detail"]) for item in listed}


def test_documents_of_two_instances_are_found_and_read(cli: Cli, two_folders: Path) -> None:
    assert cli("config", "check").out == "The settings are valid.\n"
    code, found = findings(cli)
    assert code == 0
    for what in ("engine papers", "engine minutes", "fetcher papers", "fetcher minutes"):
        assert found[what][0] == "ok", found
    done = cli("research", QUESTION, "-q")
    assert done.code == 0, done.err
    assert "1880" in done.out


@pytest.mark.parametrize(
    ("fetchers", "chosen"),
    [
        ("local,web", "papers, minutes, web"),
        ("web,local", "web, papers, minutes"),
        ("papers,local", "papers, minutes"),
        ("minutes", "minutes"),
    ],
)
def test_a_fetcher_stands_for_its_instances_among_the_engines(
    cli: Cli, two_folders: Path, fetchers: str, chosen: str
) -> None:
    assert findings(cli, "--set", f"read.fetchers={fetchers}")[1]["read.fetchers"] == ("ok", chosen)


def test_a_fetcher_with_a_section_of_its_own_stays_beside_its_instances(cli: Cli, two_folders: Path) -> None:
    found = findings(cli, "--set", "plugins.local.folders=docs")[1]
    assert found["read.fetchers"] == ("ok", "local, papers, minutes, web")


def test_documents_that_no_fetcher_reads_are_found_before_a_run(cli: Cli, two_folders: Path) -> None:
    code, found = findings(cli, "--set", "read.fetchers=web", "--set", "search.engines=papers")
    assert code == 78
    state, detail = found["fetcher"]
    assert state == "bad"
    assert detail.startswith("no fetcher (web) reads local://papers/docs/")
    assert detail.endswith("a hit of papers")


def test_an_engine_that_is_down_is_named(cli: Cli, docs: Path, nobody: str) -> None:
    searxng = ("--set", f"plugins.searxng.base_url={nobody}")
    code, found = findings(cli, *searxng, "--set", "search.engines=searxng")
    assert (code, found["engine searxng"][0]) == (78, "bad")
    code, found = findings(cli, *searxng, "--set", "search.engines=searxng,local", "--docs", "docs")
    assert (code, found["engine searxng"][0], found["engine local"][0]) == (0, "note", "ok")


def test_a_fetcher_for_which_nothing_was_found_is_not_tried(cli: Cli, docs: Path) -> None:
    code, found = findings(cli, "--docs", "docs", "--set", "search.engines=local")
    assert (code, found["fetcher web"]) == (0, ("ok", "not tried: no engine found an address for it"))


def test_a_folder_without_documents_is_named(cli: Cli, own_folders: Path) -> None:
    (own_folders / "work" / "empty").mkdir()
    (own_folders / "work" / "empty" / "picture.gif").touch()
    code, found = findings(cli, "--docs", "empty")
    assert code == 78
    assert (
        "no documents that can be read are in empty (1 refused: 1 .gif; no parser of read.parsers accepts image/gif)"
        in found["engine local"][1]
    )
