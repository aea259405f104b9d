"""The example plugins, under any name, fulfil the contract of their kind; so does what `plugins new` writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from leadline.cli import main
from leadline.cli.plugins import example
from leadline.hookspecs import KINDS
from leadline.testing.contracts import CommandContract

EXAMPLES = Path(__file__).parents[2] / "examples"


class TestCommand(CommandContract):
    @pytest.fixture
    def command(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        info = tmp_path / "leadline_cited-1.0.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_text("[leadline.commands]\ncited = leadline_cited\n", encoding="utf-8")
        for path in (EXAMPLES / "commands", tmp_path):
            monkeypatch.syspath_prepend(str(path))
        return "cited"


def output_of_tests(folder: Path, *files: Path, paths: tuple[Path, ...]) -> str:
    """Run tests in a process of their own and return its output."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, paths), *filter(None, sys.path)])}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "asyncio_mode=auto",
        "-c",
        os.devnull,
    ]
    options = [
        "-o",
        "asyncio_mode=auto",
        "-o",
        "asyncio_default_fixture_loop_scope=function",
        "--rootdir",
        str(folder),
        *map(str, files),
    ]
    done = subprocess.run([*command, *options], env=environ, capture_output=True, text=True, cwd=folder, timeout=100)
    return done.stdout[-3000:] + done.stderr[-1000:]


def test_examples_under_other_names_fulfil_their_contracts(tmp_path: Path) -> None:
    files = []
    for kind in KINDS:
        module, text, test = example(kind, f"acme_{kind}")
        assert "acme" in test
        (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
        files.append(tmp_path / f"test_{module}.py")
        files[-1].write_text(test, encoding="utf-8")
    examples = [EXAMPLES / "kinds/search_providers", EXAMPLES / "kinds/stages"]  # `plugins new` has others of the kind
    files += [examples[0] / "test_glossary.py", examples[1] / "test_timeline.py"]
    output = output_of_tests(tmp_path, *files, paths=(tmp_path, *examples))
    assert " passed" in output
    assert "failed" not in output, output
    assert "error" not in output, output


def test_a_project_is_written_that_its_test_accepts_and_the_command_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plugins", "new", "search_provider", "acme_wiki", "--project"]) == 0
    folder = tmp_path / "leadline-acme-wiki"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {
        *("pyproject.toml", "README.md", "leadline_acme_wiki.py", "tests/test_acme_wiki.py"),
        ".github/workflows/test.yml",
    }
    assert 'acme_wiki = "leadline_acme_wiki"' in (folder / "pyproject.toml").read_text()
    assert 'engines = ["acme_wiki"]' in capfd.readouterr().out
    assert main(["plugins", "new", "search_provider", "acme_wiki", "--project"]) == 64
    assert "leadline-acme-wiki/pyproject.toml exists" in capfd.readouterr().err
    assert main(["plugins", "new", "search_provder", "acme"]) == 64
    assert "did you mean 'search_providers'?" in capfd.readouterr().err


@pytest.mark.slow
def test_check_runs_the_contract_of_a_file_and_names_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def check() -> tuple[int, str]:
        command = [sys.executable, "-m", "leadline", "plugins", "check", "slides.py"]
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, cwd=tmp_path, timeout=100)
        return done.returncode, done.stdout + done.stderr

    monkeypatch.chdir(tmp_path)
    assert main(["plugins", "new", "report_formatter", "slides"]) == 0
    assert "leadline plugins check slides.py" in capfd.readouterr().out
    code, output = check()
    assert (code, "passed" in output, "deselected" in output) == (0, True, False), output
    file = tmp_path / "slides.py"
    file.write_text(file.read_text().replace('name="quotes.csv"', 'name="../quotes.csv"'))
    code, output = check()
    assert (code, "returns a file name outside the folder of the run" in output) == (1, True), output
    file.write_text("def broken(:")
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert main(["plugins", "check", "slides.py"]) == 78
    assert "plugin 'slides' cannot be imported: slides raised SyntaxError" in capfd.readouterr().err
