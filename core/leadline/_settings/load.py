"""Load the settings of a run: read every source, select plugins, and validate.

`load_settings` works in two phases, since the settings themselves name the plugins whose models validate the plugins'
sections. It validates the core's tables first, and then the section of each selected plugin.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

from pydantic import Field, create_model
from pydantic_core import to_jsonable_python

from leadline._hosting.catalog import OWN, Plugin, PluginCatalog
from leadline._hosting.loading import AnyOffer
from leadline._settings.defaults import Defaults, preset_layer, read_defaults
from leadline._settings.drift import Comparison, compare, drift_notices, find_drift, outdated_notices, tags_of
from leadline._settings.layers import Found, Layer, Stored, leaves, nested, refusal, strongest
from leadline._settings.partial_validation import validate_partially
from leadline._settings.pipelines import pipeline_layer
from leadline._settings.plugin_sections import PluginSections, has_variable
from leadline._settings.redaction import is_unstored, private_texts, public, secrets_of, withheld
from leadline._settings.schema import KeyPath, names_code
from leadline._settings.selection import Selected, Selector, kind_of
from leadline._settings.sources import STORED, Sources, has_reference
from leadline._settings.task_settings import read_prompts, template_notices, unknown_names, unused_prices
from leadline._settings.trust import Review, code_of, tables_of
from leadline.errors import ConfigError, PluginError, UntrustedSettings
from leadline.hookspecs import PluginSettings, ai_provider, stage, synthesizer
from leadline.inventory import MASK, InstalledPipeline, InstalledPlugin, Setting
from leadline.research_findings import ROUTE, VERIFICATION
from leadline.settings import Section, Settings

NO_PLUGINS = (
    "no plugins are installed: no package registers defaults (entry-point group leadline.defaults); "
    "install Leadline again, whole"
)


# The beginnings of the origins of values that no user set.
_NOT_GIVEN = ("default", "preset ", "pipeline ")
# The layers of arguments and `--set`, above the settings of an earlier run.
_ABOVE_STORED = 2
_NOT_KEPT = "was not stored with the run, because it may be private"


@dataclass(frozen=True)
class Loaded:
    """The settings with their origins and the selected plugins.

    `origins` by dotted key; `chosen` has the names of plugins by key (`search.engines`); `choices` are sentences for
    the start of a run; `plugins` are those that can work by section, and `sections` has the section of each by kind and
    name; `dropped` has the reason for each of the others; `secrets` and `private` texts are for the scrubber;
    `problems` are errors that were not raised, and `lacks` the kinds of plugin without which the pipeline cannot work.
    `tags` stand for the values that a run does not store, by dotted key.
    """

    settings: Settings
    origins: Mapping[str, str]
    defaults: Defaults
    plugins: Mapping[str, Plugin]
    sections: Mapping[tuple[str, str], str]
    chosen: Mapping[str, tuple[str, ...]]
    selector: Selector
    catalog: PluginCatalog
    choices: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    lacks: frozenset[str] = frozenset()
    # The variables of required settings that are empty.
    unset: frozenset[str] = frozenset()
    tags: Mapping[str, str] = field(default_factory=dict)
    references: Mapping[KeyPath, Any] = field(default_factory=dict)
    environments: tuple[str, ...] = ()
    # The error about settings that need the user's consent, which is among the problems, too.
    untrusted: UntrustedSettings | None = None
    # The folder of the key of tags and seals.
    cache: Path | None = None

    @cached_property
    def seal(self) -> str:
        """The tag of the settings that a run stores: they are those that this machine made."""
        return seal_of(self.stored, self.cache)

    @cached_property
    def stored(self) -> dict[str, Any]:
        """The settings as a run stores them: without secrets, and with references in place of what they refer to."""
        return nested((path, self.references.get(path, value)) for path, value in leaves(public(self.settings)))

    @property
    def given(self) -> tuple[str, ...]:
        """The dotted keys that a user set, not a pipeline, a preset or the defaults."""
        return tuple(key for key, origin in self.origins.items() if not origin.startswith(_NOT_GIVEN))

    @property
    def distributions(self) -> dict[str, str]:
        """The distributions of the chosen plugins that are not Leadline's, by KIND/NAME."""
        chosen = {f"{kind}/{name}": self.plugins.get(section) for (kind, name), section in self.sections.items()}
        return {key: it.distribution for key, it in chosen.items() if it and it.distribution not in ("", OWN)}

    def section(self, kind: str, name: str) -> str:
        """Return the name of the section of a chosen plugin, also for another kind than it was chosen for."""
        others = (section for (_, other), section in self.sections.items() if other == name)
        return self.sections.get((kind, name)) or next(others, name)

    def offer(self, kind: str, name: str) -> AnyOffer:
        """Return the offer of a chosen plugin of this kind."""
        return self.plugins[self.section(kind, name)].offers[kind]

    def offers(self) -> Iterator[AnyOffer]:
        """Yield the offers that the settings choose; their plugins may have more."""
        for key, names in self.chosen.items():
            yield from (self.offer(kind_of(key), name) for name in names)

    @cached_property
    def unjudged(self) -> str:
        """Why a check that the settings require would check nothing; empty if it checks claims."""
        offers = [*self.offers()]
        algorithms = [offer.algorithm for offer in offers if isinstance(offer, ai_provider)]
        is_checked = any(VERIFICATION in offer.gives for offer in offers if isinstance(offer, stage))
        writes = any(offer.tasks for offer in offers if isinstance(offer, synthesizer))
        if not (self.settings.verify.require_support and is_checked and writes and algorithms and all(algorithms)):
            return ""
        return (
            f"pipeline '{self.settings.pipeline}' needs a language model, since verify.require_support is on: without "
            "one a report quotes passages, and no claim is checked; choose another, or set ai.providers"
        )

    def same(self, other: Loaded) -> bool:
        """Return whether runs with the two would be the same."""
        return self._comparable == other._comparable

    @cached_property
    def _comparable(self) -> tuple[Any, ...]:
        # The models of two loads differ even where their values are equal.
        messages = (self.choices, self.notices, self.dropped, self.problems)
        return (self.settings.model_dump(), dict(self.plugins), dict(self.chosen), dict(self.tags), messages)


