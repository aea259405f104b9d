"""Verbatim: a quote as Markdown that shows it as it stands in the source.

What Markdown would take for markup is escaped, and so is what we would take for a citation. Code spans and plain
emphasis stay: they show every word. A list item, a block quotation and fenced code keep their mark and stand as blocks
of their own.
"""

from __future__ import annotations

import re

_KEPT = re.compile(
    r"(?<!`)(?P<tick>`{1,2})(?!`)(?:(?!\[@)[^`\n])+(?<!`)(?P=tick)(?!`)"
    r"|(?<![\w*])(?P<star>\*{1,2})(?=[^\W_])[^*_`\[\]<>\\$~|&\n]*[\w.!?](?P=star)(?![\w*])"
)
"""Code spans; emphasis with nothing but words in it. Code with a `[@key]` is none: nothing can be escaped in it."""
_MARKUP = re.compile(r"[\\`*\[\]<|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|!(?=\[)|^#(?=#{0,5}\s)")
"""Underscores inside a word are no markup; neither is an ampersand that begins no entity."""
_BLOCK = re.compile(r"(?:[-*+]|\d{1,9}[.)]|>)\s+(?=\S)")
_FENCED = re.compile(r"(`{3,}|~{3,})[^\n]*\n(?:(?!\[@).)*\n\s*\1\s*", re.DOTALL)


def is_block(quote: str) -> bool:
    """Return whether a quote is a block in Markdown: a list item, a block quotation, fenced code."""
    return bool(_BLOCK.match(quote.lstrip()) or _FENCED.fullmatch(quote.strip()))


def markdown(quote: str, citation: str) -> str:
    """Return a quote and its citation as Markdown."""
    quote = quote.strip()
    if _FENCED.fullmatch(quote):
        return f"{quote}\n{citation}"
    text = " ".join(quote.split())
    mark = found.group() if (found := _BLOCK.match(text)) else ""
    return f"{mark}{_escaped(text[len(mark) :])} {citation}"


def _escaped(text: str) -> str:
    parts: list[str] = []
    end = 0
    for kept in _KEPT.finditer(text):
        parts += [_MARKUP.sub(r"\\\g<0>", text[end : kept.start()]), kept.group()]
        end = kept.end()
    return "".join([*parts, _MARKUP.sub(r"\\\g<0>", text[end:])])
