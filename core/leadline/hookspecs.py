"""The hooks: how a plugin registers its providers.

A plugin is an entry point in the group `leadline.v1`; the name of the entry point is the plugin's name in the settings.
Its module implements one or more hooks, and each hook yields offers:

    from leadline import Offer, PluginSettings, hookimpl

    @hookimpl
    def leadline_search_providers():
        yield Offer(lambda settings, context: Wiki(context), PluginSettings, "Our wiki")

Hooks are synchronous. Leadline calls them once for each plugin that it loads; a run loads those that the settings name.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import pluggy
from pydantic import AfterValidator, ConfigDict, Field

from leadline.contracts import (
    AIProvider,
    ChartRunner,
    ClaimJudge,
    Context,
    Embedder,
    Fetcher,
    MapStage,
    Middleware,
    Observer,
    Parser,
    ReportFormatter,
    Reranker,
    Sandbox,
    SearchProvider,
    SearchStrategy,
    Stage,
    Synthesizer,
    TaskProvider,
    VectorStore,
)
from leadline.findings import Key
from leadline.records import Tool
from leadline.settings import Count, Seconds, SettingsModel
from leadline.tasks import TaskKind

# The entry-point group. Its number is the version of the plugin API.
GROUP = "leadline.v1"
# The entry-point group of packages that ship a `defaults.toml`.
DEFAULTS = "leadline.defaults"
hookspec = pluggy.HookspecMarker("leadline")
hookimpl = pluggy.HookimplMarker("leadline")


class PluginSettings(SettingsModel):
    """The base class of a plugin's settings.

    A plugin whose required field is empty is left out of the run; a provider or an engine that the settings name is
    refused. `unstored` has the names of fields
    that are sent with requests and change no reply, such as an organization or a contact: a run does not store them. On
    resume they are read again, as secrets are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    unstored: ClassVar[Collection[str]] = ()


S = TypeVar("S", bound=PluginSettings)
M = TypeVar("M", covariant=True)


def _always(_: Any) -> str | None:
    return None


def _growing(key: Key[Any]) -> Key[Any]:
    if not key.grows:
        raise ValueError("must be a Key that grows")
    return key


def _requirement(text: str) -> str:
    module, equals, install = text.partition("=")
    if not all(map(str.isidentifier, module.split("."))) or (equals and not install.strip()):
        raise ValueError("must be 'module' or 'module=what to install'")
    return text


Requirement = Annotated[str, AfterValidator(_requirement)]
GrowingKey = Annotated[Key[Any], AfterValidator(_growing)]


@dataclass(frozen=True)
class Offer(Generic[S, M]):
    """Describes how to create a provider of one kind; it has the name of its plugin.

    `make` is called once for all runs of a client with equal settings. Import SDKs in `make` or later. It runs on the
    event loop: connect in `__aenter__`, not here. A settings section with `use = "NAME"` creates a second instance. All
    offers of a plugin share one settings model.
    """

    make: Callable[[S, Context], M]
    settings: type[S]
    summary: str
    env: Mapping[str, str] = field(default_factory=dict)
    """Conventional environment variables by settings field: `{"api_key": "TAVILY_API_KEY"}`."""
    requires: tuple[Requirement, ...] = ()
    """Required modules, as `module` or `module=what to install`: `("tavily=leadline[tavily]",)`."""
    ready: Callable[[S], str | None] = _always
    """Returns why the provider cannot work here, or None; must use neither network nor SDK."""
    keep: bool = True
    """False if replies can be obtained again at no cost and need not be kept in the journal.

    Replies of language models are always journalled; without `keep` no other run reuses them.
    """
    answers: tuple[str, ...] | None = None
    """The settings fields that affect replies and therefore journal keys; None: all that are not secret."""
    priced: bool = False
    """True if a call costs money or tokens."""
    free: bool = False
    """True if calls cost nothing and contact nobody: middleware does not see them.

    Parsing, judging, reranking and tasks that are free may still run while a run shuts down.
    """
    algorithm: bool = False
    """True if the AI provider performs tasks by algorithm.

    Tasks that require understanding language are not given to it; stages work without them, or are refused.
    """
    images: bool = False
    """True if the search engine also finds pictures: it answers requests with `images`."""
    per_user: bool = False
    """True if replies depend on `call.run.principal`: runs without a principal then reuse no replies of other runs."""
    at_once: Count = 10
    """Maximum number of concurrent calls in the process; `[limits]` of the settings overrides it."""
    interval: Annotated[float, Field(ge=0)] = 0.0
    """Minimum number of seconds between the starts of two calls."""
    calls: bool = False
    """True if the provider works by making calls through `call.run`.

    Those calls are then limited, timed and retried, and its own is not. For search engines, chart runners, formatters,
    sandboxes, embedders, rerankers and claim judges.
    """
    timeout: Seconds | None = None
    """Seconds that a call may take; None: `search.timeout` for engines, 600 for AI providers and parsers, else 30."""
    tasks: tuple[TaskKind[Any, Any], ...] = ()
    """The typed tasks that the plugin asks of models; settings can only name tasks that are declared here."""
    uses: tuple[str, ...] = ()
    """The settings that choose the plugins it calls, such as `search.engines`: a run with an empty one is refused."""
    tools: tuple[Tool, ...] = ()
    """The tools that the plugin lets a model call; settings can only name tools that are declared here."""


