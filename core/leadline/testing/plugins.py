"""Plugins for tests, made of decorated classes without a module or an installation."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import ModuleType, SimpleNamespace

from leadline.hookspecs import GROUP, offers_of, register


def plugin(name: str, *decorated: object) -> EntryPoint:
    """Return the entry point of a plugin of decorated classes or functions, for `PluginCatalog.discover([...])`.

    `plugin("wiki", search_provider("A wiki")(Wiki))`
    """
    module = ModuleType(f"leadline_testing_{name}")
    own = SimpleNamespace()
    for item in decorated:
        for offer in offers_of(item).values():
            register(own, offer)
    setattr(module, "plugin", own)  # noqa: B010 - a module has no such attribute
    sys.modules[module.__name__] = module
    return EntryPoint(name, f"{module.__name__}:plugin", GROUP)
