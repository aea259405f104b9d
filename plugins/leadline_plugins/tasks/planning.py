"""The typed tasks of clarifying, planning and searching: what a model is asked with, and what it replies."""

from __future__ import annotations

from typing import Annotated

from leadline.findings import Plan, Query, Question
from leadline.records import SINGLE, Evidence, Record, Text
from leadline.schemas import BOOLEAN, TEXT, list_of, object_of, one_of
from leadline.tasks import Talk
from leadline_plugins.prompting import inputs
from leadline_plugins.prompting.inputs import PastSearch


class ClarifyRequest(Record):
    """Asks whether a question is clear enough; `reasons` of the question are what rules found unclear."""

    question: Question
    today: str = ""
    """The day on which the run began, ISO 8601."""

    def as_text(self) -> str:
        """Return the inputs as the model reads them."""
        unclear = inputs.listed("Unclear", self.question.reasons)
        return inputs.joined(inputs.about(self.question, self.today), "\n".join(unclear))


class Clarification(Record):
    """Whether to ask the user, and what; and what to assume where nobody answers."""

    needs_clarification: bool
    questions: tuple[Text, ...] = ()
    assumptions: tuple[Text, ...] = ()


CLARIFY_SCHEMA = object_of(needs_clarification=BOOLEAN, questions=list_of(TEXT), assumptions=list_of(TEXT))
CLARIFY_EXAMPLE = (
    '{"needs_clarification": true, "questions": ["Which country do you mean?"], '
    '"assumptions": ["The question is about the European Union."]}'
)


class PlanRequest(Record):
    """Asks for an outline; `length` is that of the report in words (CJK: characters), 0 for any."""

    question: Question
    length: int = 0
    today: str = ""

    def as_text(self) -> str:
        """Return the inputs as the model reads them."""
        length = f"Length of the report: about {self.length} words" if self.length else ""
        return inputs.joined(inputs.about(self.question, self.today), length)


QUERIES = list_of(object_of(query=TEXT, goal=TEXT, priority=one_of("high", "medium", "low"), section=TEXT))
"""The schema of a list of queries, in the replies of three tasks."""
PLAN_SCHEMA = object_of(
    title=TEXT,
    sections=list_of(object_of(id=TEXT, title=TEXT, goal=TEXT, questions=list_of(TEXT), domain=TEXT)),
    queries=QUERIES,
)
PLAN_EXAMPLE = (
    '{"title": "Heat pumps in old houses", "sections": [{"id": "1", "title": "Cost", "goal": "What a heat pump costs", '
    '"questions": ["What does installation cost?"], "domain": "economics"}], "queries": [{"query": "heat pump '
    'installation cost old house", "goal": "prices", "priority": "high", "section": "1"}]}'
)


class QueryRequest(Record):
    """Asks for at most `limit` search queries, none of them in `past`; in later rounds from the gaps."""

    question: Question
    plan: Plan
    round: int = 1
    limit: int = 8
    past: tuple[PastSearch, ...] = ()
    gaps: tuple[Text, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    """For an algorithm: the best passages so far, best first; the names in them lead on."""
    titles: dict[str, Text] = {}
    """For an algorithm: the titles of the sources of these passages, by their ids."""
    today: str = ""

    def as_text(self) -> str:
        """Return the inputs as the model reads them."""
        gaps = "\n".join(inputs.listed("Gaps", self.gaps))
        most = f"At most {self.limit} queries."
        about = inputs.about(self.question, self.today)
        return inputs.joined(about, inputs.outline(self.plan), gaps, inputs.searches(self.past), most)


class Queries(Record):
    """Proposed queries, the most important first."""

    queries: tuple[Annotated[Query, SINGLE], ...] = ()


QUERY_SCHEMA = object_of(queries=QUERIES)
QUERY_EXAMPLE = (
    '{"queries": [{"query": "heat pump noise limits", "goal": "legal limits", "priority": "high", "section": "2"}]}'
)


class ExploreRequest(Talk):
    """Asks for the next turn of an exploration: tool calls, until the model reports what it found out.

    It has `steps` turns in all, and the run so many `searches` left. `past` was searched before, `gaps` are what was
    missing then.
    """

    question: Question
    plan: Plan
    steps: int
    searches: int
    past: tuple[PastSearch, ...] = ()
    gaps: tuple[Text, ...] = ()
