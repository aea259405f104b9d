"""Reading JSON as models write it: in fences, after thoughts, with text around, with commas too many, cut off.

What is sound JSON is taken as it stands; only where none of it fits is it repaired, by the library json-repair.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import accumulate

_THOUGHT = re.compile(r"<(think|thinking|reasoning|thought)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[\w-]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
LONGEST = 2_000_000
"""Characters that are looked at; a reply of more is no reply."""
REPAIRED = 100_000
"""Characters that are repaired, which takes seconds for more."""
TRIES = 20
"""Braces at which an object may begin; text with more of them that begin none is no reply."""
DEEPEST = 100
"""Braces and brackets in one another; what nests deeper is noise, and takes the repair for ever."""
_decoder = json.JSONDecoder(parse_constant=lambda _: None)
"""NaN and Infinity, which are no JSON, read as null."""


def objects(text: str) -> Iterator[object]:
    """Yield what could be meant, the likeliest first: sound objects, then repaired ones."""
    said = _THOUGHT.sub("", text[:LONGEST]).strip() or text[:LONGEST]
    yield from _sound(said)  # fences need no look: a sound object ends where it ends
    for part in (*_FENCE.findall(said), said):
        yield from _repaired(part)


def _sound(text: str) -> Iterator[object]:
    start, tries = text.find("{"), 0
    while start >= 0 and tries < TRIES:
        tries += 1
        try:
            data, end = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield data
        start = text.find("{", end)


def _repaired(text: str) -> Iterator[object]:
    import json_repair  # 70 ms of CPU, and rarely needed

    start = text.find("{")
    if start < 0 or _depth(text) > DEEPEST:
        return
    try:
        data = json_repair.loads(text[start : start + REPAIRED], skip_json_loads=True)
    except (ValueError, RecursionError):
        return
    for item in data if isinstance(data, list) else [data]:
        if isinstance(item, dict):
            yield item


def _depth(text: str) -> int:
    """Return how deep braces and brackets stand in one another at most."""
    steps = (1 if sign in "{[" else -1 for sign in re.findall(r"[\[{}\]]", text))
    return max(accumulate(steps), default=0)
