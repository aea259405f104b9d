"""What the settings select: the plugins that each key names, by kind; which keys must name one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from leadline.hosting.host import Host
from leadline.settings.model import Settings

AUTO_PROVIDERS = ("openai", "embedded")
AUTO_ENGINES = ("local", "tavily", "serper", "exa", "brave", "searxng")
KEYLESS_ENGINES = ("duckduckgo", "wikipedia", "openalex")
"""What `auto` stands for where none of those is set up. One's own documents are never searched beside them."""
PLAIN = {"embedded", "local", "matplotlib"}
"""Of those that `auto` brings, the ones that need no key."""
AUTO = {"ai.providers": AUTO_PROVIDERS, "search.engines": AUTO_ENGINES, "charts.runner": ("matplotlib",)}
"""What `auto` stands for, in this order, as far as it is installed and works."""
_KINDS = {
    "ai.providers": "ai_providers",
    "ai.embedder": "embedders",
    "ai.reranker": "rerankers",
    "search.engines": "search_providers",
    "search.strategy": "search_strategies",
    "read.fetchers": "fetchers",
    "read.parsers": "parsers",
    "research.synthesizer": "synthesizers",
    "charts.runner": "chart_runners",
    "code.sandbox": "sandboxes",
    "report.formats": "report_formatters",
    "verify.judges": "claim_judges",
    "middleware": "middleware",
    "observers": "observers",
}
_MAY_DROP = {"ai.providers", "search.engines", "read.fetchers", "read.parsers", "charts.runner", "observers"}
MAY_BE_NONE = {"read.fetchers", "charts.runner"}
"""What a run can do without where the settings leave it at its default: engines may bring the full text themselves."""
_ONE_AT_LEAST: Mapping[str, tuple[str, ...]] = {
    "ai.providers": (),
    "search.engines": ("search", "explore"),
    "search.strategy": (),
    "read.parsers": (),
    "research.synthesizer": (),
    "report.formats": ("export",),
}
"""What no run can do without; with stages, no run whose pipeline has one of them."""


@dataclass(frozen=True)
class Selection:
    """The plugins that one key names, of one kind."""

    key: str
    kind: str
    names: tuple[str, ...]
    model: str = ""
    """What a role or a task is set to, as it is written."""
    places: Mapping[str, str] = field(default_factory=dict)
    """The keys under which names are written, where that is not `key`: of stages."""

    def key_of(self, name: str) -> str:
        """Return the key under which a name is written."""
        return self.places.get(name, self.key)

    @property
    def may_drop(self) -> bool:
        """Whether the others do without one that cannot work."""
        return self.key in _MAY_DROP


def selections(core: Settings) -> Iterator[Selection]:
    """Yield what the settings select, but for the stages."""
    for key, kind in _KINDS.items():
        value = _value(core, key)
        single = _provider(value) if key == "ai.embedder" else value
        names = value if isinstance(value, tuple) else (single,) if value else ()
        yield Selection(key, kind, tuple(dict.fromkeys(names)))
    for key, models in (("ai.roles", core.ai.roles), ("ai.tasks", core.ai.tasks)):
        for name, model in models.items():
            yield Selection(f"{key}.{name}", "ai_providers", (_provider(model),), model)


def kind_of(key: str) -> str:
    """Return the kind of the plugins that a key selects."""
    return "stages" if key == "pipeline" else _KINDS.get(key, "ai_providers")


def _provider(model: str) -> str:
    """Return the plugin of a model named as PROVIDER:MODEL."""
    return model.partition(":")[0]


def emptied(selection: Selection, host: Host, stages: tuple[str, ...]) -> str:
    """Say that a key names nothing where a run with these stages needs one; empty where all is well."""
    key = selection.key
    if selection.names or key not in _ONE_AT_LEAST:
        return ""
    if (needing := _ONE_AT_LEAST[key]) and not {*needing} & {*stages}:
        return ""
    choices = sorted({*host.offering(selection.kind), *(("auto",) if key in AUTO else ())})
    usual = _value(Settings(), key)
    example = ",".join(usual) if isinstance(usual, tuple) else usual
    return f"{key}: is empty, and a run needs one: choose from: {', '.join(choices)}; such as --set {key}={example}"


def is_usual(selection: Selection) -> bool:
    """Return whether a selection is the default: nobody has named its plugins."""
    return bool(_value(Settings(), selection.key) == selection.names)


def _value(core: Settings, key: str) -> Any:
    return reduce(getattr, key.split("."), core)
