"""The parser of the command line: errors with exit code 64 that suggest the nearest choice, and coloured help."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import Any, NoReturn

from leadline.display import choose_from, nearest
from leadline.errors import UsageError


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Lists subcommands without the line for their metavariable, which argparse prints above them."""

    def _format_action(self, action: argparse.Action) -> str:
        if isinstance(action, argparse._SubParsersAction):
            return "".join(map(super()._format_action, action._get_subactions()))
        return super()._format_action(action)


class Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError` for every error."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", HelpFormatter)
        super().__init__(allow_abbrev=False, **options)
        self.color = False  # Python 3.14 has colours of its own

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`."""
        word = message.partition("unrecognized arguments: ")[2].split(" ")[0]
        options = re.findall(r"--[a-z][a-z-]*", self.format_usage())
        near = nearest(word, options) if word.startswith("--") else ""
        hint = f" (did you mean {near!r}?)" if near else ""
        raise UsageError(f"{message}{hint}; see `{self.prog} --help`")

    def print_help(self, file: Any = None) -> None:
        """Print the help, in colours on a terminal."""
        file = file or sys.stdout
        text = self.format_help()
        self._print_message(coloured(text) if may_colour(file) else text, file)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; report unknown arguments with the usage of the command that received them."""
        parsed, extra = super().parse_known_args(args, namespace)
        if extra:
            self.error(f"unrecognized arguments: {' '.join(extra)}")
        return parsed, extra

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            name = action.metavar or action.dest
            raise UsageError(f"no such {name}: {value!r}; {choose_from(str(value), map(str, action.choices))}")


# Headings, and the names of commands, options and arguments in the first column.
_COLOURED = re.compile(
    r"^(?P<heading>(?:usage|[a-z ]+):)|^ {2,4}(?P<name>(?:-|[a-z]|[A-Z])\S*(?:,? \S+)*)", re.MULTILINE
)
_BOLD, _CYAN, _RESET = "\x1b[1m", "\x1b[36m", "\x1b[0m"


def may_colour(file: Any) -> bool:
    """Return whether text for this stream may have colours: a terminal, unless NO_COLOR or TERM=dumb forbid it."""
    return bool(file.isatty()) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str) -> str:
    """Return a help text with bold headings and coloured names."""

    def colour(match: re.Match[str]) -> str:
        style = _BOLD if match["heading"] else _CYAN
        name = match["heading"] or match["name"]
        return match[0].replace(name, f"{style}{name}{_RESET}", 1)

    return _COLOURED.sub(colour, text)
