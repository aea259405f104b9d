"""Scripts of letters and languages, as codes of ISO 15924 (`Latn`, `Hani`), and the forms of Han characters."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache

from leadline_plugins.text.word_lists import stopwords

# First and last code point of a Unicode block, and its script.
_BLOCKS = (
    (0x0000, 0x024F, "Latn"), (0x0370, 0x03FF, "Grek"), (0x0400, 0x052F, "Cyrl"), (0x0530, 0x058F, "Armn"),
    (0x0590, 0x05FF, "Hebr"), (0x0600, 0x077F, "Arab"), (0x0900, 0x097F, "Deva"), (0x0980, 0x09FF, "Beng"),
    (0x0A00, 0x0A7F, "Guru"), (0x0A80, 0x0AFF, "Gujr"), (0x0B00, 0x0B7F, "Orya"), (0x0B80, 0x0BFF, "Taml"),
    (0x0C00, 0x0C7F, "Telu"), (0x0C80, 0x0CFF, "Knda"), (0x0D00, 0x0D7F, "Mlym"), (0x0D80, 0x0DFF, "Sinh"),
    (0x0E00, 0x0E7F, "Thai"), (0x0E80, 0x0EFF, "Laoo"), (0x0F00, 0x0FFF, "Tibt"), (0x1000, 0x109F, "Mymr"),
    (0x10A0, 0x10FF, "Geor"), (0x1100, 0x11FF, "Hang"), (0x1200, 0x139F, "Ethi"), (0x1780, 0x17FF, "Khmr"),
    (0x1E00, 0x1EFF, "Latn"), (0x3040, 0x30FF, "Kana"), (0x3400, 0x9FFF, "Hani"), (0xAC00, 0xD7AF, "Hang"),
    (0xFB50, 0xFEFC, "Arab"),
)  # fmt: skip
_FIRST = [start for start, _, _ in _BLOCKS]
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
    place = bisect(_FIRST, ord(sign)) - 1
    return _BLOCKS[place][2] if ord(sign) <= _BLOCKS[place][1] and sign.isalpha() else ""


def letters(text: str) -> Counter[str]:
    """Count the letters of a text by script."""
    found: Counter[str] = Counter()
    for sign, count in Counter(text).items():
        if script := _script(sign):
            found[script] += count
    return found


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
    found: Counter[str] = Counter()
    for sign, count in Counter(text).items():
        for form in _misfit(sign):
            found[form] += count
    return found
