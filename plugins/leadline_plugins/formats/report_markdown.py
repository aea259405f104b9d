"""The Markdown of reports: CommonMark with tables, footnotes, definition lists, formulas and citations.

Raw HTML is text, except line breaks, sub- and superscripts, which tables and formulas need. Blocks that are nested too
deep become text. Formulas hold only known commands, because LaTeX runs the commands of its file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from leadline.citations import CITATION, CITATIONS, cited
from leadline.rendering import SIGN
from leadline_plugins.formats.formulas import LONGEST, is_safe_formula, mathml

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

# The token of a mark at a claim, with a noncharacter that no text contains.
TOKEN = re.compile(rf"\[{SIGN}(\d{{1,6}})\]")
_LAST_CELL = re.compile(r"(?<!\\)\|[ \t]*\Z")
_RULE = re.compile(r"[ \t>]*\|?[ \t]*:?-+[-:| \t]*\Z")
_STOP = re.compile(r"(?<=\w)[.!?。！？]\Z")
_FENCE = re.compile(r"([ \t>]*)(?:`{3,}|~{3,})[^`\n]*\Z")
_CLOSING = re.compile(r"\s*[)）]")
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
# The HTML of tokens that markdown-it does not know; citations and marks must have become text before.
_HTML: dict[str, Callable[[Any], str]] = {
    "math_inline": lambda token: mathml(token.content, block=False),
    "math_block": lambda token: mathml(token.content, block=True),
    **{f"{tag}_open": lambda token: f"<{token.tag}>" for tag in ("sub", "sup")},
    **{f"{tag}_close": lambda token: f"</{token.tag}>" for tag in ("sub", "sup")},
}


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
    for name in _HTML:
        md.add_render_rule(name, lambda _, tokens, index, *__: _HTML[tokens[index].type](tokens[index]))
    return md


@lru_cache(maxsize=8)
def block_tokens(text: str) -> Sequence[Token]:
    """Return the blocks of a text without their inlines, which take most of the time."""
    tokens: list[Token] = []
    parser().block.parse(text, parser(), {}, tokens)
    return tokens


def code_runs(text: str) -> Iterator[tuple[bool, str]]:
    """Yield runs of lines, each with a flag that is true for code."""
    blocks = (token for token in block_tokens(text) if token.type in {"fence", "code_block"})
    code = {line for block in blocks if block.map for line in range(*block.map)}
    for is_code, lines in groupby(enumerate(text.split("\n")), key=lambda numbered: numbered[0] in code):
        yield is_code, "\n".join(line for _, line in lines)


@dataclass
class MarkdownBlock:
    """A block: the token that opens it, and the blocks inside. `kind` is the token's type without `_open`."""

    kind: str
    token: Any
    children: list[MarkdownBlock] = field(default_factory=list)

    @property
    def inline(self) -> list[Token]:
        """The inline tokens of a paragraph, a heading or a cell."""
        return [token for child in self.children for token in child.token.children or []]


def block_tree(tokens: Iterable[Token]) -> MarkdownBlock:
    """Return the blocks of a text in one without a kind. Inlines may be nested deeper than Python recurses."""
    around = [MarkdownBlock("", None)]
    for token in tokens:
        if token.nesting >= 0:
            around[-1].children.append(MarkdownBlock(token.type.removesuffix("_open"), token))
        if token.nesting > 0:
            around.append(around[-1].children[-1])
        elif token.nesting < 0:
            around.pop()
    return around[0]


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
    positions: set[int] = set()
    for position, mark in ((match.start(), match.group()) for match in _BRACKETS.finditer(text)):
        if mark == "[":
            around.append((position, 0))
        elif mark == "]" and around:
            opened, inside = around.pop()
            if inside >= _NESTED:
                positions.add(opened)
            if around:
                around[-1] = (around[-1][0], max(around[-1][1], inside + 1))
    return positions | {position for position, _ in around}