def seal_of(stored: Mapping[str, Any], cache: Path | None) -> str:
    """Return the tag of stored settings, under the key in the folder `cache`."""
    return tags_of({"settings": stored}, cache)["settings"]


@dataclass(frozen=True)
class Given:
    """What a caller gives: settings, those of `--set`, folders of documents to search, and further paths of documents.

    `docs` are searched alone, or before the engines that are named.
    """

    arguments: Mapping[str, Any] = field(default_factory=dict)
    sets: Sequence[str] = ()
    docs: Sequence[str] = ()
    reads: Sequence[str] = ()


@dataclass(frozen=True)
class StoredRun:
    """The settings of an earlier run: they replace all sources except what is given, and secrets.

    `tags` stand for what the run did not store, `plugins` are the distributions of plugins that were not Leadline's.
    Other sources that differ are reported, but not `offline`. `sealed` tells that this machine wrote the settings.
    """

    settings: Mapping[str, Any]
    tags: Mapping[str, str] = field(default_factory=dict)
    plugins: Mapping[str, str] = field(default_factory=dict)
    sealed: bool = False
    offline: bool = False


def load_settings(
    catalog: PluginCatalog,
    sources: Sources | None = None,
    *,
    given: Given = Given(),
    stored: StoredRun | None = None,
    cache: Path | None = None,
    complete: bool = True,
) -> Loaded:
    """Return the settings. Raises `ConfigError`.

    The sources, strongest first: arguments, `--set`, environment, `.env`, project file, user file, pipeline, preset,
    defaults. By default those of this process. With `complete` false, as for `config show`, problems are listed instead
    of raised. The key of tags is in the folder `cache`.
    Raises `UntrustedSettings` where a file that nobody named sets what needs consent.
    """
    sources = replace(sources or Sources(Path.cwd(), os.environ), plugins=catalog.names())
    defaults = read_defaults(catalog.defaults)
    offline = stored is not None and stored.offline
    stored, references = _resolved(stored, sources) if stored else (None, {})
    folders = {f"plugins.{defaults.documents}.folders": list(given.docs)} if given.docs else {}
    asked = {**folders, **given.arguments}, given.sets, stored.settings if stored else None
    written = sources.layers(*asked)
    if files := _names_of_files(strongest(written)):  # which have short sections, too
        sources = replace(sources, plugins={*sources.plugins, *files})
        written = sources.layers(*asked)
    above = strongest(written[:_ABOVE_STORED])
    # What a resumed run is told to use now overrides what it stored; else both are just above the defaults.
    layers = [*written, *defaults.settings]
    chosen, unfit = pipeline_layer(strongest(layers), sources.plugins)
    before = stored.settings.get("pipeline") if stored else None  # None for a run that is continued by another pipeline
    is_other = before is not None and above.value(("pipeline",)) not in (None, before)
    layers.insert(_ABOVE_STORED if is_other else len(written), chosen)
    preset, unknown_preset = preset_layer(strongest(layers), defaults, sources.plugins)
    is_other = stored is not None and above.value(("preset",)) is not None
    layers.insert(_ABOVE_STORED if is_other else len(written) + 1, preset)
    origins = strongest(layers)
    core, invalid, invalid_keys, outdated = validate_partially(origins, sources.plugins)
    if not core.pipelines and not catalog.defaults:
        raise ConfigError(NO_PLUGINS)
    review = Review(sources, origins, lambda name, key: has_variable(selected.plugins.get(name), key), given.reads)
    catalog, no_files = _with_files(catalog, origins, review, stored, complete=complete)
    unread = invalid_keys | no_files.keys()
    sections = PluginSections(core.plugins, origins, sources.variables, sources.file_name, unread)
    core = _with_documents(core, defaults.documents, sections) if given.docs else core
    distributions = stored.plugins if stored else {}
    is_trusted = partial(Review(sources, origins).is_trusted, sealed=bool(stored and stored.sealed))
    selector = Selector(catalog, sections, defaults, distributions, bool(given.docs), is_trusted)
    selected = selector.select(core)
    if sandbox := selected.names["code.sandbox"]:  # a run asks for that of `auto` by its name
        core = core.model_copy(update={"code": core.code.model_copy(update={"sandbox": sandbox[0]})})
    settings = _joined(core, selected.settings)
    tables = tables_of(settings)
    untrusted = review.untrusted(tables)
    if untrusted and complete:
        raise untrusted
    now = [*sources.written, sections.conventional]
    if stored is not None:
        today = strongest([*now, *(layer for layer in layers if layer is not written[_ABOVE_STORED])])
        others = find_drift(settings, stored.settings, above, today)
        if foreign := [*review.foreign(tables, today, others, sealed=stored.sealed, offline=offline)]:
            raise ConfigError("\n".join(foreign))
    plugins, unreadable = selected.plugins.values(), list[str]()
    if not untrusted:  # reading a template executes it
        settings, unreadable = read_prompts(settings, sources.cwd, plugins, origins)
    unknown = unknown_names(settings, catalog, plugins, sections.place, defaults.tools)
    missing = filter(None, no_files.values())
    problems = [*unknown_preset, *unfit, *invalid, *missing, *selected.problems, *unreadable, *unknown]
    problems += [str(untrusted)] if untrusted else []
    if problems and complete:
        if not selected.traces:
            raise ConfigError("\n".join(problems))
        error = PluginError("\n".join(problems))
        error.traceback = "\n".join(selected.traces.values())
        raise error
    values, hidden = settings.model_dump(), withheld(settings)
    tags = stored.tags if stored else {}
    begun = Comparison(tags) if offline else compare(tags, tags_of(hidden, cache), sections.place)
    kept, replaced = dict[KeyPath, str](), dict[KeyPath, str]()
    if stored is not None and not offline:
        drift = find_drift(settings, stored.settings, above, strongest(now))
        kept = {path: leaf.origin for path, leaf in drift.items()}
        changed = (tuple(key.split(".")) for key in begun.changed)
        replaced = {path: origins.origin(path) or "default" for path in changed if not above.origin(path)}
    if needed := [key for key in begun.lost if not is_unstored(settings, key)]:
        raise ConfigError("\n".join(f"{key}: {_NOT_KEPT}: set it again with --set {key}=…" for key in needed))
    return Loaded(
        settings,
        origins={".".join(path): origins.origin(path) or "default" for path, _ in leaves(values)},
        defaults=defaults,
        plugins=selected.plugins,
        sections=selected.sections,
        chosen=selected.names,
        selector=selector,
        catalog=catalog,
        choices=tuple(selected.choices),
        notices=(
            *sources.unread_files(),
            *selected.notices,
            *template_notices(settings, plugins, sections.place),
            *_unused_sections(above, selected, catalog),
            *unused_prices(settings, selected.plugins, selected.settings, sections.place),
            *(f"{key}: {_NOT_KEPT}, and its default is used; set it again with --set {key}=…" for key in begun.lost),
            *drift_notices(kept, replaced),
            *outdated_notices(outdated | sections.outdated),
        ),
        dropped=selected.dropped,
        secrets=tuple(dict.fromkeys(filter(None, secrets_of(values)))),
        private=tuple(dict.fromkeys(private_texts(hidden))),
        problems=tuple(problems),
        lacks=frozenset(selected.lacks),
        unset=frozenset(selected.unset),
        tags=begun.tags,
        references={
            **{path: it for path, it in references.items() if isinstance(origins.origin(path), Stored)},
            **{path: it.reference for path, it in origins.leaves.items() if it.reference is not None},
        },
        environments=tuple(sources.environments),
        untrusted=untrusted,
        cache=cache,
    )


