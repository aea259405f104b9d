"""The language of a text: by its script, and for Latin script by its stop words."""

from __future__ import annotations

import re
from collections import Counter

from leadline_plugins.text.stopwords import STOPWORDS

SCRIPTS = {
    "ja": re.compile("[\u3040-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7af\u1100-\u11ff]"),
    "zh": re.compile("[\u3400-\u4dbf\u4e00-\u9fff]"),
    "ru": re.compile("[\u0400-\u04ff]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "ar": re.compile("[\u0600-\u06ff]"),
    "hi": re.compile("[\u0900-\u097f]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
    "en": re.compile("[A-Za-z\u00c0-\u024f]"),
}
"""Letters by script, each under the code of its first language here; Japanese by its kana alone."""
_WORD = re.compile(r"[^\W\d_]+")
_STOP = frozenset().union(*STOPWORDS.values())
_SAMPLE = 4000
"""Characters that are looked at; a language shows in far fewer."""
_KANA_SHARE = 0.1
"""Japanese mixes kana with Han; a Chinese text that names a Japanese title does so in under a tenth."""


def language(text: str) -> str:
    """Return the language as BCP 47 (`en`, `zh`, `ja`, …); `und` where there are no letters."""
    sample = text[:_SAMPLE]
    if sample.isascii():  # by far the commonest, and the other scripts need not be looked for
        return _latin(sample) if _WORD.search(sample) else "und"
    counts = {code: len(pattern.findall(sample)) for code, pattern in SCRIPTS.items()}
    if not any(counts.values()):
        return "und"
    if counts["ja"] > _KANA_SHARE * (counts["ja"] + counts["zh"]):
        return "ja"
    counts["ja"] = 0
    # a Latin letter says less than a Han character: a Chinese question may be half English names
    counts["en"] //= 4
    script = max(counts, key=lambda code: counts[code])
    return _latin(sample) if script == "en" else script


def _latin(text: str) -> str:
    """Return the language whose stop words make up most of the text; English where none do."""
    seen = Counter(word for word in _WORD.findall(text.lower()) if word in _STOP)
    scores = {code: sum(count for word, count in seen.items() if word in stop) for code, stop in STOPWORDS.items()}
    return max(scores, key=lambda code: scores[code])


def is_cjk(code: str) -> bool:
    """Return whether a language is written without spaces and measured in characters."""
    return code.split("-")[0] in ("zh", "ja", "ko")
