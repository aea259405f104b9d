"""The findings of the research pipeline: its records, and the keys under which its stages exchange them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from leadline.findings import Key
from leadline.records import (
    NUMBERED,
    SINGLE,
    Book,
    Chart,
    Confidence,
    Conflict,
    Conversation,
    Evidence,
    Failure,
    Figure,
    Hit,
    Record,
    Report,
    Section,
    Source,
    Text,
    Uncited,
    Verdict,
    VerdictKind,
)
from leadline.rendering import VERDICTS
from leadline.schemas import one_of

Coverage = Literal["covered", "partial", "missing"]
Priority = Literal["high", "medium", "low"]
# The verdicts on claims that their passages do not support, not even in part.
FAILED: Sequence[Any] = [kind for kind, form in VERDICTS.items() if form.tone == "bad"]
# The verdicts on claims that their passages support, at least in part.
GROUNDED: Sequence[Any] = ["supported", "partial"]


class Question(Record):
    """The question with its language (BCP 47: `en`, `zh`), the clarifications and the assumptions made about it."""

    text: Text
    language: str = ""
    needs_clarification: bool = False
    reasons: tuple[str, ...] = ()
    """Why it needs clarification, one reason per rule."""
    questions: tuple[Text, ...] = ()
    """The clarifying questions that were asked, or would have been."""
    assumptions: tuple[Text, ...] = ()
    answers: tuple[Text, ...] = ()
    asked: Text = ""
    """The words of the user, if `text` is a follow-up that was rewritten to stand alone."""
    context: Text = ""
    """The earlier question, for a follow-up that no model could rewrite."""

    @property
    def topic(self) -> str:
        """The text with its context: the words to search with and to rank passages by."""
        return f"{self.text} {self.context}".strip()


class Query(Record):
    """A proposed search query: its goal, its priority, and the id of the section that it serves."""

    query: Text
    goal: Text = ""
    priority: Annotated[str | int, WithJsonSchema(one_of("high", "medium", "low"))] = "medium"
    """`high`, `medium`, `low`, or a number: 1 and 2 are high, 3 is medium, 4 and 5 are low."""
    section: str = ""
    category: SkipJsonSchema[Text] = ""
    """The aspect that it covers, in the plan of a long report alone."""


class PlannedSection(Record):
    """A planned section: its goal and the key questions that it answers."""

    id: Annotated[str, NUMBERED]
    title: Text
    goal: Text = ""
    grid: Text = ""
    """The items that it compares or lists × what is asked of each: `A, B × price, range`; the rows and columns of its
    table. Items that must be found first are described: `(makers in Norway) × price`."""
    questions: tuple[Text, ...] = ()
    domain: str = ""
    """The aspect it covers: overview, historical, technical, case studies, …"""


class Plan(Record):
    """The outline of a report, with sections in the order of the report."""

    title: Text
    scope: Text = ""
    """Subject, place, period, cut-off and reader, as the question sets them."""
    form: Text = ""
    """The form that the question asks for: parts and their order, tables with their columns."""
    sections: tuple[Annotated[PlannedSection, SINGLE], ...]
    queries: tuple[Annotated[Query, SINGLE], ...] = ()
    """The first searches, if the planner proposes any."""
    approval: SkipJsonSchema[Literal["", "approved", "edited"]] = ""
    """Whether a person approved the plan as it was, or edited it; empty if nobody was asked."""

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains of the sections, without duplicates."""
        return tuple(dict.fromkeys(section.domain for section in self.sections if section.domain))


class SearchTask(Record):
    """One search query with its goal; `section` is the id of the planned section that it serves."""

    id: str
    query: Text
    goal: Text = ""
    priority: Priority = "medium"
    section: str = ""
    category: Text = ""
    round: int = 1


class Found(Record):
    """The hits of one search task, best first, or the reason of its failure."""

    id: str
    """The id of the task."""
    task: SearchTask
    hits: tuple[Hit, ...] = ()
    failure: Text = ""
    engine_failures: tuple[Failure, ...] = ()
    """Failures of engines while others succeeded."""
    suggestion: Text = ""
    """The query in another spelling that an engine suggests."""


class Unread(Record):
    """A page that could not be read."""

    id: str
    url: str
    reason: Text


class SectionReview(Record):
    """The coverage of one section, and its depth (0 to 1)."""

    id: str
    coverage: Coverage
    depth: float = 0.0
    questions: tuple[Text, ...] = ()
    """Key questions that the plan lacks: of items that were found, and of aspects that experts would expect."""


class Review(Record):
    """The decision whether the research is sufficient, and the gaps for the next round."""

    sections: tuple[SectionReview, ...] = ()
    is_sufficient: bool = False
    priority_gaps: tuple[Text, ...] = ()
    """Missing information, as questions that a search could answer."""


class Instruction(Record):
    """The words of a source that tell the program or model that reads it what to do."""

    source_id: str
    words: Text


