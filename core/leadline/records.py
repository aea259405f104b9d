"""The records: frozen models, JSON both ways, that cross the borders between the core and the plugins.

References between records are ids, so that a report can be checked: every cited id exists, and
`source.document.text[start:end]` of an evidence's span is its quote. What joins a record later has a default, and
no default ever changes, so that old journals stay readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainSerializer, SecretStr, model_validator
from pydantic.json_schema import SkipJsonSchema

from leadline.errors import Category

Json = Mapping[str, JsonValue]
PROSE, NUMBERED, SINGLE = "prose", "numbered", "single"
"""Marks of annotations: a text to be read; an id that whoever takes the record gives where there is none; an item of a
list that stands by itself, and where a model wrote it unreadably is left out alone."""
Text = Annotated[str, "prose"]
"""What a redacting middleware may change; ids, names and URLs are plain `str`."""
Labels = Annotated[frozenset[str], PlainSerializer(sorted, list[str], when_used="json")]
"""Sensitivity; inherited by whatever is made from the labelled thing. One JSON, whatever the order of the set."""
Confidence = Literal["high", "medium", "low"]
Tier = Literal[1, 2, 3]
"""Of a source: 1 primary and official, 2 reputable secondary, 3 other."""


class Record(BaseModel):
    """The base of all records: frozen; bytes travel as base64; unknown fields of newer versions are let pass."""

    model_config = ConfigDict(frozen=True, ser_json_bytes="base64", val_json_bytes="base64", extra="ignore")


# --- what a call costs, who asks, what happens -----------------------------------------------------------------


class Usage(Record):
    """What one call used. `cost` is USD as billed; None where the provider does not say."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: Decimal | None = None


THEN = " > "
"""Stands between the names of a chain of providers."""


class Failure(Record):
    """A call that failed for good, as the journal keeps it."""

    kind: str
    """Of the call: `search`, `chat`, …"""
    provider: str
    category: Category
    type: str
    """Class name of the provider's error."""
    message: Text
    attempts: int = 1
    detail: Text = ""
    """More of it than people are told: `metadata.json` has it."""
    traceback: Text = ""
    """Of a plugin's fault, without the secrets of the settings: `metadata.json` has it, too."""

    @property
    def text(self) -> str:
        """One line for people."""
        tries = f" (after {self.attempts} attempts)" if self.attempts > 1 else ""
        if THEN in self.provider:  # what it says names each of them
            return self.message
        return f"{self.kind} by {self.provider}: {self.message}{tries}"


class Principal(Record):
    """On whose behalf; only the id is ever written down."""

    id: str
    credential: SecretStr | None = Field(None, exclude=True, repr=False)


class Answer(Record):
    """What a person answered to a question of the run."""

    action: Literal["accept", "decline", "cancel"]
    content: Json = {}


class Event(Record):
    """One thing that happened; `data` by kind is described in `leadline.events`."""

    seq: int
    time: datetime
    run_id: str
    kind: str
    data: Json = {}
    trace_id: str = ""
    span_id: str = ""
    parent_id: str | None = None
    v: int = 1


# --- search and pages ----------------------------------------------------------------------------------------------


class SearchRequest(Record):
    """What an engine needs and no more: it is the cache key."""

    query: Text
    limit: int = 10
    language: str = ""
    cursor: str | None = None


class Hit(Record):
    """One search result. The engine fills what it knows; `engine` and `tier` are set by the core."""

    url: str
    """To cite; any scheme."""
    title: Text = ""
    snippet: Text = ""
    text: Text | None = None
    """The full text, where the engine has it; the page is then not fetched."""
    content_url: str | None = None
    """To read, where it is not `url`: the PDF behind a DOI."""
    published: str | None = None
    """ISO 8601 date, as far as it is known."""
    score: float | None = None
    """How well it fits, as a measure that tells how far it is behind the best of its search; None for a rank alone."""
    images: tuple[str, ...] = ()
    citable: bool = True
    """False: no evidence may rest on it."""
    labels: Labels = frozenset()
    csl: Json = {}
    """CSL-JSON: author, container-title, DOI, …"""
    engine: str = ""
    tier: Tier = 3


