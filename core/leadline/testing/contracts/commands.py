"""The contract of commands."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from leadline.cli import main
from leadline.testing.contracts.checks import must

_HELP = "import sys; from leadline.cli import main; main(['--help']); print(*sys.modules)"


class CommandContract:
    """The tests of a command whose package is installed. Define the fixture `command`, which returns its name."""

    def test_help_lists_it_with_one_line_and_imports_no_plugin(self, command: str) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "300"}
        ran = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", _HELP], env=environment, capture_output=True, text=True, check=True
        )
        *lines, modules = ran.stdout.splitlines()
        shown = [line.split(maxsplit=1) for line in lines if line.startswith(f"  {command} ")]
        must(len(shown) == 1 and len(shown[0]) == 2, "begin the docstring of the module with one sentence")
        must("pydantic" not in modules.split(), "`leadline --help` imported a plugin")

    def test_it_has_a_help_of_its_own(self, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        must(main([command, "--help"]) == 0, "`arguments` must add the arguments and return")
        must(
            f"usage: leadline {command}" in capsys.readouterr().out,
            "leave the usage of the parser as it is",
        )

    def test_an_unknown_option_is_a_usage_error(self, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        must(main([command, "--no-such-option"]) == 64, "unknown options must be refused: do not parse them yourself")
        must("Traceback" not in capsys.readouterr().err, "refuse options before `run`")
