"""The pipeline `code` in real sandboxes, with the emulator's model: a program that fails, and its correction.

Docker: `DOCKER_HOST`, or the usual socket, with the image of `python -m leadline_plugins.sandboxes.docker.image`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leadline.testing.plugins import plugin
from leadline_plugins.sandboxes import bubblewrap, docker

pytestmark = pytest.mark.slow
AS_NOBODY = Path(__file__).parents[1] / "plugins" / "sandboxes" / "as_nobody.py"
LIMITS: dict[str, Any] = {"timeout": 3, "memory": 256, "preload": []}
REQUEST = "Calculate the sum of the squares of the numbers from 1 to 100"


@pytest.fixture(scope="module")
def world(tools: Any) -> Iterator[Any]:
    with tools.emulator() as world:
        yield world


@pytest.fixture(params=["docker", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> tuple[dict[str, Any], list[Any]]:
    """Return the settings and the plugins of a sandbox; skip if what it needs is not installed."""
    name = request.param
    if name == "docker" and (reason := docker.ready(docker.DockerSettings())):
        pytest.skip(f"docker: {reason}")
    if name == "bubblewrap" and not shutil.which("bwrap"):
        pytest.skip("bubblewrap: there is no bwrap: install bubblewrap")
    plugins = []
    chosen = {f"plugins.{name}.{key}": value for key, value in LIMITS.items()}
    if name == "bubblewrap" and os.geteuid() == 0:  # root is refused: the tests become nobody then
        form = bubblewrap.BubblewrapSettings(program=str(AS_NOBODY), **LIMITS)
        offer = sandbox("As nobody")(lambda: bubblewrap.Bubblewrap(form))
        name, plugins, chosen = "nobody", [plugin("nobody", offer)], {}
    return {"pipeline": "code", "code.sandbox": name, "report.formats": ["markdown", "html", "json"]} | chosen, plugins


@pytest.mark.parametrize(
    ("limit", "code", "error"),
    [
        ("", 1, "ZeroDivisionError"),
        ("within the time", 124, "stopped after 3 seconds"),
        ("with little memory", (1, 137), "emory"),
        ("without the network", 1, "Network is unreachable"),
        ("and write them", 1, "/program.py"),
    ],
)
async def test_a_program_that_is_stopped_is_corrected_and_reported(
    tools: Any, world: Any, tmp_path: Path, sandbox: tuple[dict[str, Any], list[Any]], limit: str, code: Any, error: str
) -> None:
    async with tools.client(world, tmp_path, *sandbox) as runs:
        result = await runs.research(f"{REQUEST} {limit}".strip())
        if "has no image" in result.reason:
            pytest.skip(f"docker: {result.reason}")
        assert (result.status, result.reason) == ("complete", "")
        assert (await runs.replay(result.folder)).report == result.report
    first, last = json.loads((result.folder / "execution.json").read_text())
    assert first["exit_code"] in (code if isinstance(code, tuple) else (code,)), first["stderr"]
    assert error in first["stderr"]
    assert (last["value"], last["exit_code"], last["files"]) == (338_350, 0, ["squares.csv"])
    assert last["stdout"] == "sum of squares: 338350\n"
    assert 0 < last["seconds"] < 3
    assert len((result.folder / "code/files/squares.csv").read_text().splitlines()) == 101
    text = (result.folder / "report.md").read_text()
    shown = (
        "sum of squares: 338350",
        "| Exit code | 0 |",
        "| Attempts | 2 |",
        "| Error | `",
        "`code/files/squares.csv`",
    )
    assert not [words for words in shown if words not in text]
