"""The settings of the core: every table, key and default. `run.settings` is a `Settings`.

Defaults that name plugins are empty here: packages of plugins ship them as `defaults.toml`. A plugin declares its own
keys as a subclass of `leadline.plugin.PluginSettings`; `Settings.plugin(name)` returns them. The descriptions appear
in `leadline config init` and in the reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    SecretStr,
    Tag,
    ValidationInfo,
    field_validator,
)

from leadline.languages import Language


class SettingsModel(BaseModel):
    """The base of every table: it refuses `true` and `false` for numbers, which Python counts as 1 and 0.

    `authority` has the fields that act with the user's rights, and what they are: `{"command": "a program"}`. A file
    that Leadline finds in the working folder, or a stored run, sets them only with the user's consent, as it does paths
    outside the folder, code files, and addresses beside a secret, which are recognized by their values.
    """

    authority: ClassVar[Mapping[str, str]] = {}

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_booleans(cls, value: Any, info: ValidationInfo) -> Any:
        field = cls.model_fields.get(info.field_name or "")
        if isinstance(value, bool) and field is not None and _is_number(field.annotation):
            raise ValueError("input should be a number")
        return value


def _is_number(annotation: Any) -> bool:
    """Return whether an annotation is `int` or `float`, possibly optional or annotated."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _is_number(arguments[0])
    if origin in (Union, UnionType):
        return all(argument is NoneType or _is_number(argument) for argument in arguments)
    return annotation in (int, float)


