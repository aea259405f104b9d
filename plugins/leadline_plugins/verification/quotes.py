"""Find words in a text despite differences in white space, typography and markup, and the quotations of a claim."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from leadline.records import Evidence
from leadline_plugins.text.scripts import letters
from leadline_plugins.verification.blocks import QUOTE
from leadline_plugins.verification.claims import table_rows, unit_spans

# The characters that count: letters, digits, marks inside numbers, and signs with a meaning.
_RUN = re.compile(r"[^\W_]+(?:(?<=\d)[.,:](?=\d)[^\W_]+)*|[%$€£¥₽₩+<>=°/&^]+")
_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_LINK = re.compile(r"(?<=\])\([^()\s]*\)|\[\^[^\]\s]{1,12}\]")
_OMITTED = re.compile(r"\s*(?:\[\s*(?:…|\.\.\.)\s*\]|\(\s*(?:…|\.\.\.)\s*\)|…+|\.{3,})\s*")
_QUOTED = re.compile(
    "“([^“”]{3,400})”|„([^„“”]{3,400})[“”]|«([^«»]{3,400})»|「([^「」]{3,400})」|『([^『』]{3,400})』"
    r'|(?<!\w)"([^"]{3,400})"(?!\w)'
)
# Joins quoted words from several places.
OMISSION = " […] "
# Minimum words of a quotation, or characters in scripts without spaces; shorter ones may be terms or titles.
_LEAST_WORDS, _LEAST_SIGNS = 3, 6
_LATIN = re.compile(r"[a-z0-9\u00df-\u024f\u0370-\u052f]")


@dataclass(frozen=True)
class NormalizedText:
    """A text reduced to letters, digits and signs in lower case; `at` are their offsets in the text."""

    text: str
    at: array[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the original text."""
        return self.at[start], self.at[end - 1] + 1


@lru_cache(maxsize=1024)
def normalize(text: str) -> NormalizedText:
    """Return a normalized text with offsets."""
    matches = list(_RUN.finditer(_folded(text)))
    # Four bytes a character instead of forty: a thousand of them are cached.
    offsets = array("I", (at for match in matches for at in range(*match.span())))
    return NormalizedText("".join(match.group() for match in matches), offsets)


@lru_cache(maxsize=1024)
def normalize_source(text: str) -> str:
    """Return a normalized text without offsets, which takes a fraction of the time."""
    return "".join(_RUN.findall(_folded(text)))


def _folded(text: str) -> str:
    """Return a Markdown text of the same length in lower case, without full-width signs and what is left out of quotes.

    These are the `>` at the start of lines, the addresses of links, and note marks like `[^1]`.
    """
    text = _LINK.sub(lambda match: " " * len(match[0]), text.translate(_WIDTH))
    text = QUOTE.sub(lambda match: " " * len(match[0]), text)
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def quote_parts(words: str) -> list[str]:
    """Return the parts between omissions (`[…]`) that are not empty."""
    return [part for part in _OMITTED.split(words) if normalize_source(part)]


def find_quote(words: str, passages: Iterable[Evidence]) -> list[tuple[Evidence, str]]:
    """Return the passages that contain a quote, each with its own form of the words; none if a part is missing.

    Returns one passage if it has all parts, otherwise the first passage of each part. Lead and headings belong to it.
    """
    cited = list(passages)
    for passage in cited:
        if quote := _passage_words(words, passage):
            return [(passage, quote)]
    each = [
        next(((passage, quote) for passage in cited if (quote := _passage_words(part, passage))), None)
        for part in quote_parts(words)
    ]
    return [pair for pair in each if pair] if all(each) else []


def _passage_words(words: str, passage: Evidence) -> str:
    """Return the words as written in a passage, or with its lead and headings; empty if neither has them."""
    for text in (passage.quote, "\n".join(filter(None, (*passage.path, passage.lead, passage.quote)))):
        if span := _find_span(words, normalize(text), None, None):
            return text[slice(*span)]
    return ""


