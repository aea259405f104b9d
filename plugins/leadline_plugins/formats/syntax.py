"""The Markdown of reports: CommonMark with tables, footnotes, definition lists, formulas and citations.

Raw HTML is text, except line breaks, sub- and superscripts, which tables and formulas need. Blocks that are nested too
deep become text. Formulas hold only known commands, because LaTeX runs the commands of its file.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache
from typing import TYPE_CHECKING

from leadline.citations import CITATIONS, cited
from leadline_plugins.formats.tree import TOKEN

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

# Characters of a formula.
LONGEST = 2000
_COMMAND = re.compile(r"\\([A-Za-z]+)(?:\s*\{([^{}]*)\})?")
# Depth at which converters of formulas crash.
_MONSTROUS = re.compile(r"(?:\{[^{}]*){20}|(?:\\[A-Za-z]+\s*){40}")
# Marks that end a formula or hide its end: comments, delimiters, characters by code.
_OUTSIDE = re.compile(r"(?<!\\)(?:\\\\)*(?:[%$#]|\\[()\[\]])|\^\^")
_DEFINES = {"def", "newcommand", "newenvironment", "DeclareMathOperator", "verb", "href", "unicode"}
_AROUND = {"begin", "end"}
_ENVIRONMENTS = re.compile(r"(?:[bBpvV]?matrix|smallmatrix|cases|array|split|gather(?:ed)?|align(?:ed|at)?)\*?")
# Levels of nested blocks; deeper ones stay as they are written.
DEEPEST = 12
_MATH = re.compile(
    r"\$\$(?P<wide>[^$]+?)\$\$|\\\[(?P<block>.+?)\\\]|\\\((?P<inline>.+?)\\\)"
    r"|\$(?P<dollar>[^\s$](?:[^$]*[^\s$\\])?)\$(?!\d)",
    re.DOTALL,
)
# A sign of a formula between dollars, as opposed to two prices.
_FORMULA = re.compile(r"[\\^_={}<>]|^[A-Za-z][\w']?$")
# A sign of a formula, as opposed to escaped brackets: a command or a power.
_TEX = re.compile(r"\\[A-Za-z]|\^")
_ADDRESS = re.compile(r"https?://[^\x00-\x20\x7f-\U0010ffff<>\"'`\\|\[\]{}^]+")
_AFTER_ADDRESS = re.compile(r"[.,;:!?*_]+$")
_BRACKETS = re.compile(r"\\.|[\[\]]", re.DOTALL)
# Number of brackets that are all tried as links; of more, those around this many others are not.
_FEW, _NESTED = 50, 10
_TAG = re.compile(r"<(?P<close>/?)(?P<name>br|sub|sup)\s*/?>", re.IGNORECASE)


def is_safe_formula(tex: str) -> bool:
    """Return whether a text is a formula of known commands, which is safe in a LaTeX file."""
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
    """Return the commands that latex2mathml knows; they are mathematical or define others."""
    from latex2mathml import commands

    several = [value for value in vars(commands).values() if isinstance(value, tuple | list | dict | set | frozenset)]
    single = [value for value in vars(commands).values() if isinstance(value, str)]
    return frozenset(name for names in (single, *several) for name in names if isinstance(name, str))


@cache
def parser(*, trusting: bool = False) -> MarkdownIt:
    """Return the parser, which has no state between texts. With `trusting` it reads HTML and links to anywhere."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    md = MarkdownIt("commonmark", {"html": True, "maxNesting": 100}).enable(["table", "strikethrough"])
    md.use(footnote_plugin).use(deflist_plugin)
    if trusting:
        md.validateLink = lambda url: True  # type: ignore[method-assign]
    else:
        md.disable(["html_block", "html_inline"])
    md.block.ruler.before("table", "too_deep", _too_deep)
    md.inline.ruler.before("escape", "leadline_bracket", _bracket)
    md.inline.ruler.before("escape", "leadline_math", _math)
    md.inline.ruler.before("link", "leadline_citation", _citation)
    md.inline.ruler.before("link", "leadline_mark", _mark)
    md.inline.ruler.before("autolink", "leadline_tag", _tag)
    md.inline.ruler.before("text", "leadline_address", _address)
    return md


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.level < DEEPEST:
        return False
    if not silent:
        token = state.push("code_block", "code", 0)
        token.content, token.meta = state.getLines(start, end, 0, False).strip() + "\n", {"deep": True}
        state.line = end
    return True


