"""Show what users spent on runs of the queue, and their tokens."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime, timedelta

from leadline.commands import count, folder_option, json_option, settings_options
from leadline.commands.output import say, table, write, write_json
from leadline_server.commands import database_option, queue_of, store_of
from leadline_server.commands.serve import TOKEN_HEAD, token_row

SUMS = {"user": "principal", "model": "model", "day": "day"}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--days", type=count, default=30, metavar="N", help="days of UTC to sum up (default: 30)")
    database_option(parser)
    folder_option(parser)
    settings_options(parser)
    json_option(parser)


def run(args: Namespace) -> int:
    """Print the sums by user, model and day, and the tokens."""
    from leadline_server.queue.records import sums

    since = f"{datetime.now(UTC) - timedelta(days=args.days - 1):%Y-%m-%d}"
    with queue_of(args) as queue, store_of(args) as store:
        spent, tokens = queue.spent(since), store.tokens()
    by = {name: sums(spent, field) for name, field in SUMS.items()}
    if args.json:
        write_json({"since": since, **{f"by_{name}": totals for name, totals in by.items()}})
        return 0
    if not spent:
        say(f"No run of the queue has ended since {since}.")
    for name, totals in by.items() if spent else ():
        rows = ((who, f"{of['runs']:,}", f"{of['tokens']:,}", f"{of['cost']:,.2f}") for who, of in totals.items())
        write(table(rows, (name.upper(), "RUNS", "TOKENS", "USD")) + "\n")
    if tokens:
        write(table(map(token_row, tokens), TOKEN_HEAD))
    return 0
