"""`kill -9` while a call is under way: `resume` ends with the same report and repeats nothing that had returned."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

QUESTION = "How deep was the harbour of Port Ellery in 1871, in fathoms?"
TEXTS = tuple(
    f"The harbour of Port Ellery was {depth} fathoms deep at the {place} in 1871, as the survey of the coast found."
    for depth, place in ((9, "mole"), (7, "quay"), (5, "slip"), (3, "dock"))
)
Calls = dict[str, set[str]]


def calls(log: Path) -> Calls:
    """Return the keys of the calls of a session, by what became of them."""
    found: Calls = {"begun": set(), "returned": set(), "held": set()}
    for what, key in (line.split() for line in log.read_text(encoding="utf-8").splitlines() if log.exists()):
        found[what].add(key)
    return found


def killed(site: Path, command: list[str], log: Path) -> None:
    """Run a command until a call is held back and all others have returned, and kill it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(
        [sys.executable, "-m", "leadline", *command],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            size, since = -1, time.monotonic()
            while size < 0 or not calls(log)["held"] or time.monotonic() - since < 0.4:
                assert process.poll() is None, process.communicate()[0].decode()
                time.sleep(0.05)
                if log.exists() and log.stat().st_size != size:
                    size, since = log.stat().st_size, time.monotonic()
        finally:
            process.kill()


def report(folder: Path) -> Any:
    found = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    found["metadata"].pop("created")
    return found


@pytest.mark.parametrize(("command", "hold"), [("research", 2), ("search by model", 4), ("research by model", 14)])
def test_a_killed_run_resumes_to_the_same_report_and_repeats_no_call(
    examples: Path,
    leadline_in: Any,
    model: list[str],
    as_options: Callable[[dict[str, Any]], list[str]],
    pages: Callable[..., dict[str, Any]],
    tmp_path: Path,
    command: str,
    hold: int,
) -> None:
    settings: dict[str, Any] = {
        "search.engines": ["empty", "harbour"],
        "search.strategy": "fallback",
        "middleware": ["gate"],
    }
    settings |= {"report.formats": ["json"], "report.length": 300, "research.first_queries": 3}
    settings |= {**pages("empty"), **pages("harbour", *TEXTS)}
    asked = [command.split()[0], QUESTION, *as_options(settings), *(model if "model" in command else [])]

    def options(name: str, **more: Any) -> list[str]:
        own = {"plugins.gate.log": str(tmp_path / f"{name}.log"), **more}
        return as_options({f"cache.{kind}": "0" for kind in ("search", "plan")} | own)

    whole = leadline_in(examples, *asked, "--folder", str(tmp_path / "whole"), *options("whole"))
    assert whole.returncode == 0, whole.stderr
    runs = tmp_path / "runs"
    killed(
        examples,
        [*asked, "--folder", str(runs), *options("first", **{"plugins.gate.hold": hold})],
        tmp_path / "first.log",
    )
    (folder,) = runs.iterdir()
    assert not (folder / "report.json").exists()
    resumed = leadline_in(
        examples, "resume", folder.name, "--folder", str(runs), *options("second", **{"plugins.gate.hold": 0})
    )
    assert resumed.returncode == 0, resumed.stderr
    first, second = calls(tmp_path / "first.log"), calls(tmp_path / "second.log")
    assert first["returned"] == first["begun"]
    assert first["held"] <= second["returned"]
    assert second["begun"].isdisjoint(first["returned"])
    assert first["returned"] | second["returned"] == calls(tmp_path / "whole.log")["returned"]
    assert report(folder) == report(next((tmp_path / "whole").iterdir()))
