"""Shrink the inputs of tasks that exceed a model's context: the least relevant parts are left out.

Each function returns smaller inputs, or None if nothing more can be left out. The core repeats it until they fit, and
emits a notice.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, TypeVar

from leadline.records import Message
from leadline_plugins.prompting.numbered_passages import halve_passages
from leadline_plugins.prompting.research_tasks import ExploreRequest

R = TypeVar("R", bound=Any)
# Replaces the result of a tool.
LEFT_OUT = "(left out: all that was brought is over the model's context; call it again where it is needed)"


def halve_request_passages(inputs: R) -> R | None:
    """Return the inputs with the better half of their passages, numbers unchanged; at least one."""
    sources = halve_passages(inputs.sources, inputs.best_first)
    best = inputs.best_first[: len(inputs.best_first) // 2]
    smaller: R = inputs.model_copy(update={"sources": sources, "best_first": best})
    return smaller if sources else None


def halve_shown_passages(inputs: R) -> R | None:
    """Return the inputs with the first half of their passages, which are in the order of their numbers."""
    ids = [passage.id for source in inputs.sources for passage in source.passages]
    sources = halve_passages(inputs.sources, ids)
    smaller: R = inputs.model_copy(update={"sources": sources})
    return smaller if sources else None


def drop_older_results(inputs: ExploreRequest) -> ExploreRequest | None:
    """Return the inputs without the older half of the tool results; the calls themselves stay."""
    whole = [index for index, turn in enumerate(inputs.turns) if turn.role == "tool" and turn.text != LEFT_OUT]
    gone = whole[: -(-len(whole) // 2)] if len(whole) > 1 else []
    turns = (
        turn.model_copy(update={"text": LEFT_OUT}) if index in gone else turn for index, turn in enumerate(inputs.turns)
    )
    return inputs.model_copy(update={"turns": tuple(turns)}) if gone else None


def without_results(turns: Sequence[Message]) -> list[Message]:
    """Return turns with a mark in place of each result of a tool."""
    return [turn.model_copy(update={"text": LEFT_OUT}) if turn.role == "tool" else turn for turn in turns]


def without_calls(turns: Sequence[Message], results: Container[int]) -> list[Message]:
    """Return turns without the tool results at these places and their calls; a turn without other calls is left out."""
    messages: list[Message] = []
    gone: set[str] = set()
    for index, turn in reversed(list(enumerate(turns))):
        if turn.role == "tool" and index in results:
            gone.add(turn.tool_call_id)
        elif gone and turn.tool_calls:
            calls = tuple(call for call in turn.tool_calls if call.id not in gone)
            gone = set()
            if calls:  # the opaque parts of a vendor contain all calls
                messages.append(turn.model_copy(update={"tool_calls": calls, "opaque": None}))
        else:
            messages.append(turn)
    return messages[::-1]
