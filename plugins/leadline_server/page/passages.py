"""A passage in its stored source, divided for highlighting: the passage, and in it the words of the judges."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from leadline.rendering import clean
from leadline_server.views import EvidenceView


@dataclass(frozen=True)
class Piece:
    """A piece of the source's text; `kind` is context, passage or quoted."""

    text: str
    kind: str


@dataclass(frozen=True)
class PassageView:
    """A passage with the number of its source in the report; None if it is not cited."""

    evidence: EvidenceView
    number: int | None
    pieces: tuple[Piece, ...]
    # The verdicts that come first: those on the claims whose citation was chosen.
    first: int = 1

    @property
    def is_cut(self) -> tuple[bool, bool]:
        """Whether text of the source is missing before and after."""
        one = self.evidence
        return one.text_begins > 0, one.text_begins + len(one.text) < one.text_length


def passage_view(evidence: EvidenceView, number: int | None, claims: Collection[str] = ()) -> PassageView:
    """Return a passage divided into pieces; the verdicts on these claims are the first."""
    # A statement that several sections repeat has a verdict in each.
    different = {(one.claim, one.verdict): one for one in evidence.verdicts}.values()
    mine = sorted(different, key=lambda one: one.claim not in claims)
    evidence = evidence.model_copy(update={"verdicts": tuple(mine)})
    begins, text = evidence.text_begins, evidence.text
    kinds = ["context"] * len(text)
    spans = [(*evidence.span, "passage")]
    spans += [(first, last, "quoted") for verdict in evidence.verdicts for first, last in verdict.spans]
    for first, last, kind in spans:
        for place in range(max(0, first - begins), min(len(text), last - begins)):
            kinds[place] = kind
    pieces: list[Piece] = []
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or kinds[place] != kinds[start]:
            pieces.append(Piece(clean(text[start:place]), kinds[start]))
            start = place
    return PassageView(evidence, number, tuple(pieces), len([one for one in mine if one.claim in claims]) or 1)