class Digest(Record):
    """The progressive synthesis of all rounds so far, with the coverage of each section by its id."""

    synthesis: Text = ""
    section_coverage: dict[str, Coverage] = {}
    knowledge_gaps: tuple[Text, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    """Passages that tell a program what to do, of all rounds."""
    review: Review | None = None
    """The review, if the same model reply contained one."""
    queries: tuple[Query, ...] = ()
    """The next searches, if the same model reply proposed any."""
    round: int = 0
    """The last round that the digest includes."""
    conflicts: tuple[Conflict, ...] = ()
    """Where passages disagree, of all rounds."""
    answers: dict[str, tuple[str, ...]] = {}
    """The ids of the passages that answer a section or that a review had read for it, of all rounds, by its id."""


class Illustration(Record):
    """A picture of a page, or of a search for pictures, that fits a section, and the result of processing it."""

    id: str
    url: str
    source_id: str
    """The source whose page shows the picture; empty if a search for pictures found it."""
    section_id: str
    evidence_id: str
    """The picture follows the paragraph that cites this evidence."""
    caption: Text
    alt: Text
    page: str
    """The address of the page that shows the picture."""
    rights: Text = ""
    """The licence and the author, if a search engine says."""
    file: str = ""
    """Its file in the run's folder; empty if it was left out."""
    reason: Text = ""
    """Why the picture was left out."""


class Repair(Record):
    """The repair of a claim that its passages do not support, with the verdict that caused it."""

    section_id: str
    claim: Text
    verdict: VerdictKind
    done: Literal["recited", "reworded", "dropped"]
    now: Text = ""
    """The new wording, if a model wrote one."""


class IndexEntry(Record):
    """A claim of the report and the words that support it."""

    claim: Text
    source_ids: tuple[str, ...]
    quote: Text
    confidence: Confidence


# Why a report is rejected: it cites unknown evidence; with `verify.require_support` also no or unsupported claims,
# paragraphs without a citation, and judges that failed.
Ground = Literal["failed_judges", "no_claims", "uncited", "unknown_ids", "unsupported"]


class Verification(Record):
    """The result of verifying a report, saved as `verify.json`."""

    report_passed: bool | None
    """True if the report has claims, and each paragraph that makes a statement ends with a citation."""
    paragraphs_jsonl_cite_ids_passed: bool
    paragraph_end_citation_passed: bool
    paragraph_without_citation_count: int
    passed: bool | None
    """None if a judge failed; also None, as `report_passed`, if nothing is claimed: sections only show passages."""
    remarks: int = 0
    """Claims that are not or only partly supported, and paragraphs without a citation; a report with remarks passes."""
    grounds: tuple[Ground, ...] = ()
    """Why it did not pass."""
    reasons: tuple[Text, ...] = ()
    """The same in words."""
    claims: dict[VerdictKind, int] = {}
    """The number of claims by verdict."""
    judged_by: dict[str, int] = {}
    """The number of decided claims by judge."""
    failed_judges: tuple[str, ...] = ()
    """Judges of `verify.judges` that returned no verdicts on some claims: the others decided without them."""
    unknown_ids: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    uncited: tuple[Uncited, ...] = ()
    repairs: tuple[Repair, ...] = ()
    """Repairs made before these verdicts."""
    evidence_index: tuple[IndexEntry, ...] = ()
    """The claims that are supported or partly supported."""


class Audit(Record):
    """The decision on the run; `decides` means that it sets the exit code."""

    accepted: bool | None
    """None if there was nothing to judge."""
    reasons: tuple[Text, ...] = ()
    decides: bool = False


class Route(Record):
    """The pipeline that was chosen for the question, and why; the run continues with it."""

    pipeline: str
    reason: Text
    by: Literal["rules", "model", "default"] = "rules"


# Available from the start; `clarify` refines it.
QUESTION: Key[Question] = Key("question", Question, file="clarify.json")
# Only in runs that continue others or remember some: the earlier turns and their sources.
CONVERSATION: Key[Conversation] = Key("conversation", Conversation, file="conversation.json")
PLAN: Key[Plan] = Key("plan", Plan, file="plan.json")
TASKS: Key[tuple[SearchTask, ...]] = Key("tasks", SearchTask, grows=True)
FOUND: Key[tuple[Found, ...]] = Key("found", Found, grows=True, file="search_results.json")
SOURCES: Key[tuple[Source, ...]] = Key("sources", Source, grows=True)
UNREAD: Key[tuple[Unread, ...]] = Key("unread", Unread, grows=True)
EVIDENCE: Key[tuple[Evidence, ...]] = Key("evidence", Evidence, grows=True)
DIGEST: Key[Digest] = Key("digest", Digest)
REVIEW: Key[Review] = Key("review", Review)
# The passages that all sections are written from.
BOOK: Key[Book] = Key("book", Book)
# Parts around the sections, such as the summary, if they were written together with them.
PARTS: Key[tuple[Section, ...]] = Key("parts", Section, grows=True)
SECTIONS: Key[tuple[Section, ...]] = Key("sections", Section, grows=True)
# Planned charts; the drawn ones are also in FIGURES.
CHARTS: Key[tuple[Chart, ...]] = Key("charts", Chart, grows=True, file="charts.json")
# Pictures from pages, including rejected ones; those in use are also in FIGURES.
ILLUSTRATIONS: Key[tuple[Illustration, ...]] = Key("illustrations", Illustration, grows=True, file="images.json")
FIGURES: Key[tuple[Figure, ...]] = Key("figures", Figure, grows=True)
REPORT: Key[Report] = Key("report", Report)
VERIFICATION: Key[Verification] = Key("verification", Verification, file="verify.json")
AUDIT: Key[Audit] = Key("audit", Audit)
# Set by a pipeline that only chooses another one.
ROUTE: Key[Route] = Key("route", Route)
