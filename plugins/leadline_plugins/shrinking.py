"""What a task is asked with when its inputs are over a model's context: less of them, the least relevant left out.

Each function takes a task's inputs and returns smaller ones, or None where nothing more can be left out. The core asks
again until they fit, and says so in the report.
"""

from __future__ import annotations

from typing import Any, TypeVar

from leadline_plugins.prompting.passages import fewer
from leadline_plugins.tasks.planning import ExploreRequest
from leadline_plugins.tasks.writing import WriteRequest

R = TypeVar("R", bound=Any)
LEFT_OUT = "(left out: all that was brought is over the model's context; call it again where it is needed)"
"""In place of what a tool brought."""


def fewer_passages(inputs: R) -> R | None:
    """Return the inputs with the better half of the passages, their numbers kept; one at least."""
    sources = fewer(inputs.sources, inputs.best_first)
    best = inputs.best_first[: len(inputs.best_first) // 2]
    smaller: R = inputs.model_copy(update={"sources": sources, "best_first": best})
    return smaller if sources else None


def fewer_results(inputs: ExploreRequest) -> ExploreRequest | None:
    """Return the inputs with the newer half of what the tools brought; that a tool was called stays in view."""
    whole = [place for place, turn in enumerate(inputs.turns) if turn.role == "tool" and turn.text != LEFT_OUT]
    gone = whole[: -(-len(whole) // 2)] if len(whole) > 1 else []
    turns = (
        turn.model_copy(update={"text": LEFT_OUT}) if place in gone else turn for place, turn in enumerate(inputs.turns)
    )
    return inputs.model_copy(update={"turns": tuple(turns)}) if gone else None


def first_paragraphs(inputs: WriteRequest) -> WriteRequest | None:
    """Return the inputs with the first half of each section's paragraphs; one at least.

    Their ids are removed: a section that was shown in part must not replace the whole.
    """
    parts = [section.text.split("\n\n") for section in inputs.sections]
    if all(len(paragraphs) < 2 for paragraphs in parts):
        return None
    sections = tuple(
        section.model_copy(update={"id": "", "text": "\n\n".join(paragraphs[: -(-len(paragraphs) // 2)])})
        for section, paragraphs in zip(inputs.sections, parts, strict=True)
    )
    return inputs.model_copy(update={"sections": sections})
