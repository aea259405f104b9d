"""Findings: what the stages of a pipeline leave for one another, each under a typed key.

A stage declares the keys it needs and gives; the pipeline is checked by them before anything is paid for. The keys of
the research pipeline are here; a stranger's are `plugin.key`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar

from leadline.records import (
    NUMBERED,
    SINGLE,
    Chart,
    Confidence,
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

T = TypeVar("T")


@dataclass(frozen=True)
class Key(Generic[T]):
    """The typed name of a finding.

    `type` is what stands under it: a record, or for a key that `grows` the record of each item. What a stage writes to
    a key that grows is a tuple, added to what is there; an item whose `id` is there already is dropped. With `file`
    the finding is saved under that name in the run's folder, as JSON, whenever it changes.
    """

    name: str
    type: type[Any]
    grows: bool = False
    file: str = ""


class Findings(Protocol):
    """What a stage sees: exactly the keys it declared. Reading or writing another one raises `PluginError`."""

    def __getitem__(self, key: Key[T], /) -> T:
        """Return the finding; a key that grows and has nothing yet is the empty tuple."""
        ...

    def get(self, key: Key[T], /) -> T | None:
        """Return the finding, or None: for keys the stage wants but does not need."""
        ...

    def __setitem__(self, key: Key[T], value: T, /) -> None:
        """Write a finding; it is merged when the stage is through."""
        ...

    def end_loop(self, reason: str, /) -> None:
        """End the loop this stage stands in, once the round is through."""
        ...


# --- the research pipeline's -----------------------------------------------------------------------------------------

Coverage = Literal["covered", "partial", "missing"]
Priority = Literal["high", "medium", "low"]
FAILED: Sequence[VerdictKind] = ("contradicted", "unsupported")
"""The verdicts on claims that their passages do not support, not even in part."""


class Question(Record):
    """What is asked, in its language (BCP 47, `en`, `zh`), with what was assumed or answered about it."""

    text: Text
    language: str = ""
    needs_clarification: bool = False
    reasons: tuple[str, ...] = ()
    """Why it needs clarifying, rule by rule."""
    questions: tuple[Text, ...] = ()
    """What was, or would be, asked back."""
    assumptions: tuple[Text, ...] = ()
    answers: tuple[Text, ...] = ()


class Query(Record):
    """A proposed search query: what it is to find out, how urgent it is, and the id of the section that it serves."""

    query: Text
    goal: Text = ""
    priority: str | int = "medium"
    """`high`, `medium`, `low`, or a number: 1 and 2 are high, 3 is medium, 4 and 5 are low."""
    section: str = ""


class PlannedSection(Record):
    """A section as planned: its goal, and the key questions that it answers."""

    id: Annotated[str, NUMBERED]
    title: Text
    goal: Text = ""
    questions: tuple[Text, ...] = ()
    domain: str = ""
    """What it covers: overview, historical, technical, case studies, …"""


class Plan(Record):
    """The outline of a report; sections in the order of the report."""

    title: Text
    sections: tuple[Annotated[PlannedSection, SINGLE], ...]
    queries: tuple[Annotated[Query, SINGLE], ...] = ()
    """The first searches, where the planner proposes them."""

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains of its sections, each once."""
        return tuple(dict.fromkeys(section.domain for section in self.sections if section.domain))


class SearchTask(Record):
    """One search query and what it is for; `section` is the id of the planned section it serves."""

    id: str
    query: Text
    goal: Text = ""
    priority: Priority = "medium"
    section: str = ""
    round: int = 1


class Found(Record):
    """What one search task brought, best first, or why it failed."""

    id: str
    """The id of its task."""
    task: SearchTask
    hits: tuple[Hit, ...] = ()
    failure: Text = ""
    engine_failures: tuple[Failure, ...] = ()
    """Of engines that gave nothing while others did."""


class Unread(Record):
    """A page that could not be read."""

    id: str
    url: str
    reason: Text


class SectionReview(Record):
    """How well one section is covered, and how deep (0 to 1)."""

    id: str
    coverage: Coverage
    depth: float = 0.0


class Review(Record):
    """Whether the research suffices, and where the next round should search."""

    sections: tuple[SectionReview, ...] = ()
    is_sufficient: bool = False
    priority_gaps: tuple[Text, ...] = ()
    """What is missing, as questions that a search could answer."""


