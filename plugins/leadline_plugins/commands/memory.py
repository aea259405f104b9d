"""List and forget the runs that new questions remember (setting `memory`)."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from shlex import join

from leadline.commands import RUN, add_command, add_group, client_of, confirmed, run_options, with_runs
from leadline.commands.output import say, table, write, write_json
from leadline.display import one_line
from leadline.errors import UsageError
from leadline.run_summary import RunSummary


def arguments(parser: ArgumentParser) -> None:
    group = add_group(parser)
    run_options(add_command(group, "list", "list the runs that new questions may remember", _list))
    delete = add_command(group, "delete", "keep runs out of the memory; the runs themselves stay", _delete)
    delete.add_argument("run", metavar="RUN", nargs="*", help=RUN)
    delete.add_argument("--all", action="store_true", help="forget all runs")
    run_options(delete, json=False)
    delete.add_argument("--yes", action="store_true", help="do not ask for confirmation")


@with_runs
def _list(args: Namespace) -> int:
    """Print the runs that later questions may remember, newest first."""
    client = client_of(args)
    runs = client.memory()
    if args.json:
        write_json([{"run": run.id, "question": run.question, "ended": _ended(run) or None} for run in runs])
    elif runs:
        write(table(((run.id, _ended(run), one_line(run.question)) for run in runs), ("RUN", "ENDED", "QUESTION")))
    else:
        say(f"Nothing to remember in {client.runs_folder()}.")
    if not args.json:
        say("New questions remember related ones of these only with the setting `memory`, such as --set memory=3.")
    return 0


def _ended(run: RunSummary) -> str:
    return run.ended.isoformat(timespec="seconds") if run.ended else ""


@with_runs
def _delete(args: Namespace) -> int:
    """Keep runs out of the memory of later questions; the runs themselves stay."""
    client = client_of(args)
    if bool(args.run) == args.all:
        raise UsageError("name the runs to forget, or forget all of them with --all; `leadline memory list` lists them")
    names = [str(run.folder) for run in client.memory()] if args.all else args.run
    runs = [client.find(name) for name in names]
    again = "leadline memory delete --all --yes" if args.all else f"leadline memory delete --yes {join(args.run)}"
    if runs and not args.yes and not confirmed(runs, "Forget", again):
        say("Nothing was forgotten.")
        return 1
    for run in runs:
        client.forget(run.folder)
        say(f"Forgot {run.id}; the run itself stays.")
    return 0
