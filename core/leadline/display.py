"""Text for people: foreign text that is safe to print, short forms, and the choices in error messages."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from pathlib import Path

# Control characters except tab and line feed, overrides of the writing direction, lone surrogates. Titles, file names
# and pages may contain them to steer a terminal. Joiners stay: several scripts need them.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
_REASON = re.compile(r"(?P<subject>.+?)(?P<reason> \(.+\)|（.+）)", re.DOTALL)


def printable(text: object) -> str:
    """Return text, possibly of several lines, without characters that control a terminal."""
    return _UNPRINTABLE.sub(" ", str(text))


def one_line(text: object) -> str:
    """Return printable text on one line."""
    return " ".join(printable(text).split())


def shortened(text: object, most: int = 400) -> str:
    """Return text on one line. From more than `most` characters, return the beginning and the total length."""
    line = one_line(text)
    if len(line) <= most:
        return line
    return f"{line[:most].rstrip()} … ({len(line):,} characters)"


def strip_markup(markup: str) -> str:
    """Return a title or snippet on one line, without tags and with entities decoded."""
    return " ".join(html.unescape(_TAG.sub("", markup)).split())


def group_by_reason(messages: Iterable[str]) -> list[str]:
    """Join messages that end with the same reason in brackets: `a (timeout)`, `b (timeout)` -> `a; b (timeout)`.

    Each group takes the place of its first message. Messages without a reason stay as they are.
    """
    groups: dict[str, list[str]] = {}
    for text in messages:
        match = _REASON.fullmatch(text) if text.endswith((")", "）")) else None
        groups.setdefault(match["reason"] if match else text, []).append(match["subject"] if match else "")
    return [_join(reason, subjects) for reason, subjects in groups.items()]


def _join(reason: str, subjects: list[str]) -> str:
    if subjects == [""]:
        return reason
    separator = "；" if reason.startswith("（") else "; "
    return f"{separator.join(dict.fromkeys(subjects))}{reason}"


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return the choice most similar to `word`, or an empty string if none is close."""
    from difflib import get_close_matches  # only needed for an error

    return next(iter(get_close_matches(word, sorted(choices), n=1, cutoff=0.6)), "")


def missing_path(path: Path) -> str:
    """Return a path that does not exist, with the nearest name beside it."""
    try:
        near = nearest(path.name, [entry.name for entry in path.expanduser().parent.iterdir()])
    except OSError:
        near = ""
    return f"{path} (did you mean {near!r}?)" if near else str(path)


def choose_from(word: str, choices: Iterable[str]) -> str:
    """Return the end of an error message: the nearest choice, and the list of all choices."""
    names = sorted(choices)
    suggestion = nearest(word, names)
    listed = f"choose from: {', '.join(names)}" if names else "there is nothing to choose from"
    return f"did you mean {suggestion!r}? ({listed})" if suggestion else listed
