"""Requests and replies of the tasks that write sections, the parts around them, and the analysis."""

from __future__ import annotations

from typing import Annotated

from leadline.records import SINGLE, Record, Text
from leadline.research_findings import Question
from leadline.schemas import INTEGER, TEXT, list_of, object_of
from leadline_plugins.prompting.inputs import bullet_list, paragraphs, question_text
from leadline_plugins.prompting.numbered_passages import ShownSource, passages_text
from leadline_plugins.text import is_cjk


def _length_line(question: Question, length: int) -> str:
    unit = "characters" if is_cjk(question.language) else "words"
    return f"Length: about {length} {unit}" if length else ""


class OutlinedSection(Record):
    """A section as the writers of other sections see it."""

    title: Text
    goal: Text = ""


class SynthesizeRequest(Record):
    """Asks for the text of one section from its passages; `length` is in words (CJK: characters), 0 for any."""

    question: Question
    today: str = ""
    # The synthesis of the whole research: context, not a source.
    digest: Text = ""
    # All sections of the report, so that sections do not overlap.
    outline: tuple[OutlinedSection, ...] = ()
    title: Text
    goal: Text = ""
    questions: tuple[Text, ...] = ()
    length: int = 0
    sources: tuple[ShownSource, ...] = ()
    # Ids of the passages, best first: the last are left out if they exceed a model's context.
    best_first: tuple[str, ...] = ()

    def as_text(self) -> str:
        """Return the inputs as prompt text; parts that all sections share come first."""
        outline = [f"{one.title}: {one.goal}" if one.goal not in ("", one.title) else one.title for one in self.outline]
        section = [
            f"Write the section: {self.title}",
            f"Goal: {self.goal}" if self.goal not in ("", self.title) else "",
            *self._neighbours(),
            *bullet_list("Answer these questions", self.questions),
            _length_line(self.question, self.length),
        ]
        return paragraphs(
            question_text(self.question, self.today),
            f"Known from the whole research, not to be cited: {self.digest}" if self.digest else "",
            "\n".join(bullet_list("Sections of the report", outline)),
            "\n".join(filter(None, section)),
            passages_text(self.sources),
        )

    def _neighbours(self) -> list[str]:
        """Return what the sections before and after it are to say, so that neither is repeated."""
        titles = [one.title for one in self.outline]
        if titles.count(self.title) != 1:
            return []
        place = titles.index(self.title)
        near = (("Before it", place - 1), ("After it", place + 1))
        found = [(name, self.outline[at]) for name, at in near if 0 <= at < len(titles)]
        return [f"{name} stands: {one.title}" + (f" ({one.goal})" if one.goal else "") for name, one in found]


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
    """A section of the report, which cites by the numbers of the request."""

    id: str
    title: Text = ""
    text: Text = ""


class WriteRequest(Record):
    """Asks for title, summary and conclusion of a report; with the template `write_whole`, for all of its text.

    Numbers of passages are the same throughout the report.
    """

    question: Question
    today: str = ""
    # The planned title.
    title: Text = ""
    sections: tuple[SectionText, ...]
    # The number of passages that the texts cite, and so the greatest citation number.
    passages: int = 0
    # Questions that the sections leave open.
    unanswered: tuple[Text, ...] = ()
    # The captions of the charts, in the order of their numbers.
    figures: tuple[Text, ...] = ()
    # The critical analysis, from its perspectives.
    analysis: Text = ""
    # Whether the report has an abstract and keywords in place of a summary.
    academic: bool = False
    length: int = 0

    def as_text(self) -> str:
        """Return the inputs as prompt text."""
        figures = [f"Figure {number}: {caption}" for number, caption in enumerate(self.figures, start=1)]
        sections = (f'<section id="{one.id}" title="{one.title}">\n{one.text}\n</section>' for one in self.sections)
        return paragraphs(
            question_text(self.question, self.today),
            f"Planned title: {self.title}" if self.title else "",
            _length_line(self.question, self.length),
            "\n".join(bullet_list("Not found in the passages read", self.unanswered)),
            "\n".join(bullet_list("Charts of the report", figures)),
            "Form: academic" if self.academic else "",
            *sections,
            f"<analysis>\n{self.analysis}\n</analysis>" if self.analysis else "",
        )


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
WHOLE_EXAMPLE = WRITE_EXAMPLE.replace(
    "[],", '[{"id": "1", "text": "Installation costs 12,000 euros on average [1]."}],'
)


LONG_SCHEMA = object_of(
    title=TEXT,
    summary=TEXT,
    keywords=list_of(TEXT),
    introduction=TEXT,
    insights=TEXT,
    conclusion=TEXT,
)
LONG_EXAMPLE = (
    '{"title": "Heat pumps in old houses", "summary": "A heat pump pays off in most old houses [1][4].", '
    '"keywords": ["heat pump", "renovation"], "introduction": "Old houses lose much heat through the roof [2].", '
    '"insights": "- New pipes, not the pump, decide the cost [3].", "conclusion": "Owners should renew pipes first '
    '[3][5]."}'
)


class AnalyzeRequest(Record):
    """Asks for a critical analysis of the findings from several perspectives."""

    question: Question
    today: str = ""
    # The synthesis of the research.
    synthesis: Text = ""
    sources: tuple[ShownSource, ...] = ()
    best_first: tuple[str, ...] = ()

    def as_text(self) -> str:
        """Return the inputs as prompt text."""
        return paragraphs(
            question_text(self.question, self.today),
            f"Known so far: {self.synthesis}" if self.synthesis else "",
            passages_text(self.sources),
        )


ANALYZE_SCHEMA = object_of(perspectives=list_of(object_of(name=TEXT, text=TEXT)))
ANALYZE_EXAMPLE = (
    '{"perspectives": [{"name": "critical", "text": "Both studies were paid for by manufacturers [1][4]."}, {"name": '
    '"creative", "text": "…"}, {"name": "analytical", "text": "…"}]}'
)
