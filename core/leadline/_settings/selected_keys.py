"""The settings that name plugins, and the kind of plugin that each one names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from leadline.settings import Settings

_KINDS = {
    "ai.providers": "ai_providers",
    "ai.embedder": "embedders",
    "ai.reranker": "rerankers",
    "search.engines": "search_providers",
    "search.images": "search_providers",
    "search.strategy": "search_strategies",
    "knowledge.base": "search_providers",
    "knowledge.store": "vector_stores",
    "knowledge.embedder": "embedders",
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


@dataclass(frozen=True)
class Selection:
    """The plugins that one key names, of one kind."""

    key: str
    kind: str
    names: tuple[str, ...]
    # The value of a role or a task as it is written.
    model: str = ""
    # The key of each name where it is not `key`: of stages.
    keys: Mapping[str, str] = field(default_factory=dict)

    def key_of(self, name: str) -> str:
        """Return the key that has this name."""
        return self.keys.get(name, self.key)


def selections(core: Settings) -> Iterator[Selection]:
    """Yield what the settings select, except stages."""
    for key, kind in _KINDS.items():
        value: Any = reduce(getattr, key.split("."), core)
        single = _provider(value) if key.endswith(".embedder") else value
        names = value if isinstance(value, tuple) else (single,) if value else ()
        yield Selection(key, kind, tuple(dict.fromkeys(names)))
    for key, models in (("ai.roles", core.ai.roles), ("ai.tasks", core.ai.tasks)):
        for name, model in models.items():
            yield Selection(f"{key}.{name}", "ai_providers", (_provider(model),), model)


def kind_of(key: str) -> str:
    """Return the kind of the plugins that a key selects."""
    return "stages" if key == "pipeline" else _KINDS.get(key, "ai_providers")


def _provider(model: str) -> str:
    """Return the provider of PROVIDER:MODEL."""
    return model.partition(":")[0]
