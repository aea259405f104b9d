"""`leadline verify`: the citations of any Markdown report, also another tool's, held against their sources."""

from __future__ import annotations

import argparse
import asyncio
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from leadline.cli.common import client_of
from leadline.cli.out import say, table, write, write_json
from leadline.cli.own import OwnReport, is_run, own_report, stored
from leadline.cli.sources import Found, from_folder, from_run, from_web
from leadline.errors import ConfigError, UsageError
from leadline.hookspecs import GROUP
from leadline.printable import one_line
from leadline.records import Document

REJECTED = 3
"""The exit code where a claim is not borne, or a citation points nowhere."""
_BY = {"exact": "by rule", "words": "by measure", "model": "by the run's model", "": "not judged"}
_BAD = ("contradicted", "unsupported")


def run(args: argparse.Namespace) -> int:
    """Print what was found."""
    checker = _checker()
    own = None if args.sources or args.fetch else asyncio.run(_own(args))
    found = checker.recheck(own.report, own.markdown) if own else _foreign(args, checker)
    if args.json:
        write_json(found.model_dump(mode="json"))
    else:
        _show(found)
        if found.sources and not (own or args.sources or args.fetch):
            say("No source was read. Hold the claims against them: leadline verify FILE --fetch, or --sources DIR")
    return 0 if found.passed else REJECTED


async def _own(args: argparse.Namespace) -> OwnReport | None:
    async with client_of(args) as client:
        return await own_report(args.file, client)


def _foreign(args: argparse.Namespace, checker: Any) -> Any:
    """Return what was found in the report of any tool."""
    text = _read(args.file)
    return checker.check(text, asyncio.run(_documents(args, checker.wanted(text))))


def _checker() -> Any:
    """Return the module of the plugin `verify`, which knows how to read and to judge."""
    for point in entry_points(group=GROUP, name="verify"):
        return point.load()
    raise ConfigError("the plugin 'verify' is not installed: pip install --force-reinstall leadline")


def _read(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from error


async def _documents(args: argparse.Namespace, wanted: tuple[Any, ...]) -> dict[str, Document]:
    if not (args.sources or args.fetch):
        return {}
    found = await _found(args, wanted)
    for key, problem in found.problems.items():
        say(f"[{key}] was not read: {problem}")
    return found.documents


async def _found(args: argparse.Namespace, wanted: tuple[Any, ...]) -> Found:
    async with client_of(args) as client:
        if args.sources and is_run(Path(args.sources)):
            return from_run(await stored(Path(args.sources), client), wanted)
        house = client.house
        await house.open()
        return await (from_folder(house, Path(args.sources), wanted) if args.sources else from_web(house, wanted))


def _show(found: Any) -> None:
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(found.counts.items())) or "none was judged"
    rows = [
        ("Report", one_line(found.title)),
        ("Citations", f"{found.marks} marks, {len(found.sources)} sources cited"),
        ("Claims", f"{len(found.claims)}: {counted}"),
    ]
    rows += [("Unread", f"{found.unchecked} claims cite sources that were not read")] if found.unchecked else []
    rows += [("Nowhere", f"no entry for {', '.join(found.dangling)}")] if found.dangling else []
    rows += [("Not cited", ", ".join(found.uncited_sources))] if found.uncited_sources else []
    bare = found.paragraphs_without_citation
    rows += [("Bare", f"{bare} paragraphs cite nothing")] if bare else []
    write(table([*rows, ("Passed", "yes" if found.passed else "no")]))
    for claim in (claim for claim in found.claims if claim.verdict in _BAD):
        write(
            f"\n{claim.verdict} ({_BY[claim.by]}) [{claim.source}] {one_line(claim.claim)}\n"
            f"  {claim.reason}\n  > {claim.passage[:300]}"
        )