class Section(SettingsModel):
    """A table of the settings: frozen; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)


# --- types of values -------------------------------------------------------------------------------------------------

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")


def seconds(duration: str) -> float:
    """Return a duration such as "1h", "30m", "300s" or "0" in seconds. Raises ValueError."""
    match = _DURATION.fullmatch(duration.strip().lower())
    if match is None:
        raise ValueError(f"{duration!r} is no duration: write a number with s, m, h or d, such as 30m; 0 is off")
    return float(match[1]) * _UNITS[match[2]]


def _duration_text(value: object) -> object:
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else value


def _duration(text: str) -> str:
    seconds(text)
    return text


def _model(model: str) -> str:
    provider, colon, name = model.partition(":")
    if colon and not name.strip():
        raise ValueError(
            f"there is no model after the colon: write {provider}:MODEL, or {provider} for its default model"
        )
    return model


# Names of plugins, in order; in text, separated by commas. `auto` selects what is installed and can work.
Names = tuple[str, ...]
# Whole numbers that a float holds, too.
Count = Annotated[int, Field(ge=1, le=2**53)]
Amount = Annotated[int, Field(ge=0, le=2**53)]
Seconds = Annotated[float, Field(gt=0)]
# A duration as it was written; `seconds` parses it.
Duration = Annotated[str, BeforeValidator(_duration_text), AfterValidator(_duration)]
# A provider, `PROVIDER`, or one of its models, `PROVIDER:MODEL`.
Model = Annotated[str, AfterValidator(_model)]


# --- tables ----------------------------------------------------------------------------------------------------------


class Runs(Section):
    """Run folders."""

    authority = {
        "database": "a database, whose runs are executed",
        "files": "a store, whose files are served",
        "live": "an address that listens",
    }

    folder: Path = Field(Path("runs"), description="The folder that holds one folder for each run.")
    keep_days: Amount = Field(
        0, description="Days after which `leadline serve` deletes a run that has ended; 0 keeps all."
    )
    database: SecretStr = Field(
        SecretStr(""),
        description="The database of `leadline serve` and `worker` on several machines: "
        "postgresql://USER@HOST/DATABASE; empty: files in the folder of runs.",
    )
    files: str = Field(
        "", description="Where the files of runs are kept beside a database: s3://BUCKET/PREFIX; empty: in it."
    )
    dispatcher: str = Field(
        "", description="The plugin that gives runs to workers, such as temporal; empty: on one machine, the workers."
    )
    live: str = Field(
        "",
        description="Where a worker serves the text of its runs as they write it, HOST or HOST:ADVERTISED, "
        "by default 127.0.0.1; 0.0.0.0 is reached by the name of the machine.",
    )


class Price(Section):
    """The price of a model in USD per million tokens."""

    input: Annotated[float, Field(ge=0)] = Field(description="Prompt tokens.")
    cached: Annotated[float, Field(ge=0)] | None = Field(None, description="Cached prompt tokens; as `input` if unset.")
    output: Annotated[float, Field(ge=0)] = Field(description="Reply tokens.")


class AI(Section):
    """Language models, embedders and rerankers."""

    providers: Names = Field((), description="AI providers; each one is the fallback of the one before it.")
    roles: dict[Literal["thinking", "task"], Model] = Field(
        {}, description='Models by role: { thinking = "PROVIDER:MODEL", task = "PROVIDER:MODEL" }.'
    )
    tasks: dict[str, Model] = Field({}, description='Models for single tasks: { plan = "PROVIDER:MODEL" }.')
    prices: dict[str, Price] = Field(
        {}, description='USD per million tokens: { "MODEL" = { input = 2.5, output = 10 } }.'
    )
    embedder: Model = Field("", description="The embedder, NAME or NAME:MODEL, that ranks passages by meaning.")
    reranker: str = Field("", description="The reranker that orders the best passages.")


class Search(Section):
    """Search engines, and how they share the work."""

    engines: Names = Field((), description="Search engines, in order of preference.")
    images: Names = Field((), description="Engines that search for pictures of each search task; none by default.")
    strategy: str = Field("", description="How several engines serve one query.")
    batch_size: Count = Field(5, description="Queries that run at the same time.")
    max_concurrent: Count = Field(10, description="Engine requests that run at the same time; 1 is serial.")
    results_per_query: Count = Field(10, description="Results for each query.")
    timeout: Seconds = Field(30, description="Seconds that one engine request may take.")
    straggler: Annotated[float, Field(ge=0)] = Field(
        2, description="Seconds to wait for slower engines after the first good answer."
    )
    tiers: dict[Literal["1", "2", "3"], Names] = Field(
        {}, description='Your own ranking of sources: { 1 = ["who.int", ".gov"], 3 = ["blog.example"] }.'
    )


class Read(Section):
    """Fetching and parsing pages and files."""

    fetchers: Names = Field((), description="Fetchers; the first that accepts an address fetches it.")
    parsers: Names = Field((), description="Parsers; the first that accepts a media type parses it.")


class Research(Section):
    """How far the research goes."""

    first_queries: Count = Field(8, description="Queries of the first round.")
    followup_queries: Count = Field(5, description="Queries of each later round.")
    max_queries: Count = Field(20, description="Queries of the whole run.")
    pages_per_query: Count = Field(3, description="Pages to read for each query.")
    section_tokens: Count = Field(1_500, description="Tokens of passages to select for each key question.")
    evidence_tokens: Count = Field(24_000, description="Tokens of all passages that a report is written from.")
    retention: Annotated[float, Field(ge=0, le=1)] = Field(
        0, description="Share of the fetched text that reaches the writers at least, within 40 % of `budget.tokens`."
    )
    synthesizer: str = Field("", description="The plugin that writes the sections.")


class ReportSettings(Section):
    """The form of the report."""

    formats: Names = Field((), description="Formats to write, all of them.")
    references: bool = Field(True, description="List the sources below the report.")
    passages: bool = Field(
        False, description="Print the cited passages after the sources (PDF, Word, EPUB, LaTeX); HTML has them, folded."
    )
    resource_file: bool = Field(False, description="Write the list of sources to a file of its own.")
    citation_style: str = Field(
        "numeric", description="Citations: numeric, the name of a CSL style, or the path of a .csl file."
    )
    citation_images: bool = Field(True, description="Show pictures of the cited pages, with credits.")
    figures: Literal["file", "inline"] = Field(
        "file", description="Pictures in Markdown: a file each (file), or in the text (inline)."
    )
    form: Literal["standard", "long", "academic"] = Field(
        "standard",
        description="Summary and conclusion (standard); executive summary, introduction, main findings, insights and "
        "conclusions (long); the same with abstract and keywords in place of the summary (academic).",
    )
    analysis: bool = Field(
        False,
        description="Add a critical analysis: what is weak or disputed, what could follow, causes and orders of "
        "magnitude.",
    )
    length: Amount = Field(0, description="Words to aim at (Chinese, Japanese: characters); 0: as usual for the form.")
    title: str = Field("", description="The title of the report; empty derives it from the question.")


class Verify(Section):
    """Checking claims against the passages that they cite."""

    judges: Names = Field((), description="Judges, in order; each leaves undecided claims to the next.")
    claims_per_call: Count = Field(
        48, description="Maximum of claims in a call of a judging model; fewer answer sooner and cost more tokens."
    )
    unsupported: Literal["flag", "recite", "drop"] = Field(
        "recite",
        description="Unsupported claims: mark them (flag); before, have the model cite other passages or reword them "
        "(recite); remove them (drop).",
    )
    require_support: bool = Field(False, description="Reject the report if a claim is not supported.")


class Charts(Section):
    """Charts in the report."""

    runner: str = Field("", description="The plugin that draws charts; empty draws none.")
    max: Amount = Field(5, description="Maximum number of charts.")


class CodeSettings(Section):
    """Running code."""

    sandbox: str = Field("", description="The sandbox that runs code; empty runs none.")


class Knowledge(Section):
    """The documents that `leadline knowledge` keeps, and questions to them."""

    base: str = Field("", description="The search engine that keeps the documents.")
    store: str = Field("", description="The vector store of their passages.")
    embedder: Model = Field("", description="The embedder of their passages, NAME or NAME:MODEL.")
    passages: Count = Field(5, description="Passages from which the pipeline `knowledge` answers a question.")
    documents: Names = Field((), description="Documents to search, by id, name or folder; all if it is empty.")


class Budget(Section):
    """Limits of one run. A run that reaches one finishes the report with what it has."""

    model_calls: Amount = Field(60, description="Model calls.")
    tokens: Amount = Field(400_000, description="Tokens of prompts and replies.")
    money: Annotated[float, Field(ge=0)] = Field(2.0, description="US dollars; 0 allows no paid call.")
    seconds: Seconds = Field(900, description="Seconds of wall time.")
    reserve: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.15, description="Share of the budget kept for the stages that finish the report."
    )


class Cache(Section):
    """Reusing answers across runs: a number with s, m, h or d; "0" is off."""

    enabled: bool = Field(True, description="False (`--no-cache`) neither reads nor writes a cache across runs.")
    search: Duration = Field("1h", description="Results of search engines.")
    plan: Duration = Field("30m", description="Plans by a model.")
    model: Duration = Field("0", description="All other model replies.")
    answers: Duration = Field("0", description="Answers of pipelines of level fast, such as chat: 300s, for example.")


class Retry(Section):
    """Repeating calls that failed."""

    attempts: Count = Field(3, description="Attempts for each call, including the first.")
    base: Annotated[float, Field(ge=0)] = Field(2.0, description="Seconds before the second attempt; then doubled.")


class Limits(Section):
    """Limits of one plugin, in place of the plugin's defaults."""

    at_once: Count | None = Field(None, description="Calls at the same time, in the whole process.")
    interval: Annotated[float, Field(ge=0)] | None = Field(None, description="Seconds between the starts of two calls.")
    timeout: Seconds | None = Field(None, description="Seconds that one call may take.")


