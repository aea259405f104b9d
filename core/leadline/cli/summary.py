"""A run in short, under labels: question, status, tasks done, checks, files, cost."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from leadline.cli.common import near
from leadline.cli.out import columns, several, wrapped
from leadline.findings import FAILED
from leadline.printable import by_reason, one_line, shortened
from leadline.runs.folder import METADATA
from leadline.runs.state import Metadata

WIDEST = 100
"""Cells of a line, however wide the terminal: longer ones are hard to read."""


_DONE = {"recited": "cited anew", "weakened": "reworded", "dropped": "dropped"}
_KINDS = {"partial": "supported in part", "not_judged": "not judged"}
"""Verdicts under another name than their own."""
_ERRORS = 3
"""Errors that are shown: most of those that were lived through changed nothing in the report."""

_UNPRICED = ", price unknown: set ai.prices, or budget.money limits nothing"
"""What is told beside tokens that nobody knows the price of."""


def summary(known: Metadata, folder: Path, status: str = "") -> str:
    """Return the outcome in short, under labels."""
    rows = [
        ("Question", shortened(known.question)),
        ("Status", _status(known, status or known.status)),
        ("Done", done(known)),
        *(("Not done", f"{step.name}: {one_line(step.reason)}") for step in known.steps if step.status == "failed"),
        *(("Note", one_line(notice)) for notice in by_reason(known.notices)),
        *(("Error", text) for text in errors(known)),
        ("Checks", checks(known.verification)),
        ("Files", files(known, folder)),
        ("Cost", _cost(known)),
    ]
    return "\n".join(line for label, text in rows if text for line in _labelled(label, text))


def _labelled(label: str, text: str) -> Iterator[str]:
    wide = min(columns(), WIDEST) if sys.stdout.isatty() else WIDEST
    lines = wrapped(text, max(30, wide - 10))
    yield f"{label:<9} {lines[0]}"
    yield from (f"{'':<9} {line}" for line in lines[1:])


def _status(known: Metadata, status: str) -> str:
    reason = _without_steps(known) if known.status == "partial" else known.reason
    why = f": {shortened(reason, 1_000)}" if reason else ""
    return f"{status.replace('_', ' ')} in {known.seconds:.1f} s{why}"


def _without_steps(known: Metadata) -> str:
    """Return the reason without those of steps that were not done: each has a line of its own."""
    reason = known.reason
    for step in known.steps:
        if step.status == "failed" and step.reason:
            reason = re.sub(rf"(?:^|; ){re.escape(f'{step.name}: {step.reason}')}(?=; |$)", "", reason)
    return reason.removeprefix("; ")


def done(known: Metadata) -> str:
    """Return the steps that were done, and how often."""
    steps = [step for step in known.steps if step.status == "finished"]
    return ", ".join(step.name if step.times < 2 else f"{step.name} ×{step.times}" for step in steps)


def errors(known: Metadata) -> Iterator[str]:
    """Yield what went wrong and is not told already: the first, and how many more there are."""
    said = [text for text in (known.reason, *known.notices) if text]
    new = [
        error
        for error in known.errors
        if not any(_bare(error.message) in text or text in error.message for text in said)
    ]
    for error in new[:_ERRORS]:
        often = f" (×{error.times})" if error.times > 1 else ""
        yield f"{error.step}: {one_line(error.message)}{often}"
    if len(new) > _ERRORS:
        yield f"{len(new) - _ERRORS} more in {METADATA}"


def _bare(message: str) -> str:
    """Return a failure without whose it was, nor its details: a note tells the call's as that of its task."""
    whose, _, rest = message.partition(": ")
    return (rest if rest and " by " in whose else message).partition(" [")[0]


