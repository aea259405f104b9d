"""Drafts: the text that a model writes, made the text of a section.

A section cites evidence by its id and nothing else. A model's own numbers, lists and definitions name no source, and in
the report they would stand beside those that do; so they go, in the one place that every format profits from.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from leadline.citations import CITATION, cited_only
from leadline_plugins.drafts.blocks import BLANK, closed, code, runs
from leadline_plugins.drafts.definitions import undefined
from leadline_plugins.drafts.headings import lowered
from leadline_plugins.drafts.known import Known
from leadline_plugins.drafts.lists import unlisted
from leadline_plugins.drafts.marks import marked, unnumbered
from leadline_plugins.drafts.unwrapped import unwrapped

__all__ = ["LEFT_OUT", "Draft", "Known", "normalised", "title"]

LEFT_OUT = "citation marks or lists of references of the model's own were left out: they name nothing that it was shown"
_PLACEHOLDERS = frozenset({"", "title", "string", "report title", "title of the report", "section title", "untitled"})
_ROUNDS = 4
"""What is taken out can leave something to be taken out; so often it is looked at again."""


@dataclass(frozen=True)
class Draft:
    """A text that cites nothing but known evidence; `left_out` counts the marks and lists that named no source."""

    text: str
    left_out: int = 0


def normalised(text: str, known: Known, titles: Collection[str] = ()) -> Draft:
    """Return a model's text as the text of a section of these titles."""
    left_out = 0
    for _ in range(_ROUNDS):
        before = text
        text, count = _once(text, known, titles)
        left_out += count
        if text == before:
            break
    return Draft(cited_only(text, known.exact), left_out)


def title(text: str) -> str:
    """Return a model's title on one line, without the marks of a heading, citations and numbers of the model's own.

    Empty for the word that stands for one in a form.
    """
    said = re.sub(r"\A(?:#{1,6}(?:\s+|\Z))+", "", " ".join(unnumbered(CITATION.sub("", text)).split())).strip()
    bold = re.fullmatch(r"\*\*([^*]+)\*\*", said)
    said = bold[1] if bold else said
    return "" if said.casefold().strip(" <>[]{}.…") in _PLACEHOLDERS else said


def _once(text: str, known: Known, titles: Collection[str]) -> tuple[str, int]:
    text = lowered(closed(unwrapped(text).strip(), known), titles)
    parts = list(runs(text))
    made: list[str] = []
    left_out = 0
    for place, (is_code, part) in enumerate(parts):
        said, count = (code(part, known), 0) if is_code else _prose(part, known, last=place == len(parts) - 1)
        made.append(said)
        left_out += count
    return _tidied("\n".join(made), text).strip(), left_out


def _prose(text: str, known: Known, *, last: bool) -> tuple[str, int]:
    text, lists = unlisted(text, known, last=last)
    text, definitions = undefined(text, known)
    done = [marked(part, known) if place % 2 == 0 else (part, 0) for place, part in enumerate(BLANK.split(text))]
    return "".join(part for part, _ in done), lists + definitions + sum(count for _, count in done)


def _tidied(text: str, before: str) -> str:
    """Return a text without the gaps that were torn into it; code keeps its own."""
    if text == before:
        return text
    made = (run if is_code else re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", run) for is_code, run in runs(text))
    return "\n".join(made)
