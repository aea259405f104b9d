"""The settings of the core: every section, field and default. A plugin's own sections join them under `plugins`.

The one-line descriptions are what `leadline config init` writes beside each key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from leadline.settings.durations import Duration
from leadline.settings.languages import Language
from leadline.settings.pipelines import BUILT_IN, PipelineSettings, allowed_tools
from leadline.settings.presets import Preset
from leadline.settings.secrecy import public
from leadline.settings.section import Section

Names = tuple[str, ...]
"""Names of plugins, in order; in text, commas between them. `auto` stands for what is installed and works."""
Count = Annotated[int, Field(ge=1)]
Amount = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, lt=1)]


def _whole(model: str) -> str:
    provider, colon, name = model.partition(":")
    if colon and not name.strip():
        raise ValueError(f"names no model behind the colon: write {provider}:MODEL, or {provider} for its own choice")
    return model


Model = Annotated[str, AfterValidator(_whole)]
"""A provider, `PROVIDER`, or one of its models, `PROVIDER:MODEL`."""


class Runs(Section):
    """Where runs are kept."""

    folder: Path = Field(Path("runs"), description="Each run gets a folder of its own in here.")


class Price(Section):
    """What a model costs, USD a million tokens; what is free is said to be 0."""

    input: Annotated[float, Field(ge=0)] = Field(description="Tokens of the prompt.")
    cached: Annotated[float, Field(ge=0)] | None = Field(None, description="Those from a cache; none: as the others.")
    output: Annotated[float, Field(ge=0)] = Field(description="Tokens of the reply.")


class AI(Section):
    """Who answers the typed tasks."""

    providers: Names = Field(("auto",), description="The fallback chain, in this order.")
    roles: dict[Literal["thinking", "task"], Model] = Field(
        {}, description='Model by role: { thinking = "PROVIDER:MODEL", task = "PROVIDER:MODEL" }.'
    )
    tasks: dict[str, Model] = Field({}, description='Model by task: { write = "PROVIDER:MODEL" }.')
    prices: dict[str, Price] = Field(
        {}, description='USD a million tokens, by model: { "MODEL" = { input = 2.5, output = 10 } }.'
    )
    embedder: Model = Field("", description="Texts to vectors, NAME or NAME:MODEL; none by default.")
    reranker: str = Field("", description="Rates passages by how well they answer a question; none by default.")


class Search(Section):
    """How the web, or a folder, is searched."""

    engines: Names = Field(("auto",), description="The search engines, in this order.")
    strategy: str = Field("batch", description="How several engines serve one query.")
    batch_size: Count = Field(5, description="Queries side by side.")
    max_concurrent: Count = Field(10, description="Engine requests at once, over the run; 1 is serial work.")
    results_per_query: Count = Field(10, description="Results of one query.")
    timeout: Seconds = Field(30, description="Seconds one request may take.")
    straggler: Annotated[float, Field(ge=0)] = Field(
        2, description="Seconds that slow engines are waited for after the first good answer."
    )
    rest_after: Amount = Field(3, description="Failures in a row, over 5 s, after which an engine rests; 0: never.")
    rest: Annotated[float, Field(ge=0)] = Field(60, description="Seconds that it rests.")
    tiers: dict[Literal["1", "2", "3"], Names] = Field(
        {}, description='Sources by tier, before the built-in rules: { 1 = ["who.int", ".gov"], 3 = ["blog.example"] }.'
    )


class Read(Section):
    """How what was found is read."""

    fetchers: Names = Field(("local", "web"), description="Address to bytes: the first that accepts it.")
    parsers: Names = Field(
        ("text", "html", "feed", "pdf", "word"), description="Bytes to text: the first that accepts them."
    )


class Research(Section):
    """How far the research goes."""

    first_queries: Count = Field(8, description="Queries of the first round.")
    followup_queries: Count = Field(5, description="Queries of each later round.")
    max_queries: Count = Field(20, description="Queries of a run, all in all.")
    pages_per_query: Count = Field(3, description="Pages read for each query.")
    section_tokens: Count = Field(1_700, description="Tokens of passages for each key question of a section.")
    synthesizer: str = Field(
        "prose", description="Writes the sections: prose (by the model, where there is one), brief (passages found)."
    )


class Clarify(Section):
    """When a question is asked back."""

    mode: Literal["ask", "assume", "off"] = Field("assume", description="ask, assume (and say what), off.")
    rules: Literal["relaxed", "literal"] = Field("relaxed", description="relaxed, literal.")
    timeout: Seconds = Field(300, description="Seconds an answer is waited for.")
    min_length: Amount = Field(20, description="Characters below which a question is unclear; a CJK one counts 3.")


class ReportSettings(Section):
    """What the report looks like."""

    formats: Names = Field(("markdown", "html", "json"), description="The formats, all of them written.")
    references: bool = Field(True, description="Whether the lists of sources stand below the report.")
    resource_file: bool = Field(False, description="Whether the lists of sources are written as a file of their own.")
    citation_style: str = Field("numeric", description="numeric, the name of a CSL style, or a path to a .csl file.")
    citation_images: bool = Field(True, description="Whether pictures of the cited pages stand in it, credited.")
    figures: Literal["file", "inline"] = Field("file", description="Pictures of a Markdown report: file, inline.")
    length: Amount = Field(0, description="Words (Chinese, Japanese: characters) at most; 0 leaves it free.")
    write: Literal["compose", "single"] = Field(
        "compose",
        description="compose: the sections stand, one call adds to them; single: one call writes it all anew.",
    )
    title: str = Field("", description="The title; by default the question's.")


class Verify(Section):
    """How claims are checked against the passages that they cite."""

    judges: Names = Field(
        ("exact", "model"), description="Judges, in order; each leaves the claims that it cannot decide to the next."
    )
    unsupported: Literal["flag", "recite", "weaken", "drop"] = Field("flag", description="flag, recite, weaken, drop.")
    require_support: bool = Field(False, description="Whether claims must be supported to pass.")


class Audit(Section):
    """The decision about the report."""

    decides: bool = Field(False, description="Whether the audit's decision is the exit code.")


class Charts(Section):
    """How charts are drawn."""

    runner: str = Field("auto", description="Draws the charts: auto (matplotlib, if installed), a name, or none.")
    max: Amount = Field(5, description="Charts of a report at most.")
    repairs: Amount = Field(1, description="Times a chart that failed is put right, with the error in hand.")
    max_failures: Count = Field(2, description="Failures in a row after which the rest is given up.")
    timeout: Seconds = Field(60, description="Seconds one chart may take.")


class CodeSettings(Section):
    """Where code is run."""

    sandbox: str = Field("", description="Runs code; none by default.")


class Budget(Section):
    """What a run may use, 0 being nothing of it; when one is spent the run ends with what it has."""

    model_calls: Amount = Field(60, description="Calls of models.")
    tokens: Amount = Field(400_000, description="Tokens, prompts and replies.")
    money: Annotated[float, Field(ge=0)] = Field(2.0, description="US dollars; 0 asks no model.")
    seconds: Seconds = Field(900, description="Seconds of wall time.")
    reserve: Share = Field(0.15, description="The share kept for the stages that finish the report.")


class Cache(Section):
    """What is kept across runs, and for how long: a number with s, m, h or d; "0" is off."""

    search: Duration = Field("1h", description="Results of search engines.")
    plan: Duration = Field("30m", description="Plans that a model made.")
    model: Duration = Field("0", description="All other replies of models.")
    size: Amount = Field(200_000_000, description="Bytes kept at most.")


class Retry(Section):
    """How failures that may pass are tried again."""

    attempts: Count = Field(3, description="Attempts at one call, the first included.")
    base: Annotated[float, Field(ge=0)] = Field(2.0, description="Seconds before the second attempt.")
    factor: Annotated[float, Field(ge=1)] = Field(2.0, description="How much longer each further wait is.")
    maximum: Annotated[float, Field(ge=0)] = Field(30.0, description="Seconds a wait takes at most.")
    run_attempts: Amount = Field(2, description="Times a run that failed is taken up again by itself.")


class Limits(Section):
    """The limits of one plugin, in place of those it came with."""

    at_once: Count | None = Field(None, description="Calls at once, over the process.")
    interval: Annotated[float, Field(ge=0)] | None = Field(None, description="Seconds between two starts.")
    timeout: Seconds | None = Field(None, description="Seconds one call may take.")


class Settings(Section):
    """All settings. `plugins` has exactly the sections of the chosen plugins, each typed by its plugin."""

    pipeline: str = Field("research", description="The default of `leadline research`.")
    preset: Preset = Field("lean", description="lean; full: with critical analysis and charts, whatever the question.")
    language: Language = Field("auto", description="Of the report: de, zh-Hant, Japanese; auto is the question's.")
    middleware: Names = Field((), description="Between journal and provider, the outermost first.")
    observers: Names = Field(("jsonl",), description="Watchers of every run.")
    prompts: dict[str, str] = Field({}, description='Templates by task, a path or the text: { plan = "plan.md" }.')
    limits: dict[str, Limits] = Field({}, description="Limits by plugin: { local = { at_once = 2, timeout = 5 } }.")
    runs: Runs = Runs()
    ai: AI = AI()
    search: Search = Search()
    read: Read = Read()
    research: Research = Research()
    clarify: Clarify = Clarify()
    report: ReportSettings = ReportSettings()
    verify: Verify = Verify()
    audit: Audit = Audit()
    charts: Charts = Charts()
    code: CodeSettings = CodeSettings()
    budget: Budget = Budget()
    cache: Cache = Cache()
    retry: Retry = Retry()
    pipelines: dict[str, PipelineSettings] = Field(BUILT_IN, description="The pipelines, by name.")
    plugins: Any = Field({}, description="The plugins' own settings, by name.")

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that the pipeline lets models call; empty: all of them."""
        return allowed_tools(self.pipelines, self.pipeline)

    def public(self) -> dict[str, Any]:
        """Return all settings as JSON data, secrets left out: what a run keeps and shows."""
        return public(self)

    def plugin(self, name: str) -> Any:
        """Return the settings of a chosen plugin."""
        return dict(self.plugins)[name]
