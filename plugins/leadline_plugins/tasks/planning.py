"""What is asked, of what parts the report is to be, what is searched for: typed tasks, and what comes back."""

from __future__ import annotations

from typing import Annotated

from leadline.findings import Plan, Query, Question, SearchTask
from leadline.records import SINGLE, Evidence, Record, Text
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
    """A search already made: what it brought that no search before had, or why it failed.

    `known` are the passages, of all that were found by now, that hold what it asks for.
    """

    query: Text
    section: str = ""
    pages: int = 0
    passages: int = 0
    known: int = 0
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
