"""Prices of models that nothing in the settings uses: a typo there lets a run go on without its limit of money."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from leadline.hookspecs import PluginSettings
from leadline.hosting.host import Plugin
from leadline.nearest import choose_from
from leadline.settings.model import Settings
from leadline.settings.selections import PLAIN

_ASKED = ("ai_providers", "claim_judges", "embedders", "rerankers", "search_providers")
"""The kinds whose plugins may ask models."""


def unused_prices(
    core: Settings,
    plugins: Mapping[str, Plugin],
    sections: Mapping[str, PluginSettings],
    place: Callable[[str], str],
) -> Iterator[str]:
    """Yield a notice for each price of a model that no provider, role or task names.

    Where a provider names no model of its own it has a default, which only itself knows: then nothing can be told.
    """
    asked = {name: sections[name] for name, plugin in plugins.items() if {*_ASKED} & {*plugin.offers}}
    used = _used(core, asked)
    wrong = {model: name for model in core.ai.prices if model not in used and (name := _behind(model, asked))}
    for model, name in wrong.items():
        told = f"prices go by the model without its provider: write {name!r}"
        yield f"ai.prices.{model}: {told}{place('ai.prices')}"
    chats = (name for name in asked if "ai_providers" in plugins[name].offers and plugins[name].name not in PLAIN)
    if not core.ai.prices or not all(getattr(asked[name], "model", "") for name in chats):
        return
    for model in core.ai.prices:
        if model not in used and model not in wrong:
            key = f"ai.prices.{model}"
            yield f"{key}: no provider, role or task uses this model: {choose_from(model, used)}{place('ai.prices')}"


def _used(core: Settings, asked: Mapping[str, PluginSettings]) -> set[str]:
    """Return the models that providers, roles and tasks name."""
    used = {model for settings in asked.values() for model in _named(settings)}
    said = (*core.ai.roles.values(), *core.ai.tasks.values(), core.ai.embedder)
    used |= {model for one in said if (model := one.partition(":")[2])}
    return used | {
        name for model in used if (name := model.partition("/")[2])
    }  # VENDOR/NAME is priced by its name, too


def _behind(model: str, asked: Mapping[str, PluginSettings]) -> str:
    """Return the model of one that is written PROVIDER:MODEL; empty for another."""
    provider, _, name = model.partition(":")
    return name if provider in asked else ""


def _named(settings: PluginSettings) -> Iterator[str]:
    """Yield the models that a section names: in `model`, in fields like `embedding_model`, as keys of `models`."""
    for name, value in settings:
        if isinstance(value, str) and value and (name == "model" or name.endswith("_model")):
            yield value
        elif name == "models" and isinstance(value, Mapping):
            yield from map(str, value)
