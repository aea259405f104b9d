"""Words of other scripts without what changes with the case: endings, articles, particles.

By script and not by language, for a word does not say which it is. Light on purpose, as the English endings are: a word
is only ever held against words that lost the same.
"""

from __future__ import annotations

import re

from leadline_plugins.text.stopwords import word_set


def _last(*endings: str, keep: int) -> re.Pattern[str]:
    """Return the pattern of the longest of these endings behind at least so many signs."""
    found = sorted((ending for one in endings for ending in one.split()), key=len, reverse=True)
    return re.compile(f"(?<=.{{{keep}}})(?:{'|'.join(found)})$")


_CYRILLIC = _last(
    "иями ями ами иях ях ах ией ием иям ям ам ов ев ей ью ья ье ия ии ию ие а я о е ы и у ю ь й",
    "ыми ими ого его ому ему ых их ый ий ой ая яя ое ее ые ую юю ым им ом ем",
    "ією єю ою ої ів їв ій ії ію і ї є",
    keep=3,
)
_ALIKE = str.maketrans("ёґأإآٱىةیکہے", "егاااايهيكهي")
"""Letters that are written for one another."""
_ARTICLE = re.compile("^(?:[وبكف]?ال|لل)(?=.{3})")
_ARABIC = _last("ها ان ات ون ين يه ه ي", keep=3)
_PREFIX = re.compile("^[והבלמשכ]+?(?=.{4}$)|^[והבלמשכ](?=.{5})")
_HEBREW = _last("ים ות", keep=3)
_HINDI = _last("ियों ियाँ ियां ाओं ुओं ओं ों ें ाँ ां ीं े ी ा ि ो ु ू", keep=2)
_PARTICLE = re.compile(
    "(?<=[가-힣]{2})(?:에서는|에서도|으로는|에게서|이라는|으로|에서|에게|까지|부터|보다|처럼|이나|라는|은|는|이|가|을|를|의|에|와|과|도|만|로"
    "|습니까|입니까|합니까|인가요|인가|하나요|나요|입니다|합니다|했다|하는|되는)$"
)
_ASKING = word_set(
    "얼마 얼마나 무엇 무엇인가 누구 누가 언제 어디 어느 어떻게 어떤 왜 몇 그리고 또는 대한 대해 및 등 그 이 저 것 수"
)


def light(word: str) -> str:
    """Return a word, caseless, without its ending, by the script of its first letter; of others the word."""
    first = word[0]
    if "\u0400" <= first <= "\u04ff":
        return _CYRILLIC.sub("", word.translate(_ALIKE))
    if "\u0600" <= first <= "\u06ff":
        return _ARABIC.sub("", _ARTICLE.sub("", word.translate(_ALIKE)))
    if "\u05d0" <= first <= "\u05ea":
        return _PREFIX.sub("", _HEBREW.sub("", word))
    return _HINDI.sub("", word) if "\u0900" <= first <= "\u097f" else word


def without_particle(run: str) -> str:
    """Return a run of Hangul without the particle at its end; nothing of one that only asks or joins."""
    if not "\uac00" <= run[-1] <= "\ud7a3":
        return run
    bare = _PARTICLE.sub("", run)
    return "" if bare in _ASKING or run in _ASKING else bare
