"""Find words in a text whatever the white space, typography and Markdown marks, and quoted text in a claim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from leadline.records import Evidence
from leadline_plugins.text.scripts import letters
from leadline_plugins.verification.claims import rows_of, units

_KEPT = r"[^\W_]|(?<=\d)[.,:](?=\d)|[%$€£¥₽₩+<>=°/&]"
"""What counts of a text: letters, digits, the marks inside numbers, and signs that have a meaning."""
_CHARACTER = re.compile(_KEPT)
_RUN = re.compile(r"[^\W_]+(?:(?<=\d)[.,:](?=\d)[^\W_]+)*|[%$€£¥₽₩+<>=°/&]+")
_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_LINK = re.compile(r"(?<=\])\([^()\s]*\)")
_OMITTED = re.compile(r"\s*(?:\[\s*(?:…|\.\.\.)\s*\]|\(\s*(?:…|\.\.\.)\s*\)|…+|\.{3,})\s*")
_QUOTED = re.compile(
    "“([^“”]{3,400})”|„([^„“”]{3,400})[“”]|«([^«»]{3,400})»|「([^「」]{3,400})」|『([^『』]{3,400})』"
    r'|(?<!\w)"([^"]{3,400})"(?!\w)'
)
OMISSION = " […] "
"""Joins quoted words from several places."""
_LEAST_WORDS, _LEAST_SIGNS = 3, 6
"""Words of a quotation, or characters in scripts without spaces; a shorter one may be a term or a title."""
_LATIN = re.compile(r"[a-z0-9\u00df-\u024f\u0370-\u052f]")


@dataclass(frozen=True)
class Squeezed:
    """A text reduced to what counts, in lower case; `at` are the offsets of its characters in the text."""

    text: str
    at: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the original of a span here."""
        return self.at[start], self.at[end - 1] + 1


@lru_cache(maxsize=1024)
def squeezed(text: str) -> Squeezed:
    """Return a text reduced to what counts, with offsets: for passages and claims."""
    low = _folded(text)
    found = [(match.start(), match.group()) for match in _CHARACTER.finditer(low)]
    return Squeezed("".join(sign for _, sign in found), tuple(at for at, _ in found))


@lru_cache(maxsize=64)
def squeezed_source(text: str) -> str:
    """Return the same without offsets: for whole sources."""
    return "".join(_RUN.findall(_folded(text)))


def _folded(text: str) -> str:
    """Return a text in lower case, without full-width signs and addresses of links, of the same length."""
    text = _LINK.sub(lambda match: " " * len(match[0]), text.translate(_WIDTH))
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def parts(words: str) -> list[str]:
    """Return the parts of words between omissions (`[…]`) that have anything in them."""
    return [part for part in _OMITTED.split(words) if squeezed(part).text]


def locate(words: str, text: str) -> tuple[int, int] | None:
    """Return the span of words in a text: each part between omissions in its order, none inside a word."""
    return _located(words, squeezed(text), None, None)


def words_in(words: str, passages: Iterable[Evidence]) -> list[tuple[Evidence, str]]:
    """Return the passages that have words, each with its own form of them; empty if a part occurs in none.

    One passage if it has all the words, or else the first that has each part between omissions. A lead is part of its
    passage.
    """
    cited = list(passages)
    for passage in cited:
        if found := _own(words, passage):
            return [(passage, found)]
    each = [next(((one, found) for one in cited if (found := _own(part, one))), None) for part in parts(words)]
    return [one for one in each if one] if all(each) else []


def _own(words: str, passage: Evidence) -> str:
    """Return the words as a passage or its lead has them; empty if neither has."""
    for text in (passage.quote, f"{passage.lead}\n{passage.quote}" if passage.lead else ""):
        if span := locate(words, text):
            return text[slice(*span)]
    return ""


def verbatim(claim: str, passage: Evidence) -> tuple[int, int] | None:
    """Return the span in a passage of a claim that it states in the same words, as whole sentences, items or rows.

    Only whole ones: what is true of `the drug is safe` may be false in `it is not true that the drug is safe`.
    """
    lead = f"{passage.lead}\n\n" if passage.lead else ""
    text = lead + passage.quote
    whole = squeezed(text)
    if all(squeezed(part).text in whole.text for part in parts(claim)):  # most claims end here
        starts, ends = _borders(text, whole)
        found = _located(claim, whole, starts, ends)
        if found and found[1] > len(lead):
            return max(found[0] - len(lead), 0), found[1] - len(lead)
    if "|" in text:
        said = squeezed(claim).text
        if any(squeezed(row).text == said for row in rows_of(lead.rstrip("\n") + "\n" + passage.quote)):
            return 0, len(passage.quote)
    return None


def _borders(text: str, whole: Squeezed) -> tuple[frozenset[int], frozenset[int]]:
    """Return where the sentences, items and rows of a text begin and end, in its squeezed form."""
    places = {offset: place for place, offset in enumerate(whole.at)}
    starts, ends = set(), set()
    for start, end in units(text):
        inside = [place for offset in range(start, end) if (place := places.get(offset)) is not None]
        if inside:
            starts.add(inside[0])
            ends.add(inside[-1] + 1)
    return frozenset(starts), frozenset(ends)


def _located(
    words: str, whole: Squeezed, starts: frozenset[int] | None, ends: frozenset[int] | None
) -> tuple[int, int] | None:
    said = squeezed(words).text  # dots may be the passage's own
    wanted = [said] if said and said in whole.text else [squeezed(part).text for part in parts(words)]
    at, first = 0, -1
    for part in wanted:
        at = _next(part, whole, at, starts, ends)
        if at < 0:
            return None
        first = at if first < 0 else first
        at += len(part)
    return whole.span(first, at) if wanted else None


def _next(part: str, whole: Squeezed, at: int, starts: frozenset[int] | None, ends: frozenset[int] | None) -> int:
    """Return where a part occurs next between borders; -1 where it does not."""
    while (at := whole.text.find(part, at)) >= 0:
        end = at + len(part)
        bordered = starts is None or ends is None or (at in starts and end in ends)
        if bordered and not _inside(whole, at) and not _inside(whole, end):
            return at
        at += 1
    return -1


def _inside(whole: Squeezed, place: int) -> bool:
    """Return whether a place is inside a word or number: both sides are letters and adjacent in the text."""
    if not 0 < place < len(whole.text) or whole.at[place] != whole.at[place - 1] + 1:
        return False
    return bool(_LATIN.match(whole.text[place - 1]) and _LATIN.match(whole.text[place]))


def quoted(claim: str) -> Iterator[str]:
    """Yield the text that a claim has in quotation marks, where it is long enough to be somebody's words."""
    for match in _QUOTED.finditer(claim):
        said = next(filter(None, match.groups()))
        spaced = len(said.split())
        if spaced >= _LEAST_WORDS or (spaced == 1 and not said.isascii() and len(said) >= _LEAST_SIGNS):
            yield said


def misquoted(claim: str, texts: list[str]) -> list[str]:
    """Return the quoted text of a claim that none of the texts has; a quotation in another script is translated."""
    return [said for said in quoted(claim) if not any(_has(text, said) for text in texts)]


def _has(text: str, said: str) -> bool:
    if _script(said) != _script(text[:5000]):
        return True
    source = squeezed_source(text)
    at = -1
    for part in parts(said):
        at = source.find(squeezed(part).text, at + 1)
        if at < 0:
            return False
    return True


def _script(text: str) -> str:
    found = letters(text).most_common(1)
    return found[0][0] if found else ""
