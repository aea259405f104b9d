"""What is asked, of what parts the report is to be, what is searched for: typed tasks, and what comes back."""

from __future__ import annotations

from typing import Annotated

from leadline.findings import Plan, Query, Question
from leadline.records import SINGLE, Evidence, Record, Text
from leadline.tasks import Talk


class Quoted(Record):
    """A passage as it is shown; `under` are the headings over it."""

    id: str
    quote: Text
    under: Text = ""


class SourceShown(Record):
    """The passages that are shown of one source."""

    title: Text
    quotes: tuple[Quoted, ...] = ()


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
    """Asks for at most `limit` search queries, none of them in `past`; in later rounds from the gaps."""

    question: Question
    plan: Plan
    round: int = 1
    limit: int = 8
    past: tuple[Searched, ...] = ()
    gaps: tuple[Text, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    """For an algorithm: the best so far by score; the names in it lead on."""
    sources: tuple[SourceShown, ...] = ()
    """For a chat: the best so far for each search."""
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
    past: tuple[Searched, ...] = ()
    gaps: tuple[Text, ...] = ()
