"""The phrases of reports by language: headings, labels, the sentences of the method section.

Each language is a file in `data/phrases`, named by its BCP 47 tag; missing languages use English. Always select by
language with `for_language`, so that `zh-TW` gets the same choice of phrases, fonts and headings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import TypeVar

T = TypeVar("T")
_FOLDER = files(__package__).joinpath("data", "phrases")
_DEFAULT = "en"
# Regions that write a language in an unusual script.
_SCRIPTS = {"zh": {"tw": "hant", "hk": "hant", "mo": "hant"}}
_MORE = {"yue": "zh-hant", "cmn": "zh"}
_RIGHT_TO_LEFT = "ar arc arz azb ckb dv fa he iw ji ks nqo pnb prs ps sd syr ug ur yi"
_RIGHT_TO_LEFT_SCRIPTS = "adlm arab hebr mand nkoo rohg samr syrc thaa"
# The length of a script subtag.
_SCRIPT = 4


class _Count(int):
    """A number that is formatted with its noun: `{sources:source|sources}`."""

    def __format__(self, spec: str) -> str:
        one, several, many = spec.partition("|")
        return f"{int(self)} {one if self == 1 else many}" if several else format(int(self), spec)


def phrase(name: str, language: str, **values: str | int) -> str:
    """Return a phrase in a language, with its values filled in."""
    said = phrases(_tag(language))[name]
    counted = {key: value if isinstance(value, str) else _Count(value) for key, value in values.items()}
    return said.format(**counted) if counted else said


def translate(text: str, language: str) -> str:
    """Return a phrase of a record in a language; other texts unchanged."""
    name = _names().get(text.casefold())
    return phrase(name, language) if name and _tag(language) != _DEFAULT else text


@cache
def in_all_languages(*names: str) -> tuple[str, ...]:
    """Return phrases in all languages, without repetitions."""
    return tuple(dict.fromkeys(phrases(tag)[name] for tag in languages() for name in names))


def for_language(table: Mapping[str, T], language: str, otherwise: T) -> T:
    """Return the table entry of a language: by exact tag, script or base language; else `otherwise`.

    The tags of the table are in lower case.
    """
    return next((table[tag] for tag in wider_tags(language) if tag in table), otherwise)


def wider_tags(language: str) -> Iterator[str]:
    """Yield a tag in lower case, then wider ones: `zh-tw`, `zh-hant`, `zh`."""
    parts = language.casefold().replace("_", "-").split("-")
    base = parts[0]
    if base in _MORE:
        yield base
        yield from wider_tags(_MORE[base])
        return
    yield from ("-".join(parts[:end]) for end in range(len(parts), 1, -1))
    written = next((part for part in parts[1:] if len(part) == _SCRIPT and part.isalpha()), "")
    script = written or next((found for part in parts[1:] if (found := _SCRIPTS.get(base, {}).get(part))), "")
    if script:
        yield f"{base}-{script}"
    yield base


def right_to_left(language: str) -> bool:
    """Return whether a language is written from right to left, by the script if the tag has one."""
    base, *rest = language.casefold().replace("_", "-").split("-")
    script = next((part for part in rest if len(part) == _SCRIPT and part.isalpha()), "")
    return script in _RIGHT_TO_LEFT_SCRIPTS.split() if script else base in _RIGHT_TO_LEFT.split()


def join_items(items: Iterable[str], language: str, sign: str = "comma") -> str:
    """Return items in a row, separated by the sign `comma`, `semicolon` or `space`."""
    return phrase(sign, language).join(items)


@cache
def languages() -> tuple[str, ...]:
    """Return the tags of the languages that have phrases."""
    names = (item.name for item in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def _tag(language: str) -> str:
    return for_language({tag.casefold(): tag for tag in languages()}, language, _DEFAULT)


@cache
def phrases(tag: str) -> Mapping[str, str]:
    return tomllib.loads(_FOLDER.joinpath(f"{tag}.toml").read_text("utf-8"))


@cache
def _names() -> Mapping[str, str]:
    return {said.casefold(): name for name, said in phrases(_DEFAULT).items()}
