"""Answer a file of questions with two setups, measure both, and let people compare the reports without knowing whose.

    python examples/evaluation/two_setups.py questions.txt OUT research oneshot
    python examples/evaluation/two_setups.py questions.txt OUT ai.providers=openai:SMALL ai.providers=openai:LARGE
    python examples/evaluation/two_setups.py questions.txt OUT today.toml proposed.toml

A setup is a pipeline, a KEY=VALUE, or a settings file; other settings are those of the working folder. Questions are
lines. Run it again after an interruption: no run is paid for twice. How to read what it writes: docs/how-to/evaluate.md
"""

from __future__ import annotations

import asyncio
import html
import json
import sys
from collections import Counter
from contextlib import AsyncExitStack, suppress
from hashlib import sha256
from math import comb
from pathlib import Path
from statistics import mean, median
from string import Template

from markdown_it import MarkdownIt

import leadline
from leadline.citations import number
from leadline.comparison import RunFigures
from leadline.records import Report
from leadline.runs import Order, report_text

AT_ONCE = 2
"""Runs at once. Seconds are those of runs that share a machine and the limits of providers: 1 measures them alone."""

NO_CACHE = ("cache.search=0", "cache.plan=0", "cache.model=0")
"""The second setup would take replies of the first one for nothing."""

Answer = tuple[RunFigures, Report | None]
"""What a setup took and made for a question; None without a report."""


def client_of(setup: str, runs: Path) -> leadline.Client:
    """Return the client of a setup; wrong settings are an error before anything is paid for."""
    settings = Path(setup) if setup.endswith((".toml", ".yaml")) else None
    value = [setup] if "=" in setup and not settings else []
    pipeline = "" if settings or value else setup
    client = leadline.Client(settings=settings, set=[*NO_CACHE, *value], pipeline=pipeline, folder=runs)
    client.explain()
    return client


def order_of(client: leadline.Client, question: str, file: Path) -> Order:
    """Return the order of a question, which is kept before its run begins, so that no run is paid for twice."""
    if not file.exists():
        file.write_text(client.order(question).model_dump_json(), "utf-8")
    return Order.model_validate_json(file.read_text("utf-8"))


async def answer(client: leadline.Client, order: Order) -> Answer:
    """Return the figures and the report of a run, which is continued if it was interrupted and read if it has ended."""
    with suppress(leadline.UsageError):  # there is no such run yet
        known = client.find(order.run_id).metadata
        if known and known.status in ("complete", "partial", "no_evidence"):
            report = await client.report(order.run_id) if known.status != "no_evidence" else None
            return RunFigures.of(known, report), report
    run = await client.run(order)
    run.events().close()
    result = await run.result()
    print(f"{result.metadata.pipeline}, {result.status}: {order.question}", file=sys.stderr)
    return RunFigures.of(result.metadata, result.report), result.report


async def answers_of(setups: list[str], questions: list[str], out: Path) -> list[list[Answer]]:
    """Answer all questions with both setups, a question with both before the next one."""
    (out / "orders").mkdir(parents=True, exist_ok=True)
    gate = asyncio.Semaphore(AT_ONCE)
    async with AsyncExitStack() as stack:
        clients = [client_of(setup, out / "runs") for setup in setups]
        for client in clients:
            await stack.enter_async_context(client)

        async def gated(index: int, question: str) -> Answer:
            name = sha256(f"{setups[index]}\n{question}".encode()).hexdigest()[:16]
            async with gate:
                order = order_of(clients[index], question, out / "orders" / f"{name}.json")
                return await answer(clients[index], order)

        done = await asyncio.gather(*(gated(index, question) for question in questions for index in (0, 1)))
    return [list(done[0::2]), list(done[1::2])]


# --- figures ---------------------------------------------------------------------------------------------------------


def figures(answers: list[Answer]) -> dict[str, str]:
    """Return the rows of the table for a setup. Failed runs count in money and tokens: they were paid for."""
    runs = [run for run, _ in answers]
    claims = sum((Counter(run.claims) for run in runs), Counter[str]())
    costs = [0.0 if not run.model_calls else run.cost for run in runs]
    known = [cost for cost in costs if cost is not None]
    return {
        "answered": f"{sum(report is not None for _, report in answers)} of {len(runs)}",
        "complete": str(sum(run.status == "complete" for run in runs)),
        "seconds, half of the runs": f"{median(run.seconds for run in runs):.1f}",
        "seconds, at most": f"{max(run.seconds for run in runs):.1f}",
        "tokens a question": f"{mean(run.tokens for run in runs):,.0f}",
        "USD a question": f"{mean(known):.4f}" if len(known) == len(costs) else "unknown: set ai.prices",
        "searches a question": f"{mean(run.searches for run in runs):.1f}",
        "sources cited a question": f"{mean(run.cited_sources for run in runs):.1f}",
        "claims": str(claims.total()),
        **{f"claims: {verdict.replace('_', ' ')}": str(count) for verdict, count in sorted(claims.items())},
    }


