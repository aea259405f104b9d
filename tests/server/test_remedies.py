"""Messages for readers without a shell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from leadline_server.remedies import for_readers

ROOT = Path(__file__).parents[2]
# Modules whose messages only a terminal shows: commands, and what a server or worker says before it serves.
_TERMINAL = ("cli", "commands", "command.py", "commands.py", "store.py", "image.py", "remedies.py")

_SUSPECT = re.compile(r"`leadline |\bleadline (?:serve|knowledge|[a-z]+ [A-Z\"])|--set |(?:pip|plugins) install")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("9 of 3 taken; raise it with --set budget.tokens=20", "9 of 3 taken; raise it with budget.tokens=20"),
        ("no plugin 'x' is installed; see `leadline plugins`", "no plugin 'x' is installed; see GET /v1/plugins"),
        ("add some with `leadline knowledge add PATH`", "add some with POST /v1/knowledge?name=FILE"),
        ("run `leadline knowledge reembed --principal a`", "run `knowledge reembed` by the operator"),
        (
            "it lacks a package: leadline plugins install 'leadline[pdf]'",
            "it lacks a package: the operator installs leadline[pdf]",
        ),
        ("`leadline resume 1a2b` restores it", "POST /v1/runs/ID/resume restores it"),
        ("a --setting of a leadline", "a --setting of a leadline"),
    ],
)
def test_a_command_line_becomes_a_request_or_a_setting(text: str, told: str) -> None:
    assert for_readers(text) == told


def messages() -> Iterator[tuple[str, str]]:
    """Yield the texts of the core and of the plugins that may have a command line; values in them are `x1`."""
    for package in ("core", "plugins"):
        for path in (ROOT / package).rglob("*.py"):
            source = path.read_text("utf-8")
            if any(part in _TERMINAL for part in path.parts) or not _SUSPECT.search(source):
                continue
            skipped: set[int] = set()
            for node in ast.walk(ast.parse(source)):  # a node before its parts
                if isinstance(node, ast.Expr):  # a docstring
                    skipped.add(id(node.value))
                elif isinstance(node, ast.JoinedStr):
                    skipped |= {id(part) for part in node.values}
                    texts = (part.value if isinstance(part, ast.Constant) else "x1" for part in node.values)
                    yield str(path.relative_to(ROOT)), "".join(map(str, texts))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
                    yield str(path.relative_to(ROOT)), node.value


def test_no_message_of_the_core_or_a_plugin_keeps_a_command_line() -> None:
    left = [
        (path, text)
        for path, text in messages()
        if _SUSPECT.search(for_readers(text.replace("{", "").replace("}", "")))
    ]
    assert left == []
