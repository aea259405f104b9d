"""The installed plugins: listed from metadata, loaded by name and only then.

Listing imports nothing. A plugin that cannot be used reports the reason when it is needed, without harm to the others.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pkgutil import get_importer
from typing import Any, Literal

from leadline._hosting.loading import NAME, AnyOffer, Plugin, load_plugin, named, origin
from leadline.display import choose_from
from leadline.errors import PluginError
from leadline.hookspecs import DEFAULTS, GROUP, Offer, PluginSettings

__all__ = ["CatalogEntry", "Plugin", "PluginCatalog"]

# Where plugins of the first version of the API learn how to move.
MOVING = "docs/how-to/move-a-plugin.md"
_FAMILY = GROUP.rpartition(".")[0] + ".v"
Status = Literal["listed", "ready", "incomplete", "broken"]


@dataclass(frozen=True)
class CatalogEntry:
    """One entry point, as `leadline plugins` lists it.

    `listed`: not loaded; `ready`; `incomplete`: a package must be installed for it; `broken`: see `problem`.
    """

    name: str
    distribution: str
    version: str
    status: Status
    kinds: tuple[str, ...] = ()
    problem: str = ""


class PluginCatalog:
    """The installed plugins by name. Create one with `PluginCatalog.discover()`.

    `defaults` are the entry points of packages that ship a `defaults.toml`.
    """

    def __init__(self, listed: Mapping[str, Sequence[EntryPoint]], defaults: Iterable[EntryPoint] = ()) -> None:
        self.defaults = tuple(defaults)
        self._listed = listed
        problems = {name: _problem(same) for name, same in listed.items()}
        # Names that cannot be used at all, with the reasons: another API version, a duplicate or an invalid name.
        self.refused = {name: problem for name, problem in problems.items() if problem}
        self._points = {name: same[0] for name, same in listed.items() if not problems[name]}
        self._loaded: dict[str, Plugin | PluginError] = {}

    @classmethod
    def discover(cls, found: Iterable[EntryPoint] | None = None, extra: Iterable[EntryPoint] = ()) -> PluginCatalog:
        """List the plugins of this environment, or the given entry points, and `extra`, without an import."""
        plugins, defaults = _installed()
        by_name: dict[str, list[EntryPoint]] = defaultdict(list)
        for point in (*(plugins if found is None else found), *extra):
            by_name[point.name].append(point)
        return cls({name: _of_this_version(same) for name, same in sorted(by_name.items())}, defaults)

    def names(self) -> tuple[str, ...]:
        """Return the names of the installed plugins of this API version."""
        return tuple(self._points)

    def load(self, name: str) -> Plugin:
        """Return a plugin; the first call imports it. Raises `PluginError`."""
        if name in self.refused:
            raise PluginError(self.refused[name])
        if name not in self._points:
            raise PluginError(
                f"no plugin {name!r} is installed: {choose_from(name, self.names())}; see `leadline plugins`"
            )
        if name not in self._loaded:
            self._loaded[name] = self._load_once(name)
        loaded = self._loaded[name]
        if isinstance(loaded, PluginError):
            raise loaded
        return loaded

    def _load_once(self, name: str) -> Plugin | PluginError:
        """Return a plugin or its error, so that a broken module is not executed again for each question about it."""
        try:
            return load_plugin(self._points[name])
        except PluginError as error:
            return error

    def offer(self, kind: str, name: str) -> AnyOffer:
        """Return a plugin's offer of a kind. Raises `PluginError` if it has none."""
        plugin = self.load(name)
        if kind not in plugin.offers:
            raise PluginError(
                f"{plugin} is not among the {_words(kind)}: it offers {', '.join(map(_words, plugin.offers))}; "
                f"{choose_from(name, self.offering(kind))}"
            )
        return plugin.offers[kind]

    def offering(self, kind: str) -> tuple[str, ...]:
        """Return the names of the plugins of a kind. Loads all plugins: for errors and listings."""
        return tuple(plugin.name for plugin in self.loadable() if kind in plugin.offers)

    def loadable(self) -> tuple[Plugin, ...]:
        """Return all plugins that can be loaded, by name. Loads all plugins: for errors and listings."""
        found = []
        for name in self._points:
            try:
                found.append(self.load(name))
            except PluginError:
                continue  # a listing leaves out what is broken
        return tuple(found)

    def entries(self, *, load: bool = False) -> tuple[CatalogEntry, ...]:
        """Return all entry points by name; with `load`, also their kinds and problems."""
        return tuple(self._entry(point, load=load) for same in self._listed.values() for point in same)

    def entry(self, name: str) -> CatalogEntry:
        """Return the entry point of an installed plugin, which is loaded."""
        return self._entry(self._points[name], load=True)

    def _entry(self, point: EntryPoint, *, load: bool) -> CatalogEntry:
        about = (point.name, *origin(point))
        if point.name in self._points and not load:
            return CatalogEntry(*about, "listed")
        try:
            plugin = self.load(point.name)
        except PluginError as error:
            return CatalogEntry(*about, "broken", problem=str(error))
        problems = (missing_packages(plugin, offer) for offer in plugin.offers.values())
        problem = "; ".join(dict.fromkeys(filter(None, problems)))
        return CatalogEntry(*about, "incomplete" if problem else "ready", tuple(plugin.offers), problem)


