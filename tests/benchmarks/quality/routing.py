"""How well `auto` chooses the pipeline of labelled questions: by its rules alone, and with the model of the settings.

    python tests/benchmarks/quality/routing.py [FILE …] [--model] [--wrong]

Each line of a FILE is a question: {"question": …, "language": "en", "expected": "search"}; `expected` may be a list of
equally good pipelines. Without FILE the questions beside this script are read, on which the rules were written. A rule
that does not decide counts as open. With `--model` the open ones are put to the model that the settings choose
(leadline.toml, environment). The last figure is the share of questions whose choice cost no call.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import leadline
from leadline_plugins.routing import MIXED, by_rules
from leadline_plugins.stages.route import RouteSettings

PIPELINES = RouteSettings().pipelines
OWN = Path(__file__).parent / "data" / "routing.jsonl"


@dataclass(frozen=True)
class Labelled:
    """A question and the pipelines that answer it well."""

    question: str
    language: str
    expected: tuple[str, ...]


def read(paths: Iterable[Path]) -> list[Labelled]:
    """Return the questions of files, in their order."""
    rows = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [
        Labelled(
            row["question"],
            row.get("language", ""),
            (row["expected"],) if isinstance(row["expected"], str) else tuple(row["expected"]),
        )
        for row in rows
    ]


def chosen_by_rules(questions: Sequence[Labelled]) -> list[str]:
    """Return the choice for each question; empty where no rule decides."""
    found = (by_rules(one.question, PIPELINES) for one in questions)
    return [route.pipeline if route else "" for route in found]


async def with_model(questions: Sequence[Labelled], chosen: Sequence[str]) -> list[str]:
    """Return the choices with those of the model for the open questions."""
    made = list(chosen)
    with tempfile.TemporaryDirectory() as folder:
        stage = {"pipelines.choice.stages": ["route"], "observers": []}
        async with leadline.Client(pipeline="choice", folder=folder, set=stage) as runs:
            for place, one in enumerate(questions):
                if not made[place]:
                    made[place] = await _choice(runs, one.question)
    return made


async def _choice(runs: leadline.Client, question: str) -> str:
    """Return the pipeline that a run would continue with, without continuing."""
    handle = await runs.start(question)
    chosen = ""
    async for event in handle.events():
        if event.kind == "route":
            chosen = str(event.data["pipeline"])
            await handle.cancel("chosen")
    return chosen


def rows(questions: Sequence[Labelled], chosen: Sequence[str]) -> Mapping[str, Counter[str]]:
    """Return right, wrong and open choices by language, and of all."""
    counts: dict[str, Counter[str]] = {}
    for one, name in zip(questions, chosen, strict=True):
        kind = "open" if not name else "right" if name in one.expected else "wrong"
        for group in (one.language, "all"):
            counts.setdefault(group, Counter())[kind] += 1
    return counts


def table(title: str, questions: Sequence[Labelled], chosen: Sequence[str]) -> str:
    """Return the figures; what stays open is researched, as in a run without a model."""
    usual = [name or MIXED for name in chosen]
    lines = [
        title,
        f"{'language':<10}{'questions':>10}{'right':>7}{'wrong':>7}{'open':>6}{'precision':>11}{'accuracy':>10}",
    ]
    finished = rows(questions, usual)
    for group, counts in rows(questions, chosen).items():
        decided = counts["right"] + counts["wrong"]
        precision = f"{counts['right'] / decided:.3f}" if decided else "-"
        accuracy = finished[group]["right"] / counts.total()
        lines.append(
            f"{group:<10}{counts.total():>10}{counts['right']:>7}{counts['wrong']:>7}{counts['open']:>6}"
            f"{precision:>11}{accuracy:>10.3f}"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--model", action="store_true", help="put the open questions to the model of the settings")
    parser.add_argument("--wrong", action="store_true", help="list the questions with a wrong choice")
    args = parser.parse_args()
    questions = read(args.files or [OWN])
    chosen = chosen_by_rules(questions)
    print(table("rules alone (open questions are researched)", questions, chosen))
    saved = sum(map(bool, chosen)) / len(questions)
    final = chosen
    if args.model:
        final = asyncio.run(with_model(questions, chosen))
        print("\n" + table("rules, then the model", questions, final))
    print(f"\nchosen without a call: {saved:.3f}")
    if args.wrong:
        for one, name in zip(questions, final, strict=True):
            if (name or MIXED) not in one.expected:
                print(
                    f"{one.language} {one.question!r}: {name or f'open, so {MIXED}'}, not {' or '.join(one.expected)}"
                )


if __name__ == "__main__":
    main()
