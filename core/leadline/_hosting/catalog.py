"""The installed plugins: listed from metadata, loaded by name and only then.

Listing imports nothing. A plugin that cannot be used reports the reason when it is needed, without harm to the others.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from leadline._hosting.commands import GROUP as COMMANDS
from leadline._hosting.loading import NAME, AnyOffer, Plugin, file_of, file_point, load_plugin, named, origin
from leadline.display import choose_from
from leadline.errors import PluginError
from leadline.hookspecs import DEFAULTS, GROUP, Offer, PluginSettings
from leadline.inventory import InstalledPlugin
from leadline.stores import GROUP as STORES

__all__ = ["Plugin", "PluginCatalog"]

# Where plugins of the first version of the API learn how to move.
MOVING = "docs/how-to/move-a-plugin.md"
# Other versions of the API, and names that people write in its place, begin like it.
_FAMILY = GROUP.rpartition(".")[0]
_OTHERS = (DEFAULTS, COMMANDS, STORES)
_VERSION = re.compile(re.escape(_FAMILY) + r"\.v(\d+)")
# The distribution of the core and of its plugins: Leadline's own defaults mean the plugins of this one.
OWN = "leadline"
_SEPARATORS = re.compile(r"[-_.]+")


class WrongKind(PluginError):
    """A name stands for no plugin of a kind, or for several."""


class PluginCatalog:
    """The installed plugins by name. Create one with `PluginCatalog.discover()`.

    Names are unique per kind: several distributions may have a plugin of one name, and NAME@DISTRIBUTION stands for
    that of one. `defaults` are the entry points of packages that ship a `defaults.toml`.
    """

    def __init__(self, listed: Mapping[str, Sequence[EntryPoint]], defaults: Iterable[EntryPoint] = ()) -> None:
        self.defaults = tuple(defaults)
        self._listed = listed
        usable = {name: tuple(point for point in same if not _refusal(point)) for name, same in listed.items()}
        self._points = {name: points for name, points in usable.items() if points}
        # Names that cannot be used at all, with the reasons: another API version, or an invalid name.
        self.refused = {name: _refusal(same[0]) for name, same in listed.items() if not usable[name]}
        self._loaded: dict[int, Plugin | PluginError] = {}
        self._with_files: dict[tuple[tuple[str, str], ...], PluginCatalog] = {}

    @classmethod
    def discover(cls, given: Iterable[EntryPoint] | None = None, extra: Iterable[EntryPoint] = ()) -> PluginCatalog:
        """List the plugins of this environment, or the given entry points, and `extra`, without an import."""
        plugins, defaults = _installed()
        by_name: dict[str, list[EntryPoint]] = defaultdict(list)
        for point in (*(plugins if given is None else given), *extra):
            by_name[point.name].append(point)
        return cls({name: _of_this_version(same) for name, same in sorted(by_name.items())}, defaults)

    def with_files(self, files: Iterable[tuple[str, Path]]) -> PluginCatalog:
        """Return the catalog with plugins of one file by their names; what was loaded is shared."""
        points = [file_point(name, path) for name, path in files]
        key = tuple((point.name, point.value) for point in points)
        if not key:
            return self
        if key not in self._with_files:
            listed = {name: [*self._listed.get(name, ())] for name in (*self._listed, *(name for name, _ in key))}
            for point in points:
                listed[point.name].append(point)
            self._with_files[key] = PluginCatalog(listed, self.defaults)
            self._with_files[key]._loaded = self._loaded
        return self._with_files[key]

    def names(self) -> tuple[str, ...]:
        """Return the names of the installed plugins of this API version."""
        return tuple(self._points)

    def has(self, name: str) -> bool:
        """Return whether a plugin of this NAME or NAME@DISTRIBUTION is installed."""
        return bool(self._candidates(name))

    def file(self, name: str) -> Path | None:
        """Return the file that the settings name for a plugin; None for one that is installed."""
        return next(filter(None, map(file_of, self._candidates(name))), None)

    def load(self, name: str) -> Plugin:
        """Return a plugin; the first call imports it. Raises `PluginError`.

        Of several of one name, it is that of a file that the settings name, or else Leadline's.
        """
        candidates = self._candidates(name)
        if not candidates:
            raise PluginError(self._unknown(name))
        own = [point for point in candidates if file_of(point)]
        own = own or [point for point in candidates if len(candidates) == 1 or origin(point)[0] == OWN]
        if not own:
            raise PluginError(_ambiguous(f"plugin {name!r}", name, [origin(point) for point in candidates]))
        return self._load(own[0])

    def pick(self, kind: str, name: str, *, asked: bool = False, distribution: str = "") -> Plugin:
        """Return the plugin of a kind that a name stands for. Raises `PluginError`.

        Of several, it is that of a distribution, if one is given; else for a name that the user `asked` for the file
        that the settings name, or a third party's, and Leadline's for one of Leadline's defaults.
        """
        candidates = self._candidates(name)
        if len(candidates) <= 1:
            plugins: Sequence[Plugin] = [self.load(name)]
        else:
            for point in filter(file_of, candidates) if asked else ():
                self._load(point)  # no other stands in for one that is broken
            plugins = self._loadable(candidates) or [self._load(candidates[0])]
        fitting = [plugin for plugin in plugins if kind in plugin.offers]
        if not fitting:
            raise WrongKind(
                f"{plugins[0]} is not among the {_words(kind)}: it offers "
                f"{', '.join(map(_words, plugins[0].offers))}; {choose_from(name, self.offering(kind))}"
            )
        preferred = (
            [plugin for plugin in fitting if distribution and plugin.distribution == distribution]
            or [plugin for plugin in fitting if plugin.file and asked]
            or [plugin for plugin in fitting if (plugin.distribution == OWN) != asked]
            or fitting
        )
        if len(preferred) > 1:
            about = [(plugin.distribution, plugin.version) for plugin in preferred]
            raise WrongKind(_ambiguous(f"{name!r} among the {_words(kind)}", name, about))
        return preferred[0]

    def same_name(self, name: str) -> tuple[Plugin, ...]:
        """Return all plugins of a NAME or NAME@DISTRIBUTION that can be loaded."""
        return self._loadable(self._candidates(name))

    def offer(self, kind: str, name: str) -> AnyOffer:
        """Return a plugin's offer of a kind, of several Leadline's. Raises `PluginError` if it has none."""
        return self.pick(kind, name).offers[kind]

    def offering(self, kind: str) -> tuple[str, ...]:
        """Return the names of the plugins of a kind. Loads all plugins: for errors and listings."""
        return tuple(dict.fromkeys(plugin.name for plugin in self.loadable() if kind in plugin.offers))

    def _candidates(self, name: str) -> tuple[EntryPoint, ...]:
        plain, at, distribution = name.partition("@")
        points = self._points.get(plain, ())
        return tuple(point for point in points if not at or _normal(origin(point)[0]) == _normal(distribution))

    def _unknown(self, name: str) -> str:
        if name in self.refused:
            return self.refused[name]
        plain, at, _ = name.partition("@")
        known = [f"{plain}@{_normal(origin(point)[0])}" for point in self._points.get(plain, ())] if at else ()
        return f"no plugin {name!r} is installed: {choose_from(name, known or self.names())}; see `leadline plugins`"

    def _load(self, point: EntryPoint) -> Plugin:
        """Return a plugin; one that is broken is not executed again for each question about it."""
        if id(point) not in self._loaded:
            try:
                self._loaded[id(point)] = load_plugin(point)
            except PluginError as error:
                self._loaded[id(point)] = error
        loaded = self._loaded[id(point)]
        if isinstance(loaded, PluginError):
            raise loaded
        return loaded

    def _loadable(self, points: Iterable[EntryPoint]) -> tuple[Plugin, ...]:
        plugins = []
        for point in points:
            try:
                plugins.append(self._load(point))
            except PluginError:
                continue  # a listing leaves out what is broken
        return tuple(plugins)

    def loadable(self) -> tuple[Plugin, ...]:
        """Return all plugins that can be loaded, by name. Loads all plugins: for errors and listings."""
        return self._loadable(point for points in self._points.values() for point in points)

    def entries(self) -> tuple[InstalledPlugin, ...]:
        """Return all entry points by name. Loads all plugins."""
        return tuple(self._entry(point) for same in self._listed.values() for point in same)

    def entry(self, plugin: Plugin) -> InstalledPlugin:
        """Return the entry point of a plugin."""
        (entry,) = (self._entry(point) for point in self._candidates(qualified(plugin)))
        return entry

    def _entry(self, point: EntryPoint) -> InstalledPlugin:
        distribution, version = origin(point)
        entry = InstalledPlugin(name=point.name, distribution=distribution, version=version, status="ready")
        fault = _refusal(point)
        try:
            plugin = None if fault else self._load(point)
        except PluginError as error:
            plugin, fault = None, str(error)
        if plugin is None:
            return entry.model_copy(
                update={"status": "broken" if point.group == GROUP else "other API", "lacks": fault}
            )
        missing = (missing_packages(plugin, offer) for offer in plugin.offers.values())
        lacks = "; ".join(dict.fromkeys(filter(None, missing)))
        status = "incomplete" if lacks else "ready"
        return entry.model_copy(update={"status": status, "kinds": tuple(plugin.offers), "lacks": lacks})


def qualified(plugin: Plugin) -> str:
    """Return NAME@DISTRIBUTION of a plugin."""
    return f"{plugin.name}@{_normal(plugin.distribution)}"


def same_plugin(name: str, plugin: Plugin) -> bool:
    """Return whether a NAME@DISTRIBUTION, in any spelling, stands for a plugin."""
    plain, at, distribution = name.partition("@")
    return bool(at) and f"{plain}@{_normal(distribution)}" == qualified(plugin)


def _normal(distribution: str) -> str:
    """Return the name of a distribution as package indexes write it."""
    return _SEPARATORS.sub("-", distribution).lower()


def _ambiguous(what: str, name: str, distributions: Sequence[tuple[str, str]]) -> str:
    both = " and ".join(" ".join(about).strip() for about in distributions)
    choices = " or ".join(f"{name}@{_normal(distribution)}" for distribution, _ in distributions)
    return f"{what} is offered by {both}: write {choices}"


def _words(kind: str) -> str:
    """Return a kind as words: `search providers`."""
    return kind.replace("_", " ").replace("ai ", "AI ")


def _installed() -> tuple[list[EntryPoint], list[EntryPoint]]:
    """Return the entry points of plugins and of defaults."""
    # All groups at once: a plugin of another API version is in a group of unknown name.
    every = entry_points()
    groups = [group for group in every.groups if re.split("[._]", group)[0] == _FAMILY and group not in _OTHERS]
    plugins = [point for group in groups for point in every.select(group=group)]
    return plugins, list({point.name: point for point in every.select(group=DEFAULTS)}.values())


def _of_this_version(same: list[EntryPoint]) -> list[EntryPoint]:
    """Return the plugins of one name that have this API version, or all; an editable install is found twice."""
    if len(same) == 1:
        return same  # the usual case; to read the metadata of every distribution takes 1 ms each
    points = [point for point in same if point.group == GROUP] or same
    distinct = {(point.group, point.value, origin(point)): point for point in points}
    return sorted(distinct.values(), key=origin)


def _refusal(point: EntryPoint) -> str:
    """Return why a plugin cannot be used, whatever it offers; empty for one that can."""
    name = point.name
    other = _VERSION.fullmatch(point.group)
    if other is None:
        made = f"is in the group {point.group!r}, which Leadline does not read: its author writes {GROUP!r} instead"
    elif point.group != GROUP:
        is_older = int(other[1]) < int(GROUP.rpartition(".v")[2])
        advice = f"or move it: {MOVING}" if is_older else "or a newer Leadline"
        made = f"is made for {point.group}, this is {GROUP}: install a version of it for {GROUP}, {advice}"
    elif not NAME.fullmatch(name):
        made = "has a name that cannot be used: lower-case letters, digits and _ only, a letter first"
    elif name.startswith("model_") and hasattr(PluginSettings, name):
        # Its section would be a field of a pydantic model, and those have methods such as `model_dump`.
        made = "has a name that cannot be used: pydantic reserves it"
    else:
        return ""
    return f"{named(name, *origin(point))} {made}"


# --- requirements ----------------------------------------------------------------------------------------------------


def missing_packages(plugin: Plugin, offer: AnyOffer) -> str:
    """Return which packages an offer needs, with the command to install them; empty if none is missing."""
    packages = missing(offer)
    return f"{plugin} lacks what it needs: leadline plugins install {' '.join(map(repr, packages))}" if packages else ""


def missing(offer: Offer[Any]) -> tuple[str, ...]:
    """Return the packages to install for an offer, in pip's syntax; empty if none is missing."""
    needs = (need.partition("=") for need in offer.requires)
    return tuple(dict.fromkeys(install or module for module, _, install in needs if not installed(module)))


def installed(module: str) -> bool:
    """Return whether a module can be imported, without an import: an SDK takes seconds, this takes milliseconds.

    Modules of a package are not looked for, except those of a namespace package, which has no code of its own.
    """
    path = ""
    try:
        for part in module.split("."):
            path = f"{path}.{part}" if path else part
            spec = find_spec(path)
            if spec is None or spec.origin is not None:
                break
        return spec is not None
    except (ImportError, ValueError):  # a module that is loaded has no spec, such as `__main__`
        return path in sys.modules
