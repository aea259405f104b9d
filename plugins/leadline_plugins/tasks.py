"""The typed tasks of the research pipeline: what goes in, what comes back.

The stages ask them of whatever provider is configured; `embedded` performs them by algorithm from the same inputs.
"""

from __future__ import annotations

from leadline.findings import (
    Digest,
    Plan,
    PlannedSection,
    Question,
    SearchTask,
)
from leadline.records import Confidence, Evidence, Record, Section, Source, Text


class PlanRequest(Record):
    """Asks for an outline; `length` is that of the report, in words (CJK: characters), 0 for free."""

    question: Question
    length: int = 0


class PastSearch(Record):
    """A search already made: how many hits it brought, or why it failed."""

    task: SearchTask
    hits: int = 0
    failure: Text = ""


class QueryRequest(Record):
    """Asks for at most `limit` search queries, none of them in `past`; in later rounds from the gaps.

    `evidence` is the best found so far, at most 40 pieces: the names in it lead on.
    """

    question: Question
    plan: Plan
    round: int = 1
    limit: int = 8
    past: tuple[PastSearch, ...] = ()
    gaps: tuple[Text, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class Query(Record):
    """A query as proposed; `section` is the id of the planned section it serves. Priority as a word or 1 to 5."""

    query: Text
    goal: Text = ""
    priority: str | int = "medium"
    section: str = ""


class Queries(Record):
    """Proposed queries, the most important first."""

    queries: tuple[Query, ...] = ()


class ExtractRequest(Record):
    """Asks for the learnings of one source, found by `query` for `goal`; at most `limit`."""

    question: Question
    query: Text
    goal: Text = ""
    source: Source
    snippet: Text = ""
    """The passage for which the engine found it, where it says."""
    limit: int = 8


class Learning(Record):
    """A claim and the verbatim quote that bears it; `start` is the quote's offset in the text, -1 where unknown."""

    claim: Text
    quote: Text
    start: int = -1
    confidence: Confidence = "medium"
    score: float = 0.0


class Learnings(Record):
    """The learnings of one source, the most useful first."""

    learnings: tuple[Learning, ...] = ()


class DigestRequest(Record):
    """Asks to merge the evidence of this round with the digest of the last."""

    question: Question
    plan: Plan
    round: int
    evidence: tuple[Evidence, ...]
    """All so far."""
    fresh: tuple[str, ...] = ()
    """Ids of this round's."""
    last: Digest | None = None


class ReviewRequest(Record):
    """Asks whether the research suffices."""

    question: Question
    plan: Plan
    round: int
    digest: Digest
    evidence: tuple[Evidence, ...]


class SortRequest(Record):
    """Asks to choose and sort the evidence into the plan's sections, within the length of the report.

    `sources` give the texts around the evidence. `length` in words (CJK: characters), 0 for free.
    """

    question: Question
    plan: Plan
    evidence: tuple[Evidence, ...]
    sources: tuple[Source, ...]
    length: int = 0


class SortedSection(Record):
    """A planned section and its evidence, in the order of the text; `length` is its share."""

    section: PlannedSection
    evidence_ids: tuple[str, ...]
    length: int = 0


class Sorted(Record):
    """The sections of the report. `answers`: whether the evidence answers the question at all, and why not."""

    sections: tuple[SortedSection, ...]
    answers: bool = True
    reason: Text = ""


class WriteRequest(Record):
    """Asks for what stands around the sections: title, summary, conclusion."""

    question: Question
    plan: Plan
    sections: tuple[Section, ...]
    evidence: tuple[Evidence, ...]
    length: int = 0


class Composition(Record):
    """What stands around the sections. Texts are Markdown and cite as `[@evidence-id]`; empty ones are left out.

    `sections` are the given ones, repetition removed and gaps closed, in their order.
    """

    title: Text
    summary: Text = ""
    sections: tuple[Section, ...]
    conclusion: Text = ""
