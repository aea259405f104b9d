"""Light stemming: remove case and number endings, articles and particles, by script.

A word does not show its language, so the rules go by script. They are light on purpose: a strong stemmer adds as many
false matches as true ones, above all of names.
"""

from __future__ import annotations

import re
import unicodedata

from leadline_plugins.text.word_lists import word_sets

_SHORT = re.compile("[^aeiou][aeiou][^aeiouwxy]")


def _longest_ending(*endings: str, keep: int) -> re.Pattern[str]:
    """Return the pattern of the longest of these endings after at least `keep` characters."""
    ordered = sorted((ending for group in endings for ending in group.split()), key=len, reverse=True)
    return re.compile(f"(?<=.{{{keep}}})(?:{'|'.join(ordered)})$")


_CYRILLIC = _longest_ending(
    "иями ями ами иях ях ах ией ием иям ям ам ов ев ей ью ья ье ия ии ию ие а я о е ы и у ю ь й",
    "ыми ими ого его ому ему ых их ый ий ой ая яя ое ее ые ую юю ым им ом ем",
    "ією єю ою ої ів їв ій ії ію і ї є",
    keep=3,
)
# Letters that are written for one another.
_ALIKE = str.maketrans("ёґأإآٱىةیکہے", "егاااايهيكهي")
_ARABIC_ARTICLE = re.compile("^(?:[وبكف]?ال|لل)(?=.{3})")
_ARABIC = _longest_ending("ها ان ات ون ين يه ه ي", keep=3)
_HEBREW_PREFIX = re.compile("^[והבלמשכ]+?(?=.{4}$)|^[והבלמשכ](?=.{5})")
_HEBREW = _longest_ending("ים ות", keep=3)
_HINDI = _longest_ending("ियों ियाँ ियां ाओं ुओं ओं ों ें ाँ ां ीं े ी ा ि ो ु ू", keep=2)
_KOREAN_PARTICLE = re.compile(
    "(?<=[가-힣]{2})(?:에서는|에서도|으로는|에게서|이라는|으로|에서|에게|까지|부터|보다|처럼|이나|라는|은|는|이|가|을|를|의|에|와|과|도|만|로"
    "|습니까|입니까|합니까|인가요|인가|하나요|나요|입니다|합니다|했다|하는|되는)$"
)


def _accents() -> dict[int, str]:
    """Map Latin and Greek letters with marks to those without, so that Sao finds São; other scripts need theirs."""
    table = dict(zip(map(ord, "øłđıæœðþ\u0307"), ("o", "l", "d", "i", "ae", "oe", "d", "th", ""), strict=True))
    for code in (*range(0xC0, 0x250), *range(0x370, 0x400), *range(0x1E00, 0x2000)):
        base = unicodedata.normalize("NFKD", chr(code))[0]
        if base.isalpha() and (base.isascii() or code >= 0x370) and ord(base) != code:
            table[code] = base
    return table


_ACCENTS = _accents()


def stem(word: str) -> str:
    """Return a word in lower case without its most common endings, Latin letters without marks."""
    word = word if word.isascii() else word.translate(_ACCENTS)
    if not word.isascii():
        return _stem_of_script(word)
    if len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    if word[-1] not in "gdse":
        return _with_final_i(word)
    for ending, at_least in (("ing", 6), ("ed", 5), ("es", 6), ("s", 4), ("e", 5)):
        if word.endswith(ending) and len(word) >= at_least and not word.endswith("eed"):
            return _repaired(word.removesuffix(ending), ending)
    return _with_final_i(word)


def _repaired(base: str, ending: str) -> str:
    """Undo spelling changes before an ending: `stopped`, `moving`, `cities`."""
    if ending in ("ing", "ed"):
        if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz":
            return base[:-1]
        if _SHORT.fullmatch(base):
            return base + "e"
    return _with_final_i(base)


def _with_final_i(word: str) -> str:
    """Replace a final `y`, so that `city` and `cities`, `movie` and `movies` have one stem."""
    return word[:-1] + "i" if word[-1] == "y" and word[-2] not in "aeiou" else word


def _stem_of_script(word: str) -> str:
    first = word[0]
    if "\u0400" <= first <= "\u04ff":
        return _CYRILLIC.sub("", word.translate(_ALIKE))
    if "\u0600" <= first <= "\u06ff":
        return _ARABIC.sub("", _ARABIC_ARTICLE.sub("", word.translate(_ALIKE)))
    if "\u05d0" <= first <= "\u05ea":
        return _HEBREW_PREFIX.sub("", _HEBREW.sub("", word))
    return _HINDI.sub("", word) if "\u0900" <= first <= "\u097f" else word


def korean_stem(run: str) -> str:
    """Return a run of Hangul without its final particle; empty if it only asks or joins."""
    if not "\uac00" <= run[-1] <= "\ud7a3":
        return run
    base = _KOREAN_PARTICLE.sub("", run)
    return "" if {base, run} & word_sets("stopwords")["korean"] else base
