"""Where a report of Leadline's tells of itself: its method, and what its verification found."""

from __future__ import annotations

from collections.abc import Sequence

from leadline_plugins.citing.blocks import Block
from leadline_plugins.wording import say, tags

_TOLD = ("method", "checks")


def of_itself(blocks: Sequence[Block]) -> frozenset[int]:
    """Return the places of the headings under which such a report cites nothing; none of another tool's.

    It is known by the heading of its sources, or by having both of those, in one language. What the report says under
    the same word comes before, so the last one is meant.
    """
    last = {block.flat.text.strip(): place for place, block in enumerate(blocks) if block.kind == "heading"}
    found: set[int] = set()
    for tag in tags():
        own = [last[name] for name in (say(told, tag) for told in _TOLD) if name in last]
        if say("cited", tag) in last or len(own) == len(_TOLD):
            found.update(own)
    return frozenset(found)
