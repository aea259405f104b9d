"""Select the plugins that the settings name, and find out which of them can work.

Alternatives (providers, engines, fetchers, parsers) and observers that cannot work are left out with a notice. Anything
else that cannot work (a strategy, a stage, a format, a middleware) is an error, and so is a provider or an engine that
the settings name, unless its plugin is broken.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from leadline._hosting.catalog import OWN, Plugin, PluginCatalog, WrongKind, missing_packages, qualified, same_plugin
from leadline._hosting.loading import NAME, AnyOffer
from leadline._hosting.objects import OBJECT
from leadline._settings.defaults import AutoOrder, Defaults
from leadline._settings.pipelines import Steps, examine, keys_of_stages, stage_names
from leadline._settings.plugin_sections import InvalidSection, PluginSections, RequiredSettingMissing, plain
from leadline._settings.schema import USE, KeyPath
from leadline._settings.secrets import Secrets
from leadline.display import choose_from, nearest
from leadline.errors import ConfigError, PluginError
from leadline.hookspecs import PluginSettings
from leadline.pipeline import faults_of
from leadline.settings import Settings

# The keys that name plugins, and the kind of each.
KIND_OF_KEY = {
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
    "runs.dispatcher": "dispatchers",
}
# Keys whose plugins are left out with a notice if they cannot work.
_MAY_DROP = {"ai.providers", "search.engines", "read.fetchers", "read.parsers", "charts.runner", "observers"}
# Keys whose plugins are refused if the settings name them and their own settings are at fault.
_NAMED = {"ai.providers", "search.engines"}
# Keys whose default may end up with no plugin: a search engine may return whole pages itself.
_MAY_BE_EMPTY = {"read.fetchers", "charts.runner"}
# Keys whose plugins are loaded only where a chosen plugin uses them.
_ON_DEMAND = ("knowledge.base", "knowledge.store", "knowledge.embedder")
# Keys that must name a plugin in every run. An offer requires more keys by `uses`.
_REQUIRED = {"ai.providers", "search.strategy", "read.parsers", "research.synthesizer"}
_NO_ORDER = AutoOrder()
# The keys of a pipeline that decide its stages.
_LAYOUT = ("stages", "without", "replace", "before", "after", "extends")

_ADDRESS = re.compile(r"https?://(?:[^\s/?#@]*@)?(?:\[[^\s\[\]]+\]|[^\s/?#@\[\]]+)(?:[:/?#]\S*)?", re.IGNORECASE)


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


@dataclass
class Selected:
    """The result: `names` by key, plugins and their settings by section, the plugins left out, and all problems."""

    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # The section of each plugin by kind and name.
    sections: dict[tuple[str, str], str] = field(default_factory=dict)
    plugins: dict[str, Plugin] = field(default_factory=dict)
    settings: dict[str, PluginSettings] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    choices: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    # The kinds of plugin without which the pipeline cannot work here.
    lacks: set[str] = field(default_factory=set)
    # The variables of required settings that are empty.
    unset: set[str] = field(default_factory=set)
    # Tracebacks of plugins that could not be loaded, by name.
    traces: dict[str, str] = field(default_factory=dict)

    def plugin(self, kind: str, name: str) -> Plugin:
        """Return a plugin that can work."""
        return self.plugins[self.sections[kind, name]]


@dataclass
class Selector:
    """Loads and checks the plugins of each selection.

    `distributions` are those that a stored run used, by KIND/NAME, where they are not Leadline's. Without the plugin of
    the folders that an option names (`has_docs`), no run may start. `is_trusted` returns whether a section may be acted
    on already.
    """

    catalog: PluginCatalog
    sections: PluginSections
    defaults: Defaults
    distributions: Mapping[str, str]
    has_docs: bool = False
    is_trusted: Callable[[PluginSettings, KeyPath], bool] = lambda *_: True
    _selected: Selected = field(default_factory=Selected, init=False)
    # The plugins that lack a package, or whose settings, or what these name, are at fault.
    _unfit: set[str] = field(default_factory=set, init=False)
    _core: Settings = field(default_factory=Settings, init=False)
    # What the user named, by kind; and the plugin of each section that was read.
    _asked: set[tuple[str, str]] = field(default_factory=set, init=False)
    _readers: dict[str, Plugin] = field(default_factory=dict, init=False)
    _emptied: dict[tuple[tuple[str, str], ...], list[str]] = field(default_factory=dict, init=False)
    # What is told of each key that the pipeline uses.
    _choices: dict[str, str] = field(default_factory=dict, init=False)

    def select(self, core: Settings) -> Selected:
        """Return the plugins that the settings select; all errors are in `problems`."""
        selected, place, self._core = self._selected, self.sections.place, core
        selected.problems += self.sections.naming_problems(self.catalog, core.limits)
        steps = self._steps(core)
        stages = tuple(dict.fromkeys(stage_names(steps)))
        keys = keys_of_stages(core.pipelines, core.pipeline) if stages else {}
        chosen = [Selection("pipeline", "stages", stages, keys=keys), *selections(core)]
        named = ((selection, name) for selection in chosen for name in selection.names)
        self._asked = {(each.kind, name) for each, name in named if self.sections.is_users(each.key_of(name))}
        for selection in chosen:
            self._take(selection if selection.key not in _ON_DEMAND else replace(selection, names=()))
        for selection in chosen:  # in this order: the base uses the store and the embedder
            if selection.key in _ON_DEMAND and selection.key in self._used_keys(chosen):
                self._take(selection)
        used = self._used_keys(chosen)
        for selection in chosen[1:]:
            self._require(selection, used)
        pipelines_invalid = any(
            self.sections.is_invalid(f"pipelines.{name}.{key}") for name in core.pipelines for key in _LAYOUT
        )
        if not pipelines_invalid and (problem := self._unserved_stages(core.pipeline)):
            selected.problems.insert(0, problem)
            selected.lacks.add("ai_providers")
        for reasons, emptied in self._emptied.items():
            listed = "".join(f"\n  {name}: {reason}" for name, reason in reasons)
            self._problem(f"{', '.join(emptied)}: none of the chosen plugins can work here{listed}", *emptied)
            selected.lacks |= {kind_of(key) for key in emptied}
        for fault in self._pipeline_faults(core.pipeline, steps) if stages and not pipelines_invalid else ():
            self._problem(f"{fault}{place(f'pipelines.{core.pipeline}')}")
        for name in self.sections.names():
            if name not in self._readers:
                self._check_section(name)
            else:
                self._check_shared(name)
        selected.notices += self._unread_engines()
        selected.choices += [text for key, text in self._choices.items() if key in _REQUIRED | used]
        return selected

    def why_not(self, plugin: Plugin, name: str = "") -> str:
        """Return why a plugin, or its second instance `name`, could not work if it were chosen; empty if it could."""
        try:
            offers = plugin.offers.values()
            section = name or self._section(plugin)
            reasons = [missing_packages(plugin, offer) or self._configure(plugin, offer, section) for offer in offers]
        except ConfigError as error:
            return str(error)
        return "; ".join(dict.fromkeys(filter(None, reasons)))

    @property
    def _documents(self) -> str:
        return self.defaults.documents if self.has_docs else ""

    # --- one selection -----------------------------------------------------------------------------------------------

    def _steps(self, core: Settings) -> Steps:
        """Return the steps of the pipeline; the other pipelines are resolved as well, to report typos."""
        resolved = {name: examine(core.pipelines, name) for name in dict.fromkeys((core.pipeline, *core.pipelines))}
        for _, faults in resolved.values():
            for fault in faults:
                key = f"pipelines.{fault.missing}" if fault.missing else fault.key
                self._problem(f"{fault}{self.sections.place(fault.key)}", key)
        return resolved[core.pipeline][0]

    def _pipeline_faults(self, pipeline: str, steps: Steps) -> list[str]:
        """Return the faults of the order of the stages, as far as these can be loaded."""
        offers: dict[str, Any] = {}
        for name in stage_names(steps):
            with suppress(ConfigError):  # that it cannot be loaded is a problem of its own
                offers |= {name: self._pick("stages", name).offers["stages"]}

        def others() -> Any:  # loads all plugins, for suggestions
            plugins = self.catalog.loadable()
            return {plugin.name: plugin.offers["stages"] for plugin in plugins if "stages" in plugin.offers}

        return faults_of(pipeline, steps, offers, others)

    def _take(self, selection: Selection) -> None:
        """Take the plugins of a selection that can work, and report the others."""
        names, automatic = self._expanded(selection)
        reasons = {name: self._checked(selection, name) for name in names}
        working = tuple(name for name, reason in reasons.items() if reason is None)
        lost = {name: reason for name, reason in reasons.items() if reason is not None}
        self._selected.names[selection.key] = working
        self._report_lost(selection, working, lost, automatic)
        self._report_choice(selection, working, automatic)

    def _checked(self, selection: Selection, name: str) -> str | None:
        """Return None for a plugin that can work, else the reason; empty if that is among the problems already."""
        try:
            return self._admit(selection, name) or None
        except InvalidSection as error:
            self._problem(str(error))
        except ConfigError as error:
            key = selection.key_of(name)
            self._problem(f"{key}: {error}{self.sections.place(key)}", key)
        return ""

    def _expanded(self, selection: Selection) -> tuple[tuple[str, ...], frozenset[str]]:
        """Return the names with `auto` expanded, and those that come from `auto`."""
        if selection.key == "read.fetchers":
            return self._with_instances(selection.names), frozenset()
        order = self.defaults.auto.get(selection.key)
        if "auto" not in selection.names or order is None:
            return selection.names, frozenset()
        automatic = self._automatic(selection, order)
        names = (other for name in selection.names for other in (automatic if name == "auto" else (name,)))
        return tuple(dict.fromkeys(names)), frozenset(automatic) - set(selection.names)

    def _with_instances(self, fetchers: Iterable[str]) -> tuple[str, ...]:
        """Return the fetchers with their second instances among the search engines, whose hits only these can read.

        A fetcher that is not set up itself stands for its instances only. By default, engines that also fetch follow.
        """
        expanded: list[str] = []
        engines = self._selected.names["search.engines"]
        for name in fetchers:
            instances = [engine for engine in engines if engine != name == self.sections.base(engine)]
            expanded += [name] if self.sections.is_set(name) or not instances else []
            expanded += instances
        if not self.sections.place("read.fetchers"):
            also = [it for it in engines if "fetchers" in self._selected.plugin("search_providers", it).offers]
            self._asked |= {("fetchers", name) for name in also if ("search_providers", name) in self._asked}
            expanded += also
        return tuple(dict.fromkeys(expanded))

    def _unread_engines(self) -> Iterator[str]:
        """Yield a notice for each engine that could also fetch, but is not among the fetchers."""
        names, selected = self._selected.names, self._selected
        for name in names.get("search.engines", ()):
            section = selected.sections["search_providers", name]
            offer = selected.plugins[section].offers.get("fetchers")
            if not offer or name in names["read.fetchers"]:
                continue
            if not _obstacle(selected.plugins[section], offer, selected.settings[section], self._core):
                yield (
                    f"read.fetchers: {name} is missing, a search engine that also fetches: what it finds is read only "
                    f"if another fetcher accepts the address; add {name} to read.fetchers"
                )

    def _automatic(self, selection: Selection, order: AutoOrder) -> tuple[str, ...]:
        """Return the plugins that `auto` selects: those that are configured, or else those that need nothing.

        The user's own documents are never replaced by the web: where they cannot be searched, that is an error.
        """
        installed = self.catalog.names()
        # A plugin without a key or a section cannot work: it is not even imported.
        names = [name for name in order.configured if name in installed and self.sections.is_mentioned(name)]
        if order.first:
            names += [name for name in order.otherwise if name in installed]
            return self._first(selection, order, names)
        documents = self.defaults.documents
        if documents in names and self.sections.place(f"plugins.{documents}.folders"):
            return tuple(names)
        if any(self._checked(selection, name) is None for name in names):
            return tuple(names)
        return tuple(name for name in order.names if name in installed)

    def _first(self, selection: Selection, order: AutoOrder, names: Sequence[str]) -> tuple[str, ...]:
        """Return the first plugin that can work; one before it that is set up is not replaced in silence.

        One that has a section is an error; one that only the environment mentions is left out with a notice.
        """
        lost: dict[str, str] = {}
        for name in names:
            if (reason := self._checked(selection, name)) is None:
                break
            lost |= {name: reason} if reason and name in order.configured else {}
        else:
            return tuple(names)
        for other, reason in lost.items():
            text = f"{selection.key}: {other} is set up, but cannot work: {reason}"
            if self.sections.is_set(other):
                self._problem(f"{text}; to do without it: --set {selection.key}={name}", selection.key)
            else:
                self._selected.notices.append(f"{text}; {name} is used instead")
            self._selected.dropped.setdefault(other, reason)
        return (name,)

    def _report_lost(
        self, selection: Selection, working: tuple[str, ...], lost: Mapping[str, str], automatic: frozenset[str]
    ) -> None:
        key, selected = selection.key, self._selected
        is_set = bool(self.sections.place(key))
        reasons = {name: reason for name, reason in lost.items() if reason}
        if reason := reasons.pop(self._documents, ""):
            self._problem(f"--docs: {reason}")
        if key not in _MAY_DROP:
            for name, reason in reasons.items():
                self._problem(f"{selection.key_of(name)}: {reason}", selection.key_of(name))
                selected.lacks.add(selection.kind)
            return
        for name, reason in reasons.items():
            named = name not in automatic and is_set
            if named and working and key in _NAMED and selected.sections.get((selection.kind, name)) in self._unfit:
                self._problem(
                    f"{key}: {name} cannot work: {reason}; or leave it out of {key}{self.sections.place(key)}",
                    key,
                )
            elif (named or self.sections.is_mentioned(name)) and working and name not in selected.dropped:
                selected.notices.append(f"{key}: {name} is left out: {reason}")
            selected.dropped.setdefault(name, reason)
        needed = key not in _MAY_BE_EMPTY or (selection.names != ("auto",) and is_set)
        if needed and selection.names and not working and len(reasons) == len(lost):
            looked = ", ".join(self.defaults.auto.get(key, _NO_ORDER).names)
            none = ("auto", f"looks for {looked}, and none is installed; see `leadline plugins`")
            self._emptied.setdefault(tuple(reasons.items()) or (none,), []).append(key)

    def _report_choice(self, selection: Selection, working: tuple[str, ...], automatic: frozenset[str]) -> None:
        key = selection.key
        alone = key == "search.engines" and self._documents and not self.sections.place(key)
        if not working or not (automatic or key == "ai.providers" or alone):
            return
        order = self.defaults.auto.get(key, _NO_ORDER)
        if alone:
            others = [*filter(self.sections.is_mentioned, order.configured), *order.otherwise]
            other = next((name for name in others if name != self._documents), "NAME")
            reason = f"only the documents; to search elsewhere too: --set {key}={self._documents},{other}"
        elif order.reason and {*working} <= {*order.otherwise}:
            reason = order.reason
        elif automatic & {*working}:
            reason = "chosen by auto"
        else:
            reason = self.sections.place(key).strip(" ()") or "as set"
        self._choices[key] = f"{key}: {', '.join(working)} ({reason})"

    # --- required keys -----------------------------------------------------------------------------------------------

    def _used_keys(self, selections: Iterable[Selection]) -> set[str]:
        """Return the keys that the chosen plugins use, in the kinds that they were chosen for."""
        names, plugin = self._selected.names, self._selected.plugin
        offers = (plugin(it.kind, name).offers[it.kind] for it in selections for name in names.get(it.key, ()))
        return {key for offer in offers for key in offer.uses if isinstance(key, str)}

    def _require(self, selection: Selection, used: Collection[str]) -> None:
        """Report a key that names no plugin although the run needs one."""
        key = selection.key
        if selection.names or (key not in _REQUIRED and (key not in used or key in _MAY_BE_EMPTY)):
            return
        automatic = ("auto",) if key in self.defaults.auto else ()
        choices = sorted({*self.catalog.offering(selection.kind), *automatic})
        usual = self.defaults.value(key) or choices[:1]
        example = ",".join(usual) if isinstance(usual, list) else usual
        self._problem(
            f"{key}: the value is empty, and a run needs one: choose from: {', '.join(choices)}; "
            f"such as --set {key}={example}{self.sections.place(key)}",
            key,
        )

    def _unserved_stages(self, pipeline: str) -> str:
        """Return the problem if stages work only with a language model, and all AI providers work by algorithm."""
        names, plugin = self._selected.names, self._selected.plugin
        chosen = [(name, plugin("stages", name).offers["stages"]) for name in names.get("pipeline", ())]
        stages = [name for name, offer in chosen if "ai.providers" in offer.uses]
        providers = {name for key, chosen in names.items() if kind_of(key) == "ai_providers" for name in chosen}
        if (
            stages
            and providers
            and all(
                getattr(plugin("ai_providers", name).offers["ai_providers"], "algorithm", False) for name in providers
            )
        ):
            return f"pipeline '{pipeline}' needs a language model, and none is set up: {self._model_advice()}"
        return ""

    def _model_advice(self) -> str:
        """Return how to set up a language model."""
        order, place = self.defaults.auto.get("ai.providers", _NO_ORDER), self.sections.place("ai.providers")
        usual = next(iter(order.names), "PROVIDER")
        with suppress(ConfigError):  # not installed
            if lacking := self.why_not(self.catalog.load(self.sections.base(usual))):
                return f"{usual}: {lacking}"
        return f"choose one, such as --set ai.providers={usual}{place}"

    # --- one plugin --------------------------------------------------------------------------------------------------

    def _admit(self, selection: Selection, name: str) -> str:
        """Take a plugin, or return why it cannot work. Raises `ConfigError` for an error in the settings."""
        self._check_installed(selection, name)
        try:
            plugin = self._pick(selection.kind, name)
        except WrongKind:
            raise
        except PluginError as error:
            return self._unloaded(name, error)
        offer = plugin.offers[selection.kind]
        self._tell_rivals(selection, name, plugin)
        section = name if self._is_instance(selection.kind, name) else self._section(plugin)
        self._selected.sections[selection.kind, name] = section
        self._readers[section] = plugin
        if selection.key == "search.images" and not getattr(offer, "images", False):
            raise ConfigError(f"{name!r} does not search for pictures")
        if reason := missing_packages(plugin, offer):
            self._unfit.add(section)
        elif not (reason := self._configure(plugin, offer, section)):
            self._selected.plugins[section] = plugin
        return reason

    def _pick(self, kind: str, name: str) -> Plugin:
        """Return the plugin that a name stands for, or that its section `use`s. Raises `PluginError`."""
        _, written, asked = self._naming(kind, name)
        distribution = self.distributions.get(f"{kind}/{name}", "")
        return self.catalog.pick(kind, written, asked=asked, distribution=distribution)

    def _naming(self, kind: str, name: str, key: str = "") -> tuple[str, str, bool]:
        """Return the key that names the plugin of `name`, how it is written there, and whether a user wrote it."""
        if not self._is_instance(kind, name):
            return key, name, (kind, name) in self._asked
        key = f"plugins.{name}.{USE}"
        return key, self.sections.base(name), self.sections.is_users(key)

    def _is_instance(self, kind: str, name: str) -> bool:
        """Return whether a name stands for a second instance; in Leadline's defaults it means the installed plugin."""
        is_named = (kind, name) in self._asked or not self.catalog.has(name)
        return self.sections.base(name) != name and (is_named or self.sections.is_stored(f"plugins.{name}.use"))

    def _tell_rivals(self, selection: Selection, name: str, plugin: Plugin) -> None:
        """Report that a plugin is used instead of Leadline's of the same name, because the user named it."""
        key, written, _ = self._naming(selection.kind, name, selection.key_of(name))
        if plugin.distribution == OWN or "@" in written or not self.sections.is_users(key):
            return
        rivals = [it for it in self.catalog.same_name(plugin.name) if selection.kind in it.offers and it is not plugin]
        if rivals:
            others = " or ".join(map(qualified, rivals))
            notice = f"{key}: {written} is {plugin}; to use the other of this name, write {others}"
            self._selected.notices += [notice] if notice not in self._selected.notices else []

    def _section(self, plugin: Plugin) -> str:
        """Return the section that a plugin reads: that of its NAME, or of NAME@DISTRIBUTION if there is one."""
        name = plugin.name
        full = next((it for it in self.sections.names() if same_plugin(it, plugin)), qualified(plugin))
        is_others = self.sections.base(name) != name or (self.sections.has_file(name) and not plugin.file)
        is_taken = self._readers.get(name, plugin) is not plugin or is_others
        return full if is_taken or full in self.sections.names() else name

    def _unloaded(self, name: str, error: PluginError) -> str:
        """Return why a plugin could not be loaded, without the texts of its section, which may be secret."""
        secrets = Secrets(self.sections.texts(name))
        if error.traceback:
            self._selected.traces[name] = secrets.scrub(error.traceback)
        return secrets.scrub(str(error))

    def _check_installed(self, selection: Selection, name: str) -> None:
        """Raise `ConfigError` if no plugin has this name, or the name that its section `use`s."""
        base = self.sections.base(name)
        if self.catalog.has(base) or self.catalog.has(name):
            return
        if self.sections.is_unread(name):
            raise InvalidSection  # which is told already
        if self.distributions.get(f"{selection.kind}/{name}") == OBJECT:
            argument = "models" if selection.kind == "ai_providers" else "engines"
            client = f"Client({argument}={{{name!r}: …}})"
            raise ConfigError(f"{name!r} was an object of a program: resume the run by {client}")
        if base in self.catalog.refused:
            raise ConfigError(self.catalog.refused[base])
        instances = (other for other in self.sections.instances() if NAME.fullmatch(other))
        choices = {*self.catalog.offering(selection.kind), *instances}
        if base == name and self.sections.is_set(name) and not nearest(base, choices):
            raise ConfigError(f"no plugin {base!r} is installed, and [plugins.{name}] names none with `use`")
        message = f"no plugin {base!r} is installed: {choose_from(base, choices)}"
        raise ConfigError(f"{message}{self._model_hint(selection, base)}; see `leadline plugins`")

    def _model_hint(self, selection: Selection, name: str) -> str:
        """Return how to write a model that was named without its provider, or in place of one; else empty."""
        usual = next(iter(self.defaults.auto.get("ai.providers", _NO_ORDER).names), "PROVIDER")
        if selection.key == "ai.providers" and ":" in name:
            provider, _, model = name.partition(":")
            provider = provider if self.catalog.has(provider) else usual
            roles = f'{{ thinking = "{provider}:{model}", task = "{provider}:{model}" }}'
            return f'; name providers alone, and models in ai.roles: ai.providers = "{provider}", ai.roles = {roles}'
        if not selection.model or ":" in selection.model:
            return ""
        chosen = self._selected.names["ai.providers"]
        offers = {name: self._selected.plugin("ai_providers", name).offers["ai_providers"] for name in chosen}
        models = (name for name, offer in offers.items() if offer.work != "local")
        return f"; a model is written PROVIDER:MODEL, such as '{next(models, usual)}:{selection.model}'"

    def _configure(self, plugin: Plugin, offer: AnyOffer, name: str) -> str:
        """Read the section of a plugin, or return what is missing."""
        # What Leadline's defaults set in a section is for Leadline's plugin, if it has one of this name.
        shipped = plugin.distribution == OWN or not self.catalog.has(f"{plugin.name}@{OWN}")
        try:
            settings = self._selected.settings.get(name) or self.sections.read(name, plugin, shipped=shipped)
        except RequiredSettingMissing as missing:
            self._unfit.add(name)
            self._selected.unset |= {missing.variable} - {""}
            return str(missing)
        self.sections.refuse_unsendable(name, offer, settings)
        # `ready` may contact, read or start what the section names.
        trusted = self.is_trusted(settings, ("plugins", name))
        reason = _obstacle(plugin, offer, settings, self._core) if trusted else ""
        if not reason:
            self._selected.settings[name] = settings
        elif not reason.startswith(str(plugin)):  # which is its fault, not that of its settings
            self._unfit.add(name)
        return reason

    def _check_section(self, name: str) -> None:
        """Report the faults of the section of a plugin that is not chosen; it need not be complete.

        It must fit one of the plugins of its name.
        """
        key, faults = "ai.providers", list[str]()
        for plugin in self.catalog.same_name(self.sections.base(name)):  # one that is broken does not matter
            if "ai_providers" in plugin.offers and not self.sections.place(key) and name not in self._selected.dropped:
                text = f"{key}: {name} is set up, but not chosen: to use it, --set {key}={name}"
                self._selected.notices.append(text)
            try:
                self.sections.read(name, plugin)
            except RequiredSettingMissing:
                return  # not set up
            except ConfigError as error:
                faults.append(str(error))
            else:
                return
        self._problem(*faults[:1])

    def _check_shared(self, name: str) -> None:
        """Report a section that two chosen plugins of one name could read."""
        readers = {qualified(plugin): plugin for section, plugin in self._readers.items() if plain(section) == name}
        keys = self.sections.own(name) if len(readers) > 1 and self.sections.base(name) == name else ()
        for key in keys[:1]:
            both = " or ".join(f'[plugins."{reader}"]' for reader in readers)
            where = self.sections.place(f"plugins.{name}.{key}")
            self._problem(f"plugins.{name}: two plugins of this name are chosen: write {both}{where}")

    def _problem(self, text: str = "", *keys: str) -> None:
        """Report a problem, unless all the keys that it is about are invalid: then it is only a consequence."""
        if keys and all(map(self.sections.is_invalid, keys)):
            return
        if text and text not in self._selected.problems:
            self._selected.problems.append(text)


