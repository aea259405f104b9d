"""`leadline doctor`: what works here, what does not, and the next command."""

from __future__ import annotations

import argparse
import platform
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal

from leadline import __version__
from leadline.api import Client
from leadline.assemble import House, default_cache
from leadline.cli.common import client_of, near
from leadline.cli.out import table, write, write_json
from leadline.errors import ConfigError
from leadline.runs.opening import pipeline_of
from leadline.settings.load import Loaded

LOW = 100 * 1024 * 1024
"""Bytes of free space below which a run may not end well."""
_MARKS = {"ok": "ok", "note": "note", "bad": "BAD"}


_UNSET = re.compile(r" is not set: set ([A-Z][A-Z0-9_]*), or ")
"""How it is told that a plugin lacks a key, or an address."""


@dataclass(frozen=True)
class Finding:
    """What was looked at, whether it is well, and what to do: `bad` keeps research from running."""

    what: str
    state: Literal["ok", "note", "bad"]
    detail: str
    next: str = ""


def run(args: argparse.Namespace) -> int:
    """Print the findings; 0 if research can run."""
    found = list(_examine(client_of(args)))
    docs = shlex.join(f"--docs={folder}" for folder in args.docs) or "--docs FOLDER"
    well = all(item.state != "bad" for item in found)
    if args.json:
        write_json({"ready": well, "findings": [asdict(item) for item in found]})
    else:
        write(table((_MARKS[item.state], item.what, item.detail) for item in found))
        _advise(found, well, f'leadline research "How does …?" {docs}')
    return 0 if well else ConfigError.exit_code


def _advise(found: list[Finding], well: bool, research: str) -> None:
    steps = list(dict.fromkeys(item.next or research for item in found if item.state == "bad" or item.next))
    write("\nResearch can run." if well else "\nResearch cannot run yet.")
    write("Next:\n" + "\n".join(f"  {step}" for step in steps or [research]))


def _examine(client: Client) -> Iterator[Finding]:
    yield Finding("leadline", "ok", f"{__version__}, Python {platform.python_version()}, {platform.platform()}")
    yield from _distributions()
    yield from (Finding("plugin", "note", problem) for problem in client.host.problems)
    try:
        loaded = client.load(complete=False)
    except ConfigError as error:
        yield Finding("settings", "bad", str(error), "leadline config check")
        return
    yield from _settings(loaded)
    yield _folder("runs folder", loaded.settings.runs.folder.absolute(), "leadline doctor --folder DIR")
    yield _folder("cache folder", default_cache(), "export XDG_CACHE_HOME=DIR")


def _distributions() -> Iterator[Finding]:
    """Yield a finding for each distribution Leadline needs that is not there, or one for all of them."""
    try:
        needs = distribution("leadline").requires or []
    except PackageNotFoundError:
        yield Finding("packages", "note", "leadline runs from its source and is not installed", "pip install leadline")
        return
    names = [re.split(r"[^\w.-]", need)[0] for need in needs if "extra ==" not in need]
    versions = {name: _version(name) for name in names}
    absent = [name for name, version in versions.items() if not version]
    if absent:
        yield Finding(
            "packages", "bad", f"not installed: {', '.join(absent)}", "pip install --force-reinstall leadline"
        )
    else:
        yield Finding("packages", "ok", ", ".join(f"{name} {version}" for name, version in versions.items()))


def _version(name: str) -> str:
    try:
        return distribution(name).version
    except PackageNotFoundError:
        return ""


def _settings(loaded: Loaded) -> Iterator[Finding]:
    """Yield what the settings choose, who dropped out, and what cannot stand."""
    for key, names in loaded.chosen.items():
        if names and key != "pipeline":
            yield Finding(key, "ok", ", ".join(names))
    yield from (Finding(f"plugin {name}", "note", reason) for name, reason in loaded.dropped.items())
    yield from (
        Finding("settings", "bad", problem.replace("\n  ", "; "), _cure(problem)) for problem in loaded.problems
    )
    if not loaded.problems:
        yield _pipeline(loaded)


def _cure(problem: str) -> str:
    """Return the next command; empty where a folder to search is all that is missing."""
    if problem.startswith("search.engines") and "--docs DIR" in problem:
        return ""
    unset = _UNSET.search(problem)
    return f"export {unset[1]}=…" if unset else "leadline config check"


def _pipeline(loaded: Loaded) -> Finding:
    name = loaded.settings.pipeline
    try:
        pipeline = pipeline_of(House(loaded), name)
    except ConfigError as error:
        return Finding(f"pipeline {name}", "bad", str(error), "leadline config check")
    stages = sum(1 for _ in pipeline.steps())
    return Finding(f"pipeline {name}", "ok", f"{stages} stages that fit together")


def _folder(what: str, path: Path, cure: str) -> Finding:
    """Look whether a folder, or the nearest that is there above it, can be written, and has space."""
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            free = shutil.disk_usage(there).free
    except OSError as error:
        return Finding(what, "bad", f"{near(path)} cannot be written: {error.strerror or error}", cure)
    state: Literal["ok", "note"] = "ok" if free > LOW else "note"
    return Finding(what, state, f"{near(path)}, {free / 1024**3:,.1f} GB free")
