"""The five systems of `examples/systems/`: each settings file is loaded as it stands and run against the emulator."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import leadline

SYSTEMS = Path(__file__).parents[2] / "examples" / "systems"


@pytest.fixture(scope="module")
def world(tools: Any) -> Iterator[Any]:
    with tools.emulator() as world:
        yield world


def flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the settings of a file by dotted key; pipelines stay whole."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict) and prefix != "pipelines.":
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def system(name: str, **more: Any) -> dict[str, Any]:
    """Return the settings of a system, without engines and sandbox, which the test gives."""
    found = flat(tomllib.loads((SYSTEMS / f"{name}.toml").read_text("utf-8")))
    for key in ("search.engines", "code.sandbox"):  # sandboxes are missing where neither Docker nor a plain user is
        found.pop(key, None)
    return found | {key.replace("__", "."): value for key, value in more.items()}


def kinds(result: leadline.Result, kind: str) -> list[dict[str, Any]]:
    lines = (result.folder / "events.jsonl").read_text("utf-8").splitlines()
    return [line["data"] for line in map(json.loads, lines) if line["kind"] == kind]


async def run(tools: Any, world: Any, folder: Path, settings: dict[str, Any], question: str) -> leadline.Result:
    async with tools.client(world, folder, settings) as runs:
        result: leadline.Result = await runs.research(question)
    return result


async def test_the_state_machine_writes_a_cited_report(tools: Any, world: Any, tmp_path: Path) -> None:
    # The model's own plotting code needs a sandbox, which not every machine has.
    settings = system("state_machine", charts__runner="matplotlib")
    result = await run(tools, world, tmp_path, settings, tools.question())
    assert (result.status, result.metadata.pipeline) == ("complete", "state_machine")
    assert any(name.startswith("search/") for name in result.metadata.calls)
    assert result.metadata.citations["cited"]
    assert {"report.md", "report.html", "report.json"} <= {path.name for path in result.folder.iterdir()}


@pytest.mark.slow
async def test_five_phases_compose_a_cited_report(tools: Any, world: Any, tmp_path: Path) -> None:
    result = await run(tools, world, tmp_path, system("five_phases"), tools.question())
    assert (result.status, result.metadata.pipeline) == ("complete", "research")
    assert result.metadata.citations["cited"]
    assert {"report.md", "report.html", "report.json"} <= {path.name for path in result.folder.iterdir()}


@pytest.mark.parametrize(
    ("question", "pipeline"),
    [
        ("Hello!", "chat"),
        pytest.param(
            "Compare the shore power of Hamburg, Rotterdam and Antwerp in detail", "research", marks=pytest.mark.slow
        ),
    ],
)
async def test_six_modes_choose_the_mode(tools: Any, world: Any, tmp_path: Path, question: str, pipeline: str) -> None:
    settings = system("six_modes", knowledge__store="flat")
    result = await run(tools, world, tmp_path, settings, question)
    assert (result.status, result.metadata.pipeline) == ("complete", pipeline)
    (route,) = kinds(result, "route")
    assert route["reason"]


async def test_audited_waits_for_the_answer_to_a_vague_question(tools: Any, world: Any, tmp_path: Path) -> None:
    result = await run(tools, world, tmp_path, system("audited"), tools.question())
    assert (result.status, result.metadata.pipeline) == ("waiting", "audited")
    assert "unclear" in result.reason


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_long_documents_are_pdf_and_word(tools: Any, world: Any, tmp_path: Path) -> None:
    pytest.importorskip("docx", reason="needs the extra docx")
    settings = system("long_documents", pipeline="longform")
    result = await run(tools, world, tmp_path, settings, tools.question())
    assert (result.status, result.metadata.pipeline) == ("complete", "longform")
    assert (result.folder / "report.pdf").read_bytes().startswith(b"%PDF")
    assert (result.folder / "report.docx").read_bytes().startswith(b"PK")
