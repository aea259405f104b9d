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
from leadline.cli.sources import from_folder, from_web
from leadline.errors import ConfigError, UsageError
from leadline.hookspecs import GROUP
from leadline.printable import one_line
from leadline.records import Document

REJECTED = 3
"""The exit code where a claim is not borne, or a citation points nowhere."""
_BAD = ("contradicted", "unsupported")


def run(args: argparse.Namespace) -> int:
    """Print what was found."""
    checker = _checker()
    text = _read(args.file)
    documents = asyncio.run(_documents(args, checker.wanted(text)))
    found = checker.check(text, documents)
    if args.json:
        write_json(found.model_dump(mode="json"))
    else:
        _show(found)
        if not documents and found.sources:
            say("No source was read. Hold the claims against them: leadline verify FILE --fetch, or --sources DIR")
    return 0 if found.passed else REJECTED


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
    async with client_of(args) as client:
        house = client.house
        await house.open()
        found = await (from_folder(house, Path(args.sources), wanted) if args.sources else from_web(house, wanted))
    for key, problem in found.problems.items():
        say(f"[{key}] was not read: {problem}")
    return found.documents


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
            f"\n{claim.verdict} [{claim.source}] {one_line(claim.claim)}\n  {claim.reason}\n  > {claim.passage[:300]}"
        )
