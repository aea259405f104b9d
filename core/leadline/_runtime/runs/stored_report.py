"""The report of a run as data, in its `report.json`."""

from __future__ import annotations

from pathlib import Path

from leadline._runtime.runs.folder import JOURNAL
from leadline.errors import UsageError
from leadline.files import read_limited
from leadline.records import Report

REPORT = "report.json"
# Bytes. A report has its sources and their passages, and its pictures.
_LARGEST = 256 * 2**20


def is_run(folder: Path) -> bool:
    """Return whether a folder belongs to a run, or is a copy with its report as data."""
    return (folder / JOURNAL).is_file() or (folder / REPORT).is_file()


def read_report(path: Path) -> Report:
    """Read a report in the format `json`. Raises `UsageError`."""
    try:
        return Report.model_validate_json(read_limited(path, _LARGEST))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not a report in the format json: {str(error).splitlines()[0]}") from error