# --- pipelines -------------------------------------------------------------------------------------------------------


class Loop(Section):
    """Stages that repeat until one of them ends the loop, or `at_most` rounds are done."""

    loop: Annotated[Names, Field(min_length=1, description="The stages of one round.")]
    at_most: int = Field(3, ge=1, description="Maximum number of rounds.")


def _form(step: object) -> str:
    return "<stage>" if isinstance(step, str) else "<loop>"


Step = Annotated[Annotated[str, Tag("<stage>")] | Annotated[Loop, Tag("<loop>")], Discriminator(_form)]


class PipelineSettings(Section):
    """A pipeline: either `stages`, or `extends`; then the changes, in this order."""

    description: str = Field("", description="One line about it.")
    level: Literal["fast", "analytical", "agent"] = Field(
        "agent",
        description="fast, analytical or agent; an agent repeats its pipeline after temporary failures.",
    )
    extends: str = Field("", description="The pipeline it starts from.")
    stages: tuple[Step, ...] = Field((), description="Its stages, and one { loop = […], at_most = N }.")
    without: Names = Field((), description="Stages to leave out.")
    replace: dict[str, Names] = Field({}, description='Stages in place of another: { write = ["mine"] }.')
    before: dict[str, Names] = Field({}, description="Stages to insert before another.")
    after: dict[str, Names] = Field({}, description="Stages to insert after another.")
    tools: Names = Field((), description="Tools that models may call; empty: those of `extends`, or all.")
    settings: dict[str, Any] = Field(
        {}, description='Settings of its runs, unless you set them: { "verify.require_support" = true }.'
    )


# --- the whole -------------------------------------------------------------------------------------------------------


class Settings(Section):
    """All settings. `plugins` has one section for each chosen plugin, typed by the plugin."""

    authority = {"plugin_folder": "a folder of code"}

    pipeline: str = Field("", description="The pipeline to run.")
    plugin_folder: str = Field("", description="A folder of plugins of one file: NAME.py is the plugin NAME.")
    preset: str = Field(
        "", description="Values for several keys: lean; full, with a critical analysis and charts for any question."
    )
    language: Language = Field(
        "auto", description="The report's language: de, zh-Hant, Japanese; auto: the question's."
    )
    memory: Amount = Field(
        0, description="Earlier runs of the same user to remember, if they share words with the question; 0 is off."
    )
    middleware: Names = Field((), description="Plugins that wrap every call, outermost first.")
    observers: Names = Field((), description="Plugins that receive the events of every run.")
    prompts: dict[str, str] = Field({}, description='Prompt templates by task, path or text: { plan = "plan.md" }.')
    limits: dict[str, Limits] = Field({}, description="Limits by plugin: { NAME = { at_once = 2, timeout = 5 } }.")
    runs: Runs = Runs()
    ai: AI = AI()
    search: Search = Search()
    read: Read = Read()
    research: Research = Research()
    report: ReportSettings = ReportSettings()
    verify: Verify = Verify()
    charts: Charts = Charts()
    code: CodeSettings = CodeSettings()
    knowledge: Knowledge = Knowledge()
    budget: Budget = Budget()
    cache: Cache = Cache()
    retry: Retry = Retry()
    pipelines: dict[str, PipelineSettings] = Field({}, description="Pipelines by name.")
    plugins: Any = Field({}, description="Sections of plugins by name.")

    @property
    def tools(self) -> Names:
        """The tools that the pipeline lets models call; empty: all."""
        name = self.pipeline
        while name in self.pipelines and not self.pipelines[name].tools:
            name = self.pipelines[name].extends
        return self.pipelines[name].tools if name in self.pipelines else ()

    def plugin(self, name: str) -> Any:
        """Return the settings of a chosen plugin. Raises KeyError for another."""
        return dict(self.plugins)[name]