def first_is_left(question: str) -> bool:
    """Return on which side of the form the first setup is: by chance, but the same each time."""
    return sha256(question.encode()).digest()[0] % 2 == 0


def preferences(questions: list[str], out: Path) -> tuple[Counter[str], int]:
    """Return how often readers chose the "first", the "second" or neither ("equal"), and the number of readers."""
    files = sorted(out.glob("reading-*.json"))
    chosen: Counter[str] = Counter()
    for file in files:
        for question, choice in json.loads(file.read_text("utf-8")).items():
            left, right = ("first", "second") if first_is_left(question) else ("second", "first")
            if question in questions:
                chosen[{"left": left, "right": right}.get(choice, "equal")] += 1
    return chosen, len(files)


def chance(first: int, second: int) -> float:
    """Return how likely a preference at least as clear is if both setups are equally good (the two-sided sign test)."""
    count = first + second
    return min(1.0, 2 * sum(comb(count, k) for k in range(min(first, second) + 1)) / float(2**count))


def summary(setups: list[str], questions: list[str], answers: list[list[Answer]], out: Path) -> str:
    """Return the table of both setups in Markdown."""
    columns = [figures(each) for each in answers]
    rows = [[row, *(column.get(row, "0") for column in columns)] for row in {**columns[0], **columns[1]}]
    chosen, readers = preferences(questions, out)
    rows.append(["preferred by readers", str(chosen["first"]), str(chosen["second"])])
    table = [["", *setups], ["---"] * 3, *rows]
    likely = chance(chosen["first"], chosen["second"])
    equal = f"{chosen['equal']} times no difference. If both were equally good, one would be preferred so clearly"
    note = f"{readers} readings, {equal} in {likely:.0%} of tries." if readers else "Not read yet: open reading.html."
    return "\n".join(f"| {' | '.join(row)} |" for row in table) + f"\n\n{note}\n"


# --- the form --------------------------------------------------------------------------------------------------------


def article(report: Report | None) -> str:
    """Return a report as HTML, without its method, which would tell the setup."""
    if report is None:
        return "<article><p>No report.</p></article>"
    sources = "\n".join(f"{index}. {source.hit.title}: <{source.hit.url}>" for index, source in number(report).cited)
    text = MarkdownIt("js-default").render(f"{report_text(report)}\n\n## Sources\n\n{sources}")
    return f"<article>{text}</article>"


def form(questions: list[str], answers: list[list[Answer]]) -> str:
    """Return the page of the two reports of each question that has any."""
    parts = []
    for index, (question, (_, first), (_, second)) in enumerate(zip(questions, *answers, strict=True)):
        sides = map(article, (first, second) if first_is_left(question) else (second, first))
        choices = (("left", "the first"), ("equal", "no difference"), ("right", "the second"))
        radios = "".join(
            f'<label><input type="radio" name="q{index}" value="{key}"> {text}</label> ' for key, text in choices
        )
        shown = html.escape(question)
        box = f'<fieldset name="q{index}" data-question="{shown}"><legend>Better</legend>{radios}</fieldset>'
        parts.append(f"<h2>{shown}</h2><div class=two>{''.join(sides)}</div>{box}")
    page = Path(__file__).with_name("reading.html").read_text("utf-8")
    return Template(page).substitute(questions="\n".join(parts))


def main(questions_file: Path, out: Path, *setups: str) -> int:
    """Answer, measure, write the form and the summary; return how many runs have no report."""
    questions = list(dict.fromkeys(filter(None, map(str.strip, questions_file.read_text("utf-8").splitlines()))))
    answers = asyncio.run(answers_of([*setups], questions, out))
    (out / "reading.html").write_text(form(questions, answers), "utf-8")
    text = summary([*setups], questions, answers, out)
    (out / "summary.md").write_text(text, "utf-8")
    print(text)
    return sum(report is None for each in answers for _, report in each)


if __name__ == "__main__":
    if len(set(sys.argv[3:])) != 2:
        raise SystemExit(__doc__)
    sys.exit(bool(main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])))
