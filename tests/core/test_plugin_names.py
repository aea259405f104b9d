"""The core names no plugin: built-ins are chosen by `defaults.toml` and by the settings, as third-party plugins are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import leadline
from leadline.hookspecs import GROUP

CORE = Path(leadline.__file__).parent
NAMES = {point.name for point in distribution("leadline").entry_points if point.group == GROUP}

# Entry-point names that are also words of the core, with their meaning there.
WORDS = {
    "audit": "a finding",
    "answer": "what a person gives to a question of a run",
    "code": "a kind of block, and a command",
    "digest": "a finding",
    "fetch": "a verb of the contracts, and the name of its calls",
    "html": "a media type",
    "json": "an argument of pydantic",
    "knowledge": "a command, a table of the settings, and the documents behind both",
    "local": "the scheme of addresses of one's own documents",
    "markdown": "a synonym that models write for a field",
    "mcp": "a command, and the Python package behind it",
    "model": "a field",
    "pdf": "a media type",
    "plan": "a finding, and the table of the cache for the task of this name",
    "prose": "a kind of text in records",
    "python": "a programming language",
    "query": "a field of a search",
    "reply": "the outcome of a call",
    "retrieve": "a verb of the contracts, and the name of its calls",
    "review": "a finding",
    "route": "a finding, and the event about it",
    "search": "a verb of the contracts, a table of the settings",
    "synthesize": "a verb of the contracts",
    "think": "a command",
    "template": "a field",
    "text": "a kind of event, a field, a media type",
    "verify": "a command, a table of the settings, an option of httpx",
    "write": "a mode of opening files",
}
# Uses of a plugin's name that are meant: module and name, with the reason.
ALLOWED = {
    ("_runtime/models/prices.py", "litellm"): "the Python package whose table of prices is read",
}


def literals() -> Iterator[tuple[str, int, str]]:
    """Yield every string literal of the core with its module and line."""
    for path in sorted(CORE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield str(path.relative_to(CORE)), node.lineno, node.value


def test_no_string_in_the_core_is_the_name_of_a_plugin() -> None:
    found = [
        f"{module}:{line}: {text!r}"
        for module, line, text in literals()
        if text in NAMES - WORDS.keys() and (module, text) not in ALLOWED and not module.startswith("testing/")
    ]
    assert found == []


def test_no_string_in_the_core_is_a_key_of_a_plugins_section() -> None:
    keys = tuple(f"plugins.{name}." for name in NAMES)
    assert [f"{module}:{line}: {text!r}" for module, line, text in literals() if text.startswith(keys)] == []


def test_every_exception_is_needed() -> None:
    used = {(module, text) for module, _, text in literals()}
    assert [key for key in ALLOWED if key not in used] == []
    assert WORDS.keys() <= NAMES
