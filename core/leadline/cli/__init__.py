"""The command line: a thin skin over `leadline.Client`, a module a command.

Everything is imported where it is used: `leadline --help` needs neither pydantic nor asyncio.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from leadline.errors import LeadlineError, PluginError

INTERRUPTED = 130
"""The exit code of what was stopped from outside."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    from leadline.cli.out import finish, prepare, say

    prepare()
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
    except BaseException as error:  # noqa: BLE001 - whatever else it is, it is ours to mend, and told in one line
        code = _bug(error)
    finally:
        finish()
    if argv is None and (leaving := sys.modules.get("leadline.concurrency.leaving")):  # else no loop ran
        leaving.leave(code)
    return code


def _run(argv: Sequence[str]) -> int:
    from importlib import import_module

    from leadline.cli.parser import parse

    try:
        args = parse(argv)
    except SystemExit as done:  # after --help and --version
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    code: int = getattr(import_module(f"leadline.cli.{args.module}"), args.function)(args)
    return code


def _bug(error: BaseException) -> int:
    from leadline.cli.out import say
    from leadline.door.faults import words

    if debugging():
        import traceback

        say(traceback.format_exc().rstrip())
    else:
        say(f"leadline: {words(error)}")
        say("This is a bug; rerun with LEADLINE_DEBUG=1 for the traceback.")
    return 1


def debugging() -> bool:
    """Return whether the traceback of a bug, or of a plugin's fault, is asked for, in the environment or in `.env`."""
    from pathlib import Path

    from leadline.settings.files import read_dotenv
    from leadline.settings.layers import DEBUG_VARIABLE

    if DEBUG_VARIABLE in os.environ:
        return bool(os.environ[DEBUG_VARIABLE])
    try:
        return bool(read_dotenv(Path(".env")).get(DEBUG_VARIABLE))
    except LeadlineError:  # a file that cannot be read has been told, or was not needed
        return False
