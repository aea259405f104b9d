"""What reports say by themselves, in the language of each: headings, labels, the sentences of their method.

A language is a file of this folder, named by its tag (BCP 47). Where it lacks one, English stands in. Every choice by
language goes through `fitting`, so that `zh-TW` means the same to words, fonts and headings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import TypeVar

T = TypeVar("T")
_OTHERWISE = "en"
_SCRIPTS = {"zh": {"tw": "hant", "hk": "hant", "mo": "hant"}}
"""The script of a language where a region writes it in another than the usual one."""
_MORE = {"yue": "zh-hant", "cmn": "zh"}
_LEFTWARD = "ar arc arz azb ckb dv fa he iw ji ks nqo pnb prs ps sd syr ug ur yi"
_LEFTWARD_SCRIPTS = "adlm arab hebr mand nkoo rohg samr syrc thaa"
_PERSPECTIVES = ("critical", "creative", "analytical")
_SCRIPT = 4
"""Letters of a tag's part that names a script."""


class _Count(int):
    """A number that is set with the noun behind it: `{sources:source|sources}`."""

    def __format__(self, spec: str) -> str:
        one, several, many = spec.partition("|")
        return f"{int(self)} {one if self == 1 else many}" if several else format(int(self), spec)


def say(name: str, language: str, **values: str | int) -> str:
    """Return a word or sentence of ours, its numbers and names set."""
    said = _words(_tag(language))[name]
    counted = {key: value if isinstance(value, str) else _Count(value) for key, value in values.items()}
    return said.format(**counted) if counted else said


def translated(text: str, language: str) -> str:
    """Return what a record has in English in another language, where it is a word of ours; as it is where not.

    Perspectives have names for models: what is said of each in them, readers are told.
    """
    if text.casefold() in _PERSPECTIVES:
        return say(text.casefold(), language)
    name = _names().get(text.casefold())
    return say(name, language) if name and _tag(language) != _OTHERWISE else text


@cache
def everywhere(*names: str) -> tuple[str, ...]:
    """Return some words in all languages, each once."""
    return tuple(dict.fromkeys(_words(tag)[name] for tag in tags() for name in names))


def fitting(table: Mapping[str, T], language: str, otherwise: T) -> T:
    """Return what a table says of a language: of its exact tag, its script, the language itself; else `otherwise`.

    The tags of the table are in lower case.
    """
    return next((table[tag] for tag in wider(language) if tag in table), otherwise)


def wider(language: str) -> Iterator[str]:
    """Yield a tag in lower case, then wider ones: `zh-tw`, `zh-hant`, `zh`."""
    parts = language.casefold().replace("_", "-").split("-")
    base = parts[0]
    if base in _MORE:
        yield base
        yield from wider(_MORE[base])
        return
    yield from ("-".join(parts[:end]) for end in range(len(parts), 1, -1))
    written = next((part for part in parts[1:] if len(part) == _SCRIPT and part.isalpha()), "")
    script = written or next((found for part in parts[1:] if (found := _SCRIPTS.get(base, {}).get(part))), "")
    if script:
        yield f"{base}-{script}"
    yield base


def right_to_left(language: str) -> bool:
    """Return whether a language is written from right to left: by its script where the tag names one."""
    base, *rest = language.casefold().replace("_", "-").split("-")
    script = next((part for part in rest if len(part) == _SCRIPT and part.isalpha()), "")
    return script in _LEFTWARD_SCRIPTS.split() if script else base in _LEFTWARD.split()


def listed(items: Iterable[str], language: str, sign: str = "comma") -> str:
    """Return items in a row: with a `comma` between them, a `semicolon`, or, as sentences have it, a `space`."""
    return say(sign, language).join(items)


@cache
def tags() -> tuple[str, ...]:
    """Return the languages whose words we have."""
    names = (item.name for item in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def _tag(language: str) -> str:
    return fitting({tag.casefold(): tag for tag in tags()}, language, _OTHERWISE)


@cache
def _words(tag: str) -> Mapping[str, str]:
    return tomllib.loads(files(__name__).joinpath(f"{tag}.toml").read_text("utf-8"))


@cache
def _names() -> Mapping[str, str]:
    return {said.casefold(): name for name, said in _words(_OTHERWISE).items()}
