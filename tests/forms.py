"""Replies of many forms, for tests of how replies are read: texts, lists of records, required and optional fields."""

from __future__ import annotations

from typing import Annotated

from leadline.records import SINGLE, Record, Text


class StatedFigure(Record):
    """A figure in the text, and the number of the passage that states it."""

    label: Text
    value: Text
    unit: Text = ""
    passage: int = 0


class WrittenSection(Record):
    """The text of a section: Markdown that cites passages by number; empty if the passages answer nothing."""

    text: Text
    # Questions that the passages do not answer.
    unanswered: tuple[Text, ...] = ()
    # Conclusions of the writer that no passage states.
    inferences: tuple[Text, ...] = ()
    figures: tuple[Annotated[StatedFigure, SINGLE], ...] = ()


class SectionText(Record):
    """A section of the report, which cites by the numbers of the request."""

    id: str
    title: Text = ""
    text: Text = ""


class Composition(Record):
    """The parts of a report around its sections, and changed sections; empty texts are left out."""

    # Empty: the planned title.
    title: Text = ""
    summary: Text = ""
    # The next three are parts of a long report.
    keywords: tuple[Text, ...] = ()
    introduction: Text = ""
    insights: Text = ""
    sections: tuple[Annotated[SectionText, SINGLE], ...] = ()
    conclusion: Text = ""
