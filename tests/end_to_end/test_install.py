"""What an installation weighs, and what a process that uses it imports."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, distributions, entry_points
from pathlib import Path
from pydoc_data.topics import topics

import pytest

ROOT = Path(__file__).parents[2]
MEGABYTES, DISTRIBUTIONS = 110, 35
LOADED = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))\n"
RUN = """
import asyncio, leadline

async def main():
    async with leadline.Client(docs="docs") as client:
        result = await client.research("When are default parameter values of a function evaluated?")
        assert result.status == "complete", result.reason
        print(*client.plugins.loaded.plugins)

asyncio.run(main())
"""
_BY_NAME = re.compile(
    r"(?:pip install|pipx install|pipx run|uv tool install|uvx)(?: --?\S+)* "
    r"['\"]?leadline(?:-[a-z]+)?(?:\[[\w,]+\])?['\"]?(?=[\s`)]|$)(?! @)",
    re.MULTILINE,
)
BORROWED = {"csl", "brief", "matplotlib"}
"""Plugins whose module a chosen one builds on, and the chart runner that `auto` looks at."""
READERS = {"lxml", "pypdfium2", "selectolax"}
"""What only documents of other kinds need."""


def output(code: str) -> list[str]:
    """Return the lines that a process of its own prints for this code."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()


def modules_after(code: str) -> set[str]:
    """Return the names of the modules that a process of its own has imported after this code."""
    return set(json.loads(output(code + LOADED)[-1]))


def test_importing_leadline_imports_next_to_nothing() -> None:
    loaded = {name.partition(".")[0] for name in modules_after("import leadline")}
    assert "leadline" in loaded
    assert loaded & {"pydantic", "asyncio", "pluggy", "httpx", "rich", "sqlite3", "leadline_plugins"} == set()


def test_the_public_names_are_there() -> None:
    done = modules_after("import leadline\nfor name in leadline.__all__: getattr(leadline, name)")
    assert "leadline.api" in done
    assert {name for name in done if name.startswith("leadline_plugins")} == set()


def test_a_run_imports_the_plugins_that_it_uses_and_no_other() -> None:
    Path("docs").mkdir()
    Path("docs", "function.rst").write_text(topics["function"], encoding="utf-8")
    chosen, modules = output(RUN + LOADED)
    loaded = set(json.loads(modules))
    ours = {point.name: point.module for point in entry_points(group="leadline.v2")}
    imported = {name for name, module in ours.items() if module in loaded}
    assert set(chosen.split()) <= imported
    assert imported - set(chosen.split()) <= BORROWED
    assert {"fallback", "terminal"} <= set(ours) - set(chosen.split())
    assert loaded & READERS == set()


def test_required_distributions_are_light() -> None:
    """Nothing heavy is required: an SDK is an extra, named after what it is for."""
    required = [line for line in distribution("leadline").requires or () if "extra ==" not in line]
    names = {re.split(r"[^\w.-]", line)[0] for line in required}
    assert names & {"litellm", "openai", "torch", "transformers", "langchain", "matplotlib", "qdrant-client"} == set()


def test_no_guide_and_no_message_installs_leadline_by_name() -> None:
    """Whoever has the name on the index would be installed."""
    texts = [
        path
        for folder in ("core", "plugins", "contrib", "examples", "docs")
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in (".py", ".toml", ".html", ".md", ".txt", ".yaml") and path.parent.name != "decisions"
    ]
    named = {
        str(path.relative_to(ROOT)): _BY_NAME.findall(path.read_text("utf-8", "replace"))
        for path in [*texts, ROOT / "README.md"]
    }
    assert {name: commands for name, commands in named.items() if commands} == {}


def test_the_version_is_that_of_the_tag_or_the_fallback_of_the_tree(tmp_path: Path) -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    (tmp_path / "pyproject.toml").write_text(project, "utf-8")

    def version() -> str:
        command = [sys.executable, "-m", "hatchling", "version"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()

    assert version() == tomllib.loads(project)["tool"]["hatch"]["version"]["fallback-version"]
    commit = ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "Begin"]
    for command in (["init", "--quiet"], ["add", "."], commit, ["tag", "v0.7.0"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert version() == "0.7.0"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the source distribution, as `make dist` does."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def check_a_report(folder: Path, *leadline: str) -> None:
    """Have this command answer a question."""
    (folder / "docs").mkdir()
    (folder / "docs" / "function.rst").write_text(topics["function"], encoding="utf-8")
    asked = [*leadline, "research", "When are default parameter values evaluated?", "--docs", "docs", "--json"]
    environment = {**os.environ, "HOME": str(folder)}
    done = subprocess.run(asked, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "complete"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_fresh_installation(wheel: Path, tmp_path: Path) -> None:
    """`pip install` of the wheel in an environment of its own, with what it needs from the package index."""
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", str(wheel)], check=True)
    site = next((place / "lib").glob("python*")) / "site-packages"
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) / 1e6
    count = len(list(distributions(path=[str(site)])))
    print(f"{size:.0f} MB, {count} distributions")
    assert size < MEGABYTES
    assert count < DISTRIBUTIONS
    check_a_report(tmp_path, str(place / "bin" / "leadline"))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("command", [("pipx", "run", "--spec"), ("uvx", "--from")], ids=["pipx", "uvx"])
def test_a_runner_of_wheels_runs_leadline(wheel: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    runner = Path(sys.executable).with_name(command[0])
    if not runner.exists():
        pytest.skip(f"needs {command[0]}, which make test-all installs")
    check_a_report(tmp_path, str(runner), *command[1:], str(wheel), "leadline")
