"""Whatever a plugin declares, listings show all others, and name the faulty one with the reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_HEAD = """
from typing import Annotated, Any, ClassVar
from pydantic import Field, field_validator
from leadline.plugin import Key, Limits, PluginSettings, Record, TaskKind, Tool
from leadline.plugin import map_stage, parser, search_provider, stage

class Item(Record):
    id: str

class Settings(PluginSettings):
    pass

class Odd:
    def __repr__(self):
        raise ValueError("no text")

ITEMS = Key("mine.items", Item, grows=True)
ONE = Key("mine.one", Item)
"""
_NO_SCHEMA = """
class Bad:
    @classmethod
    def __get_pydantic_core_schema__(cls, *_):
        raise OSError('no schema')

"""
_CLASS = """
@{decorator}({arguments})
class Made:
    pass
"""


def offer(**fields: str) -> str:
    """Return a module that offers an engine with these arguments, as source."""
    return _decorated("search_provider", {"summary": "'x'", "settings": "Settings", **fields})


def mapped(**fields: str) -> str:
    return _decorated("map_stage", {"summary": "'x'", "over": "ITEMS", "gives": "ITEMS", **fields})


def _decorated(decorator: str, given: dict[str, str]) -> str:
    arguments = ", ".join(f"{name}={value}" for name, value in given.items())
    return _CLASS.format(decorator=decorator, arguments=arguments)


def with_settings(body: str) -> str:
    return f"class Own(PluginSettings):\n    {body}\n" + offer(settings="Own")


# By name: the source of the module, and what the listing says. A text before `|` says when: `chosen` plugins load, and
# cannot be used.
FAULTS: dict[str, tuple[str, str]] = {
    # the module
    "raises": ("raise RuntimeError('no network')", "cannot be imported: raises_plugin raised RuntimeError: no network"),
    "exits": ("raise SystemExit(3)", "cannot be imported: exits_plugin raised SystemExit: 3"),
    "cancels": ("import asyncio\nraise asyncio.CancelledError", "cannot be imported: cancels_plugin raised Cancelled"),
    "syntax": ("def (", "cannot be imported: syntax_plugin raised SyntaxError"),
    "recursion": ("def f():\n    f()\nf()", "cannot be imported: recursion_plugin raised RecursionError"),
    "odd_text": ("class E(Exception):\n    def __str__(self):\n        raise E\nraise E", "raised E: its text cannot"),
    "odd_dir": ("def __dir__():\n    raise OSError('gone')" + offer(), "cannot be loaded: OSError: gone"),
    # the arguments of a decorator
    "summary_none": (offer(summary="None"), "`summary`: input should be a valid string, and is None"),
    "summary_odd": (offer(summary="Odd()"), "cannot be loaded: ValueError: no text"),
    "env_field": (offer(env="{'key': 'KEY'}"), "names a settings field 'key' that does not exist"),
    "requires_dash": (
        offer(requires="('scikit-learn',)"),
        "`requires.0`: must be 'module' or 'module=what to install'",
    ),
    "ready_text": (offer(ready="'x'"), "`ready`: input should be callable"),
    "cache_key_field": (offer(cache_key="('depth',)"), "names a settings field 'depth' that does not exist"),
    "limits_dict": (
        offer(limits="{'at_once': 2}"),
        "`limits`: input should be an instance of Limits",
    ),
    "uses_task": (offer(uses="(TaskKind(3, Item, Item),)"), "`uses.0.task.name`: input should be a valid string"),
    # stages
    "over_one": (mapped(over="ONE"), "`over`: must be a Key that grows"),
    "map_may_give": (mapped(may_give="(ONE,)"), "`may_give.0`: must be a Key that grows"),
    # settings
    "settings_dict": (offer(settings="{}"), "has settings {}: they must be a subclass of PluginSettings"),
    "schema": (
        _NO_SCHEMA + with_settings("depth: Bad = 1"),
        "raised OSError: no schema",
    ),
    "late_schema": (
        _NO_SCHEMA + with_settings("model_config = {'defer_build': True}\n    depth: Bad = 1"),
        "no schema",
    ),
    "authority": (with_settings("authority = ['depth']"), "whose `authority` is no table of texts"),
    "description": (
        with_settings("depth: int = Field(1, description=3)"),
        "field `depth` has a description that is no text",
    ),
    # plugins that load and cannot be used
    "factory": (
        "def broken():\n    raise OSError('no')\n" + with_settings("depth: int = Field(default_factory=broken)"),
        "chosen|raised OSError while it read its section",
    ),
    "validator": (
        with_settings(
            "depth: int = 1\n    @field_validator('depth')\n    def check(cls, value):\n        raise KeyError(1)\n"
            "    model_config = {'validate_default': True}"
        ),
        "chosen|raised KeyError while it read its section",
    ),
    "no_json": (
        with_settings("depth: Any = object()"),
        "chosen|raised PydanticSerializationError while it read its section",
    ),
    "ready_raises": (
        "def broken(settings):\n    raise SystemExit(3)\n" + offer(ready="broken"),
        "chosen|raised SystemExit in `ready`",
    ),
    "ready_true": (offer(ready="lambda settings: True"), "chosen|returns bool from `ready`: it must return a text"),
    "ready_async": (
        "async def ready(settings):\n    return None\n" + offer(ready="ready"),
        "chosen|returns coroutine from `ready`: it must return a text or None, and not be async",
    ),
    "namespace": (
        offer(requires="('namespaces.inner.deep=leadline[deep]',)"),
        "chosen|leadline plugins install 'leadline[deep]'",
    ),
    "absent": (
        offer(requires="('not_installed.inner=absent-sdk',)"),
        "chosen|lacks what it needs: leadline plugins install 'absent",
    ),
}
# Those that are shown and chosen by a command each: two that cannot be loaded, and two that load.
CHOSEN = ("raises", "odd_text", "factory", "ready_raises")
# Sound plugins beside them.
SOUND = {
    "good": offer(),
    "prints": "print('hello from a plugin')\n" + offer(),
    "namespace_there": offer(requires="('namespaces.inner.there=leadline[deep]',)"),
    "main_module": offer(requires="('__main__',)"),
    "no_metadata": offer(),
    "no_name": offer(),
}
# Entry points with names that cannot be used.
NAMES = ("Upper", "with-dash", "two words", "1first", "naïve", "dotted.name", "\x1b[31mred", "model_dump")
_SCRIPT = """
import contextlib, functools, io, json, pathlib, sys, tempfile
from leadline._hosting import catalog
from leadline.cli import main

