"""Requests and replies of the tasks that clarify, plan, search, digest and explore."""

from __future__ import annotations

from typing import Annotated

from leadline.records import SINGLE, Record, Text
from leadline.research_findings import Digest, Plan, PlannedSection, Query, Question, SectionReview
from leadline.schemas import TEXT, list_of, object_of, one_of, schema_of
from leadline.tasks import Talk
from leadline_plugins.prompting.inputs import (
    PastSearch,
    bullet_list,
    digest_text,
    outline_text,
    paragraphs,
    question_text,
    searches_text,
)
from leadline_plugins.prompting.numbered_passages import ShownSource, passages_text
from leadline_plugins.text import is_cjk


class ClarifyRequest(Record):
    """Asks for questions and assumptions; the question's `reasons` are the rules that it breaks."""

    question: Question
    # ISO 8601, the first day of the run.
    today: str = ""

    def as_text(self) -> str:
        """Return the inputs as prompt text."""
        unclear = bullet_list("Unclear", self.question.reasons)
        return paragraphs(question_text(self.question, self.today), "\n".join(unclear))


class Clarification(Record):
    """Questions to the user, and assumptions if nobody answers."""

    needs_clarification: bool
    questions: tuple[Text, ...] = ()
    assumptions: tuple[Text, ...] = ()


CLARIFY_EXAMPLE = (
    '{"needs_clarification": true, "questions": ["Which country do you mean?"], '
    '"assumptions": ["The question is about the European Union."]}'
)


class PlanRequest(Record):
    """Asks for an outline; `length` is that of the report in words (CJK: characters), 0 for any.

    `minimum` and `maximum` are the numbers of sections of a long report; 0: the model chooses.
    """

    question: Question
    length: int = 0
    minimum: int = 0
    maximum: int = 0
    # The maximum number of searches.
    searches: int = 7
    # What a search for the question itself found.
    hits: tuple[Text, ...] = ()
    today: str = ""

    def as_text(self) -> str:
        """Return the inputs as prompt text."""
        unit = "characters" if is_cjk(self.question.language) else "words"
        limits = [f"Length of the report: about {self.length} {unit}"] if self.length else []
        limits += [f"Sections: {self.minimum} to {self.maximum}"] if self.maximum else []
        hits = "\n".join(bullet_list("Hits of a search for the question", self.hits))
        about = question_text(self.question, self.today)
        return paragraphs(about, hits, "\n".join((*limits, at_most(self.searches))))


def at_most(count: int) -> str:
    """Return the limit of proposed queries as prompt text."""
    return f"At most {count} queries." if count else "No more searches are possible: `queries` is empty."


# Queries of a long report have a category, and a priority from 1 (first) to 5.
_LONG_QUERIES = list_of(
    object_of(query=TEXT, goal=TEXT, category=TEXT, priority=one_of("1", "2", "3", "4", "5"), section=TEXT)
)
# Queries come early, so that searches can start at once.
PLAN_SCHEMA, LONG_PLAN_SCHEMA = (
    object_of(title=TEXT, queries=queries, scope=TEXT, form=TEXT, sections=list_of(schema_of(PlannedSection)))
    for queries in (list_of(schema_of(Query)), _LONG_QUERIES)
)
PLAN_EXAMPLE = (
    '{"title": "Heat pumps in old houses", "queries": [{"query": "heat pump installation cost old house", "goal": '
    '"prices", "priority": "high", "section": "1"}], "scope": "Old houses in Germany, for owners", "form": "", '
    '"sections": [{"id": "1", "title": "Cost", "goal": "What a heat pump costs", "grid": "air, ground × price, '
    'subsidy", "questions": ["What do an air and a ground source heat pump cost with installation?", "Which subsidies '
    'are there for each?"], "domain": "economics"}]}'
)
LONG_PLAN_EXAMPLE = PLAN_EXAMPLE.replace('"priority": "high"', '"category": "economics", "priority": "1"')


