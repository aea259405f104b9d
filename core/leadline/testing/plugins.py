"""Plugins for tests, built from offers without a module or an installation."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

from leadline.hookspecs import GROUP, KINDS, Offer, hookimpl


def plugin(name: str, **offers: Offer[Any, Any]) -> EntryPoint:
    """Return the entry point of a plugin with these offers by kind, for `PluginCatalog.discover([...])`.

    `plugin("wiki", search_providers=Offer(make, PluginSettings, "A wiki"))`
    """
    if unknown := set(offers) - set(KINDS):
        raise ValueError(f"unknown kinds of plugins: {', '.join(sorted(unknown))}; choose from {', '.join(KINDS)}")
    module = ModuleType(f"leadline_testing_{name}")
    for kind, offer in offers.items():
        setattr(module, f"leadline_{kind}", _hook(offer))
    sys.modules[module.__name__] = module
    return EntryPoint(name, module.__name__, GROUP)


def _hook(offer: Offer[Any, Any]) -> Any:
    def hook() -> list[Offer[Any, Any]]:
        return [offer]

    return hookimpl(hook)
