"""Formulas of reports: TeX that is safe in any format, and its MathML."""

from __future__ import annotations

import re
from functools import cache
from html import escape

# Characters of a formula.
LONGEST = 2000
_COMMAND = re.compile(r"\\([A-Za-z]+)(?:\s*\{([^{}]*)\})?")
# Groups in groups: Pandoc takes twice as long for each script in a script, and readers of Word files refuse deep ones.
_DEEPEST = 8
_GROUPS = re.compile(r"\\(?:left|begin|right|end)(?![A-Za-z])|\\.|[{}]", re.DOTALL)
_OPENED = {"{": 1, r"\left": 1, r"\begin": 1, "}": -1, r"\right": -1, r"\end": -1}
# Commands whose argument is a command, so many times, which is deep too.
_CHAINED = re.compile(r"(?:\\[A-Za-z]+\s*+){40}")
# Marks that end a formula or hide its end: comments, delimiters, characters by code.
_OUTSIDE = re.compile(r"(?<!\\)(?:\\\\)*(?:[%$#]|\\[()\[\]])|\^\^")
_DEFINES = {"def", "newcommand", "newenvironment", "DeclareMathOperator", "verb", "href", "unicode"}
_AROUND = {"begin", "end"}
_ENVIRONMENTS = re.compile(r"(?:[bBpvV]?matrix|smallmatrix|cases|array|split|gather(?:ed)?|align(?:ed|at)?)\*?")


def is_safe_formula(tex: str) -> bool:
    """Return whether a text is a formula of known commands, which is safe in a LaTeX file."""
    if len(tex) > LONGEST or _CHAINED.search(tex) or _OUTSIDE.search(tex) or not _shallow(tex):
        return False
    return all(_known(name, argument) for name, argument in _COMMAND.findall(tex))


def _shallow(tex: str) -> bool:
    """Return whether the groups of a formula are closed, and not too deep."""
    depth = 0
    for mark in _GROUPS.findall(tex):
        depth += _OPENED.get(mark, 0)
        if not 0 <= depth <= _DEEPEST:
            return False
    return depth == 0


def _known(name: str, argument: str) -> bool:
    from latex2mathml.symbols_parser import convert_symbol

    if name in _AROUND:
        return bool(_ENVIRONMENTS.fullmatch(argument))
    return name not in _DEFINES and (f"\\{name}" in _commands() or convert_symbol(f"\\{name}") is not None)


@cache
def _commands() -> frozenset[str]:
    """Return the commands that latex2mathml knows; they are mathematical or define others."""
    from latex2mathml import commands

    several = [value for value in vars(commands).values() if isinstance(value, tuple | list | dict | set | frozenset)]
    single = [value for value in vars(commands).values() if isinstance(value, str)]
    return frozenset(name for names in (single, *several) for name in names if isinstance(name, str))


def mathml(tex: str, *, block: bool) -> str:
    """Return a TeX formula as MathML; as code if it cannot be converted."""
    from latex2mathml.converter import convert

    code = f"<code>{escape(tex)}</code>"
    try:
        markup: str = convert(" ".join(tex.split()), display="block" if block else "inline")
    except Exception:  # noqa: BLE001 - the converter raises errors of many kinds
        return code
    return _safe(markup) or code


def _safe(markup: str) -> str:
    """Return MathML without other elements, links and scripts; empty if it is invalid."""
    from xml.etree.ElementTree import Element, ParseError, fromstring, tostring

    try:
        root: Element = fromstring(markup)  # noqa: S314 - just made by the converter, without a document type
    except ParseError:
        return ""
    for element in root.iter():
        name = str(element.tag).rpartition("}")[2]
        if not name.startswith("m") or name == "maction":
            return ""
        element.tag = name
        for key in [key for key in element.attrib if key.rpartition("}")[2] in {"href", "style", "id", "class"}]:
            del element.attrib[key]
        for key in [key for key in element.attrib if key.startswith("on")]:
            del element.attrib[key]
    return tostring(root, encoding="unicode")
