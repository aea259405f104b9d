"""The size of a text: in words, by which passages are cut, and in the tokens of a model, by which they are selected."""

from __future__ import annotations

import re

from leadline_plugins.text.tokens import CJK

_CJK = re.compile(f"[{CJK}]")
_WORD = re.compile(rf"[^\W_{CJK}]+")
_WORDS_PER_CJK = 0.4
"""A passage of 500 Chinese characters says as much as one of 200 English words."""
_CHARACTERS_PER_TOKEN, _CJK_PER_TOKEN = 4.0, 1.5


def cjk_characters(text: str) -> int:
    """Return the number of Chinese, Japanese and Korean characters."""
    return 0 if text.isascii() else len(_CJK.findall(text))


def words_of(text: str) -> float:
    """Return the length in words; a CJK character counts 0.4."""
    if text.isascii():
        return float(len(_WORD.findall(text)))
    return len(_WORD.findall(text)) + _WORDS_PER_CJK * cjk_characters(text)


def tokens_of(text: str) -> float:
    """Return about how many tokens a language model reads: four characters are one, 1.5 of CJK text."""
    cjk = cjk_characters(text)
    return cjk / _CJK_PER_TOKEN + (len(text) - cjk) / _CHARACTERS_PER_TOKEN
