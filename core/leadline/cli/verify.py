"""`leadline verify`: the citations of any Markdown report, also another tool's, checked against their sources."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from leadline.api import Client
from leadline.cli.common import client_of
from leadline.cli.out import say, several, table, write, write_json
from leadline.cli.own import OwnReport, is_run, own_report, stored
from leadline.cli.sources import Found, from_folder, from_run, from_web
from leadline.cli.summary import cost
from leadline.door.kinds import CHAT
from leadline.errors import ConfigError, NoEvidence, UsageError
from leadline.findings import FAILED
from leadline.hookspecs import GROUP
from leadline.journal.rows import Row
from leadline.printable import one_line
from leadline.records import Document, Report
from leadline.runs.aside import aside, model_of
from leadline.runs.summary import usage_of

REJECTED = 3
"""The exit code where a claim is not supported, or a citation has no entry."""
UNREAD = NoEvidence.exit_code
"""The exit code where sources were to be read, and no claim could be judged."""
_SHOWN = (*FAILED, "partial", "not_judged")
"""The verdicts whose claims are listed."""
_TASK = "verify_claim"
_QUESTION = "Do the sources of this report support its claims?"


@dataclass(frozen=True)
class Checked:
    """What was found, and the model that was asked about it: empty where none was."""

    found: Any
    model: str = ""
    cost: str = ""
    own: bool = False
    """Whether it is a run's report as data: each of its paragraphs must end with a citation."""
    stored: bool = False
    """Whether its sources are those that the run stored."""
    tolerated: bool = False
    """Whether the run accepted it with claims that are not supported."""

    @property
    def judged_by(self) -> dict[str, int]:
        """The number of decided claims by judge."""
        return dict(Counter(claim.judge for claim in self.found.claims if claim.judge))


def run(args: argparse.Namespace) -> int:
    """Print what was found."""
    checked = asyncio.run(_checked(args, _checker()))
    found, wanted = checked.found, args.sources or args.fetch
    if args.json:
        write_json({**found.model_dump(mode="json"), "judged_by": checked.judged_by, "model": checked.model})
    else:
        _show(checked)
        if found.sources and not (wanted or checked.stored):
            say("No source was read. Check the claims against them: leadline verify FILE --fetch, or --sources DIR")
    if not found.passed:
        return REJECTED
    return UNREAD if wanted and found.unchecked == len(found.claims) else 0


async def _checked(args: argparse.Namespace, checker: Any) -> Checked:
    async with client_of(args) as client:
        own = None if args.sources or args.fetch else await own_report(args.file, client)
        if own and not own.markdown:
            found = await _judged(client, lambda run: checker.recheck(own.report, run))
            return Checked(*found, own=True, stored=True, tolerated=_tolerated(own.report))
        text = own.markdown if own else _read(args.file)
        if not (own or args.sources or args.fetch):
            return Checked(await checker.check(text, {}))
        documents = await _documents(args, checker.wanted(text), client, own)
        found = await _judged(client, lambda run: checker.check(text, documents, run))
        return Checked(*found, stored=own is not None, tolerated=own is not None and _tolerated(own.report))


def _tolerated(report: Report) -> bool:
    """Return whether the run accepted its report with claims that are not supported, as it does by default."""
    known: Any = report.metadata.get("verification") or {}
    return bool(known.get("passed")) and any(known.get("claims", {}).get(kind) for kind in FAILED)


async def _judged(client: Client, check: Callable[[Any], Awaitable[Any]]) -> tuple[Any, str, str]:
    """Return what the configured judges find, the model that was asked, and what it cost; print notices."""
    async with aside(client.load(), _QUESTION) as session:
        found = await check(session.run)
        for notice in session.run.notices:
            say(f"note: {notice}")
        rows = session.journal.rows()
        asked = any(row.kind == CHAT for row in rows)
        return found, await model_of(session.run, _TASK) if asked else "", _cost(rows) if asked else ""


