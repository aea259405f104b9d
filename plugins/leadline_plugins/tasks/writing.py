"""The text of a section, what stands around the sections, an analysis: typed tasks, and what comes back."""

from __future__ import annotations

from typing import Annotated

from leadline.findings import Digest, Plan, Question
from leadline.records import SINGLE, Evidence, Record, Section, Text, Tier
from leadline_plugins.tasks.planning import SourceShown
from leadline_plugins.tasks.sorting import PassageSource


class Passage(Record):
    """A quote as a writer sees it: cited by its id. `source` and `tier` where they are not told of all its sources."""

    id: str
    quote: Text
    source_id: str = ""
    source: Text = ""
    tier: Tier = 3
    under: Text = ""
    """The headings over it, where the quote does not name them: what it speaks of may stand there alone."""
    before: Text = ""
    """What stands before it in its source, where it begins in a way that leaves its subject to that."""


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
    sources: tuple[SourceShown, ...]
    """The best passages for each search."""


class WriteRequest(Record):
    """Asks for what stands around the sections: title, summary, conclusion.

    `synthesis` is what the last round of the research came to, `gaps` what the sections leave open, as hints: no
    citation rests on them. `today` is the day on which the run began (ISO 8601).
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

    `sections` are those that are written anew, by their ids (of `write` only where repetition must go or a
    cross-reference helps); the others stand.
    """

    title: Text = ""
    """Empty: that of the plan."""
    summary: Text = ""
    sections: tuple[Annotated[ChangedSection, SINGLE], ...] = ()
    conclusion: Text = ""
