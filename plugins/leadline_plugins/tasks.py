"""The typed tasks of the research pipeline: what goes in, what comes back.

The stages ask them of whatever provider is configured; `embedded` performs them by algorithm from the same inputs.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from leadline.findings import (
    Digest,
    Plan,
    PlannedSection,
    Query,
    Question,
    SearchTask,
)
from leadline.records import SINGLE, Confidence, Evidence, Record, Section, Source, Text, Tier
from leadline.tasks import Talk


class ClarifyRequest(Record):
    """Asks whether a question is clear enough; its `reasons` are what rules have against it."""

    question: Question
    today: str = ""
    """The day on which the run began, ISO 8601, here and below: a model knows none."""


class Clarification(Record):
    """Whether to ask back, and what; and what to take for granted where nobody answers."""

    needs_clarification: bool
    questions: tuple[Text, ...] = ()
    assumptions: tuple[Text, ...] = ()


class PlanRequest(Record):
    """Asks for an outline; `length` is that of the report, in words (CJK: characters), 0 for free."""

    question: Question
    length: int = 0
    today: str = ""


class PastSearch(Record):
    """A search already made: how many hits it brought, or why it failed."""

    task: SearchTask
    hits: int = 0
    failure: Text = ""


class Searched(Record):
    """A search already made: what it brought that no search before had, or why it failed."""

    query: Text
    section: str = ""
    pages: int = 0
    passages: int = 0
    failure: Text = ""


class Quoted(Record):
    """A passage as it is shown; `under` are the headings over it."""

    id: str
    quote: Text
    under: Text = ""


class SourceShown(Record):
    """The passages that are shown of one source."""

    title: Text
    quotes: tuple[Quoted, ...] = ()


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
    today: str = ""


class Queries(Record):
    """Proposed queries, the most important first."""

    queries: tuple[Annotated[Query, SINGLE], ...] = ()


class ExploreRequest(Talk):
    """Asks for the next turn of an exploration: calls of tools, until one says what was found out.

    It has `steps` turns in all, and the run so many `searches`. `past` was searched before, `gaps` are what was
    missing then.
    """

    question: Question
    plan: Plan
    steps: int
    searches: int
    past: tuple[PastSearch, ...] = ()
    gaps: tuple[Text, ...] = ()


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


class SortRequest(Record):
    """Asks to choose and sort the evidence into the plan's sections, within the length of the report.

    `sources` give the texts around the evidence, `tasks` the sections it was searched for. `length` in words (CJK:
    characters), 0 for free; `material` is how much evidence to choose where writers make less of it, 0 where the
    evidence is the report.
    """

    question: Question
    plan: Plan
    evidence: tuple[Evidence, ...]
    sources: tuple[Source, ...]
    length: int = 0
    tasks: tuple[SearchTask, ...] = ()
    material: int = 0


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
    unsure: SkipJsonSchema[tuple[str, ...]] = ()
    """Ids of evidence in the sections whose place is a toss-up: an algorithm says so, a chat is not asked for it."""


class PassageSource(Record):
    """A source of passages, told once for all of them: its title, and how much it is worth."""

    id: str
    title: Text = ""
    tier: Tier = 3


class Unplaced(Record):
    """A piece of evidence whose section is not sure, by a number that costs a token; its quote may be cut."""

    number: int
    quote: Text
    under: Text = ""
    """The headings over it, where the quote does not name them."""
    source_id: str = ""


class PlaceRequest(Record):
    """Asks which sections each piece belongs to, the best pieces first."""

    question: Question
    sections: tuple[PlannedSection, ...]
    sources: tuple[PassageSource, ...] = ()
    """Those of the pieces, by ids that cost a token: a quote may leave its subject to the title."""
    pieces: tuple[Unplaced, ...]


class PlacedSection(Record):
    """The numbers of the pieces that belong to one section."""

    id: str
    pieces: tuple[int, ...]


class Placed(Record):
    """The sections that pieces belong to, and the numbers of those that belong to none."""

    sections: tuple[PlacedSection, ...]
    nowhere: tuple[int, ...] = ()


class Passage(Record):
    """A quote as a writer sees it: cited by its id. `source` and `tier` where they are not told of all its sources."""

    id: str
    quote: Text
    source_id: str = ""
    source: Text = ""
    tier: Tier = 3
    under: Text = ""
    """The headings over it, where the quote does not name them: what it speaks of may stand there alone."""


class SynthesizeRequest(Record):
    """Asks for the text of one section from its own passages; `outline` are the titles of all sections.

    `questions` are the key questions that this text answers; where there are `others`, it is a part of its section, and
    other parts answer those. `length` in words (CJK: characters), 0 leaves it to the writer. `today` is an ISO date.
    """

    question: Question
    today: str = ""
    title: Text
    goal: Text = ""
    questions: tuple[Text, ...] = ()
    others: tuple[Text, ...] = ()
    outline: tuple[Text, ...] = ()
    length: int = 0
    sources: tuple[PassageSource, ...] = ()
    passages: tuple[Passage, ...] = ()


class Written(Record):
    """The text of a section: Markdown paragraphs that cite as `[@evidence-id]`, each ending with a citation.

    `unanswered` is what of it the passages do not answer; where that is all of it, `text` is empty.
    """

    text: Text
    unanswered: Text = ""


class AnalyzeRequest(Record):
    """Asks for a critical analysis of the findings from several perspectives (critical, creative, analytical)."""

    question: Question
    digest: Digest | None = None
    evidence: tuple[Evidence, ...]


class WriteRequest(Record):
    """Asks for what stands around the sections: title, summary, conclusion.

    `synthesis` and `gaps` are what the last round of the research came to, as hints: no citation rests on them. `today`
    is the day on which the run began (ISO 8601).
    """

    question: Question
    plan: Plan
    sections: tuple[Section, ...]
    evidence: tuple[Evidence, ...] = ()
    length: int = 0
    synthesis: Text = ""
    gaps: tuple[Text, ...] = ()
    today: str = ""


class ChangedSection(Record):
    """A section said anew, by its id; an empty title leaves its own."""

    id: str
    title: Text = ""
    text: Text = ""


class Composition(Record):
    """What stands around the sections. Texts are Markdown and cite as `[@evidence-id]`; empty ones are left out.

    `sections` are those that are changed (repetition removed, cross-references added), by their ids; the others stand.
    """

    title: Text = ""
    """Empty: that of the plan."""
    summary: Text = ""
    sections: tuple[Annotated[ChangedSection, SINGLE], ...] = ()
    conclusion: Text = ""


class PassageToRead(Record):
    """A passage by its id, with the headings over it and the sentences about it, which may tell whom it speaks of."""

    id: str
    under: Text = ""
    before: Text = ""
    text: Text
    behind: Text = ""


class SourceToRead(Record):
    """A source by its title, with those of its passages that claims are held against."""

    title: Text = ""
    passages: tuple[PassageToRead, ...] = ()


class ClaimToVerify(Record):
    """A claim and the ids of the passages it is held against.

    It stands `under` headings and between the sentences `before` and `behind` it; `whole` is the sentence that it is a
    part of. What rules `found` against it is asked about.
    """

    id: str
    claim: Text
    passages: tuple[str, ...]
    under: Text = ""
    before: Text = ""
    behind: Text = ""
    whole: Text = ""
    found: Text = ""


class VerifyRequest(Record):
    """Asks whether passages bear the claims they are cited for."""

    claims: tuple[ClaimToVerify, ...]
    sources: tuple[SourceToRead, ...] = ()


class ClaimToRepair(ClaimToVerify):
    """A claim that its passages do not bear, with the verdict on it and why."""

    verdict: Text = ""
    reason: Text = ""


class RepairRequest(Record):
    """Asks to say claims anew, in a language, so that the passages they cite bear them."""

    language: str
    claims: tuple[ClaimToRepair, ...]
    sources: tuple[SourceToRead, ...] = ()


class Reworded(Record):
    """A claim said anew, by its id."""

    id: str
    text: Text


class Rewordings(Record):
    """Claims said anew; those of which nothing is left that the passages bear are left out."""

    claims: tuple[Reworded, ...] = ()


class ClaimVerdict(Record):
    """What a model says of one claim that is not supported in all its parts, or states nothing, by its id.

    Or against which rules found something: if it is supported all the same, `words` of a passage say so.
    """

    id: str
    verdict: Literal["supported", "partial", "contradicted", "unsupported", "remark"]
    reason: Text = ""
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.5
    words: Text = ""


class ClaimVerdicts(Record):
    """The verdicts: most claims are supported, and those are a list of ids, with how sure the model is of them."""

    supported: tuple[str, ...] = ()
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.5
    others: tuple[ClaimVerdict, ...] = ()
