"""Language identification: by script; for Latin and Cyrillic also by CLD3, stop words and letters.

CLD3 decides for texts of a sentence or more. Questions and titles are too short for it: there, stop words and letters
decide, and where they are not clear the language is `und`, because a wrong language misleads engines and writers, and
an unknown one does not. Figures: docs/decisions/0009-words-of-all-languages.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from leadline_plugins.text.scripts import LANGUAGE_OF, letters, misfits, primary, script_of
from leadline_plugins.text.word_lists import stopwords, word_table

TRADITIONAL = "zh-Hant"
_WORD = re.compile("[\u0900-\u0963\u0970-\u097f]+|[^\\W\\d_]+")
# The letters of ASCII in lower case, for `translate` and `split`: five times as fast as the pattern.
_LETTERS = "".join(sign.lower() if sign.isalpha() else " " for sign in map(chr, range(128)))
# A single Greek letter is a symbol (`β-catenin`), not a word.
_SYMBOL = re.compile("(?<![^\\W\\d_])[\u0370-\u03ff](?![^\\W\\d_])")
# Characters that are looked at.
_SAMPLE = 4000
# Letters that CLD3 needs. It takes names in ASCII for other languages, so such texts must be longer.
_LEAST, _LEAST_ASCII = 30, 60
# Share of English stop words from which a text is English, however many foreign names it has.
_ENGLISH = 0.2
# Codes of CLD3 that differ from ours.
_CLD3_CODES = {"iw": "he"}
# Japanese mixes kana with Han; a Chinese text that names a Japanese title has less kana than this share.
_KANA_SHARE = 0.1
# A Latin letter counts less than a Han character: half of a Chinese question may be English names.
_LETTERS_A_SIGN = 4
# Particles of Chinese, Japanese and Korean sentences, however many Latin names they have.
_JOINING = re.compile("[的了是在与與和及或吗嗎呢么麼何为為哪谁誰へのはがをにでと]|(?<=[A-Za-z0-9])[가-힣]")
_EAST_OR_LATIN = ("Hani", "Kana", "Hang", "Latn")
# Stop words that a language other than English needs in a short text.
_AGREE = 2
# Words from which a text is long, and the share of stop words that it needs to be of a known language.
_LONG, _SHARE = 40, 0.1
# Many French words begin with these letters, and few names: `Évolution population Paris`.
_FRENCH = "ÉÊ"


def language(text: str) -> str:
    """Return the language as BCP 47 (`en`, `zh`, `zh-Hant`, `ja`, …); `und` if it is unclear."""
    sample = text[:_SAMPLE]
    if sample.isascii():  # by far the commonest, and other scripts need not be counted
        return _latin(sample) if _WORD.search(sample) else "und"
    counts = letters(sample)
    if not counts:
        return "und"
    if _is_eastern(sample, counts):
        return _eastern(sample, counts)
    counts["Latn"] //= _LETTERS_A_SIGN
    script = max(counts, key=lambda name: counts[name])
    if script == "Latn":
        return _latin(sample)
    return (script == "Cyrl" and _by_cld3(sample, _words(sample))) or _by_words(sample, script)


def is_cjk(code: str) -> bool:
    """Return whether texts of a language are measured in characters: Chinese, Japanese, Korean."""
    return primary(code) in ("zh", "ja", "ko")


def _is_eastern(text: str, counts: Counter[str]) -> bool:
    """Return whether a text is Chinese, Japanese or Korean, and does not only name something in them."""
    signs, latin = counts["Hani"] + counts["Kana"] + counts["Hang"], counts["Latn"]
    if signs <= max((count for script, count in counts.items() if script not in _EAST_OR_LATIN), default=0):
        return False
    if signs >= latin:
        return True
    spoken = max(_scores(_words(text), "Latn").values())
    return len(_JOINING.findall(text)) > spoken or (signs >= latin // _LETTERS_A_SIGN and spoken < _AGREE)


def _eastern(text: str, counts: Counter[str]) -> str:
    if counts["Hang"] > counts["Hani"] + counts["Kana"]:
        return "ko"
    if counts["Kana"] > _KANA_SHARE * (counts["Kana"] + counts["Hani"]):
        return "ja"
    against = misfits(text)
    if against["ja"] < min(against["zh"], against[TRADITIONAL]):
        return "ja"
    # A single character that Japanese uses too (`東京`) may belong to a name.
    traditional = against["zh"] > against[TRADITIONAL] + (against["ja"] <= against[TRADITIONAL])
    return TRADITIONAL if traditional else "zh"


def _by_cld3(text: str, words: Sequence[str]) -> str:
    """Return the language by CLD3; empty for a short text, an unsure result, or where CLD3 is not installed."""
    if sum(map(len, words)) < (_LEAST_ASCII if text.isascii() else _LEAST):
        return ""
    result = detector.FindLanguage(text=text) if (detector := _cld3()) else None
    # `ja-Latn` is a transcription: a guess from names.
    if result is None or not result.is_reliable or "-" in result.language:
        return ""
    code: str = result.language
    return _CLD3_CODES.get(code, code)


@cache
def _cld3() -> Any:
    """Return the detector; None on platforms for which it has no wheel."""
    try:
        import gcld3
    except ImportError:
        return None
    return gcld3.NNetLanguageIdentifier(min_num_bytes=0, max_num_bytes=_SAMPLE)


def _by_words(text: str, script: str) -> str:
    """Return the language of a script with most stop words and typical letters."""
    first = LANGUAGE_OF[script]
    scores = _scores(_words(text), script)
    best = max(scores, key=lambda code: (scores[code], code == first), default=first)
    return best if scores.get(best) else first


def _latin(text: str) -> str:
    """Return the language of a text in Latin script; English where nothing contradicts it."""
    text = text if text.isascii() else _SYMBOL.sub(" ", text)
    words = _words(text)
    if len([word for word in words if word in _english()[0]]) < _ENGLISH * len(words) and (
        code := _by_cld3(text, words)
    ):
        return code
    scores = _scores(words, "Latn")
    strange = {code: 0 if text.isascii() else _count_strange(words, code) for code in scores}
    best_score = max(scores.values())
    # Words for another language may be names, of which an English text may be full.
    doubtful = strange["en"] and (best_score < _AGREE or scores["en"] == best_score)
    in_english = _strange_in_english(_WORD.findall(text)) if doubtful else None
    if in_english is not None:
        strange["en"] = in_english
    # Of equal scores the language with fewer strange words wins, then English, which is first.
    best = max(scores, key=lambda code: (scores[code], -strange[code]))
    if best_score < _AGREE and in_english == 0:
        return "en"
    if not scores[best]:
        return "en" if not strange["en"] else "und"
    if strange[best] > scores[best]:
        return "und"
    if best == "en":
        return best
    enough = scores[best] >= (_SHARE * len(words) if len(words) >= _LONG else _AGREE)
    return best if enough else "und"


def _words(text: str) -> list[str]:
    if text.isascii():
        return text.translate(_LETTERS).split()
    return _WORD.findall(text.replace("İ", "i").lower())  # its lower case has a separate dot, which splits words


def _count_strange(words: Sequence[str], code: str) -> int:
    """Count the words with a letter that a language does not have."""
    table = word_table("languages")
    known = {*"abcdefghijklmnopqrstuvwxyz", *table["letters"].get(code, ""), *table["alphabets"].get(code, "")}
    return sum(not (word.isascii() or known.issuperset(word)) for word in words)


@cache
def _evidence() -> tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]]:
    """Return the languages of each stop word, and of each letter that only some languages have."""
    by_word: dict[str, list[str]] = {}
    for code, words in stopwords().items():
        for word in words:
            by_word.setdefault(word, []).append(code)
    by_letter: dict[str, list[str]] = {}
    for code, signs in word_table("languages")["letters"].items():
        for sign in signs:
            by_letter.setdefault(sign, []).append(code)
    return by_word, by_letter


@cache
def _codes(script: str) -> tuple[str, ...]:
    codes = dict.fromkeys((*stopwords(), *word_table("languages")["letters"]))
    return tuple(code for code in codes if script_of(code) == script)


def _scores(words: Sequence[str], script: str) -> dict[str, float]:
    """Score the languages of a script: 1 for each stop word, half for each word with a typical letter."""
    by_word, by_letter = _evidence()
    scores = dict.fromkeys(_codes(script), 0.0)
    for word, count in Counter(words).items():
        for code in by_word.get(word, ()):
            if code in scores:
                scores[code] += count
        if not word.isascii():
            for code in {code for sign in word for code in by_letter.get(sign, ())} & scores.keys():
                scores[code] += count / 2
    return scores


@cache
def _english() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return words that only English has, further words of English queries, and loanwords with foreign letters."""
    others = (words for code, words in stopwords().items() if code != "en")
    own = stopwords()["en"].difference(*others) | {"of", "is"}
    table = word_table("languages")["english"]
    return own, frozenset(table["queries"].split()), frozenset(table["loans"].split())


def _strange_in_english(words: Sequence[str]) -> int | None:
    """Count the words that are neither names nor loanwords; None unless other words are plainly English.

    `Zürich housing prices` has no stop word, as `Wärmepumpen Kosten Altbau` has none. The words keep their capitals,
    which show names.
    """
    own, queries, loans = _english()
    if not any(word.lower() in own or word.lower() in queries for word in words):
        return None
    marked = (word for word in words if not word.isascii())
    return sum(word[0] in _FRENCH or (word.islower() and word not in loans) for word in marked)