def _unused_sections(above: Layer, selected: Selected, catalog: PluginCatalog) -> Iterator[str]:
    """Yield a notice for each setting that was given for this run alone, of a stage that its pipeline does not have.

    A pipeline that chooses another one passes them on.
    """
    stages = [plugin.offers["stages"] for plugin in selected.plugins.values() if "stages" in plugin.offers]
    if any(getattr(offer, "gives", ()) == (ROUTE,) for offer in stages):
        return
    for path in above.leaves:  # without the value, which may be a secret: the plugin that would tell is not chosen
        table, name, *_ = *path, ""
        unused = table == "plugins" and name not in selected.plugins
        if unused and any("stages" in plugin.offers for plugin in catalog.same_name(name)):
            yield f"{'.'.join(path[1:])} has no effect: this pipeline has no stage {name!r}"


def _resolved(stored: StoredRun, sources: Sources) -> tuple[StoredRun, dict[KeyPath, Any]]:
    """Return the settings of a run with what they refer to, and the references.

    The files of plugins that the settings of today name are left out: those are used. Raises `ConfigError` for a
    reference that only the run has, if this machine did not write it.
    """
    today, references, values = strongest(sources.written), dict[KeyPath, Any](), list[tuple[KeyPath, Any]]()
    for path, value in leaves(stored.settings):
        if names_code(path, value) and today.value(path):
            continue
        if has_reference(value):
            key, leaf = ".".join(path), today.leaves.get(path)
            # A file that nobody named is no witness: it may come with the run.
            same = leaf if leaf and leaf.reference == value and not isinstance(leaf.origin, Found) else None
            if not same and not stored.sealed:
                raise ConfigError(f"{key} = {value}: a run is no source of it: to use it, add --set {key}=…")
            references[path] = value
            value = same.value if same else sources.resolved(value, sources.cwd, partial(refusal, path, origin=STORED))
        values.append((path, value))
    return replace(stored, settings=nested(values)), references


