"""The report of a run of one's own, for `leadline verify`: from its folder, its id, or one of its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from leadline.api import Client
from leadline.errors import UsageError
from leadline.records import Report
from leadline.runs.folder import JOURNAL
from leadline.runs.listing import find_run

DATA = "report.json"


@dataclass(frozen=True)
class OwnReport:
    """A run's report as data, and as the Markdown file that was named, if one was."""

    report: Report
    markdown: str = ""


async def own_report(name: str, client: Client) -> OwnReport | None:
    """Return the report of the run that a name stands for; None for any other file.

    Such names are a run's folder, its id or the beginning of it, its `report.json`, and a Markdown file beside that.
    Raises `UsageError` for what looks like one and is none.
    """
    found = _located(name, client)
    return OwnReport(await stored(found, client)) if isinstance(found, Path) else found


def _located(name: str, client: Client) -> OwnReport | Path | None:
    """Return the report where a file holds it, or the folder of the run."""
    path = Path(name)
    if path.is_dir():
        return path
    if path.suffix == ".json":
        return OwnReport(read(path))
    if path.is_file():
        return _beside(path)
    return None if name == "-" or path.suffix else find_run(client.runs_folder(), name)


def is_run(folder: Path) -> bool:
    """Return whether a folder is a run's, or a copy of one with its report as data."""
    return (folder / JOURNAL).is_file() or (folder / DATA).is_file()


def _beside(path: Path) -> OwnReport | None:
    data = path.with_name(DATA)
    if not data.is_file():
        return None
    return OwnReport(read(data), path.read_text(encoding="utf-8", errors="replace"))


async def stored(folder: Path, client: Client) -> Report:
    """Return the report of the run in a folder: its `report.json`, or else the run gone through again, offline."""
    if (folder / DATA).is_file():
        return read(folder / DATA)
    if not is_run(folder):
        raise UsageError(f"{folder} is no run's folder: it has neither {DATA} nor {JOURNAL}")
    result = await client.replay(folder)
    if result.report is None:
        raise UsageError(f"the run in {folder} has no report: {result.reason or result.status}")
    return result.report


def read(path: Path) -> Report:
    """Return a report as the format `json` wrote it."""
    try:
        return Report.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path} is no report of Leadline's format json: {str(error).splitlines()[0]}") from error
