"""argparse, with errors like all others: exit code 64, and the nearest choice."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from leadline.errors import UsageError
from leadline.nearest import choose_from, nearest

_LISTED = ("plugins", "prompts", "runs")
"""Commands that list where no command of theirs is named."""


class Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError` for whatever is wrong."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`."""
        word = message.partition("unrecognized arguments: ")[2].split(" ")[0]
        options = re.findall(r"--[a-z][a-z-]*", self.format_usage())
        near = nearest(word, options) if word.startswith("--") else ""
        hint = f" (did you mean {near!r}?)" if near else ""
        raise UsageError(f"{message}{hint}; see `{self.prog} --help`")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; a word too many is told by the command whose it would be."""
        parsed, extra = super().parse_known_args(args, namespace)
        if extra:
            self.error(f"unrecognized arguments: {' '.join(extra)}")
        return parsed, extra

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            name = action.metavar or action.dest
            raise UsageError(f"no such {name}: {value!r}; {choose_from(str(value), map(str, action.choices))}")


def count(text: str) -> int:
    """Return how many of something are asked for: one at least. Raises `ArgumentTypeError`."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1")
    return int(text)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return what was asked for: `module` and `function` of the command, and its options. Raises `UsageError`."""
    from leadline.cli.commands import command_line  # which is made of this class

    parser = command_line()
    args = parser.parse_args(_listing(argv))
    if not hasattr(args, "module"):
        parser.print_help(sys.stderr)
        raise UsageError('name a command, such as: leadline research "How does …?"')
    return args


def _listing(argv: Sequence[str]) -> Sequence[str]:
    """Return a command line with the command `list` where it is left out."""
    command, following = next(iter(argv), ""), next(iter(argv[1:]), "-")
    if command in _LISTED and following.startswith("-") and following not in ("-h", "--help"):
        return [command, "list", *argv[1:]]
    return argv
