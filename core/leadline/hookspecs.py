"""The hooks: how a plugin puts its offers on the table.

A plugin is an entry point in the group `leadline.v1`; its entry-point name is its name in the settings. The module it
points to implements one hook or several, each yielding an offer:

    from leadline import Offer, PluginSettings, hookimpl

    @hookimpl
    def leadline_search_providers():
        yield Offer(lambda settings, context: Wiki(context), PluginSettings, "Our wiki")

Hooks are synchronous, called once at the start, for the plugins that the settings name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pluggy
from pydantic import ConfigDict

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
)
from leadline.findings import Key
from leadline.records import Tool
from leadline.settings.section import Counting
from leadline.task_kinds import TaskKind

GROUP = "leadline.v1"
"""The entry-point group; its number is the version of this API."""
hookspec = pluggy.HookspecMarker("leadline")
hookimpl = pluggy.HookimplMarker("leadline")


class PluginSettings(Counting):
    """The base of a plugin's settings. A required field left empty: the plugin drops out, with one notice."""

    model_config = ConfigDict(frozen=True, extra="forbid")


S = TypeVar("S", bound=PluginSettings)
M = TypeVar("M", covariant=True)


def _always(_: Any) -> str | None:
    return None


@dataclass(frozen=True)
class Offer(Generic[S, M]):
    """What a plugin puts on the table, one of a kind; its name is its plugin's.

    `make` is called once for all runs of a client with equal settings; an SDK is imported in it or later. A settings
    section with `use = "NAME"` is another instance. All offers of a plugin share one settings model.
    """

    make: Callable[[S, Context], M]
    settings: type[S]
    summary: str
    env: Mapping[str, str] = field(default_factory=dict)
    """Settings field to conventional environment variable: `{"api_key": "TAVILY_API_KEY"}`."""
    requires: tuple[str, ...] = ()
    """Modules it needs, as `module` or `module=what to install`: `("tavily=leadline[tavily]",)`."""
    ready: Callable[[S], str | None] = _always
    """Says why it cannot work here, without network or SDK; None when it can."""
    keep: bool = True
    """Whether its replies are worth keeping in the journal; False where they can be had again for nothing. A model's
    stand there in any case, but serve no other run then."""
    answers: tuple[str, ...] | None = None
    """The settings fields that change its answers, and so the journal's keys; None: all that are not secret."""
    priced: bool = False
    """Whether a call costs money or tokens."""
    free: bool = False
    """Whether its work costs nothing and contacts nobody, so that it still runs while a run is winding down: for
    providers that answer typed tasks by algorithm, and for parsers."""
    per_user: bool = False
    """Whether replies depend on the principal."""
    at_once: int = 10
    """Calls at once, over the process; `[limits]` may say otherwise."""
    interval: float = 0.0
    """Seconds between the starts of two calls."""
    calls: bool = False
    """Whether it asks others through `call.run` to do its work: then their calls are limited, timed and retried, and
    its own is not. For chart runners, formatters, sandboxes, embedders, rerankers and claim judges."""
    timeout: float | None = None
    """Seconds a call may take; None leaves it to the house: `search.timeout` for engines, 30 for the rest."""
    tasks: tuple[TaskKind[Any, Any], ...] = ()
    """The typed tasks it asks of models: what is not declared here, settings cannot name."""
    tools: tuple[Tool, ...] = ()
    """The tools that it lets a model call: likewise."""


@dataclass(frozen=True, kw_only=True)
class StageOffer(Offer[S, Stage]):
    """A stage, with the findings it needs, wants, gives, and may give.

    The first round of a loop must work with what stands before it; `may_give` satisfies only a want.
    """

    needs: tuple[Key[Any], ...] = ()
    wants: tuple[Key[Any], ...] = ()
    gives: tuple[Key[Any], ...] = ()
    may_give: tuple[Key[Any], ...] = ()
    ends_loop: bool = False
    """It may end the loop it stands in."""
    closing: bool = False
    """It finishes the report: a share of the budget is kept for it."""


@dataclass(frozen=True, kw_only=True)
class MapOffer(Offer[S, MapStage[Any, Any]]):
    """A map stage: `over` the items of one key that grows, it `gives` the items of another.

    `may_give` are growing keys to which its results go by their type: pages that could not be read, beside those that
    could.
    """

    over: Key[Any]
    gives: Key[Any]
    may_give: tuple[Key[Any], ...] = ()
    needs: tuple[Key[Any], ...] = ()
    wants: tuple[Key[Any], ...] = ()


Offers = Iterable[Offer[Any, M]]


class Hooks:
    """One hook a kind; each returns the plugin's offers of that kind."""

    @hookspec
    def leadline_ai_providers(self) -> Offers[AIProvider | TaskProvider]:
        """Language models, and what answers typed tasks without one."""
        raise NotImplementedError

    @hookspec
    def leadline_search_providers(self) -> Offers[SearchProvider]:
        """Search engines."""
        raise NotImplementedError

    @hookspec
    def leadline_search_strategies(self) -> Offers[SearchStrategy]:
        """How several engines serve one query."""
        raise NotImplementedError

    @hookspec
    def leadline_synthesizers(self) -> Offers[Synthesizer]:
        """Writers of sections."""
        raise NotImplementedError

    @hookspec
    def leadline_chart_runners(self) -> Offers[ChartRunner]:
        """Drawers of charts."""
        raise NotImplementedError

    @hookspec
    def leadline_sandboxes(self) -> Offers[Sandbox]:
        """Places where code may run."""
        raise NotImplementedError

    @hookspec
    def leadline_report_formatters(self) -> Offers[ReportFormatter]:
        """Formats of reports."""
        raise NotImplementedError

    @hookspec
    def leadline_fetchers(self) -> Offers[Fetcher]:
        """Address to bytes."""
        raise NotImplementedError

    @hookspec
    def leadline_parsers(self) -> Offers[Parser]:
        """Bytes to text."""
        raise NotImplementedError

    @hookspec
    def leadline_embedders(self) -> Offers[Embedder]:
        """Texts to vectors."""
        raise NotImplementedError

    @hookspec
    def leadline_rerankers(self) -> Offers[Reranker]:
        """Rate texts by how well they answer a query."""
        raise NotImplementedError

    @hookspec
    def leadline_claim_judges(self) -> Offers[ClaimJudge]:
        """Decide whether cited passages support claims."""
        raise NotImplementedError

    @hookspec
    def leadline_stages(self) -> Iterable[StageOffer[Any] | MapOffer[Any]]:
        """Steps of pipelines."""
        raise NotImplementedError

    @hookspec
    def leadline_middleware(self) -> Offers[Middleware]:
        """What stands between journal and provider."""
        raise NotImplementedError

    @hookspec
    def leadline_observers(self) -> Offers[Observer]:
        """Watchers of events."""
        raise NotImplementedError


KINDS: tuple[str, ...] = tuple(name.removeprefix("leadline_") for name in vars(Hooks) if name.startswith("leadline_"))
"""The kinds of plugins, by the names of their hooks without the prefix."""