class Digest(Record):
    """Progressive synthesis over all rounds so far; coverage by section id."""

    synthesis: Text = ""
    section_coverage: dict[str, Coverage] = {}
    knowledge_gaps: tuple[Text, ...] = ()
    cross_links: tuple[Text, ...] = ()
    """Relations between sections that the report should mention."""
    review: Review | None = None
    """Where the same reply of a model reviewed the research."""
    queries: tuple[Query, ...] = ()
    """The next searches, where the same reply proposed them."""
    round: int = 0
    """The last round that it includes."""
    shown: tuple[str, ...] = ()
    """Ids of the passages that it was made from, in all rounds."""


class Perspective(Record):
    """One way to look at the findings: its name, and what it says, in Markdown that cites as `[@evidence-id]`."""

    name: Text
    text: Text


class Analysis(Record):
    """The findings seen from several perspectives."""

    perspectives: tuple[Annotated[Perspective, SINGLE], ...] = ()


class Illustration(Record):
    """A picture found on a page that fits a section: where it is from, and what came of it."""

    id: str
    url: str
    source_id: str
    section_id: str
    evidence_id: str
    """It is placed behind the paragraph that cites this evidence."""
    caption: Text
    alt: Text
    page: str
    """Address of the page that shows it."""
    file: str = ""
    """In the run's folder; empty where it was left out."""
    reason: Text = ""
    """Why it was left out."""


class Repair(Record):
    """What was done about a claim that its passages do not support, and what the verdict on it was."""

    section_id: str
    claim: Text
    verdict: VerdictKind
    done: Literal["recited", "weakened", "dropped"]
    now: Text = ""
    """The new wording, where a model wrote one."""


class IndexEntry(Record):
    """A claim of the report with the words that support it."""

    claim: Text
    source_ids: tuple[str, ...]
    quote: Text
    confidence: Confidence


Ground = Literal["no_claims", "unknown_ids", "uncited", "unsupported"]
"""Why a verification did not pass: nothing to check, citations of unknown evidence, paragraphs that end without a
citation, claims that are not supported."""


class Verification(Record):
    """The checks of a report, `verify.json`."""

    report_passed: bool
    """Whether the report has claims with citations."""
    paragraphs_jsonl_cite_ids_passed: bool
    paragraph_end_citation_passed: bool
    paragraph_without_citation_count: int
    passed: bool
    grounds: tuple[Ground, ...] = ()
    """Why it did not pass. Unsupported claims are a ground only with `verify.require_support`."""
    claims: dict[VerdictKind, int] = {}
    """The number of claims by verdict."""
    judged_by: dict[str, int] = {}
    """The number of decided claims by judge."""
    unknown_ids: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    uncited: tuple[Uncited, ...] = ()
    repairs: tuple[Repair, ...] = ()
    """Made before the verdicts above."""
    evidence_index: tuple[IndexEntry, ...] = ()
    """The claims that are supported in full or in part."""


class Audit(Record):
    """The decision over a run; `decides` is whether it sets the exit code."""

    accepted: bool
    reasons: tuple[Text, ...] = ()
    decides: bool = False


QUESTION: Key[Question] = Key("question", Question, file="clarify.json")
"""There from the start, as asked; `clarify` refines it."""
PLAN: Key[Plan] = Key("plan", Plan, file="plan.json")
TASKS: Key[tuple[SearchTask, ...]] = Key("tasks", SearchTask, grows=True)
FOUND: Key[tuple[Found, ...]] = Key("found", Found, grows=True, file="search_results.json")
SOURCES: Key[tuple[Source, ...]] = Key("sources", Source, grows=True)
UNREAD: Key[tuple[Unread, ...]] = Key("unread", Unread, grows=True)
EVIDENCE: Key[tuple[Evidence, ...]] = Key("evidence", Evidence, grows=True)
DIGEST: Key[Digest] = Key("digest", Digest)
REVIEW: Key[Review] = Key("review", Review)
ANALYSIS: Key[Analysis] = Key("analysis", Analysis, file="analysis.json")
SECTIONS: Key[tuple[Section, ...]] = Key("sections", Section, grows=True)
CHARTS: Key[tuple[Chart, ...]] = Key("charts", Chart, grows=True, file="charts.json")
"""As planned; what came of them stands in `figures`."""
ILLUSTRATIONS: Key[tuple[Illustration, ...]] = Key("illustrations", Illustration, grows=True, file="images.json")
"""The pictures found on pages that were tried; those in use stand in `figures` too."""
FIGURES: Key[tuple[Figure, ...]] = Key("figures", Figure, grows=True)
REPORT: Key[Report] = Key("report", Report)
VERIFICATION: Key[Verification] = Key("verification", Verification, file="verify.json")
AUDIT: Key[Audit] = Key("audit", Audit)