class SearchPage(Record):
    """Hits, best first; `cursor` is where the next page starts."""

    hits: tuple[Hit, ...] = ()
    cursor: str | None = None
    failures: tuple[Failure, ...] = ()
    """Of engines that gave nothing while others did; set by the core, and by strategies that stop waiting for one."""


class FetchRequest(Record):
    """An address to be read."""

    url: str
    accept: tuple[str, ...] = ()
    """Media types that are wanted, as `image/png`; empty: whatever a parser reads."""
    size: int | None = None
    """Bytes that are wanted at most; None leaves it to the fetcher."""


class Blob(Record):
    """Bytes with a name (of a file, or a URL) and a media type (`text/html; charset=gbk`)."""

    name: str
    media_type: str
    data: bytes
    labels: Labels = frozenset()


class Files(Record):
    """What a formatter makes, the main file first."""

    files: tuple[Blob, ...]


class Image(Record):
    """An illustration of a page, and what the page says of it."""

    url: str
    alt: Text = ""
    caption: Text = ""

    @model_validator(mode="before")
    @classmethod
    def _address_alone(cls, data: object) -> object:
        return {"url": data} if isinstance(data, str) else data  # as journals had it before captions were read


BlockKind = Literal["heading", "paragraph", "list", "definition", "table", "code", "quote", "caption"]


class Block(Record):
    """One block of a document: `document.text[start:end]` is its Markdown.

    A table keeps its header row, a definition its term, code its fences.
    """

    kind: BlockKind
    start: int
    """Offset in characters."""
    end: int
    """Exclusive."""
    path: tuple[Text, ...] = ()
    """The headings above it, the outermost first; a heading's own text is not part of its path."""
    page: int | None = None
    """The page on which it begins, from 1; None for formats without pages."""


class Document(Record):
    """The text of something read, as Markdown. `pages` are the offsets at which each page begins, in characters."""

    text: Text
    blocks: tuple[Block, ...] = ()
    """In the order of the text, without overlap. A parser may leave them out: they are then read from the Markdown."""
    title: Text = ""
    language: str = ""
    pages: tuple[int, ...] = ()
    author: Text = ""
    """Several are separated by semicolons."""
    published: str | None = None
    """ISO 8601 date, as the document says itself."""
    images: tuple[Image, ...] = ()
    """Illustrations, the best first."""


# --- evidence and the report -----------------------------------------------------------------------------------------


class Source(Record):
    """A hit once read: cited by `hit.url`, quoted from `document.text`."""

    id: str
    hit: Hit
    document: Document
    engine: str = ""
    tier: Tier = 3
    labels: Labels = frozenset()
    task_id: str = ""
    """Of the search task that found it first."""


class Evidence(Record):
    """A passage of a source: one or more whole blocks; `document.text[span[0]:span[1]] == quote`, word for word."""

    id: str
    """Short, and the same in every run: `pq3v7k2a`."""
    source_id: str
    quote: Text
    span: tuple[int, int]
    """Offsets in characters, end exclusive."""
    path: tuple[Text, ...] = ()
    """The headings above the passage in its document, the outermost first."""
    page: int | None = None
    """The page on which it begins, from 1; None for documents without pages."""
    lead: Text = ""
    """What a reader needs before it and what is earlier in the document: the lead-in of a list, the caption and header
    of a table that was divided. Verbatim; empty where the passage has it itself."""
    score: float = 0.0
    """How well it answers what it was selected for; larger is better."""
    task_id: str = ""
    """The search task that found its source."""


class DataPoint(Record):
    """A figure that a passage states: what it measures, its value as written, its unit."""

    label: Text
    value: Text
    unit: Text = ""
    evidence_id: str = ""


