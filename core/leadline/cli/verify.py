"""`leadline verify`: the citations of any Markdown report, also another tool's, held against their sources."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
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
from leadline.findings import UNBORNE
from leadline.hookspecs import GROUP
from leadline.journal.rows import Row
from leadline.printable import one_line
from leadline.records import Document, Report
from leadline.runs.aside import aside, model_of
from leadline.runs.summary import usage_of

REJECTED = 3
"""The exit code where a claim is not borne, or a citation points nowhere."""
UNREAD = NoEvidence.exit_code
"""The exit code where sources were to be read, and no claim could be held against any."""
_TASK = "verify_claim"


@dataclass(frozen=True)
class Checked:
    """What was found, and the model that was asked about it: empty where none was."""

    found: Any
    model: str = ""
    cost: str = ""
    own: bool = False
    """Whether it is a run's own report: of that each paragraph must end with a citation."""
    tolerated: bool = False
    """Whether the run accepted it with claims that are not borne."""

    @property
    def judged_by(self) -> dict[str, int]:
        """The verdicts, by who gave them: `exact`, `words`, `model`."""
        return dict(Counter(claim.by for claim in self.found.claims if claim.by))

    def words(self, by: str) -> str:
        """Return who judged, for people."""
        own = f"by the model {self.model}" if self.model else "by the run's model"
        return {"exact": "by rule", "words": "by words, without a model", "model": own, "": "not judged"}[by]


def run(args: argparse.Namespace) -> int:
    """Print what was found."""
    checker = _checker()
    own = None if args.sources or args.fetch else asyncio.run(_own(args))
    if own:
        found = checker.recheck(own.report, own.markdown)
        checked = Checked(found, own=True, tolerated=_tolerated(own.report))
    else:
        checked = asyncio.run(_foreign(args, checker))
    found, wanted = checked.found, args.sources or args.fetch
    if args.json:
        write_json({**found.model_dump(mode="json"), "judged_by": checked.judged_by, "model": checked.model})
    else:
        _show(checked)
        if found.sources and not (own or wanted):
            say("No source was read. Hold the claims against them: leadline verify FILE --fetch, or --sources DIR")
    if not found.passed:
        return REJECTED
    return UNREAD if wanted and not checked.judged_by else 0


def _tolerated(report: Report) -> bool:
    """Return whether the run accepted its report with claims that are not borne, as it does by default."""
    known: Any = report.metadata.get("verification") or {}
    return bool(known.get("passed")) and any(known.get("claims", {}).get(kind) for kind in UNBORNE)


async def _own(args: argparse.Namespace) -> OwnReport | None:
    async with client_of(args) as client:
        return await own_report(args.file, client)


async def _foreign(args: argparse.Namespace, checker: Any) -> Checked:
    """Return what was found in the report of any tool."""
    text = _read(args.file)
    if not (args.sources or args.fetch):
        return Checked(checker.check(text, {}))
    async with client_of(args) as client:
        documents = await _documents(args, checker.wanted(text), client)
        checked = Checked(checker.check(text, documents))
        return await _by_model(client, checker, checked) if checker.is_open(checked.found) else checked


async def _by_model(client: Client, checker: Any, checked: Checked) -> Checked:
    """Have the configured model judge what rules left open, where one is configured; say what it could not."""
    async with aside(client.load(), "Are the citations of this report borne by their sources?") as session:
        model = await model_of(session.run, _TASK)
        if not model:
            return checked
        found = await checker.asked(session.run, checked.found)
        for notice in session.run.notices:
            say(f"note: {notice}")
        rows = session.journal.rows()
        return Checked(found, model, _cost(rows))


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


async def _documents(args: argparse.Namespace, wanted: tuple[Any, ...], client: Client) -> dict[str, Document]:
    found = await _found(args, wanted, client)
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
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(found.counts.items())) or "none was judged"
    rows = [
        ("Report", one_line(found.title)),
        ("Citations", f"{several(found.marks, 'mark')}, {several(len(found.sources), 'source')} cited"),
        ("Claims", f"{len(found.claims)}: {counted}"),
    ]
    judged = ", ".join(f"{count} {checked.words(by)}" for by, count in sorted(checked.judged_by.items()))
    rows += [("Judged", judged)] if judged else []
    rows += [("Unread", f"{several(found.unchecked, 'claim')} of which no source was read")] if found.unchecked else []
    rows += [("Nowhere", f"no entry for {', '.join(found.dangling)}")] if found.dangling else []
    rows += [("Not cited", ", ".join(found.uncited_sources))] if found.uncited_sources else []
    bare = found.paragraphs_without_citation
    rows += [("Bare", f"{several(bare, 'paragraph')} {_bare(checked)}")] if bare else []
    rows += [("Cost", checked.cost)] if checked.cost else []
    write(table([*rows, ("Passed", _passed(checked))]))
    for claim in (claim for claim in found.claims if claim.verdict in UNBORNE):
        write(
            f"\n{claim.verdict} ({checked.words(claim.by)}) {_cites(claim)} {one_line(claim.claim)}\n"
            f"  {claim.reason}\n  > {claim.passage[:300]}"
        )


def _cites(claim: Any) -> str:
    """Say what a claim cites; of one that cites nothing itself, what it was held against."""
    return f"[{claim.source}]" if claim.own else f"without a citation of its own, held against [{claim.source}]:"


def _bare(checked: Checked) -> str:
    """Say what a paragraph lacks that counts as bare."""
    return "without a citation at the end" if checked.own else "without a citation"


def _passed(checked: Checked) -> str:
    """Say whether the report passed; what nobody could judge has not."""
    found = checked.found
    if not found.passed:
        accepted = " (the run itself was accepted: verify.require_support is off)" if checked.tolerated else ""
        return f"no: {_grounds(checked)}{accepted}"
    if not checked.judged_by:
        return "nothing was judged: every mark points at a source, and no source was read"
    return f"yes, of the {len(found.claims) - found.unchecked} that could be judged" if found.unchecked else "yes"


def _grounds(checked: Checked) -> str:
    """Say why a report did not pass."""
    found = checked.found
    if not found.claims:
        return "nothing in it cites a source"
    unborne = [(found.counts[kind], kind) for kind in UNBORNE if found.counts.get(kind)]
    said = [
        f"{count} {kind}" if at else f"{several(count, 'claim')} {kind}" for at, (count, kind) in enumerate(unborne)
    ]
    if nowhere := len(found.dangling):
        said.append(f"{several(nowhere, 'number')} without an entry")
    if checked.own and (bare := found.paragraphs_without_citation):
        said.append(f"{several(bare, 'paragraph')} {_bare(checked)}")
    return ", ".join(said)
