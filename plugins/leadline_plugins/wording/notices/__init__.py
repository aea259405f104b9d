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
from typing import Any

from leadline_plugins.wording import fitting, listed, translated

_LONGEST = 2_000
"""Characters of a notice that is looked at: a longer one quotes an error."""
_JOINT = "; "
_MOST = 20
"""Notices in one that are looked at each by itself."""
_NAME = re.compile(r"\\\{(\w+)\\\}")


def retold(notice: str, language: str) -> str:
    """Return a notice in a language; empty where that has no words for it."""
    said: Mapping[str, str] = fitting(_languages(), language, {})
    if not said:
        return ""
    pieces = notice.split(_JOINT, _MOST)
    # What stands in brackets may be anything, also another notice: those that are joined are told each by itself.
    if len(pieces) > 1 and all(each := [retold(piece, language) for piece in pieces]):
        return listed(each, language, "semicolon")
    key, parts = parsed(notice)
    told = {name: task(part, language) if name == "task" else _part(part, language) for name, part in parts.items()}
    return said[key].format(**told) if key in said else ""


def parsed(notice: str) -> tuple[str, Mapping[str, str]]:
    """Return the key of a notice and what stands in its brackets; an empty key where it is none of those known."""
    if len(notice) <= _LONGEST:
        for key, pattern in _patterns().items():
            if found := pattern.fullmatch(notice):
                return key, found.groupdict()
    return "", {}


def keys() -> tuple[str, ...]:
    """Return the keys of all notices, in the order in which a run comes to them."""
    return tuple(_patterns())


def task(name: str, language: str) -> str:
    """Return what a model does, by the name of its task; in English where the language has no words for it."""
    return fitting(_tasks(), language, _tasks()["en"]).get(name, name)


def _part(part: str, language: str) -> str:
    return retold(part, language) or translated(part, language)


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Return what each notice is known by."""
    return {
        key: re.compile(_NAME.sub(r"(?P<\1>.+?)", re.escape(said)), re.DOTALL) for key, said in _words("en").items()
    }


@cache
def _languages() -> Mapping[str, Mapping[str, str]]:
    return {name.casefold(): _words(name) for name in _files() if name != "en"}


@cache
def _tasks() -> Mapping[str, Mapping[str, str]]:
    return {name.casefold(): _read(name)["tasks"] for name in _files()}


def _files() -> list[str]:
    return [item.name.removesuffix(".toml") for item in files(__name__).iterdir() if item.name.endswith(".toml")]


def _words(tag: str) -> Mapping[str, str]:
    return {key: said for key, said in _read(tag).items() if key != "tasks"}


def _read(tag: str) -> dict[str, Any]:
    return tomllib.loads(files(__name__).joinpath(f"{tag}.toml").read_text("utf-8"))