def _bracket(state: StateInline, silent: bool) -> bool:
    """Treat a bracket as text if it is never closed or encloses many others; the search for its end is slow."""
    mark = state.src[state.pos]
    if mark not in "[!^":
        return False
    known: dict[str, Set[int]] = state.env.setdefault("brackets", {})
    if state.src not in known:
        known[state.src] = _not_links(state.src)
    if state.pos + (mark != "[") not in known[state.src]:
        return False
    if not silent:
        state.pending += mark
    state.pos += 1
    return True


def _not_links(text: str) -> Set[int]:
    """Return the positions of brackets, in a text with many, that are unclosed or enclose too many others."""
    if text.count("[") <= _FEW:
        return frozenset()
    around: list[tuple[int, int]] = []
    found: set[int] = set()
    for place, mark in ((match.start(), match.group()) for match in _BRACKETS.finditer(text)):
        if mark == "[":
            around.append((place, 0))
        elif mark == "]" and around:
            opened, inside = around.pop()
            if inside >= _NESTED:
                found.add(opened)
            if around:
                around[-1] = (around[-1][0], max(around[-1][1], inside + 1))
    return found | {place for place, _ in around}


def _math(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    found = _MATH.match(state.src, state.pos, state.pos + LONGEST)
    if not found:
        return False
    kind = found.lastgroup or ""
    sign = {"dollar": _FORMULA, "block": _TEX, "inline": _TEX}.get(kind)
    if sign and not sign.search(found[kind]):
        return False
    safe = is_safe_formula(found[kind])
    if not safe and "\\" not in found.group():
        return False
    if not silent and not safe:
        state.push("code_inline", "code", 0).content = found.group()
    elif not silent:
        token = state.push("math_block" if kind in {"wide", "block"} else "math_inline", "", 0)
        token.content = found[kind].strip()
    state.pos = found.end()
    return True


def _citation(state: StateInline, silent: bool) -> bool:
    found = CITATIONS.match(state.src, state.pos)
    if not found or not state.src.startswith("[@", state.pos):
        return False
    if not silent:
        state.pending = state.pending.rstrip(" ")
        state.push("citation", "", 0).meta = {"ids": cited(found.group())}
    state.pos = found.end()
    return True


def _mark(state: StateInline, silent: bool) -> bool:
    found = TOKEN.match(state.src, state.pos)
    if not found:
        return False
    if not silent:
        state.push("mark", "", 0).meta = {"number": int(found[1])}
    state.pos = found.end()
    return True


def _tag(state: StateInline, silent: bool) -> bool:
    found = _TAG.match(state.src, state.pos)
    if not found:
        return False
    if not silent:
        name = found["name"].lower()
        if name == "br":
            state.push("hardbreak", "br", 0)
        else:
            # No nesting, which would have to be balanced: the writer of the tags need not have closed them.
            state.push(f"{name}_close" if found["close"] else f"{name}_open", name, 0)
    state.pos = found.end()
    return True


def _address(state: StateInline, silent: bool) -> bool:
    """Link a plain address; it ends with the last ASCII character, where Chinese text continues."""
    if not state.src.startswith("://", state.pos) or state.linkLevel:
        return False
    scheme = next((name for name in ("https", "http") if state.pending.lower().endswith(name)), "")
    found = _ADDRESS.match(state.src, state.pos - len(scheme)) if scheme else None
    if not found:
        return False
    url = _AFTER_ADDRESS.sub("", found.group())
    url = url[:-1] if url.endswith(")") and url.count("(") < url.count(")") else url
    if not silent:
        state.pending = state.pending[: -len(scheme)]
        state.push("link_open", "a", 1).attrs = {"href": url}
        state.push("text", "", 0).content = url
        state.push("link_close", "a", -1)
    state.pos += len(url) - len(scheme)
    return True