def _obstacle(plugin: Plugin, offer: AnyOffer, settings: PluginSettings, core: Settings) -> str:
    """Return why a plugin cannot work here, by its address or as it says; empty if it can."""
    address = getattr(settings, "base_url", "")
    if address and isinstance(address, str) and not _ADDRESS.fullmatch(address.strip()):
        return f"base_url {address!r} is not an address such as https://api.example.org/v1 or http://127.0.0.1:11434/v1"
    try:
        reason = offer.obstacle(settings, core)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - reported without its text, which may contain a secret
        return f"{plugin} raised {type(error).__name__} in `ready`"
    if inspect.iscoroutine(reason):
        reason.close()
    if reason is None or isinstance(reason, str):
        return reason or ""
    return f"{plugin} returns {type(reason).__name__} from `ready`: it must return a text or None, and not be async"


# --- the settings that name plugins -----------------------------------------------------------------------------------


def selections(core: Settings) -> Iterator[Selection]:
    """Yield what the settings select, except stages."""
    for key, kind in KIND_OF_KEY.items():
        value: Any = reduce(getattr, key.split("."), core)
        single = _provider(value) if key.endswith(".embedder") else value
        names = value if isinstance(value, tuple) else (single,) if value else ()
        yield Selection(key, kind, tuple(dict.fromkeys(names)))
    for key, models in (("ai.roles", core.ai.roles), ("ai.tasks", core.ai.tasks)):
        for name, model in models.items():
            yield Selection(f"{key}.{name}", "ai_providers", (_provider(model),), model)


def kind_of(key: str) -> str:
    """Return the kind of the plugins that a key selects."""
    return "stages" if key == "pipeline" else KIND_OF_KEY.get(key, "ai_providers")


def _provider(model: str) -> str:
    """Return the provider of PROVIDER:MODEL."""
    return model.partition(":")[0]
