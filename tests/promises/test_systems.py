"""The five systems of `examples/systems/`: each settings file is loaded as it stands and run against the emulator.

`RUNS` names the pipelines of each file that run from the terminal and under `leadline serve`, both as processes.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

import leadline
from leadline.cli import main

SYSTEMS = Path(__file__).parents[2] / "examples" / "systems"
# Passes the literal rules.
CLEAR = "Shore power in European seaports: tariffs, subsidies and emissions between 2020 and 2025"
FEW = {"research__first_queries": 2, "research__max_queries": 2, "report__length": 300, "charts__runner": ""}
AUDITED_FILES = {
    *("clarify.json", "plan.json", "plan.md", "search_results.json", "evidence.json", "report.md", "report.json"),
    *("paragraphs.jsonl", "verify.json", "verification.md", "metadata.json"),
}


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
    """Return the settings of a system, without engines and sandbox, which the test gives or the machine lacks."""
    found = flat(tomllib.loads((SYSTEMS / f"{name}.toml").read_text("utf-8")))
    for key in ("search.engines", "search.images", "code.sandbox"):
        found.pop(key, None)
    return found | {key.replace("__", "."): value for key, value in more.items()}


def kinds(result: leadline.Result, kind: str) -> list[dict[str, Any]]:
    lines = (result.folder / "events.jsonl").read_text("utf-8").splitlines()
    return [line["data"] for line in map(json.loads, lines) if line["kind"] == kind]


async def run(tools: Any, world: Any, folder: Path, settings: dict[str, Any], question: str) -> leadline.Result:
    async with tools.client(world, folder, settings) as runs:
        result: leadline.Result = await runs.research(question)
    return result


async def test_the_state_machine_explores_with_tools_and_writes_a_cited_report(
    tools: Any, world: Any, tmp_path: Path
) -> None:
    # The model's own plotting code needs a sandbox, which not every machine has.
    settings = system("state_machine", charts__runner="matplotlib")
    result = await run(tools, world, tmp_path, settings, tools.question())
    assert (result.status, result.metadata.pipeline) == ("complete", "state_machine")
    explored = [one for one in kinds(result, "call.finished") if (one["kind"], one["task"]) == ("chat", "explore")]
    assert len(explored) == 3 * result.metadata.iterations, "searches, pages and an answer, in each round"
    plan = json.loads((result.folder / "plan.json").read_text("utf-8"))
    assert all(section["domain"] for section in plan["sections"])
    assert result.metadata.citations["cited"]
    assert {"report.md", "report.html", "report.json"} <= {path.name for path in result.folder.iterdir()}


async def test_five_phases_compose_a_cited_report(tools: Any, world: Any, tmp_path: Path) -> None:
    result = await run(tools, world, tmp_path, system("five_phases"), tools.question())
    assert (result.status, result.metadata.pipeline) == ("complete", "research")
    assert result.metadata.citations["cited"]
    assert {"report.md", "report.html", "report.json"} <= {path.name for path in result.folder.iterdir()}


@pytest.mark.parametrize(
    ("name", "question", "pipeline"),
    [
        ("six_modes", "Hello!", "chat"),
        ("six_modes", "Shore power in Hamburg", "search"),
        ("long_documents", "Hello!", "chat"),
        ("long_documents", "Write the requirements for an app that books berths in a port", "requirements"),
        ("six_modes", "Compare the shore power of Hamburg, Rotterdam and Antwerp in detail", "research"),
    ],
)
async def test_routers_choose_the_mode_and_say_why(
    tools: Any, world: Any, tmp_path: Path, name: str, question: str, pipeline: str
) -> None:
    result = await run(tools, world, tmp_path, system(name), question)
    assert (result.status, result.metadata.pipeline) == ("complete", pipeline)
    (route,) = kinds(result, "route")
    assert route["reason"]


# --- audited: exit codes 0 to 3 --------------------------------------------------------------------------------------


async def test_audited_accepts_a_report_of_which_every_claim_is_supported(
    tools: Any, world: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = await run(tools, world, tmp_path, system("audited", **FEW), CLEAR)
    assert (result.status, result.exit_code, result.metadata.pipeline) == ("complete", 0, "audited")
    assert {path.name for path in result.folder.iterdir()} >= AUDITED_FILES
    head = next(yaml.safe_load_all((result.folder / "report.md").read_text("utf-8")))
    assert (head["question"], head["trace_id"]) == (CLEAR, result.metadata.trace_id)
    model = [f"plugins.openai.base_url={world.base_url}", "plugins.openai.model=emulated", "ai.providers=openai"]
    options = [part for one in model for part in ("--set", one)]
    paragraphs = str(result.folder / "paragraphs.jsonl")
    assert await asyncio.to_thread(main, ["verify", paragraphs, "--json", *options]) == 0
    assert json.loads(capsys.readouterr().out)["counts"].keys() == {"supported"}


async def test_audited_rejects_a_report_of_which_a_claim_is_not_supported(
    tools: Any, world: Any, tmp_path: Path
) -> None:
    settings = system("audited", verify__judges=["exact"], **FEW)  # a judge that supports quotations only
    result = await run(tools, world, tmp_path, settings, CLEAR)
    assert (result.status, result.exit_code) == ("failed", 3)
    assert result.reason.startswith("rejected by the audit: ")
    assert "**Rejected**" in (result.folder / "verification.md").read_text("utf-8")
    assert (result.folder / "report.md").read_text("utf-8").startswith("---\ntitle: ")


async def test_audited_returns_a_vague_question_if_nobody_can_be_asked(tools: Any, world: Any, tmp_path: Path) -> None:
    result = await run(tools, world, tmp_path, system("audited"), tools.question())
    assert (result.status, result.exit_code, result.metadata.pipeline) == ("waiting", 2, "audited")
    assert "unclear" in result.reason
    known = json.loads((result.folder / "clarify.json").read_text("utf-8"))
    assert known["needs_clarification"]
    assert known["reasons"]
    assert known["questions"]


async def test_audited_fails_without_a_usable_answer(tools: Any, world: Any, tmp_path: Path) -> None:
    async with tools.client(world, tmp_path, system("audited")) as runs:
        handle = await runs.start(tools.question(), interactive=True)
        async for event in handle.events():
            if event.kind == "question":
                assert (handle.folder / "clarify.json").exists(), "front ends may read it while the run waits"
                await handle.answer(handle.questions()[0].id, {"answer": " "})
        result = await handle.result()
    assert (result.status, result.exit_code) == ("failed", 1)
    assert "no usable answer" in result.reason


async def test_long_documents_are_pdf_and_word(tools: Any, world: Any, tmp_path: Path) -> None:
    pytest.importorskip("docx", reason="needs the extra docx")
    settings = system("long_documents", pipeline="longform")
    result = await run(tools, world, tmp_path, settings, tools.question())
    assert (result.status, result.metadata.pipeline) == ("complete", "longform")
    assert (result.folder / "report.pdf").read_bytes().startswith(b"%PDF")
    assert (result.folder / "report.docx").read_bytes().startswith(b"PK")


# --- each file from the terminal, and under `leadline serve` ----------------------------------------------------------

USUAL = "How do European ports pay for shore power, and what does it bring them?"
RUNS = {
    "state_machine": {"state_machine": USUAL, "state_machine_batch": USUAL},
    "five_phases": {"research": USUAL},
    "six_modes": {
        "chat": "Why is the sky blue?",
        "knowledge": "What does shore power cost a port?",
        "search": "Shore power in Hamburg",
        "code": "Calculate the sum of the squares of the numbers from 1 to 100",
        "thinking": "Should a small town buy its own power grid?",
        "research": USUAL,
    },
    "long_documents": {
        "chat": "Hello!",
        "knowledge": "What does shore power cost a port?",
        "requirements": "We want a bot that answers the visitors of our museum, day and night.",
        "longform": USUAL,
    },
    "audited": {"audited": CLEAR},
}
PAGE = "# Shore power\n\nA connection for one berth costs a port 4 million euros on average; grants pay half.\n"
LEADLINE = (sys.executable, "-m", "leadline")
# An installed sandbox, which not every machine has: it runs nothing.
IDLE = """
from leadline.plugin import Execution, sandbox

