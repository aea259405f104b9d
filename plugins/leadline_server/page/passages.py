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
        evidence = self.evidence
        return evidence.text_begins > 0, evidence.text_begins + len(evidence.text) < evidence.text_length


def passage_view(evidence: EvidenceView, number: int | None, claims: Collection[str] = ()) -> PassageView:
    """Return a passage divided into pieces; the verdicts on these claims are the first."""
    # A statement that several sections repeat has a verdict in each.
    different = {(verdict.claim, verdict.verdict): verdict for verdict in evidence.verdicts}.values()
    mine = sorted(different, key=lambda verdict: verdict.claim not in claims)
    evidence = evidence.model_copy(update={"verdicts": tuple(mine)})
    begins, text = evidence.text_begins, evidence.text
    kinds = ["context"] * len(text)
    spans = [(*evidence.span, "passage")]
    spans += [(first, last, "quoted") for verdict in evidence.verdicts for first, last in verdict.spans]
    for first, last, kind in spans:
        for index in range(max(0, first - begins), min(len(text), last - begins)):
            kinds[index] = kind
    pieces: list[Piece] = []
    start = 0
    for index in range(1, len(text) + 1):
        if index == len(text) or kinds[index] != kinds[start]:
            pieces.append(Piece(clean(text[start:index]), kinds[start]))
            start = index
    return PassageView(
        evidence, number, tuple(pieces), len([verdict for verdict in mine if verdict.claim in claims]) or 1
    )
