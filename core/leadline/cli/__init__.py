"""The command line: a thin layer over `leadline.Client`, with one module per command.

Modules are imported where they are used: `leadline --help` needs neither pydantic nor asyncio.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from leadline.errors import LeadlineError, PluginError, UntrustedSettings, UsageError

# The exit code after a signal.
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    from leadline.cli.terminal import finish, prepare, say

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
        loop_shutdown := sys.modules.get("leadline._runtime.loop_shutdown")
    ):  # otherwise no event loop ran
        loop_shutdown.ensure_exit(code)
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
    from leadline.cli.terminal import lost_output

    try:
        args = parse(argv)
    except SystemExit as done:  # after --help and --version
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    try:
        os.getcwd()  # noqa: PTH109 - a path is not needed
    except FileNotFoundError:
        raise UsageError("the working folder was deleted; change to another one, such as: cd ~") from None
    command = getattr(import_module(f"leadline.cli.{args.module}"), args.function)
    try:
        code: int = command(args)
    except UntrustedSettings as error:
        from leadline.cli.trust import consented

        if not consented(error):
            raise
        code = command(args)
    if code == 0 and lost_output() and args.module != "research":  # which has its results in files
        return 1
    return code


def _bug(error: BaseException) -> int:
    from leadline._hosting.faults import words
    from leadline.cli.memory import exhaustion
    from leadline.cli.terminal import say

    if debugging():
        import traceback

        say(traceback.format_exc().rstrip())
    elif lacking := exhaustion(error):
        say(f"leadline: {lacking}")
    else:
        say(f"leadline: {words(error)}")
        say("This is a bug in Leadline. Run the command again with LEADLINE_DEBUG=1 to see the traceback.")
    return 1


def debugging() -> bool:
    """Return whether tracebacks are requested, in the environment or in `.env`."""
    from pathlib import Path

    from leadline._settings.layers import DEBUG_VARIABLE
    from leadline._settings.sources import read_dotenv

    if DEBUG_VARIABLE in os.environ:
        return bool(os.environ[DEBUG_VARIABLE])
    try:
        return bool(read_dotenv(Path(".env")).get(DEBUG_VARIABLE))
    except LeadlineError:  # the unreadable file was already reported, or is not needed
        return False
