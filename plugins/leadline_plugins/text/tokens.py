"""Index tokens, words and lengths, for scripts with spaces and without.

Scripts without spaces (Han, kana, Hangul) are indexed as characters and pairs of characters, Thai and its like by their
clusters: no dictionary to go out of date, and whatever stands in the text can be found.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from leadline_plugins.text.clusters import CLUSTERED, content_grams, grams
from leadline_plugins.text.endings import light, without_particle
from leadline_plugins.text.language import is_cjk
from leadline_plugins.text.stopwords import CJK_STOPWORDS, STOPWORDS

CJK = "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
"""Ranges of the scripts written without spaces, for use in a character class."""
_MARKS = "".join(chr(code) for code in range(0x300, 0x1D00) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
"""Signs that are set on letters: vowels and tones of Indic scripts above all. No word ends before one."""
_PIECE = re.compile(
    rf"[{CJK}]+|[{CLUSTERED}]+|[^\W_{CJK}{CLUSTERED}]+(?:(?:['’](?=[^\W_{CJK}{CLUSTERED}])|[{_MARKS}]+)[^\W_{CJK}{CLUSTERED}]*)*"
)
_SPACED = re.compile(rf"[^\W_]+(?:(?:['’](?=[^\W_])|[{_MARKS}]+)[^\W_]*)*")
"""The same of a text without CJK and Thai, in half the time."""
_PLAINEST = "".join(sign.lower() if sign.isalnum() else " " for sign in map(chr, range(128)))
"""The same of ASCII without an apostrophe, for `translate` and `split`, in a fifth of the time."""
_EAST = "\u3000"
"""Runs without spaces that begin below are of clusters, the others of characters."""
_HANGUL = "\uac00"
_FIRST_CJK = re.compile(rf"[{CJK}]")
_FIRST_UNSPACED = re.compile(rf"[{CJK}{CLUSTERED}]")
_COUNTED = re.compile(rf"[{CJK}]|[{CLUSTERED}]{{1,4}}|[^\s{CJK}{CLUSTERED}]+")
"""What counts as a word: of Thai and its like four signs, the mean of a word."""
_FUNCTION = re.compile(
    # Most signs begin no such word: to say so first halves the time.
    f"(?=[\u3040-\u309f{''.join(sorted({word[0] for word in CJK_STOPWORDS}))}])"
    f"(?:[\u3040-\u309f]+|{'|'.join(sorted(CJK_STOPWORDS, key=len, reverse=True))})"
)
_STOP = frozenset().union(*STOPWORDS.values())


def _accents() -> dict[int, str]:
    """Map Latin letters with marks to those without, so that São is found as Sao; other scripts need their marks."""
    table = {ord("ø"): "o", ord("ł"): "l", ord("đ"): "d", ord("ı"): "i"}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        base = unicodedata.normalize("NFKD", chr(code))[0]
        if base.isascii() and base.isalpha():
            table[code] = base
    return table


_ACCENTS = _accents()


def fold(text: str) -> str:
    """Return the text in one form: NFKC, caseless; half and full width are one, and so are the digits of all scripts.

    Points and stretching signs of Arabic and Hebrew are left out, and what is not seen: joiners, soft hyphens.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _VARIANT.sub(lambda found: _one_form(found[0]), folded)


_VARIANT = re.compile(
    "[\u00ad\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u066c\u0670\u06d6-\u06dc\u06df-\u06ed\u06f0-\u06f9"
    "\u0966-\u096f\u09e6-\u09ef\u0a66-\u0a6f\u0ae6-\u0aef\u0be6-\u0bef\u0c66-\u0c6f\u0ce6-\u0cef\u0d66-\u0d6f"
    "\u0e50-\u0e59\u0ed0-\u0ed9\u1040-\u1049\u17e0-\u17e9\u200b-\u200f\u2060]"
)


@lru_cache(maxsize=512)
def _one_form(sign: str) -> str:
    """Return a digit in ASCII, the separators of Arabic numbers as ours; nothing for a sign that is left out."""
    digit = unicodedata.digit(sign, None)
    return {"\u066b": ".", "\u066c": ","}.get(sign, "") if digit is None else str(digit)


def stem(word: str) -> str:
    """Return the word without its commonest endings (English -s, -ed, -ing, -ment), and Latin letters without marks.

    Light on purpose: what a strong stemmer adds in matches it takes in false ones, names above all.
    """
    word = word if word.isascii() else word.translate(_ACCENTS)
    if not word.isascii():
        return light(word)
    if len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    if word[-1] not in "gdset":
        return _soft(word)
    for ending, at_least in (("ing", 6), ("ed", 5), ("es", 6), ("s", 4), ("e", 5)):
        if word.endswith(ending) and len(word) >= at_least and not word.endswith("eed"):
            return _verb(_mend(word.removesuffix(ending), ending))
    return _verb(_soft(word))


def _verb(word: str) -> str:
    """Let `settlement` meet `settled`; not `statement` a state."""
    base = word.removesuffix("ment")
    return word if len(base) in (len(word), 1, 2, 3) or base in _NO_VERBS else stem(base)