def _cost(rows: Sequence[Row]) -> str:
    """Return what the calls of models among these cost."""
    chats = [row for row in rows if row.kind == CHAT]
    return cost(usage_of(rows), len(chats), answered=any(row.outcome == "reply" for row in chats))


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


async def _documents(
    args: argparse.Namespace, wanted: tuple[Any, ...], client: Client, own: OwnReport | None
) -> dict[str, Document]:
    found = from_run(own.report, wanted) if own else await _found(args, wanted, client)
    for key, problem in found.problems.items():
        say(f"[{key}] was not read: {problem}")
    return found.documents


async def _found(args: argparse.Namespace, wanted: tuple[Any, ...], client: Client) -> Found:
    if args.sources and is_run(Path(args.sources)):
        return from_run(await stored(Path(args.sources), client), wanted)
    house = client.house
    await house.open()
    return await (from_folder(house, Path(args.sources), wanted) if args.sources else from_web(house, wanted))


def _show(checked: Checked) -> None:
    found = checked.found
    counted = (
        ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(found.counts.items()))
        or "none was judged"
    )
    rows = [
        ("Report", one_line(found.title)),
        ("Citations", f"{several(found.marks, 'mark')}, {several(len(found.sources), 'source')} cited"),
        ("Claims", f"{len(found.claims)}: {counted}"),
    ]
    judged = ", ".join(f"{count} by {name}" for name, count in sorted(checked.judged_by.items()))
    model = f" ({checked.model})" if checked.model else ""
    rows += [("Judged", f"{judged or 'none'}{model}")] if judged or model else []
    rows += [("Unread", f"{several(found.unchecked, 'claim')} whose source was not read")] if found.unchecked else []
    rows += [("Nowhere", f"no entry for {', '.join(found.dangling)}")] if found.dangling else []
    rows += [("Not cited", ", ".join(found.uncited_sources))] if found.uncited_sources else []
    bare = found.paragraphs_without_citation
    rows += [("Bare", f"{several(bare, 'paragraph')} {_bare(checked)}")] if bare else []
    rows += [("Cost", checked.cost)] if checked.cost else []
    write(table([*rows, ("Passed", _passed(checked))]))
    for claim in (claim for claim in found.claims if claim.verdict in _SHOWN):
        judge = f" (by {claim.judge})" if claim.judge else ""
        write(
            f"\n{claim.verdict.replace('_', ' ')}{judge} [{claim.source}] {one_line(claim.claim)}\n"
            f"  {one_line(claim.reason)}\n  > {claim.passage[:300]}"
        )


def _bare(checked: Checked) -> str:
    """Return what such a paragraph lacks."""
    return "without a citation at the end" if checked.own else "without a citation"


def _passed(checked: Checked) -> str:
    """Return whether the report passed."""
    found = checked.found
    if not found.passed:
        accepted = " (the run itself was accepted: verify.require_support is off)" if checked.tolerated else ""
        return f"no: {_grounds(checked)}{accepted}"
    if found.unchecked == len(found.claims):
        return "nothing was judged: every mark has a source, and no source was read"
    decided = len(found.claims) - found.unchecked - found.counts.get("not_judged", 0)
    return "yes" if decided == len(found.claims) else f"yes, of the {decided} that could be judged"


def _grounds(checked: Checked) -> str:
    """Return why a report did not pass."""
    found = checked.found
    if not found.claims:
        return "nothing in it cites a source"
    kinds = FAILED if any(map(found.counts.get, FAILED)) else (*FAILED, "not_judged")
    failed = [(found.counts[kind], kind.replace("_", " ")) for kind in kinds if found.counts.get(kind)]
    said = [f"{count} {kind}" if at else f"{several(count, 'claim')} {kind}" for at, (count, kind) in enumerate(failed)]
    if nowhere := len(found.dangling):
        said.append(f"{several(nowhere, 'number')} without an entry")
    if checked.own and (bare := found.paragraphs_without_citation):
        said.append(f"{several(bare, 'paragraph')} {_bare(checked)}")
    return ", ".join(said)
