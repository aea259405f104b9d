"""Reading JSON as models write it: in fences, after thoughts, with text around, with commas too many, cut off.

What is sound JSON is taken as it stands; only where none of it fits is it mended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from leadline.replies.mending import Mender, TooDeep

_THOUGHT = re.compile(r"<(think|thinking|reasoning|thought)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_OPENED = re.compile(r"<(?:think|thinking|reasoning|thought)>", re.IGNORECASE)
_ENDED = re.compile(r"</(?:think|thinking|reasoning|thought)>", re.IGNORECASE)
_LAST = re.compile(r"[\]}][\s`]*\Z")
"""An object, or a list, that a text ends with."""
_FENCE = re.compile(r"```[\w-]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
LONGEST = 2_000_000
"""Characters that are looked at; a reply of more is no reply."""
MENDED = 100_000
"""Characters that are mended, all in all: some .1 s."""
TRIES = 20
"""Braces at which an object may begin, fences, objects mended; text with more of them is no reply."""


class Candidate(NamedTuple):
    """What could be meant; `whole`: it certainly is no part of a larger object; `broken`: the text ended before it.

    `severed`: it ended within one of its texts.
    """

    value: object
    whole: bool
    broken: bool = False
    severed: bool = False


def spoken(text: str) -> str:
    """Return a reply without the thoughts before it, as much of it as is looked at.

    A thought that never ends holds the reply where an object is the last of it; else there is none.
    """
    text = _without_beginning(text[:LONGEST])
    if said := _without_thoughts(text).strip():
        return said
    return text if _LAST.search(text) or not _OPENED.search(text) else ""


def _without_beginning(text: str) -> str:
    """Return a text without a thought that some vendors hand over without its beginning, unless an object holds it."""
    ends = list(islice(_ENDED.finditer(text), TRIES))
    ended = ends[-1] if ends else None
    if ended is None or _OPENED.search(text, 0, ended.start()):
        return text
    start = text.find("{", 0, ended.start())
    for _ in range(TRIES):
        if start < 0:
            break
        end = _end_of_object(text, start)
        if end > ended.start():
            return text
        start = text.find("{", max(end, start + 1), ended.start())
    return text[ended.end() :]


def unfenced(said: str) -> str:
    """Return the whole of a reply without the fence it stands in."""
    match = _FENCE.fullmatch(said.strip())
    return match.group(1).strip() if match else said.strip()


def _without_thoughts(text: str) -> str:
    """Return what was said; what looks like a thought within a sound object is one of its texts."""
    parts: list[str] = []
    at = 0
    for _ in range(TRIES):
        match = _THOUGHT.search(text, at)
        if match is None:
            return "".join(parts) + text[at:]
        start, end = match.span()
        if (inside := _end_of_object(text, text.find("{", at, start))) > start:
            start = end = inside
        parts.append(text[at:start])
        at = end
    return "".join(parts) + _THOUGHT.sub("", text[at:])


def _end_of_object(text: str, start: int) -> int:
    """Return where the sound object ends that begins here; 0 where none does."""
    try:
        return _decoder.raw_decode(text, start)[1] if start >= 0 else 0
    except (ValueError, RecursionError):
        return 0


def sound(text: str) -> Iterator[Candidate]:
    """Yield the objects that are sound JSON; fences need no look, for such an object ends where it ends."""
    start, whole = text.find("{"), True
    for _ in range(TRIES):
        if start < 0:
            return
        try:
            data, end = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end, whole = start + 1, False  # whatever comes may stand in the object that could not be read
        else:
            yield Candidate(data, whole)
        start = text.find("{", end)


def mended(text: str) -> Iterator[Candidate]:
    """Yield the objects that can be made out where none is sound."""
    left = MENDED
    for part in (*(match.group(1) for match in islice(_FENCE.finditer(text), TRIES)), text):
        mender = Mender(part[:left])
        try:
            for found in islice(mender.objects(), TRIES):
                yield Candidate(found, False, mender.broken, mender.severed)
        except TooDeep:
            continue
        finally:
            left = max(0, left - len(part))


def listed(text: str) -> object:
    """Return the list that a reply is; None where it is none, or no sound one."""
    said = unfenced(text)
    if not said.startswith("["):
        return None
    try:
        found = _decoder.decode(said)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _finite(said: str) -> float | None:
    number = float(said)
    return number if abs(number) != float("inf") else None


_decoder = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_finite)
"""NaN, Infinity and numbers beyond all measure, which no record can keep, read as null."""
