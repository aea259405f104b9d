"""Translate the frequent notices and reasons of a run into the language of a report.

A notice is recognized by its English words in `en.toml`; names in braces match any text. Other languages have the same
keys; missing ones stay English.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from leadline_plugins.wording.phrases import for_language, join_items, translate

_FOLDER = files(__package__).joinpath("data", "notices")
# Longer notices (in characters) quote an error and stay English.
_LONGEST = 2_000
_JOINT = "; "
# Maximum parts of a joined notice.
_MOST = 20
_NAME = re.compile(r"\\\{(\w+)\\\}")


def translate_notice(notice: str, language: str) -> str:
    """Return a notice in a language; empty if there is no translation."""
    said: Mapping[str, str] = for_language(_languages(), language, {})
    if not said:
        return ""
    pieces = notice.split(_JOINT, _MOST)
    # A name may match any text, even "; " and another notice, so try the parts first.
    if len(pieces) > 1 and all(each := [translate_notice(piece, language) for piece in pieces]):
        return join_items(each, language, "semicolon")
    key, parts = parse_notice(notice)
    told = {
        name: task_name(part, language) if name == "task" else _part(part, language) for name, part in parts.items()
    }
    return said[key].format(**told) if key in said else ""


def parse_notice(notice: str) -> tuple[str, Mapping[str, str]]:
    """Return the key of a notice and its values by name; an empty key for unknown notices."""
    if len(notice) <= _LONGEST:
        for key, pattern in _patterns().items():
            if found := pattern.fullmatch(notice):
                return key, found.groupdict()
    return "", {}


def notice_keys() -> tuple[str, ...]:
    """Return the keys of all notices, in the order of a run."""
    return tuple(_patterns())


def task_name(name: str, language: str) -> str:
    """Return the name of a task for readers; in English if the language has none."""
    return for_language(_tasks(), language, _tasks()["en"]).get(name, name)


def _part(part: str, language: str) -> str:
    return translate_notice(part, language) or translate(part, language)


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Return the pattern of each notice by key."""
    return {
        key: re.compile(_NAME.sub(r"(?P<\1>.+?)", re.escape(said)), re.DOTALL)
        for key, said in notice_texts("en").items()
    }


@cache
def _languages() -> Mapping[str, Mapping[str, str]]:
    return {name.casefold(): notice_texts(name) for name in _files() if name != "en"}


@cache
def _tasks() -> Mapping[str, Mapping[str, str]]:
    return {name.casefold(): _read(name)["tasks"] for name in _files()}


def _files() -> list[str]:
    return [item.name.removesuffix(".toml") for item in _FOLDER.iterdir() if item.name.endswith(".toml")]


def notice_texts(tag: str) -> Mapping[str, str]:
    return {key: said for key, said in _read(tag).items() if key != "tasks"}


def _read(tag: str) -> dict[str, Any]:
    return tomllib.loads(_FOLDER.joinpath(f"{tag}.toml").read_text("utf-8"))
