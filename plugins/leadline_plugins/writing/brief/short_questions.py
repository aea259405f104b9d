"""Questions of one word ("decorators", "How do I start it?"): which document answers one, or how to ask instead.

Such a question does not tell what is asked, and any document that uses the word would cover it. So it is answered only
if one document is clearly about it: the only one with the word in its title, else in a heading. For a question that is
more than a bare word, the only document with the word in its text will do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leadline_plugins.text import content_set, content_words
from leadline_plugins.text.tokens import has_cjk
from leadline_plugins.wording.phrases import join_items, phrase
from leadline_plugins.writing.brief.selection import Rated

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


def matches(question: str, rated: Rated, titles: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the source that is clearly meant by a short question, or empty, and the sources that mention its words."""
    sources = list(dict.fromkeys(map(rated.source, rated.best_first())))
    asked = frozenset(rated.weights)
    titled = [name for name in sources if asked <= content_set(titles.get(name, ""))]
    in_headings = {rated.source(place) for place, link in enumerate(rated.links) if asked <= link.titled}
    about = titled or [name for name in sources if name in in_headings]
    found = about or sources
    is_clear = len(found) == 1 and (bool(about) or not is_bare(question))
    return found[0] if is_clear else "", found


def advice(titles: Sequence[str], language: str) -> str:
    """Return how to ask instead, with some of the documents that mention the words."""
    more = ["…"] if len(titles) > _NAMED else []
    named = join_items((*titles[:_NAMED], *more), language)
    where = [phrase("brief_mentioned", language, what=named)] if named else []
    return join_items((phrase("brief_narrow", language), *where), language, "semicolon")