class QueryRequest(Record):
    """Asks for at most `limit` new search queries; in later rounds for the gaps."""

    question: Question
    plan: Plan
    limit: int = 8
    past: tuple[PastSearch, ...] = ()
    gaps: tuple[Text, ...] = ()
    today: str = ""

    def as_text(self) -> str:
        """Return the inputs as prompt text."""
        gaps = "\n".join(bullet_list("Gaps", self.gaps))
        about = question_text(self.question, self.today)
        return paragraphs(about, outline_text(self.plan), gaps, searches_text(self.past), at_most(self.limit))


class Queries(Record):
    """Proposed queries, the most important first."""

    queries: tuple[Annotated[Query, SINGLE], ...] = ()


QUERY_EXAMPLE = (
    '{"queries": [{"query": "heat pump noise limits", "goal": "legal limits", "priority": "high", "section": "2"}]}'
)


class DigestRequest(Record):
    """Asks to review all rounds so far, to name conflicts, and to propose the next searches."""

    question: Question
    plan: Plan
    # The maximum number of queries; 0 if no round can follow.
    limit: int = 5
    last: Digest | None = None
    past: tuple[PastSearch, ...] = ()
    # The pages read, each with headings.
    pages: tuple[Text, ...] = ()
    # The best passages of all rounds.
    sources: tuple[ShownSource, ...] = ()
    today: str = ""

    def as_text(self) -> str:
        """Return the inputs as prompt text."""
        return paragraphs(
            question_text(self.question, self.today),
            outline_text(self.plan),
            digest_text(self.last) if self.last else "",
            searches_text(self.past),
            at_most(self.limit),
            "\n".join(bullet_list("Pages read, with headings", self.pages)),
            passages_text(self.sources),
        )


class NamedAnswers(Record):
    """The passages, by number, that answer key questions of a section, by its id or title."""

    section: Text
    passages: tuple[int, ...] = ()


class NamedHeadings(Record):
    """Headings of the pages read, by number, under which a page is likely to say what a section lacks."""

    section: Text
    headings: tuple[int, ...] = ()


class NamedConflict(Record):
    """Passages that disagree, by number; `primary` is the one of the primary source, or 0."""

    about: Text
    passages: tuple[int, ...] = ()
    primary: int = 0


class NamedInstruction(Record):
    """Words of a passage, by number, that tell a program what to do."""

    passage: int
    words: Text


class DigestReply(Record):
    """The state of the research after a round; the queries come early so that searches can start at once."""

    is_sufficient: bool = False
    queries: tuple[Annotated[Query, SINGLE], ...] = ()
    # Only sections that are not covered.
    sections: tuple[Annotated[SectionReview, SINGLE], ...] = ()
    answers: tuple[Annotated[NamedAnswers, SINGLE], ...] = ()
    read: tuple[Annotated[NamedHeadings, SINGLE], ...] = ()
    conflicts: tuple[Annotated[NamedConflict, SINGLE], ...] = ()
    synthesis: Text = ""
    instructions: tuple[Annotated[NamedInstruction, SINGLE], ...] = ()


DIGEST_EXAMPLE = (
    '{"is_sufficient": false, "queries": [{"query": "heat pump noise limit night", "goal": "Which noise limits apply '
    'at night?", "priority": "high", "section": "2"}], "sections": [{"id": "2", "coverage": "missing", "depth": 0.0, '
    '"questions": []}], "answers": [{"section": "1", "passages": [4, 1]}], "read": [], "conflicts": [], "synthesis": '
    '"Installation costs 12,000 to 25,000 euros.", "instructions": []}'
)


class ExploreRequest(Talk):
    """Asks for the next turn of an exploration: tool calls, or the final answer.

    `steps` turns and `searches` searches are left. `past` are earlier searches, `gaps` the open questions.
    """

    question: Question
    plan: Plan
    steps: int
    searches: int
    past: tuple[PastSearch, ...] = ()
    gaps: tuple[Text, ...] = ()
