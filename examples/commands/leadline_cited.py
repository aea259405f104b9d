"""Print the addresses that the report of a run cites."""

from argparse import ArgumentParser, Namespace

from leadline.citations import number
from leadline.commands import client_of, run_coroutine, run_options
from leadline.commands.output import write, write_json


async def addresses(args: Namespace) -> list[str]:
    async with client_of(args) as client:
        report = await client.report(args.run)
    return [source.hit.url for _, source in number(report).cited]


def run(args: Namespace) -> None:
    found = run_coroutine(addresses(args))
    write_json(found) if args.json else write("\n".join(found))


def arguments(parser: ArgumentParser) -> None:
    run_options(parser, "RUN")