def find_verbatim(claim: str, passage: Evidence) -> tuple[int, int] | None:
    """Return the span of a claim in a passage that states it word for word, as whole sentences, items or rows.

    Parts of sentences do not count: `the drug is safe` is also a part of `it is not true that the drug is safe`.
    """
    claim = claim.replace(">", "\\>")  # it is plain text, in which this sign marks no quotation
    lead = f"{passage.lead}\n\n" if passage.lead else ""
    text = lead + passage.quote
    plain = normalize_source(text)
    if all(normalize_source(part) in plain for part in quote_parts(claim)):  # false for most claims
        whole = normalize(text)
        starts, ends = _borders(text, whole)
        span = _find_span(claim, whole, starts, ends)
        if span and span[1] > len(lead):
            return max(span[0] - len(lead), 0), span[1] - len(lead)
    if "|" in text:
        normalized = normalize_source(claim)
        if any(normalize_source(row) == normalized for row in table_rows(lead.rstrip("\n") + "\n" + passage.quote)):
            return 0, len(passage.quote)
    return None


def _borders(text: str, whole: NormalizedText) -> tuple[frozenset[int], frozenset[int]]:
    """Return the start and end offsets of sentences, items and rows in the normalized text."""
    places = {offset: index for index, offset in enumerate(whole.at)}
    starts, ends = set(), set()
    for start, end in unit_spans(text):
        inside = [index for offset in range(start, end) if (index := places.get(offset)) is not None]
        if inside:
            starts.add(inside[0])
            ends.add(inside[-1] + 1)
    return frozenset(starts), frozenset(ends)


def _find_span(
    words: str, whole: NormalizedText, starts: frozenset[int] | None, ends: frozenset[int] | None
) -> tuple[int, int] | None:
    normalized = normalize_source(words)  # dots may belong to the passage
    wanted = (
        [normalized]
        if normalized and normalized in whole.text
        else [normalize_source(part) for part in quote_parts(words)]
    )
    at, first = 0, -1
    for part in wanted:
        at = _find_part(part, whole, at, starts, ends)
        if at < 0:
            return None
        first = at if first < 0 else first
        at += len(part)
    return whole.span(first, at) if wanted else None


def _find_part(
    part: str, whole: NormalizedText, at: int, starts: frozenset[int] | None, ends: frozenset[int] | None
) -> int:
    """Return the next offset of a part between borders; -1 if there is none."""
    while (at := whole.text.find(part, at)) >= 0:
        end = at + len(part)
        bordered = starts is None or ends is None or (at in starts and end in ends)
        if bordered and not _is_inside_word(whole, at) and not _is_inside_word(whole, end):
            return at
        at += 1
    return -1


def _is_inside_word(whole: NormalizedText, index: int) -> bool:
    """Return whether an offset is inside a word or number."""
    if not 0 < index < len(whole.text) or whole.at[index] != whole.at[index - 1] + 1:
        return False
    return bool(_LATIN.match(whole.text[index - 1]) and _LATIN.match(whole.text[index]))


def quotations(claim: str) -> Iterator[str]:
    """Yield the quoted texts of a claim that are long enough to be quotations."""
    for match in _QUOTED.finditer(claim):
        quotation = next(filter(None, match.groups()))
        spaced = len(quotation.split())
        if spaced >= _LEAST_WORDS or (spaced == 1 and not quotation.isascii() and len(quotation) >= _LEAST_SIGNS):
            yield quotation


def missing_quotations(claim: str, texts: list[str]) -> list[str]:
    """Return the quotations of a claim that no text has; those in another script count as translated."""
    return [quotation for quotation in quotations(claim) if not any(_contains(text, quotation) for text in texts)]


def _contains(text: str, quotation: str) -> bool:
    if _script(quotation) != _script(text[:5000]):
        return True
    source = normalize_source(text)
    at = -1
    for part in quote_parts(quotation):
        at = source.find(normalize_source(part), at + 1)
        if at < 0:
            return False
    return True


def _script(text: str) -> str:
    counts = letters(text).most_common(1)
    return counts[0][0] if counts else ""
