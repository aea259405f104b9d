"""`leadline completion SHELL`: the script that completes commands, options, runs and settings in a shell.

The scripts ask `leadline completion SHELL -- WORDS…` for the choices, which are those of the installed version.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from shlex import quote

from leadline.cli.commands import command_line, subcommands
from leadline.commands.output import write
from leadline.display import one_line

Choice = tuple[str, str]
# Runs to offer, the newest.
_RUNS = 50
_SCRIPTS = {
    "bash": """\
# leadline completion bash > ~/.local/share/bash-completion/completions/leadline
_leadline() {
    mapfile -t COMPREPLY < <("$1" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -o default -F _leadline leadline
""",
    "zsh": """\
#compdef leadline
# leadline completion zsh > a file _leadline in a folder of $fpath; or: source <(leadline completion zsh)
_leadline() {
    local -a choices
    choices=("${(@f)$(${words[1]} completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n ${choices[1]} ]]; then
        _describe -V leadline choices
    else
        _files
    fi
}
if [[ ${funcstack[1]} == _leadline ]]; then
    _leadline "$@"
else
    compdef _leadline leadline
fi
""",
    "fish": """\
# leadline completion fish > ~/.config/fish/completions/leadline.fish
function __leadline_choices
    set -l words (commandline -opc) (commandline -ct)
    $words[1] completion fish -- $words[2..-1] 2>/dev/null
end
complete -c leadline -f -a '(__leadline_choices)'
complete -c leadline -n 'test -z "$(__leadline_choices)"' -F
""",
}


def run(args: argparse.Namespace) -> int:
    """Print the script of a shell; with words, the choices for the last of them."""
    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    if not args.words:
        write(_SCRIPTS[args.shell].rstrip())
        return 0
    for value, text in _choices(command_line((words or [""])[0]), words or [""]):
        write(_line(args.shell, value, one_line(text)))
    return 0


def _line(shell: str, value: str, text: str) -> str:
    if shell == "bash":  # the other shells quote what they insert
        return quote(value)
    if not text:
        return value.replace(":", r"\:") if shell == "zsh" else value
    return f"{value}\t{text}" if shell == "fish" else f"{value.replace(':', chr(92) + ':')}:{text}"


def _choices(parser: argparse.ArgumentParser, words: Sequence[str]) -> Iterator[Choice]:
    """Yield the choices for the last word, each with its help."""
    *before, current = words
    waiting: argparse.Action | None = None
    place = 0
    for word in before:
        if waiting is not None:
            waiting = None
        elif word.startswith("-") and (option := _option(parser, word)):
            waiting = option if option.nargs is None else None
        elif commands := subcommands(parser):
            if word not in commands.choices:
                return
            parser, place = commands.choices[word], 0
        else:
            place += 1
    if waiting is not None:
        found = _values(waiting, before)
    elif current.startswith("-"):
        found = _options(parser, before)
    elif commands := subcommands(parser):
        found = ((action.dest, action.help or "") for action in commands._get_subactions())
    else:
        found = _values(_positional(parser, place), before)
    yield from (choice for choice in found if choice[0].startswith(current))


def _option(parser: argparse.ArgumentParser, word: str) -> argparse.Action | None:
    return parser._option_string_actions.get(word)


def _options(parser: argparse.ArgumentParser, before: Sequence[str]) -> Iterator[Choice]:
    """Yield the options that were not given yet, or may be repeated."""
    for action in parser._actions:
        repeatable = isinstance(action, argparse._AppendAction)
        if action.option_strings and (repeatable or not set(action.option_strings) & set(before)):
            yield action.option_strings[-1], action.help or ""


def _positional(parser: argparse.ArgumentParser, place: int) -> argparse.Action | None:
    actions = [one for one in parser._actions if not one.option_strings]
    if place < len(actions):
        return actions[place]
    return actions[-1] if actions and actions[-1].nargs in ("+", "*") else None


def _values(action: argparse.Action | None, before: Sequence[str]) -> Iterable[Choice]:
    """Return the values of an argument; none where a file or any text may be given."""
    if action is None:
        return ()
    if action.choices:
        return [(str(choice), "") for choice in action.choices]
    if action.metavar == "RUN":
        return _runs(before)
    return _setting_names() if action.dest == "set" else ()


def _runs(before: Sequence[str]) -> Iterator[Choice]:
    from leadline._runtime.runs.index import RunIndex
    from leadline.commands import folder_of
    from leadline.errors import LeadlineError

    given = dict(pairwise(before))
    args = argparse.Namespace(folder=given.get("--folder"), settings=given.get("--settings"), set=[])
    with suppress(LeadlineError):  # wrong settings: the command itself reports them
        for run in RunIndex(folder_of(args)).runs(limit=_RUNS):
            yield run.id, run.question


def _setting_names() -> Iterator[Choice]:
    from leadline._settings.schema import model_of
    from leadline.settings import Settings

    for name, field in Settings.model_fields.items():
        table = model_of(field.annotation)
        if table is None:
            yield f"{name}=", field.description or ""
        for key, inner in table.model_fields.items() if table else ():
            yield f"{name}.{key}=", inner.description or ""
