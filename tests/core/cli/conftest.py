"""A working folder with a few documents, and an engine that keeps a run waiting."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

_DOCUMENTS = {
    "harbour.md": """# The harbour of Port Ellery

The harbour of Port Ellery was sounded in 1871. The survey found a depth of nine fathoms at the mole.
Port Ellery lies on the northern coast of the island.
""",
    "lighthouse.md": """# The lighthouse

The lighthouse of Port Ellery was lit in the year 1880. Its lamp stands forty metres above the sea.
""",
    "trade.md": """# Trade

Salt was the first trade of Port Ellery. Ships of a depth of two fathoms carried it away.
""",
}
_WAITING = """
import asyncio, sys
from leadline.plugin import PluginSettings, SearchPage, search_provider

class Settings(PluginSettings):
    seconds: float = 60
    after: int = 0

@search_provider("Keeps the run waiting", settings=Settings, cache_key=())
class Waiting:
    def __init__(self, settings):
        self.seconds = settings.seconds
        self.left = settings.after

    async def search(self, request, call, /):
        self.left -= 1
        if self.left >= 0:
            return SearchPage()
        print("asked", file=sys.stderr, flush=True)
        await asyncio.sleep(self.seconds)
        return SearchPage()
"""


Start = Callable[..., "Popen[str]"]


@pytest.fixture
def docs(own_folders: Path) -> Path:
    """Return a folder of documents."""
    folder = own_folders / "work" / "docs"
    folder.mkdir(exist_ok=True)
    for name, text in _DOCUMENTS.items():
        (folder / name).write_text(text)
    return folder


Made = Callable[[Callable[[], object]], None]


@pytest.fixture(scope="module")
def _kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "own"


@pytest.fixture
def made_once(_kept: Path, own_folders: Path) -> Made:
    """Do something with commands for the first test of a module; the others get copies of the folders it filled."""

    def make(do: Callable[[], object]) -> None:
        if _kept.exists():
            shutil.copytree(_kept, own_folders, dirs_exist_ok=True)
        else:
            do()
            shutil.copytree(own_folders, _kept)

    return make


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a command as a process, with the plugin `waiting` installed beside the others."""
    info = tmp_path / "site" / "waiting-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: waiting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[leadline.v2]\nwaiting = waiting_plugin\n")
    (info.parent / "waiting_plugin.py").write_text(_WAITING)

    def run(*argv: str, **options: Any) -> Popen[str]:
        places = [str(info.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(places), **options.pop("env", {})}
        options = {"stdin": PIPE, "stdout": PIPE, "stderr": PIPE, **options}
        process = Popen([sys.executable, "-m", "leadline", *argv], text=True, env=environ, **options)
        started.append(process)
        return process

    started: list[Popen[str]] = []
    yield run
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