def _with_files(
    catalog: PluginCatalog, origins: Layer, review: Review, stored: StoredRun | None, *, complete: bool
) -> tuple[PluginCatalog, dict[KeyPath, str]]:
    """Return the catalog with the plugins of files that the settings name, and the problem of each that is not read.

    The problem is empty for one that needs consent. Raises `ConfigError` for files that only a run names, if this
    machine did not write it.
    """
    untrusted = review.untrusted(())
    if untrusted and complete:
        raise untrusted
    files, problems = dict[str, Path](), dict[KeyPath, str]()
    for use in code_of(origins):
        path, key = Path(use.value), ".".join(use.path)
        if untrusted and use.section in untrusted.digests:
            problems[use.path] = ""
            continue
        if isinstance(use.origin, Stored) and not (stored and stored.sealed):
            raise ConfigError(f"{use}: a run is no source of it: to use it, add --set {key}=…")
        # `Path.is_file` raises for a name that is too long.
        if use.path[0] == "plugins":
            fault = "" if path.suffix == ".py" and os.path.isfile(path) else f"no file {path}"  # noqa: PTH113
            files |= {} if fault else {use.path[1]: path}
        else:
            fault = "" if os.path.isdir(path) else f"there is no folder {path}"  # noqa: PTH112
            # A section that names its file is meant, and not a file of the same name in the folder.
            files = _files_in(path) | files
        problems |= {use.path: f"{key}: {fault} ({use.origin})"} if fault else {}
    return catalog.with_files(files.items()), problems


def _files_in(folder: Path) -> dict[str, Path]:
    """Return the files of plugins in a folder by name; none if there is no such folder."""
    files = sorted(folder.glob("*.py")) if os.path.isdir(folder) else ()  # noqa: PTH112
    return {file.stem: file for file in files if not file.stem.startswith("_")}