def _mend(base: str, ending: str) -> str:
    """Undo what an ending did to its word: `stopped`, `moving`, `cities`."""
    if ending in ("ing", "ed"):
        if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz":
            return base[:-1]
        if _SHORT.fullmatch(base):
            return base + "e"
    return _soft(base)


def _soft(word: str) -> str:
    """Let `city` and `cities`, `movie` and `movies` meet."""
    return word[:-1] + "i" if word[-1] == "y" and word[-2] not in "aeiou" else word


_NO_VERBS = frozenset(["state", "base", "case", "depart", "apart", "compart", "compli"])
"""What stands before `-ment` in words that are not of a verb, and is another word."""
_SHORT = re.compile("[^aeiou][aeiou][^aeiouwxy]")


def _pieces(text: str) -> tuple[list[str], bool]:
    """Return the words and the runs without spaces of a text, caseless, and whether there are such runs."""
    if text.isascii() and "'" not in text:
        return ascii_words(text), False
    folded = fold(text)
    runs = not folded.isascii() and bool(_FIRST_UNSPACED.search(folded))
    return (_PIECE if runs else _SPACED).findall(folded), runs


def ascii_words(text: str) -> list[str]:
    """Return the words of a text of ASCII alone, in lower case, parted by whatever is no letter or digit."""
    return text.translate(_PLAINEST).split()


def has_cjk(text: str) -> bool:
    """Return whether a text has signs of Han, kana or Hangul."""
    return not text.isascii() and bool(_FIRST_CJK.search(text))


def _is_run(piece: str) -> bool:
    return not piece.isascii() and bool(_FIRST_UNSPACED.match(piece))


def _plain(word: str) -> str:
    """Return the word without its possessive or elided part: `hoover's`, `l'eau`."""
    if word.isalnum():
        return word
    head, mark, tail = word.replace("’", "'").rpartition("'")
    return word if not mark else head if len(tail) <= 2 else tail if len(head) <= 2 else head + tail


def _grams(run: str) -> list[str]:
    if run[0] < _EAST:
        return grams(run)
    return [*run, *(run[i : i + 2] for i in range(len(run) - 1))]


def tokens(text: str) -> list[str]:
    """Return the index tokens of a text: stems of words; of runs without spaces the characters and pairs of them."""
    pieces, runs = _pieces(text)
    if not runs:
        return list(map(_token, pieces))
    return [token for piece in pieces for token in (_grams(piece) if _is_run(piece) else (_token(piece),))]


@lru_cache(maxsize=1 << 16)
def _token(piece: str) -> str:
    """Return the index token of a word; kept, since the words of a run's texts repeat."""
    return stem(_plain(piece))


_SENTENCE = 1000
"""Characters up to which a text's words are remembered: a sentence is looked at again by each step of a run."""


def content_words(text: str) -> list[str]:
    """Return the index tokens that carry the topic: no stop words, and of CJK the pairs between function words.

    Hiragana is left out: in Japanese it inflects and joins. A run of one character stands for itself.
    """
    return list(_content_words(text) if len(text) <= _SENTENCE else _carrying(*_pieces(text)))


def content_set(text: str) -> frozenset[str]:
    """Return the same, each once; of a long text in much less time, for its words repeat."""
    if len(text) <= _SENTENCE:
        return frozenset(_content_words(text))
    pieces, cjk = _pieces(text)
    return frozenset(_carrying(set(pieces), cjk))


@lru_cache(8192)
def _content_words(text: str) -> tuple[str, ...]:
    return tuple(_carrying(*_pieces(text)))


def _carrying(pieces: Iterable[str], cjk: bool) -> Iterable[str]:
    if not cjk:
        return filter(None, map(_carried, pieces))
    return chain.from_iterable(
        _content_grams(piece) if _is_run(piece) else filter(None, (_carried(piece),)) for piece in pieces
    )


@lru_cache(maxsize=1 << 14)
def _carried(piece: str) -> str:
    """Return the token of a word if it carries a topic, else ``; kept as `_token` is."""
    word = _plain(piece)
    carries = word not in _STOP and (len(word) > 1 or not word.isascii() or word.isdigit())
    return stem(word) if carries else ""


def _content_grams(piece: str) -> list[str]:
    if piece[0] < _EAST:
        return content_grams(piece)
    if piece[-1] >= _HANGUL:
        piece = without_particle(piece)
    runs = [run for run in _FUNCTION.split(piece) if run]
    return [pair for run in runs for pair in ([run[i : i + 2] for i in range(len(run) - 1)] or [run])]


def length(text: str, code: str = "") -> int:
    """Return the length as reports are measured: in CJK languages the characters that are not space, else the words.

    In other languages a word is what stands between spaces, each CJK character, and four signs of Thai and its like.
    """
    return sum(map(len, text.split())) if is_cjk(code) else _counted(text)


def _counted(text: str) -> int:
    return len(text.split() if text.isascii() else _COUNTED.findall(text))
