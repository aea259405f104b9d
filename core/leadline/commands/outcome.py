"""The outcome of a run, for users and as JSON: question, status, report, checks, files, cost."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from leadline.citations import number
from leadline.commands import near
from leadline.commands.output import INTERRUPTED, columns, debugging, plural, say, wrapped, write, write_json
from leadline.display import group_by_reason, one_line, shortened, visible
from leadline.errors import UsageError
from leadline.records import Notice
from leadline.rendering import VERDICTS, plain_title, readable_url
from leadline.runs import KEPT_NOTICE, METADATA, PRINCIPALS, Metadata, Result

# Maximum line width: longer lines are hard to read.
WIDEST = 100
# Number of errors to list; the run recovered from most of them.
_ERRORS = 3
# Follows the tokens of a model without a known price.
_UNPRICED = ", price unknown; budget.money has no effect until you set ai.prices"


def summary(known: Metadata, folder: Path, status: str = "") -> str:
    """Return the outcome as labelled lines."""
    interrupted, cached = known.interrupted_calls, known.cached
    rows = [
        ("Question", shortened(known.question)),
        ("Status", _status(known, status or known.status)),
        ("Done", done(known)),
        *(("Not done", f"{step.name}: {one_line(step.reason)}") for step in known.steps if step.status == "failed"),
        # What may have been paid for twice.
        ("Repeated", f"{plural(interrupted, 'call')} in flight when the run was interrupted" if interrupted else ""),
        *(("Note", one_line(text)) for text in group_by_reason(notice.without_reason() for notice in known.notices)),
        *(("Error", text) for text in errors(known)),
        ("Missing", f"no passage shown has: {', '.join(known.missing_words)}" if known.missing_words else ""),
        ("Checks", checks(known.verification, known.audit)),
        ("Cache", f"{plural(cached, 'reply', 'replies')} of earlier runs; --no-cache asks anew" if cached else ""),
        ("Files", files(known, folder)),
        ("Cost", _cost(known)),
    ]
    return "\n".join(line for label, text in rows if text for line in _labelled(label, text))


def _labelled(label: str, text: str) -> Iterator[str]:
    wide = min(columns(), WIDEST) if sys.stderr.isatty() or sys.stdout.isatty() else WIDEST
    lines = wrapped(text, max(30, wide - 10))
    yield f"{label:<9} {lines[0]}"
    yield from (f"{'':<9} {line}" for line in lines[1:])


def _status(known: Metadata, status: str) -> str:
    reason: str = known.reason
    if known.status == "partial":  # the failed steps have lines of their own
        reason = "; ".join(part for part in known.reason.parts if part.code != "stage")
    why = f": {shortened(reason, 1_000)}" if reason else ""
    return f"{status.replace('_', ' ')} in {known.seconds:.1f} s{why}"


def done(known: Metadata) -> str:
    """Return the finished steps with their number of repetitions."""
    steps = [step for step in known.steps if step.status == "finished"]
    return ", ".join(step.name if step.times < 2 else f"{step.name} ×{step.times}" for step in steps)


def errors(known: Metadata) -> Iterator[str]:
    """Yield the first errors that no other line reports, and the number of further ones."""
    other_lines = "\n".join((known.reason, *known.notices))
    new = [error for error in known.errors if error.message.parameters.get("failure", error.message) not in other_lines]
    for error in new[:_ERRORS]:
        often = f" (×{error.times})" if error.times > 1 else ""
        where = f"{error.step}: " if error.step else ""
        yield f"{where}{one_line(error.message)}{often}"
    if len(new) > _ERRORS:
        yield f"{len(new) - _ERRORS} more errors in {METADATA}"


def checks(outcome: Mapping[str, Any], audit: Mapping[str, Any] | None = None) -> str:
    """Return the result of the verification: decision with its reasons, counts, repairs."""
    if not outcome:
        return ""
    accepted = (audit or {}).get("accepted", outcome.get("passed"))
    failed_judges = ", ".join(outcome.get("failed_judges", ()))
    if accepted is None and not failed_judges:
        return "passages found, not judged"
    reasons = "; ".join((audit or outcome).get("reasons", ()))
    kinds: Mapping[str, int] = outcome.get("claims", {})
    counts = ", ".join(f"{count} {VERDICTS[kind].name}" for kind, count in sorted(kinds.items()) if count)
    bare = outcome.get("paragraph_without_citation_count", 0)
    parts = (
        ": ".join(filter(None, ("rejected", reasons))) if accepted is False else _judged(outcome, failed_judges),
        f"claims: {counts}" if counts else "",
        f"{plural(bare, 'paragraph')} without a citation" if bare else "",
        _changed(outcome.get("repairs", ())),
    )
    return "; ".join(filter(None, parts))


def _judged(outcome: Mapping[str, Any], failed_judges: str) -> str:
    """Return that the report passed, with its remarks, or how many of its claims were judged if some were not."""
    if failed_judges:
        return f"not judged by {failed_judges}; citations and paragraphs were checked"
    claims: Mapping[str, int] = outcome.get("claims", {})
    unjudged, total = claims.get("not_judged", 0), sum(claims.values())
    if not unjudged:
        remarks = outcome.get("remarks", 0)
        return f"passed with {plural(remarks, 'remark')}" if remarks else "passed"
    judged = "no claim was" if unjudged == total else f"{total - unjudged} of {plural(total, 'claim')}"
    return f"{judged} judged; citations and paragraphs were checked"


def _changed(repairs: Sequence[Mapping[str, Any]]) -> str:
    """Return the repairs of claims that were not supported."""
    if not repairs:
        return ""
    done = Counter(repair["done"] for repair in repairs)
    return f"repaired: {', '.join(f'{count} {what}' for what, count in sorted(done.items()))}"


def files(known: Metadata, folder: Path) -> str:
    """Return the folder and its files, reports first."""
    names = sorted(known.files, key=lambda name: (not name.startswith("report."), name))
    return one_line(f"{near(folder)}: {', '.join(names)}")


def _cost(known: Metadata) -> str:
    """Return the cost of a run; unknown if the journal could not store its calls, as on a full disk."""
    asked = sum(count for name, count in known.calls.items() if name.startswith("chat/"))
    made: Any = known.budget.get("model_calls", 0)
    if not asked and made:
        return f"unknown: the journal has no usage of {plural(made, 'model call')}"
    untold = known.usage.get("untold")
    text = cost(known.usage, asked, answered=bool(known.usage.get("replies", known.models)))
    some = untold and known.usage.get("tokens")
    return f"{text}; {untold} of {plural(asked, 'model call')} did not report their usage" if some else text


def cost(usage: Mapping[str, Any], asked: int, *, answered: bool) -> str:
    """Return the cost of a number of model calls; `answered` if some were answered."""
    tokens, money = usage.get("tokens", 0), usage.get("cost")
    if not tokens and money is None:
        calls = plural(asked, "model call")
        if answered:
            return f"unknown: no usage reported for {calls}"
        return f"nothing: no answer to {calls}" if asked else "nothing: no model was called"
    if money is None:
        return f"{tokens:,} tokens{_UNPRICED}"
    unpriced = usage.get("unpriced")
    return f"{tokens:,} tokens, ${money:.4f}" + (f" and {unpriced:,} tokens at an unknown price" if unpriced else "")


# The kind and provider of the calls that write the Markdown file.
_WRITTEN = "format/markdown"
_PICTURE = re.compile(r"^!\[[^\n]*\]\([^()\n]*\)\n+", re.MULTILINE)
# Characters of the report, and cited sources, that a terminal shows; the file has the rest.
SHOWN, _SOURCES = 2_000, 10


def show(result: Result, *, as_json: bool) -> None:
    """Print the report to standard output, and the outcome to standard error; or the outcome as JSON."""
    if as_json:
        write_json(as_data(result))
        return
    if result.text:
        _show_report(result)
    say(summary(result.metadata, result.folder))


def advise(result: Result, args: argparse.Namespace) -> None:
    """Print how to continue a run that is not complete."""
    has_earlier = KEPT_NOTICE in result.metadata.notices  # the earlier, complete output was kept
    if result.status == "waiting":
        command = resume_command(result.folder, args)
        say(f"It waits for an answer: {command} --answer TEXT, or in a terminal: {command}")
        say(f"To go on without answering: {command} --no-answer")
    elif result.exit_code != UsageError.exit_code and (
        result.exit_code == INTERRUPTED or (result.status in ("failed", "partial") and not has_earlier)
    ):
        say(f"Continue: {resume_command(result.folder, args, raised(result.metadata))}")
    if debugging():
        for trace in dict.fromkeys(filter(None, (error.traceback for error in result.metadata.errors))):
            say(trace)


def raised(known: Metadata) -> list[str]:
    """Return the larger budgets that the messages of a run suggest, the largest for each setting."""
    messages = [*known.reason.parts, *known.notices, *(step.reason for step in known.steps)]
    messages += [Notice.read(part.parameters["reason"]) for part in messages if "reason" in part.parameters]
    enough: dict[str, str] = {}
    for about in (part.parameters for part in messages if "setting" in part.parameters):
        key, amount = about["setting"], about["value"]
        if amount != "N":
            enough[key] = max(enough.get(key, amount), amount, key=float)
    return [f"{key}={amount}" for key, amount in sorted(enough.items())]


def resume_command(folder: Path, args: argparse.Namespace, sets: Sequence[str] = ()) -> str:
    """Return the command that resumes a run."""
    # Runs of a principal are found by their path.
    own = folder.parent.parent.name == PRINCIPALS
    words = ["leadline", "resume", near(folder) if own else folder.name]
    words += [word for setting in sets for word in ("--set", setting)]
    if not own and (args.folder or any(text.startswith("runs.folder") for text in args.set)):
        words += ["--folder", str(folder.parent)]
    if args.settings:
        words += ["--settings", args.settings]
    return shlex.join(words)


def as_data(result: Result) -> dict[str, Any]:
    """Return the outcome as JSON data."""
    metadata = result.metadata.model_dump(mode="json")
    report = report_file(result.folder, result.metadata)
    return {
        "run": metadata["run_id"],
        "status": result.status,
        "reason": result.reason,
        "exit_code": result.exit_code,
        "folder": str(result.folder),
        "report": str(report) if report else None,
        "files": [str(path) for path in result.files],
        "checks": metadata["verification"],
        **{key: metadata[key] for key in ("question", "missing_words", "usage", "citations", "seconds", "errors")},
    }


def report_file(folder: Path, metadata: Metadata, first: str = "report.md") -> Path | None:
    """Return the report file for readers: `first`, else HTML or another format; None if there is none."""
    names = [name for name in metadata.files if name.startswith("report.") and (folder / name).is_file()]
    names.sort(key=lambda name: (name != first, name != "report.html", name != "report.md", name))
    return folder / names[0] if names else None


def _show_report(result: Result) -> None:
    written, path = _written(result), report_file(result.folder, result.metadata)
    text, sources = visible(written or result.text), list(_sources(result))
    if not sys.stdout.isatty():
        write("\n".join((text, "", *(() if written else sources))).rstrip())
        return
    begin = text if len(text) <= SHOWN or not path else text[:SHOWN].rsplit(maxsplit=1)[0] + " …"
    _write_markdown(begin, notice="dim" if result.report and result.report.quotes else "italic")
    if len(text) > len(begin) and path:
        write(f"\n[{len(text) - len(begin) + 2:,} more characters in {one_line(near(path))}]")
    elif written:
        return
    more = [f"and {len(sources) - _SOURCES} more"] if len(sources) > _SOURCES else []
    write("\n".join(("", *sources[:_SOURCES], *more, "")))


def _sources(result: Result) -> Iterator[str]:
    """Yield a line for each cited source."""
    for index, source in number(result.report).cited if result.report else ():
        yield one_line(f"[{index}] {plain_title(source.hit.title)} - {readable_url(source.hit.url)}")


def _written(result: Result) -> str:
    """Return the Markdown file without its pictures; empty if this session wrote none."""
    if result.report is None or KEPT_NOTICE in result.metadata.notices or not result.metadata.calls.get(_WRITTEN):
        return ""
    try:
        return _PICTURE.sub("", (result.folder / "report.md").read_text("utf-8")).strip()
    except (OSError, ValueError):
        return ""


def _write_markdown(text: str, notice: str) -> None:
    """Print Markdown, formatted for a terminal; `notice` is the style of emphasis, as of the notice of a brief."""
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.theme import Theme

    Console(width=min(columns(), WIDEST), theme=Theme({"markdown.em": notice})).print(Markdown(text, hyperlinks=False))
