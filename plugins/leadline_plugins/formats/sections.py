"""The Markdown of a section: its text with marks, then its inferences, and what the sources do not answer.

`marked` puts a token after each judged claim. The parser reads it as an inline of its own, and the Markdown format
replaces it by the sign, so that every format has its marks at the same places.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from leadline.citations import CITATION
from leadline.records import Report, Section
from leadline_plugins.formats.marks import SIGNS, Mark
from leadline_plugins.formats.tree import SIGN, TOKEN
from leadline_plugins.wording import everywhere, say

_ALL = "".join(SIGNS.values())
_SHOWN = re.compile(rf"(?<=\d\])[{_ALL}]+|\[[{_ALL}]+\]")
_TOKENS = re.compile(rf"(?:{TOKEN.pattern})+")
_LAST_CELL = re.compile(r"(?<!\\)\|[ \t]*\Z")
_RULE = re.compile(r"[ \t>]*\|?[ \t]*:?-+[-:| \t]*\Z")
_FENCE = re.compile(r"([ \t>]*)(?:`{3,}|~{3,})[^`\n]*\Z")
_CLOSING = re.compile(r"\s*[)）]")


def headed(section: Section, report: Report) -> bool:
    """Return whether a section has its heading: not where it repeats the title of the report."""
    return _folded(section.title) != _folded(report.title) or section is not report.sections[0]


def _folded(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def texts(section: Section, marks: Iterable[Mark], language: str) -> Iterator[str]:
    """Yield the Markdown of a section, each part to be parsed alone."""
    yield marked(section, marks)
    for inference in section.inferences:
        yield f"*{say('inference', language)}* {_line(inference)}"
    told = (section.text or "").replace("\\", "")
    if gaps := [item for item in dict.fromkeys(section.unanswered) if item not in told]:
        items = "\n".join(f"- {_line(item)}" for item in gaps)
        yield f"*{say('open', language)}*\n\n{items}"


def _line(text: str) -> str:
    return " ".join(text.split())


def marked(section: Section, marks: Iterable[Mark]) -> str:
    """Return the Markdown of a section with a token after each of its claims."""
    text = (section.text or "").replace(SIGN, "\ufffd")
    placed = sorted((*_place(text, mark.span), mark.number) for mark in marks if mark.section_id == section.id)
    parts, last = [], 0
    for place, before, number in placed:
        parts += [text[last:place], f"{before}[{SIGN}{number}]"]
        last = place
    return "".join((*parts, text[last:]))


def _place(text: str, span: tuple[int, int]) -> tuple[int, str]:
    """Return where the token of a claim goes, and what comes before it.

    That is after the citations that end the claim, else at its end; in a table within the last cell of the row; after
    a block of code on a line of its own.
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
    last = max((found.end() for found in CITATION.finditer(text, start, end)), default=end)
    if not any(map(str.isalnum, text[last:end])):
        end = last
    closing = _CLOSING.match(text, end)
    if closing and sum(map(text[start:end].count, "(（")) > sum(map(text[start:end].count, ")）")):
        end = closing.end()
    return end, ""


def signed(markdown: str, marks: Sequence[Mark]) -> str:
    """Return Markdown with signs in the places of tokens: bare after a number in brackets, else in brackets."""

    def sign(run: re.Match[str]) -> str:
        signs = "".join(dict.fromkeys(marks[int(number) - 1].sign for number in TOKEN.findall(run[0])))
        return f"[{signs}]" if signs and run.string[run.start() - 1 : run.start()] != "]" else signs

    return _TOKENS.sub(sign, markdown)


def unmarked(markdown: str) -> str:
    """Return a Markdown report without the signs that this project sets, and their legend; any other as it is."""
    plain = _legend().sub("", markdown)
    return markdown if plain == markdown else _SHOWN.sub("", plain)


@cache
def _legend() -> re.Pattern[str]:
    begins = "|".join(re.escape(said.partition("{")[0]) for said in everywhere("marks"))
    return re.compile(rf"^\*(?:{begins}).*\*\n\n", re.MULTILINE)
