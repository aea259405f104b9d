"""Check the citations of a report against its sources."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leadline.client import REPORT, Client, is_run, read_report
from leadline.commands import client_of, folder_option, json_option, settings_options
from leadline.commands.outcome import cost
from leadline.commands.output import plural, say, table, write, write_json
from leadline.display import one_line
from leadline.errors import NoEvidence, UsageError
from leadline.records import Report
from leadline.rendering import VERDICTS
from leadline.research_findings import FAILED
from leadline_plugins.verification.claims import paragraphs_as_markdown, read_paragraphs, with_paragraphs
from leadline_plugins.verification.external_reports import CheckedReport, CitedSource, check, cited_sources, recheck
from leadline_plugins.verification.report_sources import Found, from_folder, from_run, from_web

# The exit code if a claim is not supported, or a citation has no entry.
REJECTED = 3
# The exit code if sources were requested and no claim could be judged.
UNREAD = NoEvidence.exit_code
# The verdicts whose claims are listed.
_SHOWN = tuple(kind for kind, form in VERDICTS.items() if form.tone != "good")
# Characters of a passage.
_SHOWN_WORDS = 300
# The suffix of a file of paragraphs.
_PARAGRAPHS = ".jsonl"


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
        # A run may have no paragraph.
        text = path.read_text("utf-8", "replace") if path.suffix == _PARAGRAPHS else _read(str(path))
        return (path.parent, text) if is_run(path.parent) else (None, "")
    return None if str(path) == "-" or path.suffix else client.find(str(path)).folder, ""


async def stored(folder: Path, client: Client) -> Report:
    """Return the report of the run in a folder: from its `report.json`, else from its journal."""
    if not is_run(folder):
        raise UsageError(f"{folder} is not the folder of a run: it has neither {REPORT} nor a journal")
    return await client.report(folder)


@dataclass(frozen=True)
class Checked:
    """The result of a verification, and the model that was called, if any."""

    report: CheckedReport
    model: str = ""
    cost: str = ""
    stored: bool = False
    """True if the sources are those that the run stored."""
    tolerated: bool = False
    """True if the run accepted the report with unsupported claims, or paragraphs without a citation."""

    @property
    def judged_by(self) -> dict[str, int]:
        """The number of decided claims by judge."""
        return dict(Counter(claim.judge for claim in self.report.claims if claim.judge))


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a Markdown report, or the folder or id of a run; - reads standard input"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--sources",
        metavar="DIR",
        help="folder of the sources as files, named by number (1.pdf, 2.html) or title; or the folder of a run",
    )
    where.add_argument("--fetch", action="store_true", help="fetch the sources from the web")
    folder_option(parser)
    settings_options(parser)
    json_option(parser)


def run(args: Namespace) -> int:
    """Print the result."""
    checked = asyncio.run(_checked(args))
    report, wanted = checked.report, args.sources or args.fetch
    if args.json:
        write_json({**report.model_dump(mode="json"), "judged_by": checked.judged_by, "model": checked.model})
    else:
        _show(checked)
        if report.sources and not (wanted or checked.stored):
            say("No source was read. To check claims against sources, add --fetch or --sources DIR.")
    if report.passed is None:
        return 0
    if not report.passed:
        return REJECTED
    return UNREAD if (wanted or checked.stored) and not _decided(report) else 0


async def _checked(args: Namespace) -> Checked:
    async with client_of(args) as client:
        own = None if args.sources or args.fetch else await own_report(args.file, client)
        if own and not own.markdown:
            judged = await _judged(client, lambda run: recheck(own.report, run))
            return Checked(*judged, stored=True, tolerated=_tolerated(own.report))
        if Path(args.file).suffix == _PARAGRAPHS:
            return await _paragraphs(args, client)
        checked = await _markdown(args, own.markdown if own else _read(args.file), client, own)
        return _without_quotations(checked) if own and own.report.quotes else checked


def _without_quotations(checked: Checked) -> Checked:
    """Return the result for the file of a brief: its quotations are no claims, only what was written into it since."""
    report = checked.report
    claims = tuple(claim for claim in report.claims if claim.verdict != "supported")
    counts = {kind: count for kind, count in report.counts.items() if kind != "supported"}
    passed = report.passed if claims or report.dangling else None
    return replace(checked, report=report.model_copy(update={"claims": claims, "counts": counts, "passed": passed}))


async def _markdown(
    args: Namespace,
    text: str,
    client: Client,
    own: OwnReport | None = None,
) -> Checked:
    """Check a report in Markdown against the sources that the arguments name, or those that its run stored."""
    if not (own or args.sources or args.fetch):
        return Checked(await check(text, {}))

    async def judge(run: Any) -> CheckedReport:
        sources = await _found(args, await cited_sources(text), client, own, run)
        for key, problem in sources.problems.items():
            say(f"[{key}] could not be read: {problem}")
        return await check(text, sources.documents, run)

    judged = await _judged(client, judge)
    return Checked(*judged, stored=own is not None, tolerated=own is not None and _tolerated(own.report))


async def _paragraphs(args: Namespace, client: Client) -> Checked:
    """Check `paragraphs.jsonl`: against the passages of its run or of `--sources RUN`, or against files."""
    lines = read_paragraphs(_read(args.file), args.file)
    folder = Path(args.sources or Path(args.file).parent)
    if args.fetch or not is_run(folder):
        return await _markdown(args, paragraphs_as_markdown(lines), client)
    report = with_paragraphs(await stored(folder, client), lines)
    judged = await _judged(client, lambda run: recheck(report, run))
    return Checked(*judged, stored=True)


def _tolerated(report: Report) -> bool:
    """Return whether the run accepted its report although claims or citations are missing, as it does by default."""
    known: Any = report.metadata.get("verification") or {}
    failed = any(known.get("claims", {}).get(kind) for kind in FAILED)
    return bool(known.get("passed")) and (failed or bool(known.get("paragraph_without_citation_count")))


async def _judged(client: Client, judge: Callable[[Any], Awaitable[CheckedReport]]) -> tuple[CheckedReport, str, str]:
    """Return the result of the configured judges, the model that was called and its cost; print notices."""
    async with client.adhoc("Do the sources of this report support its claims?") as run:
        report = await judge(run)
        for notice in run.notices:
            say(f"note: {notice}")
        usage = run.usage
        if not usage["chats"]:
            return report, "", ""
        price = cost(usage, usage["chats"], answered=bool(usage["replies"]))
        return report, await run.model_of("verify_claim"), price


def _read(name: str) -> str:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from error
    is_html = text.lstrip("\ufeff \r\n").lower().startswith(("<!doctype html", "<html"))
    if not text.strip() or "\0" in text or is_html:
        kind = "HTML" if is_html else "binary" if text.strip() else "empty"
        raise UsageError(f"{name} is {kind}: give a Markdown report, or the folder or id of a run")
    return text


async def _found(
    args: Namespace, wanted: tuple[CitedSource, ...], client: Client, own: OwnReport | None, run: Any
) -> Found:
    if own:
        return from_run(own.report, wanted)
    if not args.sources:
        return await from_web(run, wanted)
    if is_run(Path(args.sources)):
        return from_run(await stored(Path(args.sources), client), wanted)
    return await from_folder(run.parse, Path(args.sources), wanted)


def _show(checked: Checked) -> None:
    report = checked.report
    counted = (
        ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(report.counts.items())) or "none judged"
    )
    rows = [
        ("Report", one_line(report.title)),
        ("Citations", f"{plural(report.marks, 'mark')}, {plural(len(report.sources), 'source')} cited"),
        ("Claims", f"{len(report.claims)}: {counted}"),
    ]
    judged = ", ".join(f"{count} by {name}" for name, count in sorted(checked.judged_by.items()))
    model = f" ({checked.model})" if checked.model else ""
    rows += [("Judged", f"{judged or 'none'}{model}")] if judged or model else []
    rows += [("Unread", f"{plural(report.unchecked, 'claim')} whose source was not read")] if report.unchecked else []
    rows += [("Missing", f"no source entry for {', '.join(report.dangling)}")] if report.dangling else []
    rows += [("Not cited", ", ".join(report.uncited_sources))] if report.uncited_sources else []
    rows += [("Cost", checked.cost)] if checked.cost else []
    write(table([*rows, ("Passed", _passed(checked))]))
    for claim in (claim for claim in report.claims if claim.verdict in _SHOWN):
        judge = f" (by {claim.judge})" if claim.judge else ""
        write(
            f"\n{str(claim.verdict).replace('_', ' ')}{judge} [{claim.source}] {one_line(claim.claim)}\n"
            f"  {one_line(claim.reason)}"
        )
        if claim.passage:
            write(f"  > {claim.passage[:_SHOWN_WORDS]}")
        elif claim.nearest:
            write(f"  nearest sentence of the source: {claim.nearest[:_SHOWN_WORDS]}")


def _passed(checked: Checked) -> str:
    report = checked.report
    if report.passed is None:
        return "passages found, not judged: the report claims nothing"
    if not report.passed:
        accepted = " (the run itself was accepted: verify.require_support is off)" if checked.tolerated else ""
        return f"no: {_grounds(checked)}{accepted}"
    if report.unchecked == len(report.claims):
        return "every citation has a source entry; no claim was judged, because no source was read"
    decided = _decided(report)
    if not decided:
        return "not decided: no claim could be judged; --set verify.require_support=true rejects such a report"
    return "yes" if decided == len(report.claims) else f"yes, for the {plural(decided, 'claim')} that could be judged"


def _decided(report: CheckedReport) -> int:
    """Return how many claims a judge decided."""
    return len(report.claims) - report.unchecked - report.counts.get("not_judged", 0)


def _grounds(checked: Checked) -> str:
    """Return why a report did not pass."""
    report = checked.report
    if not report.claims:
        return "the report cites no source"
    kinds = FAILED if any(map(report.counts.get, FAILED)) else (*FAILED, "not_judged")
    failed = [(report.counts[kind], kind.replace("_", " ")) for kind in kinds if report.counts.get(kind)]
    grounds = [
        f"{count} {kind}" if at else f"{plural(count, 'claim')} {kind}" for at, (count, kind) in enumerate(failed)
    ]
    if nowhere := len(report.dangling):
        grounds.append(f"{plural(nowhere, 'citation')} without a source entry")
    if bare := report.paragraphs_without_citation:
        grounds.append(f"{plural(bare, 'paragraph')} that {'ends' if bare == 1 else 'end'} without a citation")
    return ", ".join(grounds)
