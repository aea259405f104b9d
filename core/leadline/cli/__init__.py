"""The command line: a thin layer over `leadline.Client`, with one module per command.

Modules are imported where they are used: `leadline --help` needs neither pydantic nor asyncio.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from leadline.errors import LeadlineError, PluginError, UntrustedSettings, UsageError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    from leadline.commands.output import INTERRUPTED, debugging, finish, prepare, say

    prepare()
    if argv is None:
        _interrupt_on_signals()
    try:
        code = _run(sys.argv[1:] if argv is None else argv)
    except LeadlineError as error:
        say(f"leadline: {error}")
        if isinstance(error, PluginError) and error.traceback and debugging():
            say(error.traceback)
        code = error.exit_code
    except KeyboardInterrupt:
        say("leadline: interrupted")
        code = INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - anything else is a bug of Leadline, reported in one line
        code = _bug(error)
    finally:
        finish()
    if argv is None and (
        task_groups := sys.modules.get("leadline._runtime.task_groups")
    ):  # otherwise no event loop ran
        task_groups.ensure_exit(code)
    return code


def _interrupt_on_signals() -> None:
    """Let SIGTERM and SIGHUP act like Ctrl-C until a command has handlers of its own."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if not callable(signal.getsignal(signal.SIGINT)):  # ignored, as in a background job of a shell
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


def _run(argv: Sequence[str]) -> int:
    from importlib import import_module

    from leadline.cli.commands import parse
    from leadline.commands.output import lost_output

    if "_ARGCOMPLETE" in os.environ:  # set by the script of `leadline completion`
        import_module("leadline.cli.completion").complete()
    try:
        args = parse(argv)
    except SystemExit as done:  # after --help and --version
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    try:
        os.getcwd()  # noqa: PTH109 - a path is not needed
    except FileNotFoundError:
        raise UsageError("the working folder was deleted; change to another one, such as: cd ~") from None
    if getattr(args, "env", None):  # as a variable, so that processes started for runs have it too
        os.environ["LEADLINE_ENV"] = args.env
    command = _by_plugin(args.command, args.owner)
    if isinstance(args.command, str):  # of the core: a function of a module of this package
        module, _, function = args.command.partition(":")
        command = getattr(import_module(f"leadline.cli.{module}"), function or "run")
    try:
        code: int = command(args) or 0
    except UntrustedSettings as error:
        from leadline.cli.config import consented

        if not consented(error):
            raise
        code = command(args) or 0
    if code == 0 and lost_output() and args.command not in ("research", "research:resume"):  # their results are files
        return 1
    return code


def _by_plugin(command: Any, owner: str) -> Callable[[Any], int | None]:
    """Return the command of a plugin, whose errors name the plugin."""

    def run(args: Any) -> int | None:
        from leadline._hosting.faults import trace, words
        from leadline.commands import exhaustion
        from leadline.errors import PluginFault

        try:
            return command(args)  # type: ignore[no-any-return]
        except (LeadlineError, KeyboardInterrupt):
            raise
        except BaseException as error:
            if exhaustion(error):
                raise
            fault = PluginFault(f"{owner} raised {words(error)}; this is a bug in it")
            fault.traceback = trace(error, str)
            raise fault from error

    return run


def _bug(error: BaseException) -> int:
    from leadline._hosting.faults import words
    from leadline.commands import exhaustion
    from leadline.commands.output import debugging, say

    if debugging():
        import traceback

        say(traceback.format_exc().rstrip())
    elif lacking := exhaustion(error):
        say(f"leadline: {lacking}")
    else:
        say(f"leadline: {words(error)}")
        say("This is a bug in Leadline. Run the command again with LEADLINE_DEBUG=1 to see the traceback.")
    return 1
