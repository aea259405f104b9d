"""Scripts of letters and languages, as codes of ISO 15924 (`Latn`, `Hani`), and the forms of Han characters."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache

from leadline_plugins.text.word_lists import stopwords

# The script of a letter by the first word of its Unicode name.
_SCRIPTS = {
    "LATIN": "Latn", "GREEK": "Grek", "CYRILLIC": "Cyrl", "ARMENIAN": "Armn", "HEBREW": "Hebr", "ARABIC": "Arab",
    "DEVANAGARI": "Deva", "BENGALI": "Beng", "GURMUKHI": "Guru", "GUJARATI": "Gujr", "ORIYA": "Orya", "TAMIL": "Taml",
    "TELUGU": "Telu", "KANNADA": "Knda", "MALAYALAM": "Mlym", "SINHALA": "Sinh", "THAI": "Thai", "LAO": "Laoo",
    "TIBETAN": "Tibt", "MYANMAR": "Mymr", "GEORGIAN": "Geor", "HANGUL": "Hang", "ETHIOPIC": "Ethi", "KHMER": "Khmr",
    "HIRAGANA": "Kana", "KATAKANA": "Kana", "CJK": "Hani",
}  # fmt: skip
# The most usual language of each script other than Latin.
LANGUAGE_OF = {
    "Grek": "el", "Cyrl": "ru", "Armn": "hy", "Hebr": "he", "Arab": "ar", "Deva": "hi", "Beng": "bn", "Guru": "pa",
    "Gujr": "gu", "Orya": "or", "Taml": "ta", "Telu": "te", "Knda": "kn", "Mlym": "ml", "Sinh": "si", "Thai": "th",
    "Laoo": "lo", "Tibt": "bo", "Mymr": "my", "Geor": "ka", "Hang": "ko", "Ethi": "am", "Khmr": "km", "Kana": "ja",
    "Hani": "zh",
}  # fmt: skip
_OTHERS = {"Cyrl": "uk bg sr mk be kk", "Arab": "fa ur ps", "Deva": "mr ne"}


@cache
def _script_by_language() -> Mapping[str, str]:
    others = {code: script for script, codes in _OTHERS.items() for code in codes.split()}
    return dict.fromkeys(stopwords(), "Latn") | {code: script for script, code in LANGUAGE_OF.items()} | others


def script_of(code: str) -> str:
    """Return the script of a language; empty if the language is unknown."""
    return _script_by_language().get(primary(code), "")


def primary(code: str) -> str:
    """Return the language subtag: `zh` of `zh-Hant`."""
    return code.partition("-")[0].lower()


@lru_cache(maxsize=1 << 15)
def _script(sign: str) -> str:
    name = unicodedata.name(sign, "").replace("-", " ").partition(" ")[0]
    return _SCRIPTS.get(name, "") if sign.isalpha() else ""


def letters(text: str) -> Counter[str]:
    """Count the letters of a text by script."""
    counts: Counter[str] = Counter()
    for sign, count in Counter(text).items():
        if script := _script(sign):
            counts[script] += count
    return counts


# Below this code in Shift_JIS are the common characters (JIS level 1); above, old forms that Japanese no longer writes.
_JIS_COMMON = b"\x98\x80"
# Below this code in Big5 are the common characters of Taiwan; China uses the rarer ones in names.
_BIG5_COMMON = b"\xc6\x80"
# The most common characters that Hong Kong writes and Taiwan does not.
_HONG_KONG = "着裏"


@lru_cache(maxsize=1 << 15)
def _misfit(sign: str) -> tuple[str, ...]:
    """Return the forms that do not use a Han character, of Simplified (`zh`), Traditional and Japanese.

    The standard character sets of the regions decide; a character in none of them excludes no form.
    """
    if not "\u4e00" <= sign <= "\u9fff":
        return ()
    simplified, traditional, japanese = (sign.encode(name, "ignore") for name in ("gb2312", "big5", "shift_jis"))
    if not simplified and traditional >= _BIG5_COMMON:
        return ()
    in_both = bool(simplified) == bool(traditional)
    held = {
        "zh": bool(simplified),
        "zh-Hant": bool(traditional) or sign in _HONG_KONG,
        "ja": bool(japanese) and (in_both or japanese < _JIS_COMMON),
    }
    return tuple(form for form, is_held in held.items() if not is_held) if any(held.values()) else ()


def misfits(text: str) -> Counter[str]:
    """Count the Han characters of a text that Simplified (`zh`), Traditional, or Japanese does not use."""
    counts: Counter[str] = Counter()
    for sign, count in Counter(text).items():
        for form in _misfit(sign):
            counts[form] += count
    return counts
