"""Formulas that are nothing else: TeX is a language with files and programs, and LaTeX runs what stands in its file."""

from __future__ import annotations

import re
from functools import cache

LONGEST = 2000
"""Characters of a formula."""
_COMMAND = re.compile(r"\\([A-Za-z]+)(?:\s*\{([^{}]*)\})?")
_MONSTROUS = re.compile(r"(?:\{[^{}]*){20}|(?:\\[A-Za-z]+\s*){40}")
"""What the readers of formulas die of: depth."""
_OUTSIDE = re.compile(r"(?<!\\)(?:\\\\)*(?:[%$#]|\\[()\[\]])|\^\^")
"""What leaves a formula or hides its end: comments, the marks around formulas, characters by number."""
_DEFINES = {"def", "newcommand", "newenvironment", "DeclareMathOperator", "verb", "href", "unicode"}
_AROUND = {"begin", "end"}
_ENVIRONMENTS = re.compile(r"(?:[bBpvV]?matrix|smallmatrix|cases|array|split|gather(?:ed)?|align(?:ed|at)?)\*?")


def tame(tex: str) -> bool:
    """Return whether a text is a formula of known commands, which may stand in a LaTeX file."""
    if len(tex) > LONGEST or _MONSTROUS.search(tex) or _OUTSIDE.search(tex) or not _balanced(tex):
        return False
    return all(_known(name, argument) for name, argument in _COMMAND.findall(tex))


def _balanced(tex: str) -> bool:
    depth = 0
    for mark in re.findall(r"\\.|[{}]", tex, re.DOTALL):
        depth += {"{": 1, "}": -1}.get(mark, 0)
        if depth < 0:
            return False
    return depth == 0


def _known(name: str, argument: str) -> bool:
    from latex2mathml.symbols_parser import convert_symbol

    if name in _AROUND:
        return bool(_ENVIRONMENTS.fullmatch(argument))
    return name not in _DEFINES and (f"\\{name}" in _commands() or convert_symbol(f"\\{name}") is not None)


@cache
def _commands() -> frozenset[str]:
    """Return the commands that the reader of formulas knows, each of which is of mathematics or defines others."""
    from latex2mathml import commands

    several = [value for value in vars(commands).values() if isinstance(value, tuple | list | dict | set | frozenset)]
    single = [value for value in vars(commands).values() if isinstance(value, str)]
    return frozenset(name for names in (single, *several) for name in names if isinstance(name, str))
