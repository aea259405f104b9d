"""Under which headings a place of a text stands: what a sentence speaks of often stands there alone.

Headings are those of Markdown, underlined ones, and short lines that are bold as a whole.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

from leadline_plugins.text.tokens import content_set

BETWEEN = " › "
"""Between the headings of a path."""
_LINE = re.compile(
    r"^[ ]{0,3}(?:(?P<signs>\#{1,6})[ \t]+(?P<title>[^\n]+?)[ \t]*\#*[ \t]*$"
    r"|(?:\*\*|__)(?P<bold>[^\n*_]{1,100})(?:\*\*|__)[ \t]*[:：]?[ \t]*$"
    r"|(?P<lined>[^\s>|\#*+\-][^\n|]{0,100})\n[ ]{0,3}(?P<rule>=+|-+)[ \t]*$"
    r"|(?P<fence>`{3,}|~{3,}))",
    re.MULTILINE,
)
_INNERMOST = 3
_BOLD = 7
"""The level of a bold line: below all headings with signs."""
_MARKS = re.compile(r"[*_`]+|\[\^?\d+\]|\s+")


class Headings:
    """The headings of one text."""

    def __init__(self, text: str) -> None:
        self._places: list[int] = []
        self._paths: list[tuple[str, ...]] = []
        above: list[tuple[int, str]] = []
        fence = ""
        for found in _LINE.finditer(text):
            if mark := found["fence"]:
                fence = "" if fence and mark.startswith(fence) else fence or mark
                continue
            title = _MARKS.sub(" ", found["title"] or found["bold"] or found["lined"] or "").strip(" :：")
            if fence or not title:
                continue
            level = len(found["signs"] or "") or (_BOLD if found["bold"] else 1 if found["rule"][0] == "=" else 2)
            above = [one for one in above if one[0] < level] + [(level, title)]
            self._places.append(found.end())
            self._paths.append(tuple(title for _, title in above))

    def over(self, place: int) -> tuple[str, ...]:
        """Return the headings over a place of the text, the outermost first; a heading does not stand over itself."""
        index = bisect_right(self._places, place)
        return self._paths[index - 1] if index else ()


@lru_cache(maxsize=64)
def headings(text: str) -> Headings:
    """Return the headings of a text; the last texts are remembered, for each is asked about many places."""
    return Headings(text)


def unnamed(path: str, *said: str) -> str:
    """Return of the headings on a path, the innermost of them, those with a word that none of the texts has."""
    words = frozenset[str]().union(*map(content_set, said))
    return BETWEEN.join([one for one in path.split(BETWEEN) if not content_set(one) <= words][-_INNERMOST:])
