"""The Markdown a report is written in: CommonMark with tables, footnotes, definition lists, mathematics and citations.

Raw HTML is text, but for a line break and sub- and superscripts, which tables and formulas need. What would be dropped
elsewhere (blocks nested past all reading) stays, as text.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache
from typing import TYPE_CHECKING

from leadline.citations import CITATION, CITATIONS
from leadline_plugins.formats.tex import LONGEST, tame
from leadline_plugins.formats.tree import TOKEN

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

DEEPEST = 12
"""Levels to which blocks are nested; what lies deeper stands as it is written."""
_MATH = re.compile(
    r"\$\$(?P<wide>[^$]+?)\$\$|\\\[(?P<block>.+?)\\\]|\\\((?P<inline>.+?)\\\)"
    r"|\$(?P<dollar>[^\s$](?:[^$]*[^\s$\\])?)\$(?!\d)",
    re.DOTALL,
)
_FORMULA = re.compile(r"[\\^_={}<>]|^[A-Za-z][\w']?$")
"""What tells a formula between dollars from two prices."""
_TEX = re.compile(r"\\[A-Za-z]|\^")
"""What tells a formula from brackets that are escaped, as CommonMark has it: a command, or a power."""
_ADDRESS = re.compile(r"https?://[^\x00-\x20\x7f-\U0010ffff<>\"'`\\|\[\]{}^]+")
_OUTSIDE = re.compile(r"[.,;:!?*_]+$")
_BRACKETS = re.compile(r"\\.|[\[\]]", re.DOTALL)
_FEW, _NESTED = 50, 10
"""Brackets of a text that are all tried as links; of more, those around as many others as this are not."""
_TAG = re.compile(r"<(?P<close>/?)(?P<name>br|sub|sup)\s*/?>", re.IGNORECASE)


@cache
def parser(*, trusting: bool = False) -> MarkdownIt:
    """Return the parser; it holds no state between texts. A trusting one takes HTML, and links to anywhere."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    made = MarkdownIt("commonmark", {"html": True, "maxNesting": 100}).enable(["table", "strikethrough"])
    made.use(footnote_plugin).use(deflist_plugin)
    if trusting:
        made.validateLink = lambda url: True  # type: ignore[method-assign]
    else:
        made.disable(["html_block", "html_inline"])
    made.block.ruler.before("table", "too_deep", _too_deep)
    made.inline.ruler.before("escape", "leadline_bracket", _bracket)
    made.inline.ruler.before("escape", "leadline_math", _math)
    made.inline.ruler.before("link", "leadline_citation", _citation)
    made.inline.ruler.before("link", "leadline_mark", _mark)
    made.inline.ruler.before("autolink", "leadline_tag", _tag)
    made.inline.ruler.before("text", "leadline_address", _address)
    return made


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.level < DEEPEST:
        return False
    if not silent:
        token = state.push("code_block", "code", 0)
        token.content, token.meta = state.getLines(start, end, 0, False).strip() + "\n", {"deep": True}
        state.line = end
    return True


def _bracket(state: StateInline, silent: bool) -> bool:
    """Leave a bracket that closes nowhere as text, and one around many: their end is sought through all the rest."""
    mark = state.src[state.pos]
    if mark not in "[!^":
        return False
    known: dict[str, Set[int]] = state.env.setdefault("brackets", {})
    if state.src not in known:
        known[state.src] = _fruitless(state.src)
    if state.pos + (mark != "[") not in known[state.src]:
        return False
    if not silent:
        state.pending += mark
    state.pos += 1
    return True


def _fruitless(text: str) -> Set[int]:
    """Return the places of brackets, where they are many, that are no link's: not closed, or around too many others."""
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
    known = tame(found[kind])
    if not known and "\\" not in found.group():
        return False
    if not silent and not known:
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
        state.push("citation", "", 0).meta = {"ids": CITATION.findall(found.group())}
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
    """Make a link of a bare address; it ends where ASCII does, for that is where Chinese text goes on."""
    if not state.src.startswith("://", state.pos) or state.linkLevel:
        return False
    scheme = next((name for name in ("https", "http") if state.pending.lower().endswith(name)), "")
    found = _ADDRESS.match(state.src, state.pos - len(scheme)) if scheme else None
    if not found:
        return False
    url = _OUTSIDE.sub("", found.group())
    url = url[:-1] if url.endswith(")") and url.count("(") < url.count(")") else url
    if not silent:
        state.pending = state.pending[: -len(scheme)]
        state.push("link_open", "a", 1).attrs = {"href": url}
        state.push("text", "", 0).content = url
        state.push("link_close", "a", -1)
    state.pos += len(url) - len(scheme)
    return True
