"""The frequent notices and reasons of a run in the languages of reports: what is told in English while it works.

A notice is known by its English words (`en.toml`), whose names in brackets stand for anything; a language has a file of
the same keys, and what it lacks stays English.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from leadline_plugins.wording import fitting, translated

_LONGEST = 2_000
"""Characters of a notice that is looked at: a longer one quotes an error."""
_NAME = re.compile(r"\\\{(\w+)\\\}")


def retold(notice: str, language: str) -> str:
    """Return a notice in a language; empty where that has no words for it."""
    said: Mapping[str, str] = fitting(_languages(), language, {})
    if not said or len(notice) > _LONGEST:
        return ""
    for key, pattern in _patterns().items():
        if key in said and (found := pattern.fullmatch(notice)):
            parts = found.groupdict().items()
            return said[key].format(
                **{name: retold(part, language) or translated(part, language) for name, part in parts}
            )
    return ""


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Return what each notice is known by."""
    return {
        key: re.compile(_NAME.sub(r"(?P<\1>.+?)", re.escape(said)), re.DOTALL) for key, said in _words("en").items()
    }


@cache
def _languages() -> Mapping[str, Mapping[str, str]]:
    names = (item.name.removesuffix(".toml") for item in files(__name__).iterdir() if item.name.endswith(".toml"))
    return {name.casefold(): _words(name) for name in names if name != "en"}


def _words(tag: str) -> Mapping[str, str]:
    return tomllib.loads(files(__name__).joinpath(f"{tag}.toml").read_text("utf-8"))
