"""Resumed runs keep their new settings, and a worse session does not overwrite a complete report."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline._runtime.runs import earlier_sessions
from leadline._runtime.runs.earlier_sessions import BACKUP, PreviousOutput
from leadline._runtime.runs.folder import read_metadata, write_atomically
from leadline.contracts import Call
from leadline.errors import Denied, LeadlineError
from leadline.plugin import PluginSettings, middleware, stage
from leadline.records import SearchRequest
from leadline.research_findings import REPORT
from leadline.runs import METADATA
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "retry.base": 0}


class Denies:
    """A middleware that lets nobody search."""

    live = True

    async def around(self, request: Any, call: Call, proceed: Any, /) -> Any:
        if isinstance(request, SearchRequest):
            raise Denied("HTTP 401 from https://example.org/search")
        return await proceed(request)


class Breaks:
    """A stage that fails when all is written."""

    async def run(self, findings: Any, run: Any, /) -> None:
        raise ZeroDivisionError


def _broken(settings: PluginSettings, context: Any) -> Breaks:
    return Breaks()


PLUGINS = (
    plugin("denies", middleware("Denies")(lambda: Denies())),
    plugin("breaks", stage("Breaks", needs=(REPORT,))(_broken)),
    fake_web(),
)
BREAKING = {"mine": {"extends": "research", "after": {"export": ["breaks"]}}}


def client(folder: Path, **settings: Any) -> leadline.Client:
    values = WEB | {name.replace("__", "."): value for name, value in settings.items()}
    return leadline.Client(plugins=PLUGINS, folder=folder / "runs", cache=folder / "cache", set=values)


async def resumed(folder: Path, run: Path, **settings: Any) -> leadline.Result:
    values = {name.replace("__", "."): value for name, value in settings.items()}
    async with leadline.Client(plugins=PLUGINS, cache=folder / "cache", set=values) as runs:
        return await (await runs.resume(run)).result()


def settings_of(run: Path) -> dict[str, Any]:
    with sqlite3.connect(run / "journal.sqlite") as db:
        (value,) = db.execute("select value from entries where space = 'meta' and name = 'order'").fetchone()
    stored: dict[str, Any] = json.loads(value)["settings"]
    return stored


async def test_the_settings_of_a_resumed_session_are_those_of_the_next(tmp_path: Path) -> None:
    async with client(tmp_path, middleware=["denies"]) as runs:
        first = await runs.research(QUESTION)
    assert first.status == "failed"
    mended = await resumed(tmp_path, first.folder, middleware=[], report__title="Soundings")
    assert mended.status == "complete"
    whole = (first.folder / "report.md").read_bytes()
    again = await resumed(tmp_path, first.folder)
    assert (again.status, again.report and again.report.title) == ("complete", mended.report and mended.report.title)
    assert (first.folder / "report.md").read_bytes() == whole
    async with leadline.Client(plugins=PLUGINS, cache=tmp_path / "cache") as runs:
        assert (await runs.replay(first.folder)).report == mended.report
    assert settings_of(first.folder)["middleware"] == []


async def test_a_worse_session_leaves_a_complete_report_unchanged(tmp_path: Path) -> None:
    async with client(tmp_path, report__formats=["markdown", "json"]) as runs:
        first = await runs.research(QUESTION)
    assert first.status == "complete"
    before = {path.name: path.read_bytes() for path in first.files if path.name not in ("events.jsonl", METADATA)}
    settings = settings_of(first.folder)
    lesser = await resumed(
        tmp_path,
        first.folder,
        pipeline="mine",
        pipelines=BREAKING,
        report__formats=["markdown", "html", "bibtex"],
        report__title="Mine",
    )
    assert (lesser.status, lesser.metadata.pipeline) == ("failed", "mine")
    assert any("earlier complete report" in notice for notice in lesser.metadata.notices)
    assert {name: (first.folder / name).read_bytes() for name in before} == before
    assert read_metadata(first.folder).status == "complete"
    assert settings_of(first.folder) == settings
    assert not [name for name in ("report.html", "references.bib", BACKUP) if (first.folder / name).exists()]
    assert {path.name for path in lesser.files} == {path.name for path in first.files}
    async with leadline.Client(plugins=PLUGINS, cache=tmp_path / "cache") as runs:
        assert (await runs.replay(first.folder)).status == "complete"
    again = await resumed(tmp_path, first.folder, report__formats=["json"])
    assert again.status == "complete"
    assert settings_of(first.folder)["report"]["formats"] == ["json"]
    assert not [name for name in ("report.md", BACKUP) if (first.folder / name).exists()], "it is not that session's"


async def test_the_backup_of_a_killed_session_is_restored_by_the_next(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        first = await runs.research(QUESTION)
    whole = (first.folder / "report.md").read_bytes()
    assert PreviousOutput.back_up(first.folder) is not None
    (first.folder / "report.md").write_text("Quotes.")  # and there the session was killed
    lesser = await resumed(tmp_path, first.folder, pipeline="mine", pipelines=BREAKING)
    assert lesser.status == "failed"
    assert (first.folder / "report.md").read_bytes() == whole
    assert read_metadata(first.folder).status == "complete"


async def test_a_backup_that_cannot_be_restored_is_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with client(tmp_path) as runs:
        first = await runs.research(QUESTION)
    whole = {path.name: path.read_bytes() for path in first.folder.glob("report.*")}
    assert len(whole) > 1
    write = write_atomically

    def full(path: Path, data: bytes) -> Path:
        if path.name == METADATA:
            raise LeadlineError("cannot write: No space left on device")
        return write(path, data)

    monkeypatch.setattr(earlier_sessions, "write_atomically", full)
    for times in (1, 2):
        lesser = await resumed(
            tmp_path, first.folder, pipeline="mine", pipelines=BREAKING, report__title=f"Mine {times}"
        )
        assert lesser.status == "failed"
        assert {path.name: path.read_bytes() for path in (first.folder / BACKUP).glob("report.*")} == whole
    monkeypatch.undo()
    await resumed(tmp_path, first.folder, pipeline="mine", pipelines=BREAKING)
    assert {path.name: path.read_bytes() for path in first.folder.glob("report.*")} == whole
    assert not (first.folder / BACKUP).exists()


async def test_a_backup_half_removed_by_a_kill_is_ignored(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        first = await runs.research(QUESTION)
    whole = {path.name: path.read_bytes() for path in first.folder.glob("report.*")}
    half = first.folder / f"{BACKUP}.old"
    half.mkdir()
    (half / METADATA).write_bytes((first.folder / METADATA).read_bytes())
    lesser = await resumed(tmp_path, first.folder, pipeline="mine", pipelines=BREAKING)
    assert lesser.status == "failed"
    assert {path.name: path.read_bytes() for path in first.folder.glob("report.*")} == whole
    assert not half.exists()
