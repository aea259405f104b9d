"""What the emulator's model calls when it is given tools: searches, then pages, then `respond`; by its inputs alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emulator_says import searches

PAGES = 2
"""Read of what each search found."""
_DATA = re.compile(r"<data>\n(.*)\n</data>", re.DOTALL)
Turns = Sequence[Mapping[str, Any]]


def calls(turns: Turns) -> list[dict[str, Any]]:
    """Return the calls of the next turn, as they stand in a reply: several at once where they do not wait."""
    said = [place for place, turn in enumerate(turns) if turn["role"] == "assistant"]
    brought = [_data(turn) for turn in turns[said[-1] :] if turn["role"] == "tool"] if said else []
    wanted: list[tuple[str, Mapping[str, Any]]]
    match len(said):
        case 0:
            inputs = next(data for turn in turns if (data := _data(turn)))
            wanted = [("web_search", query) for query in searches(inputs)]
        case 1:
            wanted = [("web_fetch", {"url": url}) for url in _addresses(brought)]
        case _:
            read = sum("text" in one for one in brought)
            wanted = [
                ("respond", {"findings": f"{read} pages say it.", "missing": ["What do the newest figures say?"]})
            ]
    return [_call(f"call_{len(said)}_{place}", *one) for place, one in enumerate(wanted)]


def _data(turn: Mapping[str, Any]) -> dict[str, Any]:
    found = _DATA.search(turn["content"])
    data: dict[str, Any] = json.loads(found[1]) if found else {}
    return data


def _addresses(brought: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in brought:
        yield from [hit["url"] for hit in one.get("results", ())[:PAGES]]


def _call(name: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