def checks(found: dict[str, Any]) -> str:
    """Return what the verification says of the citations: the decision, its grounds, what else is wrong, the counts."""
    if not found:
        return ""
    kinds: Mapping[str, int] = found.get("claims", {})
    if found.get("passed") and found.get("judged_by", {}).keys() == {"exact"} and kinds.keys() == {"supported"}:
        return "passed; everything is quoted word for word"
    counts = ", ".join(f"{count} {_KINDS.get(kind, kind)}" for kind, count in sorted(kinds.items()) if count)
    changed = _changed(found.get("repairs", ()))
    return "; ".join(filter(None, (_decision(found), f"claims: {counts}" if counts else "", changed)))


def _decision(found: Mapping[str, Any]) -> str:
    """Return the decision, its grounds apart from what is wrong besides; reports of older versions name none."""
    wrong, grounds = list(_wrong(found)), found.get("grounds")
    if found.get("passed"):
        return ", but ".join(filter(None, ("passed", "; ".join(text for _, text in wrong))))
    why = [text for name, text in wrong if not grounds or name in grounds]
    more = [text for _, text in wrong if text not in why]
    said = ": ".join(filter(None, ("not passed", "; ".join(why))))
    return "; besides, ".join(filter(None, (said, "; ".join(more))))


def _wrong(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the name of the ground that it may be, the worst first."""
    claims: Mapping[str, int] = found.get("claims", {})
    grounds = found.get("grounds", ())
    failed = sum(claims.get(kind, 0) for kind in FAILED)
    open_ones = claims.get("not_judged", 0) if "unsupported" in grounds else 0
    bare = found.get("paragraph_without_citation_count", 0)
    if not found.get("report_passed", True):
        yield "no_claims", "no claim with a citation"
    if failed:
        yield "unsupported", f"{failed} of {several(sum(claims.values()), 'claim')} not supported by what is cited"
    if open_ones:
        yield "unsupported", f"{several(open_ones, 'claim')} not judged"
    if bare:
        yield "uncited", f"{several(bare, 'paragraph')} without a citation at the end"
    if unknown := found.get("unknown_ids", ()):
        yield "unknown_ids", f"{several(len(unknown), 'citation')} of unknown passages"


def _changed(repairs: Sequence[Mapping[str, Any]]) -> str:
    """Return what was done about claims that were not supported."""
    if not repairs:
        return ""
    done = Counter(_DONE.get(one["done"], one["done"]) for one in repairs)
    return f"changed before: {', '.join(f'{count} {what}' for what, count in sorted(done.items()))}"


def files(known: Metadata, folder: Path) -> str:
    """Return the folder, and what is in it, the reports first."""
    names = sorted(known.files, key=lambda name: (not name.startswith("report."), name))
    return one_line(f"{near(folder)}: {', '.join(names)}")


def chats(calls: Mapping[str, int]) -> int:
    """Return how often language models were asked."""
    return sum(count for name, count in calls.items() if name.startswith("chat/"))


def _cost(known: Metadata) -> str:
    """Return what a run cost; of what its journal could not keep, as on a full disk, nobody knows it."""
    asked, made = chats(known.calls), known.budget.get("model_calls", 0)
    if not asked and made:
        return f"unknown: the journal does not hold what {made} model call{'s' * (made != 1)} used"
    untold = known.usage.get("untold")
    said = cost(known.usage, asked, answered=bool(known.usage.get("replies", known.models)))
    some = untold and known.usage.get("tokens")
    return f"{said}; {untold} of {several(asked, 'model call')} did not tell what was used" if some else said


def cost(usage: Mapping[str, Any], asked: int, *, answered: bool) -> str:
    """Return what so many calls of models cost; `answered`: some of them were."""
    tokens, money = usage.get("tokens", 0), usage.get("cost")
    if not tokens and money is None:
        calls = f"of {asked} model call{'s' if asked > 1 else ''} none"
        if answered:
            return f"unknown: {calls} told what it used"
        return f"nothing: {calls} was answered" if asked else "nothing: no model was paid"
    if money is None:
        return f"{tokens:,} tokens{_UNPRICED}"
    unpriced = usage.get("unpriced")
    return f"{tokens:,} tokens, ${money:.4f}" + (f" and {unpriced:,} tokens at an unknown price" if unpriced else "")
