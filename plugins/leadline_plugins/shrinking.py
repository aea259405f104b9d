"""What a task is asked with when its inputs are over a model's context: less of them, the least relevant left out.

Each function takes a task's inputs and returns smaller ones, or None where nothing more can be left out. The core asks
again until they fit, and says so in the report.
"""

from __future__ import annotations

from typing import Any, TypeVar

from leadline.records import Document, Source
from leadline_plugins.tasks.planning import ExploreRequest
from leadline_plugins.tasks.reading import ExtractRequest
from leadline_plugins.tasks.sorting import PlaceRequest, SortRequest
from leadline_plugins.tasks.writing import SynthesizeRequest, WriteRequest

R = TypeVar("R", bound=Any)
LEFT_OUT = "(left out: all that was brought is over the model's context; call it again where it is needed)"
"""In place of what a tool brought."""
_SHORTEST = 500
"""Characters of a source below which it is not the source that is too long."""


def less_evidence(inputs: R) -> R | None:
    """Return the inputs with the better half of the evidence, which stands best first; one piece at least."""
    keep = len(inputs.evidence) // 2
    smaller: R = inputs.model_copy(update={"evidence": inputs.evidence[:keep]})
    return smaller if keep else None


def less_shown(inputs: R) -> R | None:
    """Return the inputs with the better half of what is shown of each source; for an algorithm, of the evidence."""
    if not inputs.sources:
        return less_evidence(inputs)
    if all(len(source.quotes) < 2 for source in inputs.sources):  # the first have the best of what was found
        keep = len(inputs.sources) // 2
        fewer: R = inputs.model_copy(update={"sources": inputs.sources[:keep]})
        return fewer if keep else None
    halved = (
        source.model_copy(update={"quotes": source.quotes[: -(-len(source.quotes) // 2)]}) for source in inputs.sources
    )
    smaller: R = inputs.model_copy(update={"sources": tuple(halved)})
    return smaller


def fewer_passages(inputs: SynthesizeRequest) -> SynthesizeRequest | None:
    """Return the inputs with the better half of the passages; one at least."""
    keep = len(inputs.passages) // 2
    return inputs.model_copy(update={"passages": inputs.passages[:keep]}) if keep else None


def fewer_claims(inputs: R) -> R | None:
    """Return the inputs with the first half of the claims: the others are judged by words, or stay as they are.

    Passages that none of these names are left out.
    """
    keep = len(inputs.claims) // 2
    named = {name for claim in inputs.claims[:keep] for name in claim.passages}
    sources = (
        source.model_copy(update={"passages": tuple(one for one in source.passages if one.id in named)})
        for source in inputs.sources
    )
    left = {"claims": inputs.claims[:keep], "sources": tuple(source for source in sources if source.passages)}
    smaller: R = inputs.model_copy(update=left)
    return smaller if keep else None


def fewer_results(inputs: ExploreRequest) -> ExploreRequest | None:
    """Return the inputs with the newer half of what the tools brought; that a tool was called stays in view."""
    whole = [place for place, turn in enumerate(inputs.turns) if turn.role == "tool" and turn.text != LEFT_OUT]
    gone = whole[: -(-len(whole) // 2)] if len(whole) > 1 else []
    turns = (
        turn.model_copy(update={"text": LEFT_OUT}) if place in gone else turn for place, turn in enumerate(inputs.turns)
    )
    return inputs.model_copy(update={"turns": tuple(turns)}) if gone else None


def shorter_source(inputs: ExtractRequest) -> ExtractRequest | None:
    """Return the inputs with the half of the source that stands around the passage for which it was found."""
    text = inputs.source.document.text
    size = len(text) // 2
    if size < _SHORTEST:
        return None
    middle = max(0, text.find(inputs.snippet)) + len(inputs.snippet) // 2 if inputs.snippet else 0
    start = min(max(0, middle - size // 2), len(text) - size)
    return inputs.model_copy(update={"source": _with_text(inputs.source, text[start : start + size])})


def less_to_sort(inputs: SortRequest) -> SortRequest | None:
    """Return the inputs without the texts of the sources, then with the better half of the evidence."""
    if any(source.document.text for source in inputs.sources):
        return inputs.model_copy(update={"sources": tuple(_with_text(source, "") for source in inputs.sources)})
    keep = len(inputs.evidence) // 2
    best = sorted(inputs.evidence, key=lambda item: -item.score)[:keep]
    of_best = {item.source_id for item in best}
    sources = tuple(source for source in inputs.sources if source.id in of_best)
    return inputs.model_copy(update={"evidence": tuple(best), "sources": sources}) if keep else None


def fewer_pieces(inputs: PlaceRequest) -> PlaceRequest | None:
    """Return the inputs with the better half of the pieces, which stand best first: the others stay where they are."""
    keep = len(inputs.pieces) // 2
    return inputs.model_copy(update={"pieces": inputs.pieces[:keep]}) if keep else None


def first_paragraphs(inputs: WriteRequest) -> WriteRequest | None:
    """Return the inputs with the first half of each section's paragraphs; one at least.

    Their ids are taken away: a section that was shown in part must not come back in place of the whole.
    """
    parts = [(section.text or "").split("\n\n") for section in inputs.sections]
    if all(len(paragraphs) < 2 for paragraphs in parts):
        return None
    sections = tuple(
        section.model_copy(update={"id": "", "text": "\n\n".join(paragraphs[: -(-len(paragraphs) // 2)])})
        for section, paragraphs in zip(inputs.sections, parts, strict=True)
    )
    return inputs.model_copy(update={"sections": sections})


def _with_text(source: Source, text: str) -> Source:
    return source.model_copy(update={"document": Document(text=text, title=source.document.title)})
