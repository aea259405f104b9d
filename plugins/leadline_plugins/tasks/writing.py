"""The typed tasks of writing: a section, what stands around the sections, an analysis."""

from __future__ import annotations

from typing import Annotated

from leadline.findings import Question
from leadline.records import SINGLE, Record, Text
from leadline.schemas import INTEGER, TEXT, list_of, object_of
from leadline_plugins.prompting import inputs, passages
from leadline_plugins.prompting.passages import ShownSource
from leadline_plugins.text import is_cjk


def _length(question: Question, length: int) -> str:
    unit = "characters" if is_cjk(question.language) else "words"
    return f"Length: about {length} {unit}" if length else ""


class OutlinedSection(Record):
    """A section of the report as the writers of the others know it."""

    title: Text
    goal: Text = ""


class SynthesizeRequest(Record):
    """Asks for the text of one section from its passages; `length` is in words (CJK: characters), 0 for any."""

    question: Question
    today: str = ""
    digest: Text = ""
    """What the research found out as a whole: context, not a source."""
    outline: tuple[OutlinedSection, ...] = ()
    """All sections of the report, so that each leaves to the others what is theirs."""
    title: Text
    goal: Text = ""
    questions: tuple[Text, ...] = ()
    length: int = 0
    sources: tuple[ShownSource, ...] = ()
    best_first: tuple[str, ...] = ()
    """Ids of the passages, the most relevant first: where they exceed a model's context, the last are left out."""

    def as_text(self) -> str:
        """Return the inputs as the model reads them; what the sections of a report share stands first."""
        outline = [f"{one.title}: {one.goal}" if one.goal not in ("", one.title) else one.title for one in self.outline]
        section = [
            f"Write the section: {self.title}",
            f"Goal: {self.goal}" if self.goal not in ("", self.title) else "",
            *inputs.listed("Answer these questions", self.questions),
            _length(self.question, self.length),
        ]
        return inputs.joined(
            inputs.about(self.question, self.today),
            f"Known from the whole research, not to be cited: {self.digest}" if self.digest else "",
            "\n".join(inputs.listed("Sections of the report", outline)),
            "\n".join(filter(None, section)),
            "Passages:",
            passages.as_text(self.sources),
        )


class StatedFigure(Record):
    """A figure that the text uses, and the number of the passage that states it."""

    label: Text
    value: Text
    unit: Text = ""
    passage: int = 0


class Written(Record):
    """The text of a section: Markdown that cites passages by their numbers.

    Where the passages answer nothing, `text` is empty.
    """

    text: Text
    unanswered: tuple[Text, ...] = ()
    """The questions that the passages do not answer."""
    inferences: tuple[Text, ...] = ()
    """Conclusions of the writer that no passage states."""
    figures: tuple[Annotated[StatedFigure, SINGLE], ...] = ()


SYNTHESIZE_SCHEMA = object_of(
    text=TEXT,
    unanswered=list_of(TEXT),
    inferences=list_of(TEXT),
    figures=list_of(object_of(label=TEXT, value=TEXT, unit=TEXT, passage=INTEGER)),
)
SYNTHESIZE_EXAMPLE = (
    '{"text": "Installation costs 12,000 euros on average [1]. In old houses it costs more, because the pipes must be '
    'replaced [2][3].", "unanswered": ["What does the electricity cost?"], "inferences": ["A subsidy of a third would '
    'make both systems equally expensive."], "figures": [{"label": "average cost of installation", "value": "12,000", '
    '"unit": "euros", "passage": 1}]}'
)


class SectionText(Record):
    """A section of the report: its text cites by the numbers of the request, or of the reply."""

    id: str
    title: Text = ""
    text: Text = ""


class WriteRequest(Record):
    """Asks for title, summary and conclusion of a report; or, by the template `write_whole`, for all of its text.

    The texts cite passages by numbers that are the same throughout the report.
    """

    question: Question
    today: str = ""
    title: Text = ""
    """As planned."""
    sections: tuple[SectionText, ...]
    passages: int = 0
    """How many passages the texts cite: the greatest number of a citation."""
    unanswered: tuple[Text, ...] = ()
    """What the sections leave open."""
    figures: tuple[Text, ...] = ()
    """The captions of the charts, in the order of their numbers."""
    length: int = 0

    def as_text(self) -> str:
        """Return the inputs as the model reads them."""
        figures = [f"Figure {number}: {caption}" for number, caption in enumerate(self.figures, start=1)]
        sections = (f'<section id="{one.id}" title="{one.title}">\n{one.text}\n</section>' for one in self.sections)
        return inputs.joined(
            inputs.about(self.question, self.today),
            f"Planned title: {self.title}" if self.title else "",
            _length(self.question, self.length),
            "\n".join(inputs.listed("Not answered by the sources", self.unanswered)),
            "\n".join(inputs.listed("Charts of the report", figures)),
            *sections,
        )


class Composition(Record):
    """What a model wrote around the sections, with the sections that it changed; empty texts are left out."""

    title: Text = ""
    """Empty: as planned."""
    summary: Text = ""
    sections: tuple[Annotated[SectionText, SINGLE], ...] = ()
    conclusion: Text = ""


WRITE_SCHEMA = object_of(
    title=TEXT,
    summary=TEXT,
    sections=list_of(object_of(id=TEXT, text=TEXT)),
    conclusion=TEXT,
)
WRITE_EXAMPLE = (
    '{"title": "Heat pumps in old houses", "summary": "A heat pump costs 12,000 euros on average [1].", '
    '"sections": [], "conclusion": "Old houses need new pipes first [3]."}'
)
WHOLE_EXAMPLE = (
    '{"title": "Heat pumps in old houses", "summary": "A heat pump costs 12,000 euros on average [1].", '
    '"sections": [{"id": "1", "text": "Installation costs 12,000 euros on average [1]."}], '
    '"conclusion": "Old houses need new pipes first [3]."}'
)


class AnalyzeRequest(Record):
    """Asks for a critical analysis of what was found, from several perspectives."""

    question: Question
    today: str = ""
    synthesis: Text = ""
    """What the rounds of research came to."""
    sources: tuple[ShownSource, ...] = ()
    best_first: tuple[str, ...] = ()

    def as_text(self) -> str:
        """Return the inputs as the model reads them."""
        return inputs.joined(
            inputs.about(self.question, self.today),
            f"Known so far: {self.synthesis}" if self.synthesis else "",
            "Passages:",
            passages.as_text(self.sources),
        )


ANALYZE_SCHEMA = object_of(perspectives=list_of(object_of(name=TEXT, text=TEXT)))
ANALYZE_EXAMPLE = (
    '{"perspectives": [{"name": "critical", "text": "Both studies were paid for by manufacturers [1][4]."}, {"name": '
    '"creative", "text": "…"}, {"name": "analytical", "text": "…"}]}'
)
