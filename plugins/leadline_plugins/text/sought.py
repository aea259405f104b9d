"""Sought: how much of what a search asks for stands in each of some texts.

A search is typed as a row of words, or, in Chinese, Japanese and Korean, as parts with spaces between them. Most name
things of which a passage has one or two: `契税 房产税 非税收入 增长`. So each is a thing asked for, the rarer among
the texts the more it counts, and a name counts double.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from leadline_plugins.text.abbreviations import written_out
from leadline_plugins.text.tokens import content_set, content_words, has_cjk

_NAME = 2.0
"""How often a name counts: a word with a capital in it."""
_HALF = 0.5
"""The share of a part, its pairs of signs weighed, from which a text has it."""
_ACRONYM = re.compile(r"(?<!\w)[A-Z]{2,6}(?!\w)")


@dataclass(frozen=True)
class Text:
    """A text as it is looked at: its words, and the text for names that are written out."""

    words: frozenset[str]
    text: str

    @classmethod
    def of(cls, text: str, *over: str) -> Text:
        """Return a text with the headings over it."""
        return cls(content_set(text).union(*map(content_set, over)), text)


@dataclass(frozen=True)
class _Thing:
    """One thing asked for: its words, of which a text has some; the numbers among them, of which it has all."""

    words: tuple[str, ...]
    name: bool
    initials: str = ""

    def share(self, text: Text, weight: Mapping[str, float]) -> float:
        """Return how much of it stands in a text."""
        held = [word for word in self.words if word in text.words]
        if held and all(word in held for word in self.words if word.isdigit()):
            share = sum(weight[word] for word in held) / sum(weight[word] for word in self.words)
            return share if share >= _HALF else 0.0
        return 1.0 if self.initials and written_out(self.initials).search(text.text) else 0.0

    def worth(self, weight: Mapping[str, float]) -> float:
        """Return how much it counts."""
        return (_NAME if self.name else 1.0) * sum(weight[word] for word in self.words) / len(self.words)


def shares(query: str, texts: Sequence[Text]) -> list[float]:
    """Return for each text the share of what a search asks for that stands in it, from 0 to 1."""
    things = _things(query)
    weight = {
        word: log(1 + len(texts) / (max(1, sum(word in text.words for text in texts)) + 0.5))
        for thing in things
        for word in thing.words
    }
    worth = [(thing, thing.worth(weight)) for thing in things]
    whole = sum(most for _, most in worth) or 1.0
    return [sum(most * thing.share(text, weight) for thing, most in worth) / whole for text in texts]


def _things(query: str) -> tuple[_Thing, ...]:
    found: dict[tuple[str, ...], _Thing] = {}
    for part in query.split():
        words, acronym, name = content_words(part), _ACRONYM.search(part), any(map(str.isupper, part))
        # Of `2019年` the year: a sign alone is a part of other words.
        whole = tuple(dict.fromkeys(word for word in words if len(word) > 1)) or tuple(words)
        for some in filter(None, [whole] if has_cjk(part) else [(word,) for word in words]):
            found.setdefault(some, _Thing(some, name, acronym[0] if acronym else ""))
    return tuple(found.values())