@dataclass(frozen=True, kw_only=True)
class StageOffer(Offer[S, Stage]):
    """A stage and the findings that it needs, wants, gives and may give.

    `needs` must exist before the stage, `wants` may be missing. `may_give` satisfies only a want. In the first round of
    a loop, a stage can only rely on findings from before the loop and from earlier stages of it.
    """

    needs: tuple[Key[Any], ...] = ()
    wants: tuple[Key[Any], ...] = ()
    gives: tuple[Key[Any], ...] = ()
    may_give: tuple[Key[Any], ...] = ()
    only_with: tuple[Key[Any], ...] = ()
    """Findings that only some runs have from the start, such as CONVERSATION; other runs leave the stage out."""
    ends_loop: bool = False
    """True if the stage may end the loop that contains it."""
    closing: bool = False
    """True if the stage completes the report: a share of the budget is reserved for it."""
    by_model: bool = False
    """True if the stage works only with a language model: a run whose AI providers have none is refused."""


@dataclass(frozen=True, kw_only=True)
class MapOffer(Offer[S, MapStage[Any, Any]]):
    """A map stage: processes the items of the key `over`, which grows, and adds its results to the key `gives`.

    `may_give` are further growing keys; results are assigned to keys by their type. For example, a stage gives the
    pages that could be read and may give those that could not.

    With `gives` equal to `over`, the results replace the item: a stage changes it, divides it, or drops it by returning
    nothing. Such a stage must come before all other stages that use the items.
    """

    over: GrowingKey
    gives: GrowingKey
    may_give: tuple[GrowingKey, ...] = ()
    needs: tuple[Key[Any], ...] = ()
    wants: tuple[Key[Any], ...] = ()


Offers = Iterable[Offer[Any, M]]


@dataclass(frozen=True)
class Command:
    """A command of the command line: `arguments` adds its arguments to a parser, `run` returns the exit code (None: 0).

    An entry point in the group `leadline.commands` has its name, and names the module whose hook `leadline_commands`
    yields it. The first sentence of that module's docstring is its line in `leadline --help`, which imports nothing.
    `leadline.commands` has the usual options. Without `run` the command consists of subcommands.
    """

    name: str
    arguments: Callable[[ArgumentParser], object]
    run: Callable[[Namespace], int | None] | None = None


class Hooks:
    """One hook per kind; each returns the offers of the plugin of that kind."""

    @hookspec
    def leadline_ai_providers(self) -> Offers[AIProvider | TaskProvider]:
        """Language models, and providers that perform typed tasks without one."""
        raise NotImplementedError

    @hookspec
    def leadline_search_providers(self) -> Offers[SearchProvider]:
        """Search engines."""
        raise NotImplementedError

    @hookspec
    def leadline_search_strategies(self) -> Offers[SearchStrategy]:
        """Strategies that combine several engines for one query."""
        raise NotImplementedError

    @hookspec
    def leadline_synthesizers(self) -> Offers[Synthesizer]:
        """Writers of sections."""
        raise NotImplementedError

    @hookspec
    def leadline_chart_runners(self) -> Offers[ChartRunner]:
        """Chart runners."""
        raise NotImplementedError

    @hookspec
    def leadline_sandboxes(self) -> Offers[Sandbox]:
        """Sandboxes that run code."""
        raise NotImplementedError

    @hookspec
    def leadline_report_formatters(self) -> Offers[ReportFormatter]:
        """Report formats."""
        raise NotImplementedError

    @hookspec
    def leadline_fetchers(self) -> Offers[Fetcher]:
        """Fetchers, which download URLs."""
        raise NotImplementedError

    @hookspec
    def leadline_parsers(self) -> Offers[Parser]:
        """Parsers, which turn bytes into documents."""
        raise NotImplementedError

    @hookspec
    def leadline_embedders(self) -> Offers[Embedder]:
        """Embedders, which turn texts into vectors."""
        raise NotImplementedError

    @hookspec
    def leadline_vector_stores(self) -> Offers[VectorStore]:
        """Vector stores, which find the passages nearest to a question."""
        raise NotImplementedError

    @hookspec
    def leadline_rerankers(self) -> Offers[Reranker]:
        """Rerankers, which rate texts by how well they answer a query."""
        raise NotImplementedError

    @hookspec
    def leadline_claim_judges(self) -> Offers[ClaimJudge]:
        """Judges, which decide whether cited passages support claims."""
        raise NotImplementedError

    @hookspec
    def leadline_stages(self) -> Iterable[StageOffer[Any] | MapOffer[Any]]:
        """Stages of pipelines."""
        raise NotImplementedError

    @hookspec
    def leadline_middleware(self) -> Offers[Middleware]:
        """Middleware between journal and provider."""
        raise NotImplementedError

    @hookspec
    def leadline_observers(self) -> Offers[Observer]:
        """Observers of events."""
        raise NotImplementedError


class CommandHooks:
    """The hook of commands, which are no kind of plugin: settings do not choose them."""

    @hookspec
    def leadline_commands(self) -> Iterable[Command]:
        """Commands of the command line."""
        raise NotImplementedError


# The kinds of plugins: the names of their hooks without the prefix.
KINDS: tuple[str, ...] = tuple(name.removeprefix("leadline_") for name in vars(Hooks) if name.startswith("leadline_"))
