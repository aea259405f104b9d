"""Where a plugin failed is kept for whoever wrote it, without the secrets of the settings, and shown when asked for."""

from __future__ import annotations

import json
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

import leadline
from leadline import cli
from leadline._hosting.catalog import PluginCatalog
from leadline._hosting.faults import Held, trace, words
from leadline.contracts import Call, Context
from leadline.hookspecs import GROUP
from leadline.plugin import PluginSettings, middleware, report_formatter, search_provider, stage
from leadline.research_findings import REPORT
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
KEY = "sk-of-the-plugin-0123456789"


class Keyed(PluginSettings):
    api_key: SecretStr = SecretStr("")


class Stumbles:
    """Is wrong in the midst of its work, and says its key."""

    deltas = False
    live = True

    def __init__(self, settings: Keyed) -> None:
        self._key = settings.api_key.get_secret_value()

    async def search(self, request: Any, call: Call, /) -> Any:
        return self._stumble_here()

    async def format(self, report: Any, call: Call, /) -> Any:
        return self._stumble_here()

    async def run(self, findings: Any, run: Any, /) -> None:
        self._stumble_here()

    def _stumble_here(self) -> Any:
        raise KeyError(f"{'x' * 9000}no such field for {self._key}")


def _make(settings: Keyed, context: Context) -> Stumbles:
    return Stumbles(settings)


def _unmade(settings: Keyed, context: Context) -> Any:
    return Stumbles(settings)._stumble_here()


ENGINE = plugin("stumbles", search_provider("Stumbles", settings=Keyed)(_make))
STAGE = plugin("stumbles_too", stage("Stumbles", settings=Keyed, needs=(REPORT,))(_make))
FORMAT = plugin("stumbles_last", report_formatter("Stumbles", settings=Keyed)(_make))
UNMADE = plugin("never_made", middleware("Stumbles", settings=Keyed)(_unmade))
UNMADE_ENGINE = plugin("unmade", search_provider("Cannot be made", settings=Keyed)(_unmade))
MINE = {"pipeline": "mine", "pipelines": {"mine": {"extends": "research", "after": {"write": ["stumbles_too"]}}}}


def client(folder: Path, stumbles: Any, **settings: Any) -> leadline.Client:
    values = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "retry.base": 0}
    values |= {f"plugins.{stumbles.name}.api_key": KEY, **settings}
    return leadline.Client(plugins=[fake_web(), stumbles], folder=folder / "runs", cache=folder / "cache", set=values)


@pytest.mark.parametrize(
    ("stumbles", "settings"),
    [
        (ENGINE, {"search.engines": ["stumbles", "fakeweb"]}),
        (UNMADE_ENGINE, {"search.engines": ["unmade", "fakeweb"]}),
        (STAGE, MINE),
        (FORMAT, {"report.formats": ["markdown", "stumbles_last"]}),
    ],
)
async def test_the_metadata_have_the_traceback_of_a_failed_plugin(stumbles: Any, settings: Any, tmp_path: Path) -> None:
    async with client(tmp_path, stumbles, **settings) as runs:
        result = await runs.research(QUESTION)
        again = await runs.replay(result.folder)
    for metadata in (result.metadata, again.metadata):
        tracebacks = [error.traceback for error in metadata.errors if error.traceback]
        assert "_stumble_here" in tracebacks[0]
        assert len(tracebacks[0]) < 9000
    for path in result.folder.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path
    kept = json.loads((result.folder / "metadata.json").read_text())["errors"]
    assert any("_stumble_here" in error["traceback"] for error in kept)


@pytest.mark.parametrize("asked", [True, False])
def test_the_command_line_shows_a_traceback_when_asked(
    asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("The harbour is 40 fathoms deep. A fathom is six feet.")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(PluginCatalog, "discover", _discovering(PluginCatalog.discover, STAGE))
    if asked:
        monkeypatch.setenv("LEADLINE_DEBUG", "1")
    said = ["--quiet", "--docs", "docs", "--set", f"plugins.stumbles_too.api_key={KEY}", "--set", "pipeline=mine"]
    said += ["--set", 'pipelines.mine={ extends = "research", after = { write = ["stumbles_too"] } }']
    assert cli.main(["research", "How deep is the harbour in fathoms?", *said]) == 1
    told = capsys.readouterr().err
    assert ("_stumble_here" in told) is asked
    assert KEY not in told


@pytest.mark.parametrize("asked", [True, False])
def test_the_traceback_of_a_plugin_that_cannot_be_created_is_shown_when_asked(
    asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(PluginCatalog, "discover", _discovering(PluginCatalog.discover, UNMADE, fake_web()))
    if asked:
        monkeypatch.setenv("LEADLINE_DEBUG", "1")
    said = ["--set", f"plugins.never_made.api_key={KEY}", "--set", "middleware=never_made", "--set"]
    assert cli.main(["research", QUESTION, *said, "search.engines=fakeweb"]) == 78
    told = capsys.readouterr().err
    assert "could not be created" in told
    assert ("_stumble_here" in told) is asked
    assert KEY not in told


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("words", [["research", QUESTION], ["plugins", "show", "unimported"]])
@pytest.mark.parametrize(
    "body",
    [
        "def stumble_here():\n    raise KeyError(os.environ['UNIMPORTED_API_KEY'])\nstumble_here()",
        "@leadline.plugin.middleware('x')\nclass Stumbles:\n    stumble_here",
    ],
)
def test_the_traceback_of_a_failed_import_is_shown_when_asked(
    body: str,
    words: list[str],
    asked: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "unimported_module.py").write_text(f"import os\nimport leadline.plugin\n\n{body}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "unimported_module", raising=False)
    point = EntryPoint("unimported", "unimported_module", GROUP)
    monkeypatch.setattr(PluginCatalog, "discover", _discovering(PluginCatalog.discover, point, fake_web()))
    monkeypatch.setenv("UNIMPORTED_API_KEY", KEY)
    if asked:
        monkeypatch.setenv("LEADLINE_DEBUG", "1")
    assert cli.main([*words, "--set", "middleware=unimported", "--set", "search.engines=fakeweb"]) == 78
    told = capsys.readouterr().err
    assert "plugin 'unimported'" in told
    assert ("unimported_module.py" in told) is asked
    assert words[0] == "plugins" or KEY not in told  # what is shown of a plugin alone is read without settings


def test_a_group_is_told_by_what_it_is_made_of() -> None:
    inner = ExceptionGroup("unhandled errors in a TaskGroup", [ValueError("a"), KeyError("b"), ValueError("a")])
    assert words(ExceptionGroup("unhandled", [inner])) == "ExceptionGroup: ValueError: a; KeyError: 'b'"
    many = ExceptionGroup("many", [ValueError(str(at)) for at in range(5)])
    assert words(many) == "ExceptionGroup: ValueError: 0; ValueError: 1; ValueError: 2; and 2 more"


def _discovering(discover: Any, *points: Any) -> Any:
    return staticmethod(lambda found=None, extra=(): discover(found, (*extra, *points)))


def test_an_error_whose_text_fails_or_that_recursed_has_a_traceback_all_the_same() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def deeper(left: int) -> None:
        if not left:
            raise Mute
        (deeper if left % 2 else lambda left: deeper(left))(left - 1)

    try:
        deeper(500)
    except Mute as error:
        text = trace(error, str)
    assert "deeper" in text
    assert len(text) < 8_100
    assert "SystemExit: bye" in trace(Held(SystemExit("bye")), str)
