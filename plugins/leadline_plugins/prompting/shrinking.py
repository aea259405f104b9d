"""Shrink the inputs of tasks that exceed a model's context: the least relevant parts are left out.

Each function returns smaller inputs, or None if nothing more can be left out. The core repeats it until they fit, and
emits a notice.
"""

from __future__ import annotations

from typing import Any, TypeVar

from leadline_plugins.prompting.numbered_passages import halve_passages
from leadline_plugins.prompting.research_tasks import ExploreRequest
from leadline_plugins.prompting.writing_tasks import WriteRequest

R = TypeVar("R", bound=Any)
# Replaces the result of a tool.
LEFT_OUT = "(left out: all that was brought is over the model's context; call it again where it is needed)"


def halve_request_passages(inputs: R) -> R | None:
    """Return the inputs with the better half of their passages, numbers unchanged; at least one."""
    sources = halve_passages(inputs.sources, inputs.best_first)
    best = inputs.best_first[: len(inputs.best_first) // 2]
    smaller: R = inputs.model_copy(update={"sources": sources, "best_first": best})
    return smaller if sources else None


def drop_older_results(inputs: ExploreRequest) -> ExploreRequest | None:
    """Return the inputs without the older half of the tool results; the calls themselves stay."""
    whole = [place for place, turn in enumerate(inputs.turns) if turn.role == "tool" and turn.text != LEFT_OUT]
    gone = whole[: -(-len(whole) // 2)] if len(whole) > 1 else []
    turns = (
        turn.model_copy(update={"text": LEFT_OUT}) if place in gone else turn for place, turn in enumerate(inputs.turns)
    )
    return inputs.model_copy(update={"turns": tuple(turns)}) if gone else None


def halve_sections(inputs: WriteRequest) -> WriteRequest | None:
    """Return the inputs with the first half of each section's paragraphs; at least one.

    Their ids are removed, because a section that was shown in part must not replace the whole.
    """
    parts = [section.text.split("\n\n") for section in inputs.sections]
    if all(len(paragraphs) < 2 for paragraphs in parts):
        return None
    sections = tuple(
        section.model_copy(update={"id": "", "text": "\n\n".join(paragraphs[: -(-len(paragraphs) // 2)])})
        for section, paragraphs in zip(inputs.sections, parts, strict=True)
    )
    return inputs.model_copy(update={"sections": sections})
