"""Word lists and letters by language, read on first use from the TOML files in `data`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def word_table(name: str) -> Mapping[str, Any]:
    """Return a table of word lists: `abbreviations`, `languages`, `stopwords`."""
    return tomllib.loads((files(__package__) / "data" / f"{name}.toml").read_text("utf-8"))


@cache
def word_sets(name: str) -> Mapping[str, frozenset[str]]:
    """Return the lists of a table as sets."""
    return {key: frozenset(words.split()) for key, words in word_table(name).items()}


@cache
def stopwords() -> Mapping[str, frozenset[str]]:
    """Return the stop words by language."""
    return {code: words for code, words in word_sets("stopwords").items() if code not in ("cjk", "hiragana", "korean")}


@cache
def all_stopwords() -> frozenset[str]:
    """Return the stop words of all languages together."""
    return frozenset().union(*stopwords().values())


def cjk_stopwords() -> frozenset[str]:
    """Return the function words of Chinese and Japanese, which are written without spaces."""
    return word_sets("stopwords")["cjk"]


def language_name(code: str) -> str:
    """Return the English name of a language, such as `German`; the code itself if the name is unknown."""
    names: Mapping[str, str] = word_table("languages")["names"]
    return names.get(code) or names.get(code.partition("-")[0].lower(), code)
