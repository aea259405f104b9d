"""How a run ended, for people and as JSON: question, report, tasks done, checks, files, cost."""

from __future__ import annotations

import argparse
import shlex
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leadline.cli import INTERRUPTED
from leadline.cli.common import near
from leadline.cli.out import columns, say, write, write_json
from leadline.printable import one_line, printable
from leadline.session import Result
from leadline.state import Metadata

SHOWN = 2_000
"""Characters of the report that are shown; the file has the rest."""
_WIDEST = 100


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
    if result.status == "waiting":
        say("Nobody can be asked here: ask more exactly, or let it assume with --set clarify.mode=assume")
    elif result.exit_code == INTERRUPTED or result.status in ("failed", "partial"):
        say(f"Go on with it: {resume_command(result.folder, args)}")


def resume_command(folder: Path, args: argparse.Namespace) -> str:
    """Return the command that goes on with a run."""
    words = ["leadline", "resume", folder.name]
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
    text = printable(result.text)
    begin = text if len(text) <= SHOWN else text[:SHOWN].rsplit(maxsplit=1)[0] + " …"
    _write_markdown(begin)
    path = report_file(result.folder, result.metadata)
    if len(text) > len(begin) and path:
        write(f"\n[{len(text) - len(begin) + 2:,} more characters in {one_line(near(path))}]")
    write("")


def _write_markdown(text: str) -> None:
    """Print Markdown, set for reading where a person reads it."""
    if not sys.stdout.isatty():
        write(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console(width=min(columns(), _WIDEST)).print(Markdown(text, hyperlinks=False))


def summary(known: Metadata, folder: Path, status: str = "") -> str:
    """Return the outcome in short, under labels."""
    rows = [
        ("Question", one_line(known.question)),
        ("Status", _status(known, status or known.status)),
        ("Done", done(known)),
        *(("Not done", f"{step.name}: {one_line(step.reason)}") for step in known.steps if step.status == "failed"),
        *(("Note", one_line(notice)) for notice in known.notices),
        *(
            ("Error", f"{error.step}: {one_line(error.message)}")
            for error in known.errors
            if error.message != known.reason
        ),
        ("Checks", checks(known.verification)),
        ("Files", files(known, folder)),
        ("Cost", cost(known.usage)),
    ]
    return "\n".join(line for label, text in rows if text for line in _labelled(label, text))


def _labelled(label: str, text: str) -> Iterator[str]:
    wide = min(columns(), _WIDEST) if sys.stdout.isatty() else _WIDEST
    lines = textwrap.wrap(text, max(30, wide - 10), break_long_words=False, break_on_hyphens=False) or [""]
    yield f"{label:<9} {lines[0]}"
    yield from (f"{'':<9} {line}" for line in lines[1:])


def _status(known: Metadata, status: str) -> str:
    reason = f": {one_line(known.reason)}" if known.reason else ""
    return f"{status.replace('_', ' ')} in {known.seconds:.1f} s{reason}"


def done(known: Metadata) -> str:
    """Return the steps that were done, and how often."""
    steps = [step for step in known.steps if step.status == "finished"]
    return ", ".join(step.name if step.times < 2 else f"{step.name} ×{step.times}" for step in steps)


def checks(found: dict[str, Any]) -> str:
    """Return what the verification says of the citations."""
    if not found:
        return ""
    claims = ", ".join(f"{count} {kind}" for kind, count in sorted(found.get("claims", {}).items()) if count)
    bare = found.get("paragraph_without_citation_count", 0)
    unknown = len(found.get("unknown_ids", ()))
    wrong = [f"{bare} paragraphs without a citation"] if bare else []
    wrong += [f"{unknown} citations point nowhere"] if unknown else []
    return "; ".join(
        ["passed" if found.get("passed") else "not passed", *([f"claims: {claims}"] if claims else []), *wrong]
    )


def files(known: Metadata, folder: Path) -> str:
    """Return the folder, and what is in it, the reports first."""
    names = sorted(known.files, key=lambda name: (not name.startswith("report."), name))
    return one_line(f"{near(folder)}: {', '.join(names)}")


def cost(usage: dict[str, Any]) -> str:
    """Return what the run cost."""
    tokens, money = usage.get("tokens", 0), usage.get("cost")
    if not tokens and money is None:
        return "nothing: no model was paid"
    return f"{tokens:,} tokens" + ("" if money is None else f", ${money:.4f}")
