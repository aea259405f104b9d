"""`leadline verify`: check the citations of any Markdown report against their sources."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leadline._runtime.calls.job import CHAT
from leadline._runtime.journal.rows import Row
from leadline._runtime.runs.metadata import usage_of
from leadline._runtime.runs.report_check import checker, judged
from leadline._runtime.runs.report_sources import Found, from_folder, from_run, from_web
from leadline._runtime.runs.stored_report import is_run
from leadline.cli.common import client_of
from leadline.cli.outcome import cost
from leadline.cli.own_report import OwnReport, own_report, stored
from leadline.cli.terminal import plural, say, table, write, write_json
from leadline.client import Client
from leadline.display import one_line
from leadline.errors import NoEvidence, UsageError
from leadline.records import Report
from leadline.research_findings import FAILED

# The exit code if a claim is not supported, or a citation has no entry.
REJECTED = 3
# The exit code if sources were requested and no claim could be judged.
UNREAD = NoEvidence.exit_code
# The verdicts whose claims are listed.
_SHOWN = (*FAILED, "partial", "not_judged")
# Characters of a passage.
_SHOWN_WORDS = 300
# The suffix of a file of paragraphs.
_PARAGRAPHS = ".jsonl"


@dataclass(frozen=True)
class Checked:
    """The result of a verification, and the model that was called, if any."""

    found: Any
    model: str = ""
    cost: str = ""
    stored: bool = False
    """True if the sources are those that the run stored."""
    tolerated: bool = False
    """True if the run accepted the report with unsupported claims."""

    @property
    def judged_by(self) -> dict[str, int]:
        """The number of decided claims by judge."""
        return dict(Counter(claim.judge for claim in self.found.claims if claim.judge))


def run(args: argparse.Namespace) -> int:
    """Print the result."""
    checked = asyncio.run(_checked(args, checker()))
    found, wanted = checked.found, args.sources or args.fetch
    if args.json:
        write_json({**found.model_dump(mode="json"), "judged_by": checked.judged_by, "model": checked.model})
    else:
        _show(checked)
        if found.sources and not (wanted or checked.stored):
            say("No source was read. To check claims against sources, add --fetch or --sources DIR.")
    if found.passed is None:
        return 0
    if not found.passed:
        return REJECTED
    return UNREAD if (wanted or checked.stored) and not _decided(found) else 0


async def _checked(args: argparse.Namespace, checker: Any) -> Checked:
    async with client_of(args) as client:
        own = None if args.sources or args.fetch else await own_report(args.file, client)
        if own and not own.markdown:
            found = await _judged(client, lambda run: checker.recheck(own.report, run))
            return Checked(*found, stored=True, tolerated=_tolerated(own.report))
        if Path(args.file).suffix == _PARAGRAPHS:
            return await _paragraphs(args, checker, client)
        checked = await _markdown(args, own.markdown if own else _read(args.file), checker, client, own)
        return _without_quotations(checked) if own and own.report.quotes else checked


def _without_quotations(checked: Checked) -> Checked:
    """Return the result for the file of a brief: its quotations are no claims, only what was written into it since."""
    found = checked.found
    claims = tuple(claim for claim in found.claims if claim.verdict != "supported")
    counts = {kind: count for kind, count in found.counts.items() if kind != "supported"}
    passed = found.passed if claims or found.dangling else None
    return replace(checked, found=found.model_copy(update={"claims": claims, "counts": counts, "passed": passed}))


async def _markdown(
    args: argparse.Namespace,
    text: str,
    checker: Any,
    client: Client,
    own: OwnReport | None = None,
) -> Checked:
    """Check a report in Markdown against the sources that the arguments name, or those that its run stored."""
    if not (own or args.sources or args.fetch):
        return Checked(await checker.check(text, {}))

    async def check(run: Any) -> Any:
        found = await _found(args, await checker.cited_sources(text), client, own, run)
        for key, problem in found.problems.items():
            say(f"[{key}] could not be read: {problem}")
        return await checker.check(text, found.documents, run)

    found = await _judged(client, check)
    return Checked(*found, stored=own is not None, tolerated=own is not None and _tolerated(own.report))


async def _paragraphs(args: argparse.Namespace, checker: Any, client: Client) -> Checked:
    """Check `paragraphs.jsonl`: against the passages of its run or of `--sources RUN`, or against files."""
    lines = checker.read_paragraphs(_read(args.file), args.file)
    folder = Path(args.sources or Path(args.file).parent)
    if args.fetch or not is_run(folder):
        return await _markdown(args, checker.paragraphs_as_markdown(lines), checker, client)
    report = checker.with_paragraphs(await stored(folder, client), lines)
    found = await _judged(client, lambda run: checker.recheck(report, run))
    return Checked(*found, stored=True)


def _tolerated(report: Report) -> bool:
    """Return whether the run accepted its report with unsupported claims, as it does by default."""
    known: Any = report.metadata.get("verification") or {}
    return bool(known.get("passed")) and any(known.get("claims", {}).get(kind) for kind in FAILED)


async def _judged(client: Client, check: Callable[[Any], Awaitable[Any]]) -> tuple[Any, str, str]:
    """Return the result of the configured judges, the model that was called and its cost; print notices."""
    result = await judged(client.load(), check)
    for notice in result.notices:
        say(f"note: {notice}")
    return result.found, result.model, _cost(result.rows) if any(row.kind == CHAT for row in result.rows) else ""


def _cost(rows: Sequence[Row]) -> str:
    """Return the cost of the model calls among these rows."""
    chats = [row for row in rows if row.kind == CHAT]
    return cost(usage_of(rows), len(chats), answered=any(row.outcome == "reply" for row in chats))


def _read(name: str) -> str:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from error
    if not text.strip() or "\0" in text:
        kind = "binary" if text.strip() else "empty"
        raise UsageError(f"{name} is {kind}: give a Markdown report, or the folder or id of a run")
    return text


async def _found(
    args: argparse.Namespace, wanted: tuple[Any, ...], client: Client, own: OwnReport | None, run: Any
) -> Found:
    if own:
        return from_run(own.report, wanted)
    if not args.sources:
        return await from_web(run, wanted)
    if is_run(Path(args.sources)):
        return from_run(await stored(Path(args.sources), client), wanted)
    return await from_folder(run, Path(args.sources), wanted, checker().matches)


def _show(checked: Checked) -> None:
    found = checked.found
    counted = (
        ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(found.counts.items())) or "none judged"
    )
    rows = [
        ("Report", one_line(found.title)),
        ("Citations", f"{plural(found.marks, 'mark')}, {plural(len(found.sources), 'source')} cited"),
        ("Claims", f"{len(found.claims)}: {counted}"),
    ]
    judged = ", ".join(f"{count} by {name}" for name, count in sorted(checked.judged_by.items()))
    model = f" ({checked.model})" if checked.model else ""
    rows += [("Judged", f"{judged or 'none'}{model}")] if judged or model else []
    rows += [("Unread", f"{plural(found.unchecked, 'claim')} whose source was not read")] if found.unchecked else []
    rows += [("Missing", f"no source entry for {', '.join(found.dangling)}")] if found.dangling else []
    rows += [("Not cited", ", ".join(found.uncited_sources))] if found.uncited_sources else []
    bare = found.paragraphs_without_citation
    rows += [("Uncited", f"{plural(bare, 'paragraph')} without a citation")] if bare else []
    rows += [("Cost", checked.cost)] if checked.cost else []
    write(table([*rows, ("Passed", _passed(checked))]))
    for claim in (claim for claim in found.claims if claim.verdict in _SHOWN):
        judge = f" (by {claim.judge})" if claim.judge else ""
        write(
            f"\n{claim.verdict.replace('_', ' ')}{judge} [{claim.source}] {one_line(claim.claim)}\n"
            f"  {one_line(claim.reason)}"
        )
        if claim.passage:
            write(f"  > {claim.passage[:_SHOWN_WORDS]}")
        elif claim.nearest:
            write(f"  nearest sentence of the source: {claim.nearest[:_SHOWN_WORDS]}")


def _passed(checked: Checked) -> str:
    """Return whether the report passed."""
    found = checked.found
    if found.passed is None:
        return "passages found, not judged: the report claims nothing"
    if not found.passed:
        accepted = " (the run itself was accepted: verify.require_support is off)" if checked.tolerated else ""
        return f"no: {_grounds(checked)}{accepted}"
    if found.unchecked == len(found.claims):
        return "every citation has a source entry; no claim was judged, because no source was read"
    decided = _decided(found)
    if not decided:
        return "not decided: no claim could be judged; --set verify.require_support=true rejects such a report"
    return "yes" if decided == len(found.claims) else f"yes, for the {plural(decided, 'claim')} that could be judged"


def _decided(found: Any) -> int:
    """Return how many claims a judge decided."""
    return int(len(found.claims) - found.unchecked - found.counts.get("not_judged", 0))


def _grounds(checked: Checked) -> str:
    """Return why a report did not pass."""
    found = checked.found
    if not found.claims:
        return "the report cites no source"
    kinds = FAILED if any(map(found.counts.get, FAILED)) else (*FAILED, "not_judged")
    failed = [(found.counts[kind], kind.replace("_", " ")) for kind in kinds if found.counts.get(kind)]
    said = [f"{count} {kind}" if at else f"{plural(count, 'claim')} {kind}" for at, (count, kind) in enumerate(failed)]
    if nowhere := len(found.dangling):
        said.append(f"{plural(nowhere, 'citation')} without a source entry")
    return ", ".join(said)