def _names_of_files(origins: Layer) -> set[str]:
    """Return the names of the plugins whose files the settings name."""
    names = ([use.path[1]] if use.path[0] == "plugins" else _files_in(Path(use.value)) for use in code_of(origins))
    return set().union(*names)


def _with_documents(core: Settings, documents: str, sections: PluginSections) -> Settings:
    """Return settings that search and read the user's own documents: only these, or before what the user named."""
    named = sections.place("search.engines"), sections.place("read.fetchers")
    engines, fetchers = core.search.engines if named[0] else (), core.read.fetchers if any(named) else ()
    if engines[:1] != ("auto",):  # which puts them first anyway
        engines = tuple(dict.fromkeys((documents, *engines)))
    if documents not in fetchers:
        fetchers = (documents, *fetchers)
    search = core.search.model_copy(update={"engines": engines})
    return core.model_copy(update={"search": search, "read": core.read.model_copy(update={"fetchers": fetchers})})


@lru_cache(maxsize=64)  # a schema takes 25 ms, and most loads of a process choose the same plugins
def compose(*models: tuple[str, type[PluginSettings]]) -> type[Settings]:
    """Return the model of all settings with the sections of exactly these plugins."""
    with warnings.catch_warnings():
        # A plugin may have the name of a method of pydantic, such as `json`; nobody calls that on this model.
        warnings.filterwarnings("ignore", message="Field name", category=UserWarning)
        fields: dict[str, Any] = {name: (model, Field(description=f"The plugin {name}.")) for name, model in models}
        plugins = create_model("Plugins", __base__=Section, **fields)
    return create_model("Settings", __base__=Settings, plugins=(plugins, Field(description="By plugin.")))


def _joined(core: Settings, sections: Mapping[str, PluginSettings]) -> Settings:
    model = compose(*((name, type(section)) for name, section in sections.items()))
    return model.model_validate({**dict(core), "plugins": dict(sections)})


# --- descriptions for `leadline.inventory` ----------------------------------------------------------------------------


def settings_of(loaded: Loaded, *, private: bool = False) -> dict[str, Setting]:
    """Return every setting with its origin, by dotted key; with `private`, only secrets are masked."""
    stored, settings = dict(leaves(public(loaded.settings))), dict[str, Setting]()
    for path, value in leaves(loaded.settings.model_dump()):
        if value != {} or path[0] != "plugins":
            shown = stored.get(path, MASK if value else None)
            if private and path not in stored and not any(secrets_of(value)):
                shown = to_jsonable_python(value)
            key = ".".join(path)
            settings[key] = Setting(value=shown, origin=loaded.origins.get(key, "default"))
    return settings


def plugins_of(
    catalog: PluginCatalog, entries: Iterable[InstalledPlugin], loaded: Loaded | None = None, instance: str = ""
) -> list[InstalledPlugin]:
    """Return plugins with what they lack under the settings, if there are any.

    `instance` is the second instance of the plugin that is meant, if any. Raises `ConfigError` if the core's settings
    are invalid.
    """
    if loaded and loaded.selector.sections.invalid:
        raise ConfigError("\n".join(loaded.problems))
    plugins = []
    for entry in entries:
        plugins.append(entry)
        if loaded and entry.status == "ready":
            plugin = catalog.load(f"{entry.name}@{entry.distribution}")
            if lacks := loaded.selector.why_not(plugin, instance):
                plugins[-1] = entry.model_copy(update={"status": "incomplete", "lacks": lacks})
    return plugins


def pipeline_in(loaded: Loaded) -> InstalledPipeline:
    """Return the pipeline of the settings, and why it cannot run."""
    name = loaded.settings.pipeline
    pipeline = loaded.settings.pipelines[name]
    unjudged = "" if loaded.problems else loaded.unjudged
    used = () if loaded.problems else {key for offer in loaded.offers() for key in offer.uses if isinstance(key, str)}
    return InstalledPipeline(
        name=name,
        description=pipeline.description,
        level=pipeline.level,
        problem="\n".join(loaded.problems) or unjudged,
        lacks=tuple(sorted(loaded.lacks)) or (("ai_providers",) if unjudged else ()),
        uses={key: loaded.chosen[key] for key in sorted(used) if loaded.chosen.get(key)},
    )
