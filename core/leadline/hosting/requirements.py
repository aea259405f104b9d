"""What an offer needs installed, looked up without importing it: an SDK costs seconds, a look milliseconds."""

from __future__ import annotations

from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from typing import Any

from leadline.hookspecs import Offer


def missing(offer: Offer[Any, Any]) -> tuple[str, ...]:
    """Return what to install for the offer to work here, as pip takes it; empty where all is there."""
    needs = (need.partition("=") for need in offer.requires)
    return tuple(dict.fromkeys(install or module for module, _, install in needs if not installed(module)))


def installed(module: str) -> bool:
    """Tell whether a module, dotted or not, could be imported."""
    top, *rest = module.split(".")
    spec = find_spec(top)
    for depth in range(len(rest)):
        spec = _below(spec, ".".join([top, *rest[: depth + 1]]))
    return spec is not None


def _below(parent: ModuleSpec | None, name: str) -> ModuleSpec | None:
    """Find a submodule by its parent's folders: `find_spec` with a dotted name would import the parent."""
    if parent is None or parent.submodule_search_locations is None:
        return None
    return PathFinder.find_spec(name, parent.submodule_search_locations)