@sandbox("For a test")
class Idle:
    async def execute(self, code, call, /):
        return Execution(stdout="338350", value=338350)
"""
# Seconds that anything may take on a slow machine.
PATIENCE = 120.0


@pytest.fixture
def given(world: Any, as_options: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return options for a model, an engine, pages and a sandbox, which the files leave to the machine."""
    info = Path("site/idle-1.dist-info").absolute()
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: idle\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[leadline.v2]\nidle = idle_sandbox\n")
    (info.parent / "idle_sandbox.py").write_text(IDLE)
    monkeypatch.setenv("PYTHONPATH", str(info.parent))
    Path("power.md").write_text(PAGE, encoding="utf-8")
    settings = {
        "ai.providers": ["openai"],
        "plugins.openai.base_url": world.base_url,
        "plugins.openai.model": "emulated",
        "search.engines": ["searxng"],
        "search.images": [],
        "plugins.searxng.base_url": f"http://127.0.0.1:{world.port}/search",
        "plugins.web.allow": ["127.0.0.0/8"],
        "plugins.web.ports": [world.port],
        "charts.runner": "matplotlib",
        "code.sandbox": "idle",
    }
    return as_options(settings)


def command(*words: str) -> dict[str, Any]:
    """Return what a command prints as JSON."""
    done = subprocess.run([*LEADLINE, *words, "--json"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_each_file_works_from_the_terminal(name: str, given: list[str]) -> None:
    options = ["--settings", str(SYSTEMS / f"{name}.toml"), *given]
    if "knowledge" in RUNS[name]:
        command("knowledge", "add", "power.md", *options)
    for pipeline, question in RUNS[name].items():
        result = command("research", question, "--pipeline", pipeline, *options)
        known = json.loads((Path(result["folder"]) / "metadata.json").read_text("utf-8"))
        assert (result["status"], known["pipeline"]) == ("complete", pipeline), result["reason"]


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_each_file_works_under_serve(name: str, given: list[str]) -> None:
    serve = [*LEADLINE, "serve", "--port", "0", "--settings", str(SYSTEMS / f"{name}.toml"), *given]
    with Path("serve.log").open("w+", encoding="utf-8") as log, subprocess.Popen(serve, stderr=log) as server:
        try:
            end = time.monotonic() + PATIENCE
            while not (url := re.search(r"http://\S+", Path("serve.log").read_text("utf-8"))):
                assert server.poll() is None, Path("serve.log").read_text("utf-8")
                assert time.monotonic() < end
                time.sleep(0.1)
            with httpx.Client(base_url=url[0], timeout=PATIENCE, trust_env=False) as http:
                if "knowledge" in RUNS[name]:
                    assert http.post("/v1/knowledge?name=power.md", content=PAGE).status_code == 200
                bodies = [{"pipeline": pipeline, "question": question} for pipeline, question in RUNS[name].items()]
                runs = [http.post("/v1/runs", json=body).json()["run_id"] for body in bodies]
                for run, pipeline in zip(runs, RUNS[name], strict=True):
                    while (view := http.get(f"/v1/runs/{run}").json())["status"] in ("pending", "running"):
                        assert time.monotonic() < end, view
                        time.sleep(0.1)
                    assert (view["status"], view["pipeline"]) == ("complete", pipeline), view
        finally:
            server.terminate()
