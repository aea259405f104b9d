"""A claim bears the sign of its verdict wherever the report is read: terminal, Markdown, HTML, JSON, Word."""

from __future__ import annotations

import html
import json
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from subprocess import DEVNULL, Popen
from sys import executable
from typing import Any

import pytest

SIGNS = {"supported": "", "partial": "≈", "unsupported": "?", "contradicted": "≠"}
QUESTION = "How do European ports pay for shore power?"


@pytest.fixture(scope="module")
def judged(examples: Path, world: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the folder of a run whose judge decides each kind of verdict in turn, and what its terminal showed."""
    top = tmp_path_factory.mktemp("judged")
    settings = {
        "ai.providers": "openai",
        "plugins.openai.base_url": world.base_url,
        "plugins.openai.model": "m",
        "search.engines": "pages",
        "plugins.pages.texts": json.dumps(
            [f"In 20{year} Hamburg paid {year} euros for power." for year in range(10, 16)]
        ),
        "verify.judges": "verdicts",
        "report.formats": "markdown,html,json,docx",
    }
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    command = [executable, "-m", "leadline", "search", QUESTION, "--folder", str(top / "runs"), *options]
    path = os.pathsep.join(filter(None, (str(examples), os.environ.get("PYTHONPATH", ""))))
    terminal, other_end = os.openpty()
    environment = {**os.environ, "PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "160", "HOME": str(top)}
    with Popen(command, env=environment, cwd=top, stdin=DEVNULL, stdout=other_end, stderr=DEVNULL) as process:
        os.close(other_end)
        shown = b""
        while True:
            try:
                shown += os.read(terminal, 65536)
            except OSError:  # Linux reports the closed terminal so
                break
    os.close(terminal)
    assert process.returncode in (0, 4), shown.decode()
    (folder,) = (top / "runs").iterdir()
    return folder, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())


def in_terminal(folder: Path, shown: str) -> str:
    return shown


def in_markdown(folder: Path, shown: str) -> str:
    return (folder / "report.md").read_text(encoding="utf-8")


def in_html(folder: Path, shown: str) -> str:
    body = (folder / "report.html").read_text(encoding="utf-8").partition("<body")[2]
    return html.unescape(re.sub(r"<[^>]+>", "", body))


def in_word(folder: Path, shown: str) -> str:
    xml = zipfile.ZipFile(folder / "report.docx").read("word/document.xml").decode()
    return html.unescape(re.sub(r"<[^>]+>", "", xml))


@pytest.mark.parametrize("read", [in_terminal, in_markdown, in_html, in_word])
def test_each_claim_bears_the_sign_of_its_verdict(judged: tuple[Path, str], read: Callable[[Path, str], str]) -> None:
    stored = json.loads((judged[0] / "report.json").read_text(encoding="utf-8"))
    assert {verdict["verdict"] for verdict in stored["verdicts"]} == SIGNS.keys()
    text = " ".join(read(*judged).split())
    for verdict in stored["verdicts"]:
        claim, sign = verdict["claim"]["text"].rstrip("."), SIGNS[verdict["verdict"]]
        assert re.search(rf"{re.escape(claim)} \[\d\]{re.escape(sign)}\.", text), verdict
    assert "Marks in the text: ≠ contradicted, ? unsupported, ≈ supported in part." in text
