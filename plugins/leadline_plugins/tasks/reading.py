"""What is learned from a source, what all sources come to, whether that suffices: typed tasks, and what comes back."""

from __future__ import annotations

from typing import Annotated

from leadline.findings import Digest, Plan, Question
from leadline.records import SINGLE, Confidence, Evidence, Record, Source, Text
from leadline_plugins.tasks.planning import Searched, SourceShown


class ExtractRequest(Record):
    """Asks for the learnings of one source, found by `query` for `goal`; at most `limit`."""

    question: Question
    query: Text
    goal: Text = ""
    source: Source
    snippet: Text = ""
    """The passage for which the engine found it, where it says."""
    limit: int = 8
    material: bool = False
    """Whether a model writes from the learnings, and can make use of a page in any language."""
    again: bool = False
    """Whether the source was read before, for other searches: then only what serves this one is wanted."""


class Learning(Record):
    """A claim and the verbatim quote that bears it; `start` is the quote's offset in the text, -1 where unknown."""

    claim: Text
    quote: Text
    start: int = -1
    confidence: Confidence = "medium"
    score: float = 0.0


class Learnings(Record):
    """The learnings of one source, the most useful first."""

    learnings: tuple[Annotated[Learning, SINGLE], ...] = ()


class DigestRequest(Record):
    """Asks to merge the evidence of this round with the digest of the last."""

    question: Question
    plan: Plan
    round: int
    evidence: tuple[Evidence, ...] = ()
    """All so far, for an algorithm."""
    fresh: tuple[str, ...] = ()
    """Ids of this round's, for an algorithm."""
    sources: tuple[SourceShown, ...] = ()
    """For a chat: the best of this round; the last digest holds the rest."""
    passages: int = 0
    """For a chat: how many this round brought."""
    last: Digest | None = None
    more: bool = True
    """Whether another round of searches can follow."""
    past: tuple[Searched, ...] = ()
    """All searches so far: what follows repeats none, and learns from those that failed."""
    today: str = ""


class ReviewRequest(Record):
    """Asks whether the research suffices."""

    question: Question
    plan: Plan
    round: int
    digest: Digest
    evidence: tuple[Evidence, ...] = ()
    """All so far, for an algorithm."""
    sources: tuple[SourceShown, ...] = ()
    """For a chat: the best of this round; the digest holds the rest."""
