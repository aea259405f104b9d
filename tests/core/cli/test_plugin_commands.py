"""Commands that packages bring: the built-in ones keep their contract, and faulty ones are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from leadline.testing.contracts import CommandContract

Cli = Callable[..., Any]
HELLO = '''"""Greet somebody. This sentence is not shown."""

def arguments(parser):
    parser.add_argument("name", choices=("you", "nobody"))

def run(args):
    if args.name == "nobody":
        raise ZeroDivisionError("no name")
    print(f"Hello, {args.name}")
'''


class TestBuiltInCommands(CommandContract):
    @pytest.fixture(params=sorted({point.name for point in entry_points(group="leadline.commands")}))
    def command(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Install a distribution with one command, whose module has a text."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(name: str, text: str, command: str = "hello") -> None:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[leadline.commands]\n{command} = {name}_commands\n")
        (tmp_path / f"{name}_commands.py").write_text(text)

    return install


def test_a_command_of_a_package_is_listed_and_run(cli: Cli, install: Callable[..., None]) -> None:
    install("greeting", HELLO)
    assert "  hello       greet somebody\n" in cli("--help").out
    assert cli("hello", "you").out == "Hello, you\n"
    assert "no such command: 'helo'; did you mean 'hello'?" in cli("helo").err
    done = cli("hello", "nobody")
    assert done.code == 1
    assert "command 'hello' (greeting 1.0) raised ZeroDivisionError: no name; this is a bug in it" in done.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("raise OSError('no licence')", "cannot be loaded: faulty_commands raised OSError: no licence"),
        ("import sys\nsys.exit(3)", "cannot be loaded: faulty_commands raised SystemExit: 3"),
        ("", "faulty_commands has no function arguments(parser)"),
    ],
)
def test_a_faulty_command_is_named_with_its_package_and_harms_no_other(
    cli: Cli, install: Callable[..., None], text: str, told: str
) -> None:
    install("faulty", text)
    done = cli("hello", "you")
    assert (done.code, done.out) == (78, "")
    assert done.err.startswith("leadline: command 'hello' (faulty 1.0) ")
    assert told in done.err
    assert "hello" in cli("--help").out
    assert cli("version").code == 0


def test_a_command_that_two_packages_bring_is_refused(cli: Cli, install: Callable[..., None]) -> None:
    install("one", HELLO)
    install("two", HELLO)
    assert (
        "command 'hello' (one 1.0, two 1.0) is brought by 2 packages: uninstall all but one" in cli("hello", "you").err
    )


def test_a_package_replaces_no_command_of_the_core(cli: Cli, install: Callable[..., None]) -> None:
    install("thief", HELLO.replace("hello", "version"), command="version")
    assert cli("version").out.startswith("leadline ")
    assert cli("--help").out.count("  version ") == 1
