"""`leadline runs compare`: what the reports of two runs have in common and what not."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence

from leadline.cli.common import client_of, near
from leadline.cli.terminal import plural, table, write, write_json
from leadline.comparison import Comparison
from leadline.display import one_line, shortened
from leadline.records import Verdict
from leadline.runs import RunInfo

# Characters of a claim.
_CLAIM = 300


def show_comparison(args: argparse.Namespace) -> int:
    """Print the comparison of two runs."""
    first, second, found = asyncio.run(_compared(args))
    if args.json:
        write_json({"first": first.id, "second": second.id, **found.model_dump(mode="json")})
        return 0
    write(table([_row("First", first), _row("Second", second)], ("", "RUN", "STATUS", "QUESTION")))
    for title, verdicts in ((f"Only in {first.id}", found.only_first), (f"Only in {second.id}", found.only_second)):
        _list(f"{title}: {plural(len(verdicts), 'claim')}", [_claim(one) for one in verdicts])
    _list(
        f"Other verdict: {plural(len(found.changed), 'claim')}",
        [f"{_kind(one.first)} -> {_kind(one.second)}: {_text(one.first)}" for one in found.changed],
    )
    write(f"\nEqual: {plural(len(found.same), 'claim')}")
    for title, urls in (
        (f"Sources only of {first.id}", found.sources_only_first),
        (f"Sources only of {second.id}", found.sources_only_second),
        ("Sources of both", found.sources_of_both),
    ):
        _list(f"{title}: {len(urls)}", [one_line(url) for url in urls])
    return 0


async def _compared(args: argparse.Namespace) -> tuple[RunInfo, RunInfo, Comparison]:
    async with client_of(args) as client:
        first, second = client.find(args.first), client.find(args.second)
        return first, second, await client.compare(first.folder, second.folder)


def _row(label: str, run: RunInfo) -> tuple[str, ...]:
    return label, run.id, run.status, shortened(run.metadata.question) if run.metadata else near(run.folder)


def _list(title: str, lines: Sequence[str]) -> None:
    write(f"\n{title}")
    for line in lines:
        write(f"  - {line}")


def _claim(one: Verdict) -> str:
    return f"{_kind(one)}: {_text(one)}"


def _kind(one: Verdict) -> str:
    return one.verdict.replace("_", " ")


def _text(one: Verdict) -> str:
    return shortened(one.claim.text, _CLAIM)
