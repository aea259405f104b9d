"""The words of a question that no text has, as a reader would name them.

A word that is named wrongly misleads more than one that is not named: a word is present in any of its forms and as a
part of a longer word, and a run of Chinese or Japanese between function words is named whole or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise

import stopwordsiso

from leadline_plugins.text.language import is_cjk
from leadline_plugins.text.language import language as language_of
from leadline_plugins.text.scripts import primary
from leadline_plugins.text.stems import korean_stem
from leadline_plugins.text.tokens import CJK, WORD, content_set, content_words, fold, has_cjk, without_apostrophe
from leadline_plugins.text.word_lists import cjk_stopwords

# Runs of Chinese, Japanese and Korean, and other words with their hyphens, dots and underscores.
_WORDS = re.compile(rf"[{CJK}]+|{WORD}(?:[-._]{WORD})*")
_HAN_OR_KATAKANA = re.compile("[\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+|[\u30a0-\u30ff]+")
# Which, how many and how large, with the measure word after them: `哪一年`, `何人`, `多长`.
_ASKING = re.compile("[哪几幾何誰谁][一两兩]?.?|多[长長大高久远遠]")
# A word of this many characters is present where three quarters of its stem are: in other forms and in compounds.
_LEAST = 4


def missing_words(question: str, texts: Iterable[str], language: str = "") -> list[str]:
    """Return the words of a question that are in none of the texts, as the question writes them.

    The language is a code of BCP 47; without it, that of the question is identified.
    """
    code = primary(language or language_of(question))
    text = fold("\n".join(texts))
    stems = "\n".join(["", *content_set(text), ""])

    def is_present(stem: str) -> bool:
        return f"\n{stem}\n" in stems or (len(stem) >= _LEAST and stem[: max(_LEAST, len(stem) * 3 // 4)] in stems)

    def is_missing(word: str) -> bool:
        if has_cjk(word):
            return len(word) > 1 and not any("".join(pair) in text for pair in pairwise(fold(word)))
        parts = [part for part in re.findall(WORD, fold(word)) if without_apostrophe(part) not in _stopwords(code)]
        stems_of_word = [stem for part in parts for stem in content_words(part)]
        return bool(stems_of_word) and not any(map(is_present, stems_of_word))

    return list(dict.fromkeys(filter(is_missing, _words(question, code))))


def _words(question: str, code: str) -> Iterator[str]:
    """Yield the words of a question; of runs without spaces, the parts between function words."""
    for word in _WORDS.findall(question):
        if not has_cjk(word):
            yield word
        elif "\uac00" <= word[-1] <= "\ud7a3":
            yield korean_stem(word)
        elif code == "ja":
            for part in _HAN_OR_KATAKANA.findall(word):
                yield from _ASKING.split(part)
        else:
            yield from _chinese_function_words().split(word)


@cache
def _stopwords(code: str) -> frozenset[str]:
    """Return the stop words of a language, with the English ones where Latin words are foreign; of `und`, all."""
    codes = stopwordsiso.langs() if code == "und" else {code, "en"} if is_cjk(code) else {code}
    return frozenset(map(fold, stopwordsiso.stopwords(codes)))


@cache
def _chinese_function_words() -> re.Pattern[str]:
    # Words of a single character come from our own list: those of the other cut names and compounds in halves.
    words = {word for word in stopwordsiso.stopwords("zh") if len(word) > 1 and has_cjk(word)} | cjk_stopwords()
    by_length = sorted(words, key=len, reverse=True)
    signs = "".join(word for word in by_length if len(word) == 1)
    return re.compile("|".join([*(w for w in by_length if len(w) > 1), _ASKING.pattern, f"[{signs}]"]))
