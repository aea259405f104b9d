"""Quotes found in their sources word for word: typography, hyphenation, white space and Unicode forms aside."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice

from leadline_plugins.checks.edges import parts_number

_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´＇", "'"),
        **dict.fromkeys("“”„‟″«»＂", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
    }
)
_LINE_MARKUP = re.compile(r"^(?:>|[-*+]|\d+[.)])\s+", re.MULTILINE)
_SIGN_MARKUP = re.compile(r"\\(?=[\\`*_{}\[\]()#+\-.!|<>~$&])|\*\*|__")
_REFERENCE = re.compile(r"[\[【]\^?\d{1,3}(?:[,;-]\d{1,3})*+[\]】]")
"""What may be the mark of a source's own reference, in the compared form; it may as well be a range or an article."""
_POWER = re.compile("((?<=10)[⁺⁻]?[⁰¹²³⁴-⁹]+)")
_RAISED = "⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_TRIED = 100
"""Places at which the marks of a quote are compared: a text of one word over and over has too many."""
_HYPHENATED = re.compile(r"(?<=[^\W\d_])-\s*\n\s*(?=[^\W\d_])")
Span = tuple[int, int]


@dataclass(frozen=True)
class Squeezed:
    """A text in the form in which quotes are compared: nothing but its signs, `bare` without reference marks.

    Whoever takes a sentence over leaves the marks, for they point into another list. So a mark of the source counts
    only where the quote has one at that place; one of the quote always does: the source must have the same there.
    """

    full: str
    bare: str
    marks: Mapping[int, str]
    """The marks by their place in the bare form."""

    def is_whole(self, source: Squeezed) -> bool:
        """Return whether this quote is the whole of a source."""
        return self.full == source.full or (len(self.bare) == len(source.bare) and source.place(self) == 0)

    def stands_in(self, source: Squeezed) -> bool:
        """Return whether this quote stands in a source."""
        return self.full in source.full or (bool(source.marks) and source.place(self) >= 0)

    def place(self, quote: Squeezed, start: int = 0) -> int:
        """Return where a quote stands in the bare form, from a place on; -1 where it does not."""
        at = self.bare.find(quote.bare, start)
        for _ in range(_TRIED):
            if at < 0 or all(self.marks.get(at + place) == mark for place, mark in quote.marks.items()):
                return at
            at = self.bare.find(quote.bare, at + 1)
        return -1


def _squeezed(full: str) -> Squeezed:
    marks: dict[int, str] = {}
    kept, length, end = [], 0, 0
    for found in _references(full):
        kept.append(full[end : found.start()])
        length, end = length + len(kept[-1]), found.end()
        marks[length] = f"{marks.get(length, '')}[{found[0][1:-1]}]"
    return Squeezed(full, "".join([*kept, full[end:]]), marks)


def find(quote: str, text: str) -> Span | None:
    """Return where a quote stands in a text, in characters of the text; None where it does not."""
    return next(_spans(quote, text), None)


def find_said(words: str, text: str) -> Span | None:
    """Return where a text says these words: where they stand, and part no number of it, as `5% of` parts `95% of`."""
    return next((span for span in islice(_spans(words, text), _TRIED) if not parts_number(text, *span)), None)


def _spans(quote: str, text: str) -> Iterator[Span]:
    """Yield where the signs of a quote stand in a text: as they are, then in the compared form, then without marks."""
    if not quote:
        return
    yield from ((at, at + len(quote)) for at in _starts(partial(text.find, quote)))
    wanted = squeezed(quote)
    if not wanted.full:
        return
    folded, places = _mapped(text)
    for at in _starts(partial(folded.find, wanted.full)):
        yield places[at], places[at + len(wanted.full) - 1] + 1
    bare = _squeezed(folded)
    if not (wanted.bare and bare.marks):
        return
    marked = {sign for mark in _references(folded) for sign in range(*mark.span())}
    kept = [place for sign, place in enumerate(places) if sign not in marked]
    for at in _starts(partial(bare.place, wanted)):
        yield kept[at], kept[at + len(wanted.bare) - 1] + 1


def _starts(found: Callable[[int], int]) -> Iterator[int]:
    """Yield every place that is found, each from the one before on."""
    at = found(0)
    while at >= 0:
        yield at
        at = found(at + 1)


@lru_cache(maxsize=64)
def squeezed(text: str) -> Squeezed:
    """Return a text in the one form in which quotes are compared."""
    bare = _unmarked(text)
    return _squeezed("".join(_dotted(_HYPHENATED.sub("", bare) if "\n" in bare else bare).split()))


def plain(text: str) -> str:
    """Return a text without the differences that do not count, but with its words apart; powers are left as they are.

    10⁶ is not 106.
    """
    bare = _unmarked(text)
    formed = _form(bare) if bare.isascii() else "".join(map(_formed, _POWER.split(bare)))
    return " ".join(formed.split())


def _formed(part: str) -> str:
    return part if part and not part.strip(_RAISED) else _form(part)


def bared(text: str) -> str:
    """Return a text as it stands, without the marks that a page does not show."""
    return " ".join(_unmarked(text).split())


def _unmarked(text: str) -> str:
    # Two patterns, as the lines' is the dearer one: of a single line it is tried at its beginning alone.
    if "\n" in text:
        text = _LINE_MARKUP.sub("", text)
    elif begun := _LINE_MARKUP.match(text):
        text = text[begun.end() :]
    return _SIGN_MARKUP.sub("", text)


def _references(full: str) -> Iterator[re.Match[str]]:
    return _REFERENCE.finditer(full) if "[" in full or "【" in full else iter(())


def _form(text: str) -> str:
    if text.isascii():
        return text.replace("`", "'").replace("...", "…")
    return unicodedata.normalize("NFKC", text.translate(_SAME)).replace("...", "…").translate(_SAME)


def _dotted(text: str) -> str:
    """Return a form in which no sign stands for several: places are counted in it."""
    return _form(text).replace("…", "...")


_form_of_sign = lru_cache(maxsize=1 << 12)(_dotted)


def _mapped(text: str) -> tuple[str, list[int]]:
    """Return the form of a text with its marks, and for each of its signs the place of the one it came from."""
    patterns = (_HYPHENATED, _LINE_MARKUP, _SIGN_MARKUP)
    dropped = {at for pattern in patterns for match in pattern.finditer(text) for at in range(*match.span())}
    signs: list[str] = []
    places: list[int] = []
    for at, char in enumerate(unicodedata.normalize("NFC", text) if _stable(text) else text):
        form = "" if at in dropped or char.isspace() else _form_of_sign(char)
        signs.append(form)
        places += [at] * len(form)
    return "".join(signs), places


def _stable(text: str) -> bool:
    return unicodedata.is_normalized("NFC", text)
