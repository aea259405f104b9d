"""Markdown for readers we do not know: what some of them would run, load or follow stands as text.

Our own formats need none of it, since they write a tree. A Markdown file is read by whatever opens it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from leadline_plugins.formats.syntax import parser

_WEB = r"(?:https?://|ftp://|mailto:|figure:|\#)"
_KEPT = rf"""(?P<code>(?<!`)(?P<ticks>`++).{1, 2000}?(?<!`)(?P=ticks)(?!`))|\\.|</?(?:br|sub|sup)\s*/?>|<(?:https?://|mailto:)[^\s<>]+>
    |!\[[^\[\]]*\]\(figure:|\[\^[^\]\s]*\]:|\](?:\(|:)\s*<?{_WEB}
    |(?<=[^\W\d_])\ ?\[@[^\[\]\s]+\](?=:)"""
"""Code, escapes, the tags and addresses that reports have, their figures and footnotes, links to the web, and citations
before a colon inside a sentence, which define no link."""
_MARKS = re.compile(rf"(?P<kept>{_KEPT})|!(?=\[[^@^])|<(?=[A-Za-z/!?])|\](?=[(:])", re.DOTALL | re.VERBOSE)
_SUSPECT = re.compile(r"<[A-Za-z/!?]|!\[|\][(:]")
_HARMLESS = re.compile(rf"{_WEB}|</?(?:br|sub|sup)\s*/?>\Z", re.IGNORECASE | re.VERBOSE)


def defused(text: str) -> str:
    """Return a Markdown text with nothing in it but links to the web, and figures of the report.

    Where a reader would still find more, or blocks too deep in one another, the text stands whole as code.
    """
    if any(token.meta.get("deep") for token in parser().parse(text)):
        return fenced(text)
    if not _SUSPECT.search(text):
        return text
    made = "\n".join(_parts(text))
    return made if all(map(_HARMLESS.match, _active(made))) else fenced(text)


def fenced(text: str) -> str:
    """Return a text as a block of code."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _parts(text: str) -> Iterator[str]:
    """Yield runs of lines: code as it is, of the rest each paragraph without its marks of harm."""
    blocks = (token for token in parser().parse(text) if token.type in {"fence", "code_block"})
    code = {line for block in blocks if block.map for line in range(*block.map)}
    blank = re.compile(r"(\n[ \t]*\n)")
    for is_code, lines in groupby(enumerate(text.split("\n")), key=lambda numbered: numbered[0] in code):
        run = "\n".join(line for _, line in lines)
        yield run if is_code else "".join(_MARKS.sub(_escaped, part) for part in blank.split(run))


def _escaped(mark: re.Match[str]) -> str:
    if mark["kept"]:
        return mark[0]
    return "]\\" if mark[0] == "]" else f"\\{mark[0]}"


def _active(text: str) -> Iterator[str]:
    """Yield what a reader that knows HTML and asks nothing would find: tags, and where links and images lead."""
    for token in parser(trusting=True).parse(text):
        if token.type == "html_block":
            yield token.content
        for part in token.children or ():
            if part.type == "html_inline":
                yield part.content
            elif part.type in {"link_open", "image"}:
                yield str(part.attrs.get("href" if part.type == "link_open" else "src", ""))