def _math(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    match = _MATH.match(state.src, state.pos, state.pos + LONGEST)
    if not match:
        return False
    kind = match.lastgroup or ""
    sign = {"dollar": _FORMULA, "block": _TEX, "inline": _TEX}.get(kind)
    if sign and not sign.search(match[kind]):
        return False
    safe = is_safe_formula(match[kind])
    if not safe and "\\" not in match.group():
        return False
    if not silent and not safe:
        state.push("code_inline", "code", 0).content = match.group()
    elif not silent:
        token = state.push("math_block" if kind in {"wide", "block"} else "math_inline", "", 0)
        token.content = match[kind].strip()
    state.pos = match.end()
    return True


def _citation(state: StateInline, silent: bool) -> bool:
    match = CITATIONS.match(state.src, state.pos)
    if not match or not state.src.startswith("[@", state.pos):
        return False
    if not silent:
        state.pending = state.pending.rstrip(" ")
        state.push("citation", "", 0).meta = {"ids": cited(match.group())}
    state.pos = match.end()
    return True


def _mark(state: StateInline, silent: bool) -> bool:
    match = TOKEN.match(state.src, state.pos)
    if not match:
        return False
    if not silent:
        state.push("mark", "", 0).meta = {"number": int(match[1])}
    state.pos = match.end()
    return True


def _tag(state: StateInline, silent: bool) -> bool:
    match = _TAG.match(state.src, state.pos)
    if not match:
        return False
    if not silent:
        name = match["name"].lower()
        if name == "br":
            state.push("hardbreak", "br", 0)
        else:
            # No nesting, which would have to be balanced: the writer of the tags need not have closed them.
            state.push(f"{name}_close" if match["close"] else f"{name}_open", name, 0)
    state.pos = match.end()
    return True


def _address(state: StateInline, silent: bool) -> bool:
    """Link a plain address; it ends with the last ASCII character, where Chinese text continues."""
    if not state.src.startswith("://", state.pos) or state.linkLevel:
        return False
    scheme = next((name for name in ("https", "http") if state.pending.lower().endswith(name)), "")
    match = _ADDRESS.match(state.src, state.pos - len(scheme)) if scheme else None
    if not match:
        return False
    url = _AFTER_ADDRESS.sub("", match.group())
    url = url[:-1] if url.endswith(")") and url.count("(") < url.count(")") else url
    if not silent:
        state.pending = state.pending[: -len(scheme)]
        state.push("link_open", "a", 1).attrs = {"href": url}
        state.push("text", "", 0).content = url
        state.push("link_close", "a", -1)
    state.pos += len(url) - len(scheme)
    return True


def with_tokens(text: str, claims: Iterable[tuple[int, tuple[int, int]]]) -> str:
    """Return the Markdown of a section with a token after each claim; claims are numbers with places in the text.

    `parser` reads a token as an inline `mark`, whose `meta` has the number.
    """
    text = text.replace(SIGN, "\ufffd")
    placed = sorted((*_place(text, span), number) for number, span in claims)
    parts, last = [], 0
    for position, before, number in placed:
        parts += [text[last:position], f"{before}[{SIGN}{number}]"]
        last = position
    return "".join((*parts, text[last:]))


def _place(text: str, span: tuple[int, int]) -> tuple[int, str]:
    """Return the position of a claim's token, and a prefix.

    The position is after the final citations of the claim, or before its full stop; in a table inside the last cell of
    the row; after a block of code on a separate line.
    """
    start, end = min(span[0], len(text)), min(span[1], len(text))
    end = start + len(text[start:end].rstrip())
    line = text.rfind("\n", 0, end) + 1
    if fence := _FENCE.match(text, line, end):
        return end, f"\n{fence[1]}"
    while line > start and _RULE.match(text, line, end):  # of a table without rows
        end = line - 1
        line = text.rfind("\n", 0, end) + 1
    if "|" in text[line:end].lstrip(" \t>")[:1] and (cell := _LAST_CELL.search(text, line, end)):
        end = line + len(text[line : cell.start()].rstrip())
    stop = _STOP.search(text, start, end)
    last = max((match.end() for match in CITATION.finditer(text, start, end)), default=stop.start() if stop else end)
    if not any(map(str.isalnum, text[last:end])):
        end = last
    closing = _CLOSING.match(text, end)
    if closing and sum(map(text[start:end].count, "(（")) > sum(map(text[start:end].count, ")）")):
        end = closing.end()
    return end, ""
