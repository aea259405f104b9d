"""Reports and their parts: sections, charts, figures; claims and the verdicts on them; conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic.json_schema import SkipJsonSchema

from leadline.records.base import Json, Record, Text
from leadline.records.documents import Evidence, Source
from leadline.records.notices import Notice


class DataPoint(Record):
    """A number that a passage states: its label, its value as written, its unit."""

    label: Text
    value: Text
    unit: Text = ""
    evidence_id: str = ""


class Section(Record):
    """A section of the report. `text` is Markdown with citations `[@evidence-id]` and figures `![](figure:id)`."""

    id: str
    title: Text
    part: SkipJsonSchema[Text] = ""
    """The part of a long report, such as its main findings: its heading stands above the sections of the part."""
    evidence_ids: tuple[str, ...] = ()
    notes: Text = ""
    """The goal of the section, from the plan."""
    questions: SkipJsonSchema[tuple[Text, ...]] = ()
    """The key questions that the section answers, from the plan."""
    text: Text | None = None
    """None or empty: the report omits the section."""
    notices: SkipJsonSchema[tuple[Notice, ...]] = ()
    """What the writer had to do without. Models that return sections do not see this field or the next ones."""
    unsent: SkipJsonSchema[tuple[str, ...]] = ()
    """Ids of evidence that no writer saw because its call was refused."""
    unwritten: SkipJsonSchema[tuple[Notice, ...]] = ()
    """Why the section consists of quotes: one reason for each text that could not be written."""
    unanswered: SkipJsonSchema[tuple[Text, ...]] = ()
    """Open points that the evidence does not answer, in the words of the writer."""
    inferences: SkipJsonSchema[tuple[Text, ...]] = ()
    """Conclusions of the writer that no passage states; reports show them separately and mark them."""
    quotes: SkipJsonSchema[bool] = False
    """True if the section only shows passages: it claims nothing, so that nothing in it is judged."""
    missing_words: SkipJsonSchema[tuple[Text, ...]] = ()
    """The words of the question that no passage of the section has, as the question writes them."""
    data_points: SkipJsonSchema[tuple[DataPoint, ...]] = ()
    """Numbers that the text uses; charts are planned from them."""


class Chart(Record):
    """A chart to draw: tidy rows (one observation each), or code in a language of the chart runner."""

    id: str
    title: Text
    chart_type: str
    evidence_ids: tuple[str, ...] = ()
    rows: tuple[Json, ...] = ()
    language: str = "data"
    code: str = ""
    x_label: Text = ""
    y_label: Text = ""
    unit: Text = ""
    """The unit of the values: `%`, `million tonnes`."""
    source: Text = ""
    """The line below the chart that names the source of its numbers."""
    refused: tuple[Text, ...] = ()
    """Why drawing was refused, once per attempt. The chart was corrected if it has a figure, and omitted otherwise."""


class Figure(Record):
    """A drawn chart, or a picture from a page.

    `media` is a MIME bundle: always image/png, image/jpeg or image/svg+xml; also text/html if it is interactive.
    """

    id: str
    caption: Text
    alt: Text
    evidence_ids: tuple[str, ...] = ()
    media: Mapping[str, bytes]
    credit: str = ""
    """The address of the page a picture is from; empty for charts."""
    rights: Text = ""
    """The licence and the author of a picture, if known."""
    section_id: str = ""
    """The section of the figure; if empty, its evidence decides."""


VerdictKind = Literal["supported", "partial", "contradicted", "unsupported", "not_judged"]


class Claim(Record):
    """A statement of the report and the passages that it cites."""

    id: str
    """`SECTION.NUMBER`, in the order of the report."""
    section_id: str
    text: Text
    """The statement without citations and marks."""
    span: tuple[int, int]
    """Its place in the text of its section, including citations; offsets in characters, end exclusive."""
    evidence_ids: tuple[str, ...] = ()
    under: tuple[Text, ...] = ()
    """The title of the section and the headings above the claim."""
    before: Text = ""
    """The previous sentence of the paragraph, to which pronouns refer."""
    findings: tuple[Notice, ...] = ()
    """Observations of earlier judges that decided nothing, such as a number that the source does not contain."""


class JudgeRequest(Record):
    """Claims to judge against the passages that they cite; each passage occurs once.

    Of claims without a passage a judge can only say that they assert nothing.
    """

    claims: tuple[Claim, ...]
    passages: tuple[Evidence, ...]
    sources: tuple[Source, ...] = ()
    """The sources of the passages."""
    language: str = ""


class Judgement(Record):
    """The decision of a judge on one claim, or an observation without a decision."""

    claim_id: str
    verdict: VerdictKind
    """`not_judged` leaves the claim to the next judge, which receives `reason` as a finding."""
    quote: Text = ""
    """The exact words of the passages that support the verdict, joined with ` […] ` if there are several.

    Words that no cited passage contains do not count.
    """
    evidence_id: str = ""
    """The passage that contains the quote, or its first part."""
    reason: Notice = Notice("")
    confidence: float = 1.0
    asserts: bool = True
    """False if the sentence cannot be true or false of the world: a transition, a sentence about the report."""
    names: tuple[Text, ...] = ()
    """Names in the claim whose number is part of them, such as `PostgreSQL 15`: it need not be in a passage."""
    correction: Text = ""
    """Of an unsupported claim: the sentence that `quote`, which any passage of the request may have, supports."""


class Judgements(Record):
    """The judgements of one judge; claims that are missing are left to the next judge."""

    judgements: tuple[Judgement, ...] = ()


class Correction(Record):
    """A sentence in place of an unsupported claim, with the passages that support it and their words."""

    text: Text
    evidence_ids: tuple[str, ...]
    quote: Text = ""


class Verdict(Record):
    """The decision on one claim of the report."""

    claim: Claim
    verdict: VerdictKind
    quote: Text = ""
    """The exact words of a cited passage that support the verdict: a verbatim part of its `quote`."""
    evidence_id: str = ""
    """The passage that contains the quote."""
    reason: Notice = Notice("")
    confidence: float = 1.0
    judge: str = ""
    """The judge that decided; empty if none could."""
    quoted: tuple[str, ...] = ()
    """Ids of the passages that the judge quoted."""
    asserts: bool = True
    """False if the judge calls the claim a sentence that asserts nothing; reports have no such verdicts."""
    correction: Correction | None = None
    """Of an unsupported claim: what passages of the report support in its place, as the judge proposes."""


class Conflict(Record):
    """Passages of different sources that say different things about the same subject."""

    about: Text
    evidence_ids: tuple[str, ...]
    primary: str = ""
    """The passage of the primary source; empty if none is."""


class Uncited(Record):
    """A paragraph that makes a statement and does not end with a citation."""

    id: str
    section_id: str
    text: Text
    span: tuple[int, int]
    """Its place in the text of its section; offsets in characters, end exclusive."""


class Table(Record):
    """A table in the text of a report: cells as plain text, and the passages that each row cites."""

    id: str
    section_id: str
    title: Text = ""
    """The heading above the table."""
    columns: tuple[Text, ...] = ()
    rows: tuple[tuple[Text, ...], ...] = ()
    evidence_ids: tuple[tuple[str, ...], ...] = ()


class Report(Record):
    """A report as data, for formatters to render."""

    title: Text
    language: str
    sections: tuple[Section, ...]
    sources: tuple[Source, ...]
    evidence: tuple[Evidence, ...]
    figures: tuple[Figure, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    """The verdicts on claims, in the order of the report; empty before verification."""
    uncited: tuple[Uncited, ...] = ()
    """Paragraphs that need a citation and have none."""
    tables: tuple[Table, ...] = ()
    """The tables in the text, as data; set before the report is exported."""
    conflicts: tuple[Conflict, ...] = ()
    """Where the sources disagree."""
    lacks: tuple[Text, ...] = ()
    """What is missing from the report, as reasons: with any, the run ends as `partial`."""
    metadata: Json = {}

    @property
    def quotes(self) -> bool:
        """True if every section only shows passages, as without a language model: the report claims nothing."""
        return bool(self.sections) and all(section.quotes for section in self.sections)

    @property
    def missing_words(self) -> tuple[str, ...]:
        """The words of the question that no passage of a section has."""
        return tuple(dict.fromkeys(word for section in self.sections for word in section.missing_words))


# The ids of the parts that stand around the sections of a report.
REPORT_PARTS = ("summary", "introduction", "insights", "analysis", "conclusion", "keywords")


class Book(Record):
    """The evidence of a report: the passages that all its sections are written from."""

    outline: tuple[Section, ...] = ()
    """The planned sections in the order of the report, without text; `evidence_ids` are best first."""
    evidence: tuple[Evidence, ...] = ()
    """Each passage once, best first."""
    sources: tuple[Source, ...] = ()
    """The sources of the evidence, without the text of their documents."""
    conflicts: tuple[Conflict, ...] = ()

    def passages(self, section: Section) -> tuple[Evidence, ...]:
        """Return the passages of a section, best first."""
        known = {item.id: item for item in self.evidence}
        return tuple(known[name] for name in section.evidence_ids if name in known)


class SynthesisRequest(Record):
    """Asks for the text of some sections of a report; every request of a report has the same book."""

    book: Book
    sections: tuple[str, ...]
    """The ids of the sections to write, and of parts around them (`REPORT_PARTS`), such as `summary`.

    A synthesizer may leave out these parts, and the report then has none.
    """
    question: Text = ""
    language: str = ""
    assumptions: tuple[Text, ...] = ()
    """Assumptions about the question that it does not state."""
    scope: Text = ""
    """What the report covers: place, period, readers."""
    form: Text = ""
    """The form that the question asks for: parts, order, columns of tables."""
    length: int = 0
    """The length of each section in words (Chinese and Japanese: characters); 0: any length."""
    figures: tuple[Text, ...] = ()
    """The captions of the charts, in the order of their numbers."""
    written: tuple[Section, ...] = ()
    """Sections that are written already: parts around them draw on these, and a section among them is extended."""

    @property
    def wanted(self) -> tuple[Section, ...]:
        """The planned sections to write, in the order of the report."""
        return tuple(section for section in self.book.outline if section.id in self.sections)


class Synthesis(Record):
    """The written sections and parts. One without text, or that is missing, is left out of the report."""

    sections: tuple[Section, ...] = ()


# --- conversations ----------------------------------------------------------------------------------------------------


class Turn(Record):
    """A question with its answer. Only turns that were runs have claims."""

    question: Text
    """As it was understood: a question that stands alone."""
    answer: Text = ""
    """The report as Markdown with citations `[@evidence-id]`; empty if there was none."""
    run_id: str = ""
    claims: tuple[Verdict, ...] = ()
    """The claims of the report with their verdicts."""


class Conversation(Record):
    """The turns before a run, the oldest first, with the sources of all of them.

    A run keeps this as `conversation.json`, so that it can be resumed and replayed after the earlier runs are deleted.
    """

    id: str = ""
    turns: tuple[Turn, ...] = ()
    sources: tuple[Source, ...] = ()
    """With their documents; the newest report's first."""
    left_out: int = 0
    """The number of further sources, which together would be too long."""
    remembered: tuple[Turn, ...] = ()
    """Turns of other conversations of the user that share words with the question, the best first (`memory`)."""

    @property
    def last(self) -> Turn | None:
        """The last turn."""
        return self.turns[-1] if self.turns else None
