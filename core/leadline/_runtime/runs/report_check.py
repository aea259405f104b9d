"""Checks of any report outside a run, by the judges of the settings and the reader of the plugin `verify`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from leadline._runtime.calls.job import CHAT
from leadline._runtime.journal.rows import Row
from leadline._runtime.runs.adhoc_session import adhoc_session
from leadline._runtime.runs.report_sources import from_web
from leadline._runtime.runs.run_context import RunContext
from leadline._settings.load import Loaded
from leadline.errors import ConfigError
from leadline.hookspecs import GROUP
from leadline.records import Json, Report

_TASK = "verify_claim"
_QUESTION = "Do the sources of this report support its claims?"


@dataclass(frozen=True)
class Judged:
    """What the judges found, the model that they called if any, and all their calls."""

    found: Any
    notices: Sequence[str]
    model: str
    rows: Sequence[Row]


def checker() -> Any:
    """Return the module of the plugin `verify`, which reads and judges reports."""
    for point in entry_points(group=GROUP, name="verify"):
        return point.load()
    raise ConfigError("the plugin 'verify' is not installed: pip install --force-reinstall leadline")


async def judged(loaded: Loaded, check: Callable[[Any], Awaitable[Any]]) -> Judged:
    """Call `check` with a run that has the configured judges, and return what it found."""
    async with adhoc_session(loaded, _QUESTION) as session:
        found = await check(session.run)
        rows = session.journal.rows()
        asked = any(row.kind == CHAT for row in rows)
        return Judged(found, session.run.notices, await session.run.model_of(_TASK) if asked else "", rows)


async def checked(loaded: Loaded, report: Report | str, *, fetch: bool) -> Json:
    """Check a report as data by its stored sources, or one in Markdown by those on the web or not at all."""
    reader = checker()
    if isinstance(report, Report):
        result = await judged(loaded, lambda run: reader.recheck(report, run))
        return _as_json(result.found, result)
    if not fetch:
        return _as_json(await reader.check(report, {}), None)
    problems: dict[str, str] = {}

    async def check(run: RunContext) -> Any:
        read = await from_web(run, await reader.cited_sources(report))
        problems.update(read.problems)
        return await reader.check(report, read.documents, run)

    result = await judged(loaded, check)
    return {**_as_json(result.found, result), "unread": dict(problems)}


def _as_json(found: Any, result: Judged | None) -> Json:
    told: Json = {"model": result.model, "notices": list(result.notices)} if result else {"model": "", "notices": []}
    return {**found.model_dump(mode="json"), **told}
