"""Questions of one word ("RAID", "What is APT?"): what answers one, or how to ask instead.

Such a question does not tell what is asked, and any passage that uses the word would cover it. So it is answered with
the beginning of the sections that have the word in their heading or title: there documents say what their subject is.
If there is none, a question that is more than a bare word is answered from the only document that mentions it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import dropwhile

from leadline.records import Evidence
from leadline_plugins.text import content_set, content_words
from leadline_plugins.text.tokens import has_cjk
from leadline_plugins.wording.phrases import join_items, phrase

# Words up to which a question is short; a pair of CJK characters is half a word.
_FEW = 1
# Documents that the advice names.
_NAMED = 4


def is_short(text: str) -> bool:
    """Return whether a text has too few words of its own to tell what is asked."""
    return sum(0.5 if has_cjk(word) else 1 for word in content_set(text)) <= _FEW


def is_bare(text: str) -> bool:
    """Return whether a text is a word alone: no space, and no particle between CJK characters."""
    letters = "".join(filter(str.isalnum, text))
    return len(text.split()) < 2 and (not has_cjk(text) or len(content_words(text)) >= len(letters) - 1)


def openings(word: frozenset[str], passages: Sequence[Evidence], titles: Mapping[str, str]) -> list[Evidence]:
    """Return the passages of the sections that a word names, one per document, of the closest headings only.

    `passages` are in document order. A heading is the closer, the fewer other words it has; of equally close ones the
    outer and the first counts.
    """
    found: dict[str, tuple[float, int, tuple[str, ...]]] = {}
    for item in passages:
        for depth, heading in enumerate((titles.get(item.source_id, ""), *item.path)):
            terms = _terms(heading)
            section = (-len(word) / len(terms), depth, item.path[:depth]) if word <= terms else None
            if section and section[:2] < found.get(item.source_id, (0.0, 0))[:2]:
                found[item.source_id] = section
    closest = min((closeness for closeness, _, _ in found.values()), default=0.0)
    named = {name: path for name, (closeness, _, path) in found.items() if closeness == closest}
    return [item for item in passages if item.path[: len(path := named.get(item.source_id, ("",)))] == path]


def _terms(heading: str) -> frozenset[str]:
    """Return the words of a heading without its number."""
    return content_set(" ".join(dropwhile(lambda word: not any(map(str.isalpha, word)), heading.split())))


def advice(titles: Sequence[str], language: str) -> str:
    """Return how to ask instead, with some of the documents that mention the words."""
    more = ["…"] if len(titles) > _NAMED else []
    named = join_items((*titles[:_NAMED], *more), language)
    where = [phrase("brief_mentioned", language, what=named)] if named else []
    return join_items((phrase("brief_narrow", language), *where), language, "semicolon")
