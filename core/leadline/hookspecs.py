"""The kinds of plugins: one decorator for each, which registers a class.

A plugin is an entry point in the group `leadline.v2`; the name of the entry point is the plugin's name in the settings.
Its value is a module, whose decorated classes are the plugin, or `module:Class`:

    from leadline.plugin import Call, Hit, SearchRequest, search_provider

    @search_provider("Our wiki")
    class Wiki:
        async def search(self, request: SearchRequest, call: Call, /) -> list[Hit]: ...

A class is created once for all runs of a client with equal settings. Its constructor takes `settings` and `context` by
these names, or only one of them, or neither; a function that returns a provider may be decorated as well. Both run on
the event loop: import SDKs there or later, and connect in `__aenter__`. A class with two decorators serves both kinds
with one instance.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, ParamSpec, TypeVar

import pluggy
from pydantic import AfterValidator, ConfigDict, Discriminator, InstanceOf, Tag

from leadline.contracts import (
    AIProvider,
    ChartRunner,
    ClaimJudge,
    Context,
    Dispatcher,
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
from leadline.settings import Limits, Settings, SettingsModel
from leadline.tasks import TaskKind

# The entry-point group. Its number is the version of the plugin API.
GROUP = "leadline.v2"
# The entry-point group of packages that ship a `defaults.toml`.
DEFAULTS = "leadline.defaults"
# Concurrent calls in the process if neither the offer nor the settings set a limit.
AT_ONCE = 10
# The item of `cache_key` that stands for all settings that are not secret, and that for the user of the run.
ALL, PRINCIPAL = "*", "run.principal"
hookspec = pluggy.HookspecMarker("leadline")
hookimpl = pluggy.HookimplMarker("leadline")
_REGISTERED = "__leadline_offers__"


# What is wrong where a plugin without a settings model has, or reads, a setting.
NO_MODEL = "the decorator of the plugin names no settings model: settings=…"


class PluginSettings(SettingsModel):
    """The base class of a plugin's settings.

    A plugin whose required field is empty is left out of the run; a provider or an engine that the settings name is
    refused. `unstored` has the names of fields that are sent with requests and change no reply, such as an organization
    or a contact: a run does not store them. On resume they are read again, as secrets are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    unstored: ClassVar[Collection[str]] = ()

    if not TYPE_CHECKING:  # else no misspelt field would be an error of types

        def __getattr__(self, name: str) -> Any:
            if type(self).__name__ == PluginSettings.__name__ and not name.startswith("_"):
                raise AttributeError(f"there is no setting {name!r}: {NO_MODEL}", name=name, obj=self)
            return super().__getattr__(name)


P = ParamSpec("P")
M = TypeVar("M", covariant=True)
Make = Callable[..., Any]


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


def _form(used: object) -> str:
    return "task" if isinstance(used, TaskKind) else "tool" if isinstance(used, Tool) else "setting"


Requirement = Annotated[str, AfterValidator(_requirement)]
GrowingKey = Annotated[Key[Any], AfterValidator(_growing)]
Used = Annotated[
    Annotated[TaskKind[Any, Any], Tag("task")] | Annotated[Tool, Tag("tool")] | Annotated[str, Tag("setting")],
    Discriminator(_form),
]