# The files of all distributions are read once, and not for each command.
catalog.entry_points = functools.cache(catalog.entry_points)

def run(*argv):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(argv)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}

faulty, sound = json.loads(sys.stdin.read())
documents = tempfile.mkdtemp()
pathlib.Path(documents, "a.txt").write_text("It is time.")
print(json.dumps({
    "list": run("plugins", "list", "--json"),
    "table": run("plugins", "list"),
    "doctor": run("doctor", "--json", "--docs", documents),
    "check": run("config", "check", "--set", f"search.engines={','.join(sound)}"),
    "show": {name: run("plugins", "show", name, "--json") for name in faulty + sound},
    "chosen": {name: run("config", "check", "--set", f"search.engines={name}") for name in faulty},
}))
"""


def install(site: Path, name: str, source: str, metadata: str | None, entry: str = "") -> None:
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    if metadata is not None:
        (info / "METADATA").write_text(metadata)
    (info / "entry_points.txt").write_text(f"[leadline.v2]\n{entry or name} = {name}_plugin\n")
    (site / f"{name}_plugin.py").write_text(_HEAD + source)


def ask(site: Path) -> dict[str, Any]:
    """Return what the commands say about an environment with the plugins of a folder."""
    places = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _SCRIPT],
        input=json.dumps([CHOSEN, [*SOUND]]),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        cwd=site,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    site = tmp_path_factory.mktemp("site")
    (site / "namespaces" / "inner").mkdir(parents=True)
    (site / "namespaces" / "inner" / "there.py").touch()
    metadata = "Metadata-Version: 2.1\nName: {}\nVersion: 1.0\n"
    for name, source in (*((name, source) for name, (source, _) in FAULTS.items()), *SOUND.items()):
        own = {"no_metadata": None, "no_name": "Metadata-Version: 2.1\n"}
        install(site, name, source, own.get(name, metadata.format(name)))
    for number, name in enumerate(NAMES):
        install(site, f"named{number}", offer(), metadata.format(f"named{number}"), entry=name)
    return ask(site)


def listed(answers: dict[str, Any]) -> dict[str, Any]:
    return {plugin["name"]: plugin for plugin in json.loads(answers["list"]["out"])}


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_plugin_is_listed_with_the_reason(name: str, answers: dict[str, Any]) -> None:
    when, _, reason = FAULTS[name][1].rpartition("|")
    entry = listed(answers)[name]
    assert entry["status"] == ("incomplete" if when else "broken")
    assert reason in entry["lacks"]
    assert f"'{name}'" in entry["lacks"] or f"plugins.{name}" in entry["lacks"]


@pytest.mark.parametrize("name", CHOSEN)
def test_a_faulty_plugin_is_shown_and_refused_in_settings_with_the_reason(name: str, answers: dict[str, Any]) -> None:
    when, _, reason = FAULTS[name][1].rpartition("|")
    shown = answers["show"][name]
    assert shown["code"] == (0 if when else 78)
    assert reason in (json.loads(shown["out"])["lacks"] if when else shown["err"])
    done = answers["chosen"][name]
    assert done["code"] == 78
    assert reason in done["err"]
    assert "Traceback" not in done["err"]


@pytest.mark.parametrize("name", [*SOUND, "embedded", "local", "html"])
def test_sound_plugins_are_listed_beside_faulty_ones(name: str, answers: dict[str, Any]) -> None:
    entry = listed(answers)[name]
    assert entry["status"] == ("incomplete" if name == "local" else "ready"), entry["lacks"]
    assert f"\n{name} " in answers["table"]["out"]
    if name in SOUND:
        assert answers["show"][name]["code"] == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_cannot_be_used_is_listed_with_the_reason(name: str, answers: dict[str, Any]) -> None:
    entry = listed(answers)[name]
    assert entry["status"] == "broken"
    assert f"plugin {name!r}" in entry["lacks"]
    assert "has a name that cannot be used" in entry["lacks"]
    assert "\x1b" not in answers["table"]["out"]


def test_doctor_names_every_faulty_plugin_and_the_settings_are_valid(answers: dict[str, Any]) -> None:
    assert answers["check"] == {"code": 0, "out": "The settings are valid.\n", "err": ""}
    doctor = json.loads(answers["doctor"]["out"])
    assert doctor["ready"], answers["doctor"]
    notes = {finding["what"]: finding["detail"] for finding in doctor["findings"] if finding["state"] == "note"}
    broken = [name for name, (_, reason) in FAULTS.items() if "|" not in reason]
    assert {f"plugin {name}" for name in (*broken, *NAMES)} <= set(notes)
    for name in broken:
        assert FAULTS[name][1] in notes[f"plugin {name}"]
