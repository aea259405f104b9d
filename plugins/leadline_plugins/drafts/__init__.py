"""Drafts: the text that a model writes, made the text of a section.

A section cites evidence by its id and nothing else. A model's own numbers, lists and definitions name no source, and in
the report they would stand beside those that do; so they go, in the one place that every format profits from.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from leadline.citations import CITATION, cited_only
from leadline_plugins.drafts.blocks import BLANK, closed, code, runs
from leadline_plugins.drafts.definitions import undefined
from leadline_plugins.drafts.headings import lowered
from leadline_plugins.drafts.known import Known
from leadline_plugins.drafts.lists import unlisted
from leadline_plugins.drafts.marks import Marked, marked, unnumbered
from leadline_plugins.drafts.statements import said_once
from leadline_plugins.drafts.unwrapped import unwrapped

__all__ = ["Draft", "Known", "left_out", "normalised", "title"]

_PLACEHOLDERS = frozenset({"", "title", "string", "report title", "title of the report", "section title", "untitled"})
_ROUNDS = 4
"""What is taken out can leave something to be taken out; so often it is looked at again."""


@dataclass(frozen=True)
class Draft:
    """A text that cites nothing but known evidence; `left_out` counts the marks and lists that named none.

    `lost` has the mark of each statement that has no other citation.
    """

    text: str = ""
    left_out: int = 0
    lost: tuple[str, ...] = ()


def normalised(text: str, known: Known, titles: Collection[str] = ()) -> Draft:
    """Return a model's text as the text of a section of these titles."""
    left_out = 0
    lost: list[str] = []
    for _ in range(_ROUNDS):
        made = _once(text, known, titles)
        left_out += made.left_out
        lost += made.lost
        if made.text == text:
            break
        text = made.text
    return Draft(cited_only(text, known.exact), left_out, tuple(lost))


def left_out(title: str, drafts: Iterable[Draft]) -> str:
    """Return what is told of the marks and lists that a text of this title lost, in parts; empty where it lost none."""
    parts = list(drafts)
    count, lost = sum(part.left_out for part in parts), sum(len(part.lost) for part in parts)
    if not count:
        return ""
    bare = f", and {lost} of its statements cite nothing without them" if lost else ""
    said = f"citation marks or lists of references of the model's own were left out ({count})"
    return f"the text of '{title}': {said}, for they name no passage{bare}"


def title(text: str) -> str:
    """Return a model's title on one line, without the marks of a heading, citations and numbers of the model's own.

    Empty for the word that stands for one in a form.
    """
    said = re.sub(r"\A(?:#{1,6}(?:\s+|\Z))+", "", " ".join(unnumbered(CITATION.sub("", text)).split())).strip()
    bold = re.fullmatch(r"\*\*([^*]+)\*\*", said)
    said = bold[1] if bold else said
    return "" if said.casefold().strip(" <>[]{}.…") in _PLACEHOLDERS else said


def _once(text: str, known: Known, titles: Collection[str]) -> Draft:
    text = lowered(closed(unwrapped(text).strip(), known), titles)
    parts = list(runs(text))
    last = len(parts) - 1
    made = [
        Draft(code(part, known)) if is_code else _prose(part, known, last=place == last)
        for place, (is_code, part) in enumerate(parts)
    ]
    said = _tidied("\n".join(part.text for part in made), text).strip()
    return Draft(said, sum(part.left_out for part in made), _lost(made))


def _prose(text: str, known: Known, *, last: bool) -> Draft:
    text, lists = unlisted(said_once(text), known, last=last)
    text, definitions = undefined(text, known)
    made = [marked(part, known) if place % 2 == 0 else Draft(part) for place, part in enumerate(BLANK.split(text))]
    count = lists + definitions + sum(part.left_out for part in made)
    return Draft("".join(part.text for part in made), count, _lost(made))


def _lost(made: Iterable[Draft | Marked]) -> tuple[str, ...]:
    return tuple(mark for part in made for mark in part.lost)


def _tidied(text: str, before: str) -> str:
    """Return a text without the gaps that were torn into it; code keeps its own."""
    if text == before:
        return text
    made = (run if is_code else re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", run) for is_code, run in runs(text))
    return "\n".join(made)
