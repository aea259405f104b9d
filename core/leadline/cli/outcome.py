"""How a run ended, for people and as JSON: question, report, tasks done, checks, files, cost."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leadline.cli import INTERRUPTED, debugging
from leadline.cli.common import near
from leadline.cli.out import columns, say, write, write_json
from leadline.cli.summary import WIDEST, summary
from leadline.printable import one_line, printable
from leadline.result import Result
from leadline.runs.earlier import TOLD
from leadline.runs.state import Metadata

_RAISED = re.compile(r"--set ((?:budget|research)\.\w+)=(\d+(?:\.\d+)?)\b")
"""A larger budget, as the refusals of a spent one name it."""
_WRITTEN = "format/markdown"
"""The calls, by kind and provider, that write the file of Markdown."""
_HEADING = re.compile(r"^## ", re.MULTILINE)
_PICTURE = re.compile(r"^!\[[^\n]*\]\([^()\n]*\)\n+", re.MULTILINE)
SHOWN = 2_000
"""Characters of the report that are shown; the file has the rest."""


def show(result: Result, *, as_json: bool) -> None:
    """Print the outcome."""
    if as_json:
        write_json(as_data(result))
        return
    if result.text:
        _show_report(result)
    write(summary(result.metadata, result.folder))


def advise(result: Result, args: argparse.Namespace) -> None:
    """Say how to go on with a run that is not complete."""
    kept = TOLD in result.metadata.notices  # the run is complete as it was before, and would be gone on with as such
    if result.status == "waiting":
        say("Nobody can be asked here: ask more exactly, or let it assume with --set clarify.mode=assume")
    elif result.exit_code == INTERRUPTED or (result.status in ("failed", "partial") and not kept):
        say(f"Go on with it: {resume_command(result.folder, args, raised(result.metadata))}")
    if debugging():
        for place in dict.fromkeys(filter(None, (error.traceback for error in result.metadata.errors))):
            say(place)


def raised(known: Metadata) -> list[str]:
    """Return the settings with which a run goes further than its budget let it, as its own words say them.

    Of several amounts of the same only the largest is enough for all that was refused.
    """
    said = (known.reason, *known.notices, *(step.reason for step in known.steps))
    enough: dict[str, str] = {}
    for key, amount in (found.groups() for text in said for found in _RAISED.finditer(text)):
        enough[key] = max(enough.get(key, amount), amount, key=float)
    return [f"{key}={amount}" for key, amount in sorted(enough.items())]


def resume_command(folder: Path, args: argparse.Namespace, sets: Sequence[str] = ()) -> str:
    """Return the command that goes on with a run."""
    words = ["leadline", "resume", folder.name]
    words += [word for one in sets for word in ("--set", one)]
    if args.folder or any(text.startswith("runs.folder") for text in args.set):
        words += ["--folder", str(folder.parent)]
    if args.settings:
        words += ["--settings", args.settings]
    return shlex.join(words)


def as_data(result: Result) -> dict[str, Any]:
    """Return the outcome as JSON data."""
    known = result.metadata.model_dump(mode="json")
    report = report_file(result.folder, result.metadata)
    return {
        "run": known["run_id"],
        "status": result.status,
        "reason": result.reason,
        "exit_code": result.exit_code,
        "folder": str(result.folder),
        "question": known["question"],
        "report": str(report) if report else None,
        "files": [str(path) for path in result.files],
        "checks": known["verification"],
        "usage": known["usage"],
        "citations": known["citations"],
        "seconds": known["seconds"],
        "errors": known["errors"],
    }


def report_file(folder: Path, metadata: Metadata) -> Path | None:
    """Return the report as people read it: Markdown, or the first other format; None where none was written."""
    names = [name for name in metadata.files if name.startswith("report.") and (folder / name).is_file()]
    names.sort(key=lambda name: (name != "report.md", name != "report.html", name))
    return folder / names[0] if names else None


def _show_report(result: Result) -> None:
    text = printable(_checked(result) or result.text)
    begin = text if len(text) <= SHOWN else text[:SHOWN].rsplit(maxsplit=1)[0] + " …"
    _write_markdown(begin)
    path = report_file(result.folder, result.metadata)
    if len(text) > len(begin) and path:
        write(f"\n[{len(text) - len(begin) + 2:,} more characters in {one_line(near(path))}]")
    write("")


def _checked(result: Result) -> str:
    """Return the sections as the file of Markdown has them, with the marks of what was checked; empty without one.

    What this session did not write is not its report.
    """
    if result.report is None or TOLD in result.metadata.notices or not result.metadata.calls.get(_WRITTEN):
        return ""
    try:
        written = (result.folder / "report.md").read_text("utf-8")
    except (OSError, ValueError):
        return ""
    headings = [found.start() for found in _HEADING.finditer(written)]
    report = result.report
    repeated = bool(report.sections) and _bare(report.sections[0].title) == _bare(
        report.title
    )  # its heading is left out
    behind = headings[len(report.sections) - repeated :]
    return _PICTURE.sub("", written[: behind[0] if behind else None]).strip()


def _bare(title: str) -> str:
    return "".join(filter(str.isalnum, title)).casefold()


def _write_markdown(text: str) -> None:
    """Print Markdown, set for reading where a person reads it."""
    if not sys.stdout.isatty():
        write(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console(width=min(columns(), WIDEST)).print(Markdown(text, hyperlinks=False))
