"""The host: which plugins are installed, and their offers, loaded by name and only then.

Listing reads the metadata of the installed distributions and imports nothing. A plugin that cannot be used says why
when it is asked for; the others go on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Literal

from leadline.errors import PluginError
from leadline.hookspecs import GROUP
from leadline.hosting.loading import NAME, AnyOffer, Plugin, load_plugin, named, origin
from leadline.hosting.requirements import missing
from leadline.nearest import choose_from

__all__ = ["Entry", "Host", "Plugin"]

_FAMILY = GROUP.rpartition(".")[0] + ".v"
Status = Literal["listed", "ready", "incomplete", "broken"]


@dataclass(frozen=True)
class Entry:
    """One entry point, as `leadline plugins` lists it.

    `listed`: not loaded; `ready`; `incomplete`: something must be installed for it; `broken`: `problem` says why.
    """

    name: str
    distribution: str
    version: str
    status: Status
    kinds: tuple[str, ...] = ()
    problem: str = ""


class Host:
    """The installed plugins, by name. Make one with `Host.discover()`."""

    def __init__(self, listed: Mapping[str, Sequence[EntryPoint]]) -> None:
        self._listed = listed
        problems = {name: _problem(same) for name, same in listed.items()}
        self._refused = {name: problem for name, problem in problems.items() if problem}
        self._points = {name: same[0] for name, same in listed.items() if not problems[name]}
        self._loaded: dict[str, Plugin | PluginError] = {}

    @classmethod
    def discover(cls, found: Iterable[EntryPoint] | None = None, extra: Iterable[EntryPoint] = ()) -> Host:
        """List the plugins of this environment, or of the given entry points, and `extra`, without importing any."""
        by_name: dict[str, list[EntryPoint]] = defaultdict(list)
        for point in (*(_installed() if found is None else found), *extra):
            by_name[point.name].append(point)
        return cls({name: _ours(same) for name, same in sorted(by_name.items())})

    @property
    def refused(self) -> Mapping[str, str]:
        """Names that cannot be used at all, each with the reason."""
        return self._refused

    @property
    def problems(self) -> tuple[str, ...]:
        """Entry points that cannot be used at all: of another API version, named twice, badly named."""
        return tuple(self._refused.values())

    def names(self) -> tuple[str, ...]:
        """Return the names of the installed plugins of this API version."""
        return tuple(self._points)

    def load(self, name: str) -> Plugin:
        """Return a plugin, imported the first time. Raises `PluginError`."""
        if name in self._refused:
            raise PluginError(self._refused[name])
        if name not in self._points:
            raise PluginError(
                f"no plugin {name!r} is installed: {choose_from(name, self.names())}; see `leadline plugins`"
            )
        if name not in self._loaded:
            self._loaded[name] = self._try(name)
        loaded = self._loaded[name]
        if isinstance(loaded, PluginError):
            raise loaded
        return loaded

    def offer(self, kind: str, name: str) -> AnyOffer:
        """Return what a plugin offers of a kind. Raises `PluginError` where it offers none."""
        plugin = self.load(name)
        if kind not in plugin.offers:
            raise PluginError(
                f"{plugin} is not among the {words(kind)}: it offers {', '.join(map(words, plugin.offers))}; "
                f"{choose_from(name, self.offering(kind))}"
            )
        return plugin.offers[kind]

    def offering(self, kind: str) -> tuple[str, ...]:
        """Return the names of the plugins with an offer of a kind. Loads them all: for errors and listings."""
        return tuple(plugin.name for plugin in self.loadable() if kind in plugin.offers)

    def loadable(self) -> tuple[Plugin, ...]:
        """Return all plugins that can be loaded, by name. Loads them all: for errors and listings."""
        return tuple(filter(None, map(self._quietly, self._points)))

    def catalog(self, *, load: bool = False) -> tuple[Entry, ...]:
        """Return all entry points, by name; with `load` each with its kinds and what is wrong with it."""
        return tuple(self._entry(point, load=load) for same in self._listed.values() for point in same)

    def _entry(self, point: EntryPoint, *, load: bool) -> Entry:
        about = (point.name, *origin(point))
        if point.name in self._points and not load:
            return Entry(*about, "listed")
        try:
            plugin = self.load(point.name)
        except PluginError as error:
            return Entry(*about, "broken", problem=str(error))
        lacks = "; ".join(filter(None, (lacking(plugin, offer) for offer in plugin.offers.values())))
        return Entry(*about, "incomplete" if lacks else "ready", tuple(plugin.offers), lacks)

    def _quietly(self, name: str) -> Plugin | None:
        """Load a plugin on behalf of a listing, where a broken one is only absent."""
        try:
            return self.load(name)
        except PluginError:
            return None

    def _try(self, name: str) -> Plugin | PluginError:
        """Load a plugin once: a broken module is not executed again at every question about it."""
        try:
            return load_plugin(self._points[name])
        except PluginError as error:
            return error


def words(kind: str) -> str:
    """Return a kind in words: `search providers`."""
    return kind.replace("_", " ").replace("ai ", "AI ")


def lacking(plugin: Plugin, offer: AnyOffer) -> str:
    """Say what must be installed for an offer, with the command; empty where nothing is missing."""
    specs = missing(offer)
    return f"{plugin} lacks what it needs: pip install {' '.join(map(repr, specs))}" if specs else ""


def _installed() -> Iterable[EntryPoint]:
    # One listing of all groups: a plugin of another API version stands in a group we do not know by name.
    found = entry_points()
    return [point for group in found.groups if group.startswith(_FAMILY) for point in found.select(group=group)]


def _ours(same: list[EntryPoint]) -> list[EntryPoint]:
    """Return the plugins of one name that are of this API version, or all; an editable install is found twice."""
    if len(same) == 1:
        return same  # the usual case; reading the metadata of every distribution would cost 1 ms each
    ours = [point for point in same if point.group == GROUP] or same
    return list({(point.group, point.value, origin(point)): point for point in ours}.values())


def _problem(same: Sequence[EntryPoint]) -> str:
    """Say why the plugins of one name cannot be used; empty where there is one, and it can."""
    first, name = same[0], same[0].name
    fits = NAME.fullmatch(name) is not None
    if first.group == GROUP and fits and len(same) == 1:
        return ""
    who = named(name, *origin(first))
    if first.group != GROUP:
        return f"{who} is made for {first.group}, this is {GROUP}: install a version of it for {GROUP}"
    if not fits:
        return f"{who} has a name that cannot be used: lower-case letters, digits and _ only, a letter first"
    both = " and ".join(" ".join(origin(point)).strip() or point.value for point in same)
    return f"plugin {name!r} is offered twice, by {both}: uninstall one of them"
