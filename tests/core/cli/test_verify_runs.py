"""`leadline verify` of a run: its folder, its id, its files, changed or not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.stating import install

Cli = Callable[..., Any]
Made = Callable[[Callable[[], object]], None]
QUESTION = "When was the harbour of Port Ellery sounded, and how deep is it?"


@pytest.fixture
def folder(cli: Cli, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_once: Made) -> Path:
    """Return the folder of a run over the documents, whose report has claims."""
    install(tmp_path, monkeypatch)
    made_once(lambda: cli("research", QUESTION, "--docs", "docs", "-q", "--format", "markdown,json"))
    (metadata,) = Path("runs").absolute().glob("*/metadata.json")
    return metadata.parent


def judged(data: dict[str, Any]) -> list[tuple[str, ...]]:
    found = data["claims"] if "marks" in data else data["verdicts"]
    return [(_text(one["claim"]), one["verdict"], _message(one["reason"]), one["judge"]) for one in found]


def _message(reason: Any) -> str:
    """Return a reason, which is an object in `verify.json` and a text of the command."""
    return str(reason["message"] if isinstance(reason, dict) else reason)


def _text(claim: Any) -> str:
    """Return the text of a claim, of `verify.json` or of the command."""
    return str(claim["text"] if isinstance(claim, dict) else claim)


@pytest.mark.parametrize("named", ["", "report.json", "report.md"])
def test_a_run_is_judged_as_it_judged_itself(cli: Cli, folder: Path, named: str) -> None:
    done = cli("verify", str(folder / named), "--json")
    found = json.loads(done.out)
    assert done.code == 0
    assert judged(found) == judged(json.loads((folder / "verify.json").read_text()))
    assert found["dangling"] == []
    assert found["unchecked"] == 0


@pytest.mark.parametrize("named", ["", "report.md"])
def test_a_run_without_its_report_as_data_is_gone_through_again(cli: Cli, folder: Path, named: str) -> None:
    before = cli("verify", str(folder / named), "--json").out
    (folder / "report.json").unlink()
    assert cli("verify", str(folder / named), "--json").out == before


@pytest.mark.parametrize("data", ["report.json", "journal.sqlite"])
def test_an_edited_report_is_checked_against_the_stored_sources(cli: Cli, folder: Path, data: str) -> None:
    file = folder / "report.md"
    if data != "report.json":
        (folder / "report.json").unlink()
    text = file.read_text()
    file.write_text(text.replace("sounded in 1871", "sounded in 1872").replace("[1]", "[1] [9]", 1))
    done = cli("verify", str(file), "--json")
    found = json.loads(done.out)
    assert done.code == 3
    assert found["dangling"] == ["9"]
    assert [one["verdict"] for one in found["claims"] if "1872" in one["claim"]] == ["not_judged"]


def test_the_file_of_a_run_whose_only_format_is_markdown_is_judged(
    cli: Cli, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch)
    cli("research", QUESTION, "--docs", "docs", "-q", "--format", "markdown")
    (file,) = Path("runs").glob("*/report.md")
    done = cli("verify", str(file), "--json")
    assert done.code == 0
    assert {one["verdict"] for one in json.loads(done.out)["claims"]} == {"supported"}
    file.write_text(file.read_text().replace("sounded in 1871", "sounded in 1872"))
    done = cli("verify", str(file), "--json", "--set", "verify.require_support=true")
    assert [one["verdict"] for one in json.loads(done.out)["claims"] if "1872" in one["claim"]] == ["not_judged"]
    assert done.code == 3


def test_why_a_run_does_not_pass_is_told_and_that_it_was_accepted_itself(cli: Cli, folder: Path) -> None:
    file, stored = folder / "report.md", folder / "report.json"
    file.write_text(file.read_text().replace("sounded in 1871", "sounded in 1872").replace("[1]", "[1] [9]", 1))
    done = cli("verify", str(file))
    assert done.code == 3
    assert re.search(r"^Passed +no: 1 claim not judged, 1 citation without a source entry$", done.out, re.MULTILINE)
    report = json.loads(stored.read_text())
    assert report["metadata"]["verification"]["passed"]
    report["metadata"]["verification"]["claims"]["unsupported"] = 1
    stored.write_text(json.dumps(report))
    assert (
        "without a source entry (the run itself was accepted: verify.require_support is off)"
        in cli("verify", str(file)).out
    )


def test_a_runs_folder_serves_as_the_sources_of_a_report_elsewhere(cli: Cli, folder: Path) -> None:
    Path("copy.md").write_text((folder / "report.md").read_text())
    done = cli("verify", "copy.md", "--sources", str(folder), "--json")
    found = json.loads(done.out)
    assert done.code == 0
    assert found["unchecked"] == 0
    assert {one["verdict"] for one in found["claims"]} == {"supported"}


def test_a_source_that_the_run_does_not_have_is_named(cli: Cli, folder: Path) -> None:
    Path("other.md").write_text("The bay is deep [1].\n\n## Sources\n\n[1] The bay - https://example.org/bay\n")
    done = cli("verify", "other.md", "--sources", str(folder))
    assert "[1] could not be read: the run has no source with this address or number" in done.err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("docs", "is not the folder of a run"),
        ("wrong.json", "is not a report in the format json"),
        ("nosuch", "no run"),
    ],
)
def test_an_unknown_run_is_refused(cli: Cli, docs: Path, name: str, said: str) -> None:
    Path("wrong.json").write_text("{}")
    done = cli("verify", name)
    assert done.code == 64
    assert said in done.err


def test_the_paragraphs_of_a_run_are_checked_alone(cli: Cli, folder: Path) -> None:
    done = cli("verify", str(folder / "paragraphs.jsonl"), "--json")
    found = json.loads(done.out)
    assert (done.code, found["passed"], found["dangling"]) == (0, True, [])
    assert found["counts"] == json.loads((folder / "verify.json").read_text())["claims"]


def test_a_brief_is_not_judged_and_fails_nothing(cli: Cli, docs: Path) -> None:
    brief = Path(json.loads(cli("research", QUESTION, "--docs", "docs", "--json", "-q").out)["folder"])
    for named in ("", "report.json", "report.md", "paragraphs.jsonl"):
        done = cli("verify", str(brief / named))
        assert done.code == 0
        assert re.search(r"^Passed +passages found, not judged", done.out, re.MULTILINE)
        assert "supported" not in done.out
    (brief / "report.md").write_text((brief / "report.md").read_text().replace("sounded in 1871", "sounded in 1872"))
    done = cli("verify", str(brief / "report.md"))
    assert "1872" in done.out


def test_paragraphs_elsewhere_are_checked_against_the_run_that_is_named(cli: Cli, folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copied.jsonl"
    copy.write_text((folder / "paragraphs.jsonl").read_text())
    assert cli("verify", str(copy), "--sources", str(folder)).code == 0
    rows = [json.loads(line) for line in copy.read_text().splitlines()]
    rows[0] |= {"cite_ids": ["nowhere"], "markdown": "The harbour is deep. [@nowhere]"}
    copy.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = cli("verify", str(copy), "--sources", str(folder))
    assert done.code == 3
    assert "nowhere" in done.out


def test_a_paragraph_without_a_citation_does_not_pass(cli: Cli, folder: Path) -> None:
    path = folder / "paragraphs.jsonl"
    bare = {"id": "x.p1", "section_id": "x", "text": "The harbour is nine fathoms deep.", "cite_ids": []}
    path.write_text(path.read_text() + json.dumps(bare) + "\n")
    done = cli("verify", str(path))
    assert done.code == 3
    assert "no: 1 paragraph that ends without a citation" in done.out


def test_paragraphs_of_another_tool_are_checked_against_files(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    sentence = "The harbour of Port Ellery is nine fathoms deep at the mole."
    (tmp_path / "src" / "soundings.txt").write_text(f"{sentence} It was sounded in 1907.")
    row = {"id": "p1", "text": sentence, "cite_ids": ["soundings"]}
    (tmp_path / "paragraphs.jsonl").write_text(json.dumps(row) + "\n")
    done = cli("verify", str(tmp_path / "paragraphs.jsonl"), "--sources", str(tmp_path / "src"), "--json")
    found = json.loads(done.out)
    assert (done.code, found["counts"]) == (0, {"supported": 1})


def test_a_line_that_is_no_paragraph_is_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "paragraphs.jsonl").write_text('{"id": "p1", "text": "Deep."}\n{"id": "p2"}\n')
    done = cli("verify", str(tmp_path / "paragraphs.jsonl"))
    assert done.code == 64
    assert "line 2" in done.err