class Section(Record):
    """A part of the report. `text` is Markdown that cites as `[@evidence-id]` and shows figures as `![](figure:id)`."""

    id: str
    title: Text
    evidence_ids: tuple[str, ...] = ()
    notes: Text = ""
    """Its goal, as planned."""
    text: Text | None = None
    """None or empty: the section is left out of the report."""
    notices: SkipJsonSchema[tuple[Text, ...]] = ()
    """What was done with less when it was written. A model that returns sections is asked for none of this."""
    unsent: SkipJsonSchema[tuple[str, ...]] = ()
    """Ids of its evidence that no writer was shown, because its call was refused."""
    unwritten: SkipJsonSchema[tuple[Text, ...]] = ()
    """Why it is quotes: a reason for each text that did not come. Of a part of it `notices` tell that."""
    unanswered: SkipJsonSchema[tuple[Text, ...]] = ()
    """What of it the evidence does not answer, in the words of whoever wrote it; without a text that is all of it."""
    inferences: SkipJsonSchema[tuple[Text, ...]] = ()
    """The writer's own conclusions that no passage states: shown apart from the text, and marked as such."""
    data_points: SkipJsonSchema[tuple[DataPoint, ...]] = ()
    """The figures that its text rests on: charts are planned from them."""


class Chart(Record):
    """A chart to be drawn: tidy rows (one observation each), or code in one of the runner's languages."""

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
    """Of the values: `%`, `million tonnes`."""
    source: Text = ""
    """The line below the chart that says where its numbers come from."""
    refused: tuple[Text, ...] = ()
    """Why it was refused, each time: a chart that has a figure was put right then, another was left out."""


class Figure(Record):
    """A drawn chart or a picture found on a page.

    `media` is a MIME bundle, with image/png, image/jpeg or image/svg+xml always, text/html where it is interactive.
    """

    id: str
    caption: Text
    alt: Text
    evidence_ids: tuple[str, ...] = ()
    media: Mapping[str, bytes]
    credit: str = ""
    """Address of the page that a picture is from; empty for what was drawn here."""
    section_id: str = ""
    """The section where it belongs; empty leaves that to the passages that it shows."""