def _words(kind: str) -> str:
    """Return a kind as words: `search providers`."""
    return kind.replace("_", " ").replace("ai ", "AI ")


def _installed() -> tuple[list[EntryPoint], list[EntryPoint]]:
    """Return the entry points of plugins and of defaults."""
    # All groups at once: a plugin of another API version is in a group of unknown name.
    found = entry_points()
    plugins = [point for group in found.groups if group.startswith(_FAMILY) for point in found.select(group=group)]
    return plugins, list({point.name: point for point in found.select(group=DEFAULTS)}.values())


def _of_this_version(same: list[EntryPoint]) -> list[EntryPoint]:
    """Return the plugins of one name that have this API version, or all; an editable install is found twice."""
    if len(same) == 1:
        return same  # the usual case; to read the metadata of every distribution takes 1 ms each
    points = [point for point in same if point.group == GROUP] or same
    return list({(point.group, point.value, origin(point)): point for point in points}.values())


def _problem(same: Sequence[EntryPoint]) -> str:
    """Return why the plugins of one name cannot be used; empty for one plugin that can."""
    first, name = same[0], same[0].name
    is_valid_name = NAME.fullmatch(name) is not None
    # Its section would be a field of a pydantic model, and those have methods such as `model_dump`.
    is_reserved = name.startswith("model_") and hasattr(PluginSettings, name)
    if first.group == GROUP and is_valid_name and not is_reserved and len(same) == 1:
        return ""
    plugin = named(name, *origin(first))
    if first.group != GROUP:
        move = f", or move it: {MOVING}" if first.group == "leadline.v1" else ""
        return f"{plugin} is made for {first.group}, this is {GROUP}: install a version of it for {GROUP}{move}"
    if not is_valid_name:
        return f"{plugin} has a name that cannot be used: lower-case letters, digits and _ only, a letter first"
    if is_reserved:
        return f"{plugin} has a name that cannot be used: pydantic reserves it"
    both = " and ".join(" ".join(origin(point)).strip() or point.value for point in same)
    return f"plugin {name!r} is offered twice, by {both}: uninstall one of them"


# --- requirements ----------------------------------------------------------------------------------------------------


def missing_packages(plugin: Plugin, offer: AnyOffer) -> str:
    """Return which packages an offer needs, with the command to install them; empty if none is missing."""
    packages = missing(offer)
    return f"{plugin} lacks what it needs: pip install {' '.join(map(repr, packages))}" if packages else ""


def missing(offer: Offer[Any]) -> tuple[str, ...]:
    """Return the packages to install for an offer, in pip's syntax; empty if none is missing."""
    needs = (need.partition("=") for need in offer.requires)
    return tuple(dict.fromkeys(install or module for module, _, install in needs if not installed(module)))


def installed(module: str) -> bool:
    """Return whether a module can be imported, without an import: an SDK takes seconds, this takes milliseconds."""
    top, *rest = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):  # a module that is loaded has no spec, such as `__main__`
        return top in sys.modules
    found, folders = spec is not None, list(spec.submodule_search_locations or ()) if spec else []
    for depth in range(len(rest)):
        found, folders = _submodule(folders, ".".join([top, *rest[: depth + 1]]))
    return found


def _submodule(folders: Iterable[str], name: str) -> tuple[bool, list[str]]:
    """Return whether the folders of a package have a module, and the folders of that module if it is a package.

    `find_spec` with a dotted name would import the parent, and a path finder needs a parent that is imported if the
    module is a namespace package.
    """
    specs = (finder.find_spec(name) for folder in folders if (finder := get_importer(folder)) is not None)
    portions: list[str] = []
    for spec in filter(None, specs):
        if spec.loader is not None:
            return True, list(spec.submodule_search_locations or ())
        portions += spec.submodule_search_locations or ()
    return bool(portions), portions
