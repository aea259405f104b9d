"""The report that `leadline verify` is asked to check: of a run, or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from leadline._runtime.runs.folder import JOURNAL, find_run
from leadline._runtime.runs.stored_report import REPORT, is_run, read_report
from leadline.client import Client
from leadline.errors import UsageError
from leadline.records import Report


@dataclass(frozen=True)
class OwnReport:
    """The report of a run as data, and the text of its Markdown file if the user named that."""

    report: Report
    markdown: str = ""


async def own_report(name: str, client: Client) -> OwnReport | None:
    """Return the report of the run with a name, or None if the name is another file.

    A name is the folder of a run, its id or the beginning of it, its `report.json`, or a Markdown file in the folder.
    Raises `UsageError` if it looks like one of these and is not.
    """
    path = Path(name)
    if path.suffix == ".json":
        return OwnReport(read_report(path))
    folder, markdown = _located(path, client)
    return OwnReport(await stored(folder, client), markdown) if folder else None


def _located(path: Path, client: Client) -> tuple[Path | None, str]:
    """Return the folder of the run, and the text of its Markdown file if the path is one."""
    if path.is_dir():
        return path, ""
    if path.is_file():
        return (path.parent, path.read_text("utf-8", "replace")) if is_run(path.parent) else (None, "")
    return None if str(path) == "-" or path.suffix else find_run(client.runs_folder(), str(path)), ""


async def stored(folder: Path, client: Client) -> Report:
    """Return the report of the run in a folder: from its `report.json`, else from its journal."""
    if not is_run(folder):
        raise UsageError(f"{folder} is not the folder of a run: it has neither {REPORT} nor {JOURNAL}")
    return read_report(folder / REPORT) if (folder / REPORT).is_file() else await client.report(folder)
