"""Compare two runs, or answer a question with two pipelines and compare what each takes and makes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from shlex import quote

from leadline.client import Client
from leadline.commands import (
    client_of,
    docs_option,
    folder_option,
    near,
    quiet_option,
    run_coroutine,
    settings_options,
    unknown_pipeline,
)
from leadline.commands.foreground import question_of, run_in_foreground
from leadline.commands.output import plural, say, table, write, write_json
from leadline.comparison import Comparison, RunFigures, compare
from leadline.display import one_line, shortened
from leadline.errors import UsageError
from leadline.records import Verdict
from leadline.runs import Result

# Characters of a claim.
_CLAIM = 300
# The second run would take replies of the first one for nothing.
_NO_CACHE = ("cache.search=0", "cache.plan=0", "cache.model=0")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="*", metavar="RUN", help="two runs; or a question, - reads it from standard input"
    )
    parser.add_argument(
        "--pipelines", default="", metavar="A,B", help="the two pipelines of a question, such as research,oneshot"
    )
    docs_option(parser)
    folder_option(parser)
    settings_options(parser, json=True)
    quiet_option(parser)


def run(args: Namespace) -> int:
    return _compare_pipelines(args) if args.pipelines or len(args.words) != 2 else _compare_runs(args)


def _compare_pipelines(args: Namespace) -> int:
    """Answer a question with two pipelines, one after the other, and print what each took and made."""
    question = question_of(args.words)
    if question is None:
        raise UsageError('no question given: leadline compare "How does …?" --pipelines research,oneshot')
    names = [name.strip() for name in args.pipelines.split(",") if name.strip()]
    if len(names) != 2 or names[0] == names[1]:
        given = f"--pipelines {args.pipelines!r}" if args.pipelines else "--pipelines is missing"
        raise UsageError(f"{given}: name two, such as --pipelines research,oneshot")
    results = run_coroutine(_answered(args, question, names))
    first, second = results
    comparison = compare(first.report, second.report, [first.metadata, second.metadata])
    if args.json:
        write_json({"question": question, **comparison.model_dump(mode="json")})
    else:
        show_runs(comparison, first.metadata.question)
        show_reports(comparison)
    return max(result.exit_code for result in results)


async def _answered(args: Namespace, question: str, names: Sequence[str]) -> list[Result]:
    clients = [client_of(args, name, set=_NO_CACHE) for name in names]
    for name, client in zip(names, clients, strict=True):
        known = client.load(complete=False).settings.pipelines
        if name not in known:
            raise unknown_pipeline(name, known)
        client.explain()  # so that both are checked before either costs anything
        client.order(question)
    results = []
    for name, client in zip(names, clients, strict=True):
        async with client:
            say(f"Pipeline {name}:")
            results.append(await run_in_foreground(client, partial(client.start, question), args))
    return results


def _compare_runs(args: Namespace) -> int:
    """Print the comparison of two runs."""
    comparison = run_coroutine(_compared(args))
    if args.json:
        ids = (run.run for run in comparison.runs)
        write_json({**dict(zip(("first", "second"), ids, strict=True)), **comparison.model_dump(mode="json")})
        return 0
    show_runs(comparison)
    show_reports(comparison)
    return 0


async def _compared(args: Namespace) -> Comparison:
    async with client_of(args) as client:
        _check_states(client, args)
        return await client.compare(*args.words)


def _check_states(client: Client, args: Namespace) -> None:
    for name in args.words:
        if (run := client.find(name)).metadata is None:
            raise UsageError(
                f"the metadata of {near(run.folder)} cannot be read: `leadline resume {quote(run.id)}` restores it"
            )


def show_runs(comparison: Comparison, question: str = "") -> None:
    """Print the figures of both runs side by side."""
    if question:
        write(f"{shortened(question)}\n")
    rows = [[title, *(show(run) for run in comparison.runs)] for title, show in _ROWS]
    write(table([row for row in rows if any(row[1:])], ("", *(run.pipeline for run in comparison.runs))))


_ROWS = (
    ("Run", lambda run: run.run),
    ("Status", lambda run: run.status.replace("_", " ") + (f": {shortened(run.reason, 80)}" if run.reason else "")),
    ("Time", lambda run: f"{run.seconds:.1f} s"),
    ("Cost", lambda run: _cost(run)),
    ("Model calls", lambda run: f"{run.model_calls:,}"),
    ("Tokens", lambda run: f"{run.tokens:,}"),
    ("Searches", lambda run: str(run.searches)),
    ("Sources", lambda run: f"{run.sources}, {run.cited_sources} cited"),
    ("Citations", lambda run: str(run.citations)),
    ("Claims", lambda run: ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in run.claims.items()) or "0"),
)


def _cost(run: RunFigures) -> str:
    if not run.model_calls:
        return "nothing"
    return "price unknown" if run.cost is None else f"${run.cost:.4f}"


def show_reports(comparison: Comparison) -> None:
    """Print what the reports have in common and what not."""
    first, second = comparison.runs
    for run, verdicts in ((first, comparison.only_first), (second, comparison.only_second)):
        title = f"Only in {run.run} ({run.pipeline}): {plural(len(verdicts), 'claim')}"
        _list(title, [f"{_kind(claim)}: {_text(claim)}" for claim in verdicts])
    _list(
        f"Other verdict: {plural(len(comparison.changed), 'claim')}",
        [f"{_kind(change.first)} -> {_kind(change.second)}: {_text(change.first)}" for change in comparison.changed],
    )
    write(f"\nEqual: {plural(len(comparison.same), 'claim')}")
    for title, urls in (
        (f"Sources only of {first.run}", comparison.sources_only_first),
        (f"Sources only of {second.run}", comparison.sources_only_second),
        ("Sources of both", comparison.sources_of_both),
    ):
        _list(f"{title}: {len(urls)}", [one_line(url) for url in urls])


def _list(title: str, lines: Sequence[str]) -> None:
    write(f"\n{title}")
    for line in lines:
        write(f"  - {line}")


def _kind(verdict: Verdict) -> str:
    return verdict.verdict.replace("_", " ")


def _text(verdict: Verdict) -> str:
    return shortened(verdict.claim.text, _CLAIM)
