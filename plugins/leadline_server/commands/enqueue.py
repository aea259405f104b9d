"""Leave a run to the workers of the queue, and print its id."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from leadline.commands import (
    client_of,
    folder_of,
    json_option,
    pairs,
    question_argument,
    run_environment,
    runs_of,
)
from leadline.commands.foreground import question_of
from leadline.commands.output import say, write, write_json
from leadline.errors import UsageError
from leadline_server.commands import database_option, queue_of


def arguments(parser: ArgumentParser) -> None:
    question_argument(parser)
    run_environment(parser)
    database_option(parser)
    parser.add_argument(
        "--tag", action="append", default=[], metavar="KEY=VALUE", help="label stored with the run (repeatable)"
    )
    parser.add_argument(
        "--priority", type=int, default=0, metavar="N", help="runs of higher priority first (default: 0)"
    )
    json_option(parser)


def run(args: Namespace) -> int:
    """Leave a run to the workers, and print its id."""
    question = question_of(args.question)
    if question is None:
        raise UsageError('no question given: leadline enqueue "How does …?"')
    with queue_of(args) as queue:
        order = client_of(args).order(question, tags=pairs(args.tag, "--tag"))
        queue.put(order, None, priority=args.priority)
        workers = len(queue.workers())
    folder = folder_of(args) / order.run_id
    if args.json:
        names = {"run_id": order.run_id, "id": order.run_id}
        write_json({**names, "folder": str(folder), "status": "pending", "workers": workers})
        return 0
    write(order.run_id)
    if runs_of(args).dispatcher:
        say("A server gives it to a worker: leadline serve")
    elif workers:
        say(f"A worker takes it. Its state: leadline runs show {order.run_id}   Its events: {folder / 'events.jsonl'}")
    else:
        say("It waits: no worker is running. Start one: leadline worker")
    return 0
