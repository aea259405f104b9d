"""The pages of the documentation and their fenced blocks; the example plugins as if they were installed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.hookspecs import GROUP

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(\w+)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, its first line's number, its language, what stands behind that, its text."""

    page: Path
    line: int
    language: str
    mark: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    others = ("README.md", "examples/README.md", "examples/systems/README.md")
    return [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / name for name in others)]


def _blocks() -> Iterator[Block]:
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for found in _BLOCK.finditer(text):
            yield Block(page, text.count("\n", 0, found.start()) + 2, found[1], found[2], found[3])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes `page` each page, one that takes `block` each block its `pytest.mark.blocks` asks for."""
    if "page" in metafunc.fixturenames:
        metafunc.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
    for mark in metafunc.definition.iter_markers("blocks"):
        chosen = [block for block in _blocks() if re.fullmatch(mark.args[0], f"{block.language} {block.mark}".strip())]
        metafunc.parametrize("block", chosen, ids=str)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "blocks(pattern): the fenced blocks whose first line matches")


@pytest.fixture
def example_plugins(monkeypatch: pytest.MonkeyPatch) -> PluginCatalog:
    """Return a host of the installed plugins and the examples, whose modules can be imported."""
    points = list(entry_points(group=GROUP))
    for project in sorted((ROOT / "examples").rglob("pyproject.toml")):
        monkeypatch.syspath_prepend(str(project.parent))
        names = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["entry-points"].get(GROUP, {})
        points += [EntryPoint(name, module, GROUP) for name, module in names.items()]
    return PluginCatalog.discover(points)
