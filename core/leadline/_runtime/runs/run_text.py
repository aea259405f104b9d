"""The text of a run for full-text search, in any language."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from leadline.display import one_line, strip_markup
from leadline.files import read_limited

# Scripts that are written without spaces between words, and Korean, which joins particles to words. Each character is
# a token of its own, and a word is a sequence of them.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003fffd]"
)
_TERM = re.compile(r'"([^"]*)"?|(\S+)')
_UNSEEN = re.compile(r"<(style|script)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
# Characters of a report that are indexed.
_MOST = 2_000_000
# Bytes of the file that they are in.
_LARGEST = 64 * 2**20
_WORD = re.compile(r"\w+")
# Letters of a word that tells two texts apart.
_LEAST_LETTERS = 4
# Characters of an excerpt.
_EXCERPT = 160


def report_text(folder: Path) -> str:
    """Return the text of the report in a run's folder; empty if there is none in a readable format."""
    for name, read in (("report.md", str), ("report.json", _sections), ("report.html", _visible)):
        try:
            return read(read_limited(folder / name, _LARGEST).decode("utf-8", "replace"))[:_MOST]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            continue
    return ""


def _sections(text: str) -> str:
    data = json.loads(text)
    return "\n\n".join([data["title"], *(f"{one['title']}\n\n{one['text'] or ''}" for one in data["sections"])])


def _visible(markup: str) -> str:
    return strip_markup(_UNSEEN.sub(" ", markup))


def fold(text: str) -> str:
    """Return text without distinction of case and width. The index itself ignores the accents of Latin letters."""
    return unicodedata.normalize("NFKC", text).casefold()


def index_text(text: str) -> str:
    """Return text as the index stores it: folded, with a space around each character of a script without spaces."""
    return _UNSPACED.sub(r" \g<0> ", fold(text))


def terms_of(text: str) -> list[str]:
    """Return the words of a search, and its phrases in double quotes."""
    found = (match[1] if match[1] is not None else match[2] for match in _TERM.finditer(text))
    return [term.strip() for term in found if any(map(str.isalnum, term))]


def words_of(text: str) -> list[str]:
    """Return the words of a text with four letters or more, folded; of a script without spaces, pairs of characters."""
    found: list[str] = []
    for word in _WORD.findall(fold(text)):
        unspaced = "".join(_UNSPACED.findall(word))
        found += [unspaced[place : place + 2] for place in range(len(unspaced) - 1)]
        found += [part for part in _UNSPACED.split(word) if len(part) >= _LEAST_LETTERS]
    return list(dict.fromkeys(found))


# Characters that end a string of FTS5.
_ENDS = str.maketrans('"\0', "  ")


def match_expression(terms: Sequence[str], *, any_word: bool = False) -> str:
    """Return the FTS5 expression that finds texts with all terms, or questions and tags with any of them."""
    quoted = ('"{}"'.format(" ".join(index_text(term).translate(_ENDS).split())) for term in terms)
    return f"about : ({' OR '.join(quoted)})" if any_word else " AND ".join(quoted)


def excerpt(text: str, terms: Sequence[str]) -> str:
    """Return the text around the first occurrence of a term, on one line; empty if it occurs in another form only."""
    places = [match.start() for term in terms if (match := re.search(re.escape(term), text, re.IGNORECASE))]
    if not places:
        return ""
    start = max(0, min(places) - _EXCERPT // 4)
    shown = one_line(text[start : start + _EXCERPT])
    return f"{'… ' if start else ''}{shown}{' …' if start + _EXCERPT < len(text) else ''}"