@dataclass(frozen=True)
class Offer(Generic[M]):
    """What the decorator of a kind says about a provider. All decorators of a plugin share one settings model.

    A settings section with `use = "NAME"` creates a second instance.
    """

    kind: ClassVar[str] = ""
    make: Make = field(init=False, default=_always)
    summary: str
    _: KW_ONLY
    settings: type[PluginSettings] = PluginSettings
    env: Mapping[str, str] = field(default_factory=dict)
    """Conventional environment variables by settings field: `{"api_key": "TAVILY_API_KEY"}`."""
    requires: tuple[Requirement, ...] = ()
    """Required modules, as `module` or `module=what to install`: `("tavily=leadline[tavily]",)`."""
    ready: Callable[..., str | None] = _always
    """Given the settings, returns why the provider cannot work here, or None; must use neither network nor SDK.

    With a second parameter it is also given all settings, as far as they do not belong to plugins.
    """
    work: Literal["remote", "local", "composite"] = "remote"
    """What a call does.

    `remote`: contacts a service. `local`: costs nothing and contacts nobody, so middleware does not see it, and
    parsing, judging, reranking and tasks may still run while a run shuts down. `composite`: makes calls through
    `call.run`, which are then limited, timed and retried in its place (search engines, chart runners, formatters,
    sandboxes, embedders, rerankers and claim judges; synthesizers and what uses a task always are).
    """
    cache_key: tuple[str, ...] | None = (ALL,)
    """The settings fields that affect replies and are therefore part of their key in journal and cache.

    `*` stands for all that are not secret; `run.principal` says that replies also depend on the user, so that runs
    without one reuse no replies of other runs. None: replies can be obtained again at no cost and are not kept; those
    of language models are always journalled, but no other run reuses them.
    """
    limits: InstanceOf[Limits] = field(default_factory=Limits)
    """The limits of its calls, which `[limits]` of the settings overrides: by default 10 at once.

    The timeout is by default `search.timeout` for engines, 600 s for AI providers and parsers, and 30 s for others.
    """
    priced: bool = False
    """True if a call costs money or tokens."""
    uses: tuple[Used, ...] = ()
    """What it calls: tasks that it asks of models, tools that it lets a model call, and settings that choose plugins.

    The settings can only name tasks and tools that are declared here. A run with an empty setting, such as
    `search.engines`, is refused; with `ai.providers`, one whose providers have no language model.
    """

    def __call__(self, make: Callable[P, M], /) -> Callable[P, Any]:
        """Register a class, or a function that returns a provider."""
        offer = replace(self)
        object.__setattr__(offer, "make", make)
        register(make, offer)
        return make

    def create(self, settings: PluginSettings, context: Context) -> Any:
        """Return a new provider."""
        given = {"settings": settings, "context": context}
        try:
            wanted: Collection[str] = inspect.signature(self.make).parameters
        except ValueError:  # the constructor of a builtin, such as a dict
            wanted = ()
        return self.make(**{name: value for name, value in given.items() if name in wanted})

    def obstacle(self, own: PluginSettings, settings: Settings) -> Any:
        """Return what `ready` returns for the plugin's settings and, if it takes them, all settings."""
        takes_all = len(inspect.signature(self.ready).parameters) > 1
        return self.ready(own, settings) if takes_all else self.ready(own)

    @property
    def tasks(self) -> tuple[TaskKind[Any, Any], ...]:
        """The tasks that it asks of models."""
        return tuple(used for used in self.uses if isinstance(used, TaskKind))

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that it lets a model call."""
        return tuple(used for used in self.uses if isinstance(used, Tool))


def register(decorated: object, offer: Offer[Any]) -> None:
    """Add an offer to those of a class or function."""
    setattr(decorated, _REGISTERED, {**offers_of(decorated), offer.kind: offer})


def offers_of(decorated: object) -> Mapping[str, Offer[Any]]:
    """Return the offers of a decorated class or function by kind; those of a base class are not its own."""
    offers: Mapping[str, Offer[Any]] = getattr(decorated, "__dict__", {}).get(_REGISTERED, {})
    return offers


@dataclass(frozen=True, kw_only=True)
class ai_provider(Offer[AIProvider | TaskProvider]):
    """Language models, and providers that perform typed tasks without one."""

    kind = "ai_providers"
    algorithm: bool = False
    """True if it performs tasks by algorithm.

    Tasks that require understanding language are not given to it; stages work without them, or are refused.
    """


@dataclass(frozen=True, kw_only=True)
class search_provider(Offer[SearchProvider]):
    """Search engines."""

    kind = "search_providers"
    images: bool = False
    """True if the engine also finds pictures: it answers requests with `images`."""


class search_strategy(Offer[SearchStrategy]):
    """Strategies that combine several engines for one query."""

    kind = "search_strategies"


class synthesizer(Offer[Synthesizer]):
    """Writers of sections."""

    kind = "synthesizers"


class chart_runner(Offer[ChartRunner]):
    """Chart runners."""

    kind = "chart_runners"


class sandbox(Offer[Sandbox]):
    """Sandboxes that run code."""

    kind = "sandboxes"


class report_formatter(Offer[ReportFormatter]):
    """Report formats."""

    kind = "report_formatters"


class fetcher(Offer[Fetcher]):
    """Fetchers, which download URLs."""

    kind = "fetchers"


class parser(Offer[Parser]):
    """Parsers, which turn bytes into documents."""

    kind = "parsers"


class embedder(Offer[Embedder]):
    """Embedders, which turn texts into vectors."""

    kind = "embedders"


class vector_store(Offer[VectorStore]):
    """Vector stores, which find the passages nearest to a question."""

    kind = "vector_stores"


class reranker(Offer[Reranker]):
    """Rerankers, which rate texts by how well they answer a query."""

    kind = "rerankers"


class claim_judge(Offer[ClaimJudge]):
    """Judges, which decide whether cited passages support claims."""

    kind = "claim_judges"


@dataclass(frozen=True, kw_only=True)
class StageOffer(Offer[M]):
    """What all stages have in common. They make calls through their run, and are none themselves."""

    work: Literal["composite"] = field(init=False, default="composite")
    cache_key: tuple[str, ...] | None = field(init=False, default=(ALL,))
    limits: InstanceOf[Limits] = field(init=False, default_factory=Limits)
    priced: bool = field(init=False, default=False)
    needs: tuple[Key[Any], ...] = ()
    wants: tuple[Key[Any], ...] = ()


@dataclass(frozen=True, kw_only=True)
class stage(StageOffer[Stage]):
    """A stage and the findings that it needs, wants, gives and may give.

    `needs` must exist before the stage, `wants` may be missing. `may_give` satisfies only a want. In the first round of
    a loop, a stage can only rely on findings from before the loop and from earlier stages of it.
    """

    kind = "stages"
    gives: tuple[Key[Any], ...] = ()
    may_give: tuple[Key[Any], ...] = ()
    only_with: tuple[Key[Any], ...] = ()
    """Findings that only some runs have from the start, such as CONVERSATION; other runs leave the stage out."""
    ends_loop: bool = False
    """True if the stage may end the loop that contains it."""
    closing: bool = False
    """True if the stage completes the report: a share of the budget is reserved for it."""


@dataclass(frozen=True, kw_only=True)
class map_stage(StageOffer[MapStage[Any, Any]]):
    """A map stage: processes the items of the key `over`, which grows, and adds its results to the key `gives`.

    `may_give` are further growing keys; results are assigned to keys by their type. For example, a stage gives the
    pages that could be read and may give those that could not.

    With `gives` equal to `over`, the results replace the item: a stage changes it, divides it, or drops it by returning
    nothing. Such a stage must come before all other stages that use the items.
    """

    kind = "stages"
    over: GrowingKey
    gives: GrowingKey
    may_give: tuple[GrowingKey, ...] = ()


class middleware(Offer[Middleware]):
    """Middleware between journal and provider."""

    kind = "middleware"


class observer(Offer[Observer]):
    """Observers of events."""

    kind = "observers"


class dispatcher(Offer[Dispatcher]):
    """Dispatchers, which bring the orders of a server to its workers."""

    kind = "dispatchers"


class Hooks:
    """What pluggy collects from the classes of a plugin."""

    @hookspec
    def leadline_offers(self) -> Mapping[str, Offer[Any]]:
        """Return the offers of a class by kind."""
        raise NotImplementedError


# The kinds of plugins and their decorators; stages have a second one.
KINDS: Mapping[str, type[Offer[Any]]] = {
    each.kind: each for each in (stage if each is StageOffer else each for each in Offer.__subclasses__())
}