class Report(Record):
    """The report as data; formatters only render it."""

    title: Text
    language: str
    sections: tuple[Section, ...]
    sources: tuple[Source, ...]
    evidence: tuple[Evidence, ...]
    figures: tuple[Figure, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    """On the claims of the sections, in the order of the report; empty before they are judged."""
    uncited: tuple[Uncited, ...] = ()
    """Paragraphs that should have a citation and have none."""
    metadata: Json = {}


# --- models --------------------------------------------------------------------------------------------------------


class Tool(Record):
    """A tool a model may call; `parameters` is JSON Schema."""

    name: str
    description: str
    parameters: Json


class ToolCall(Record):
    """A model's wish to have a tool called."""

    id: str
    name: str
    arguments: Json
    unread: Text = ""
    """The arguments as they came, where they are no JSON object: the model is told so, and may say them again."""


class Message(Record):
    """One turn of a chat. `opaque` is the vendor's own (reasoning signatures), handed back to it unchanged."""

    role: Literal["system", "user", "assistant", "tool"]
    text: Text = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    opaque: JsonValue = None
    by: str = ""
    """The provider and model that said it, where a talk goes on: set and taken off by the core, for `opaque` is theirs
    alone."""


class ModelTraits(Record):
    """What a model can do; corrected, model by model, in the settings."""

    json_schema: bool = False
    """Whether replies can be held to a schema: it is sent with the request then. In the prompt it stands always."""
    tools: bool = False
    temperature: bool = True
    """Without, the core never sends one."""
    context_tokens: int | None = None
    model: str = ""
    """Its own name, where it was asked for as the provider's default: prices are known by name."""


class ChatRequest(Record):
    """One chat request; `effort` is that of reasoning."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    allowed: tuple[str, ...] | None = None
    """Names of the tools that may be called now; None: all. The others stay defined, so that the prefix stays as it
    was; a provider whose endpoint cannot be told so leaves it."""
    json_schema: Json | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    effort: Literal["low", "medium", "high"] | None = None


class ChatReply(Record):
    """One chat reply; `model` is the one that answered."""

    message: Message
    reasoning: Text = ""
    model: str = ""
    finish_reason: Literal["stop", "length", "tool_calls", "content_filter"] = "stop"


class Code(Record):
    """Code to run, with the files beside it."""

    language: str
    text: Text
    files: tuple[Blob, ...] = ()
    seconds: float | None = None
    """It may run this long at most; None leaves it to the sandbox."""


class Execution(Record):
    """What running it gave. `seconds` is wall time."""

    stdout: Text = ""
    stderr: Text = ""
    value: JsonValue = None
    exit_code: int = 0
    seconds: float = 0.0
    files: tuple[Blob, ...] = ()


class EmbedRequest(Record):
    """Texts to be embedded by one model."""

    model: str
    texts: tuple[Text, ...]


class Embeddings(Record):
    """One vector a text, in their order."""

    vectors: tuple[tuple[float, ...], ...]


class RerankRequest(Record):
    """Texts to be rated by how well they answer a query."""

    query: Text
    texts: tuple[Text, ...]


class Ranking(Record):
    """One score a text, in their order; larger is better."""

    scores: tuple[float, ...]


# --- claims and verdicts ---------------------------------------------------------------------------------------------

VerdictKind = Literal["supported", "partial", "contradicted", "unsupported", "not_judged"]


class Claim(Record):
    """A statement of the report with the passages that it cites."""

    id: str
    """`SECTION.NUMBER`, in the order of the report."""
    section_id: str
    text: Text
    """Without citations and marks."""
    span: tuple[int, int]
    """Where it stands in the text of its section, its citations included; offsets in characters, end exclusive."""
    evidence_ids: tuple[str, ...] = ()
    under: tuple[Text, ...] = ()
    """The title of its section and the headings above it there."""
    before: Text = ""
    """The sentence before it in its paragraph: pronouns refer to it."""
    findings: tuple[Text, ...] = ()
    """What earlier judges found and could not decide: a number of the claim that its source does not have."""


class JudgeRequest(Record):
    """Claims to be judged against the passages that they cite, each passage given once."""

    claims: tuple[Claim, ...]
    passages: tuple[Evidence, ...]
    sources: tuple[Source, ...] = ()
    """Those of the passages."""
    language: str = ""


class Judgement(Record):
    """What a judge decided of one claim, or found out about it without deciding."""

    claim_id: str
    verdict: VerdictKind
    """`not_judged` leaves the claim to the next judge; its `reason` is passed on as a finding."""
    quote: Text = ""
    """The exact words on which the verdict rests, those of several passages joined with ` […] `.

    Words that no cited passage has do not count.
    """
    evidence_id: str = ""
    """The passage that has these words, or the first of them."""
    reason: Text = ""
    confidence: float = 1.0


class Judgements(Record):
    """The judgements of one judge; claims that it leaves out are left to the next."""

    judgements: tuple[Judgement, ...] = ()


class Verdict(Record):
    """The decision on one claim of the report."""

    claim: Claim
    verdict: VerdictKind
    quote: Text = ""
    """The exact words of a cited passage on which it rests; they stand in its `quote` as they are."""
    evidence_id: str = ""
    """The passage that has these words."""
    reason: Text = ""
    confidence: float = 1.0
    judge: str = ""
    """The name of the judge that decided; empty where none could."""


class Uncited(Record):
    """A paragraph of prose that makes a statement and does not end with a citation."""

    id: str
    section_id: str
    text: Text
    span: tuple[int, int]
    """Where it stands in the text of its section."""


class SectionRequest(Record):
    """What one section is written from. `length` is in words (CJK: characters); 0 leaves it to the writer."""

    section: Section
    evidence: tuple[Evidence, ...]
    """Best first."""
    sources: tuple[Source, ...]
    """Those of the evidence; the text of their documents is left out."""
    outline: tuple[Section, ...] = ()
    question: Text = ""
    language: str = ""
    length: int = 0
    questions: tuple[Text, ...] = ()
    """The key questions it answers."""
    assumptions: tuple[Text, ...] = ()
    """What holds of the question though it does not say so."""
    digest: Text = ""
    """What the research found out as a whole: context, not a source."""
