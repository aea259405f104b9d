"""Which evidence stands in which section: typed tasks, and what comes back."""

from __future__ import annotations

from pydantic.json_schema import SkipJsonSchema

from leadline.findings import Plan, PlannedSection, Question, SearchTask
from leadline.records import Evidence, Record, Source, Text, Tier


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
