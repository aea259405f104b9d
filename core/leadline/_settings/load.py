"""Load the settings of a run: read every source, select plugins, and validate.

`load_settings` works in two phases, since the settings themselves name the plugins whose models validate the plugins'
sections. It validates the core's tables first, and then the section of each selected plugin.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field, create_model

from leadline._hosting.catalog import CatalogEntry, Plugin, PluginCatalog
from leadline._hosting.loading import AnyOffer
from leadline._settings.defaults import ABOVE_STORED, Defaults, read_defaults, with_preset
from leadline._settings.drift import Comparison, Drift, compare, drift_notices, find_drift, tags_of, withheld_drift
from leadline._settings.layers import Found, Stored, leaves, origin_of, without_replaced
from leadline._settings.partial_validation import validate_partially
from leadline._settings.pipelines import with_pipeline
from leadline._settings.plugin_sections import PluginSections, has_variable
from leadline._settings.redaction import is_unstored, private_texts, public, secrets_of, withheld
from leadline._settings.selection import Selector, kind_of
from leadline._settings.sources import Sources
from leadline._settings.task_settings import jinja_files, read_templates, render_prompts
from leadline._settings.trust import CODE, OUTSIDE, Review, tables_of
from leadline.errors import ConfigError, PluginError, UntrustedSettings
from leadline.hookspecs import PluginSettings
from leadline.inventory import MASK, InstalledPipeline, InstalledPlugin, Setting
from leadline.settings import Section, Settings

NO_PLUGINS = (
    "no plugins are installed: no package registers defaults (entry-point group leadline.defaults); "
    "reinstall with: pip install --force-reinstall leadline"
)


# The beginnings of the origins of values that no user set.
_NOT_GIVEN = ("default", "preset ", "pipeline ")
_NOT_KEPT = "was not stored with the run, because it may be private"


@dataclass(frozen=True)
class Loaded:
    """The settings with their origins and the selected plugins.

    `origins` by dotted key; `chosen` has the names of plugins by key (`search.engines`); `choices` are sentences for
    the start of a run; `plugins` are those that can work; `dropped` has the reason for each of the others; `secrets`
    and `private` texts are for the scrubber; `problems` are errors that were not raised, and `lacks` the kinds of
    plugin without which the pipeline cannot work. `tags` stand for the values that a run does not store, by dotted key.
    """

    settings: Settings
    origins: Mapping[str, str]
    defaults: Defaults
    plugins: Mapping[str, Plugin]
    chosen: Mapping[str, tuple[str, ...]]
    choices: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    lacks: frozenset[str] = frozenset()
    tags: Mapping[str, str] = field(default_factory=dict)
    # The error about settings that need the user's consent, which is among the problems, too.
    untrusted: UntrustedSettings | None = None
    # The folder of the key of tags and seals.
    cache: Path | None = None

    @property
    def seal(self) -> str:
        """The tag of the settings that a run stores: they are those that this machine made."""
        return seal_of(public(self.settings), self.cache)

    @property
    def given(self) -> tuple[str, ...]:
        """The dotted keys that a user set, not a pipeline, a preset or the defaults."""
        return tuple(key for key, origin in self.origins.items() if not origin.startswith(_NOT_GIVEN))

    def offer(self, kind: str, name: str) -> AnyOffer:
        """Return the offer of a chosen plugin of this kind."""
        return self.plugins[name].offers[kind]

    def offers(self) -> Iterator[AnyOffer]:
        """Yield the offers that the settings choose; their plugins may have more."""
        for key, names in self.chosen.items():
            yield from (self.offer(kind_of(key), name) for name in names)

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


def load_settings(
    catalog: PluginCatalog,
    *,
    arguments: Mapping[str, Any] | None = None,
    sets: Sequence[str] = (),
    stored: Mapping[str, Any] | None = None,
    file: Path | None = None,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    user_file: Path | None = None,
    complete: bool = True,
    docs: Sequence[str] = (),
    offline: bool = False,
    tags: Mapping[str, str] | None = None,
    cache: Path | None = None,
    sealed: bool = False,
    reads: Sequence[str] = (),
) -> Loaded:
    """Return the settings. Raises `ConfigError`.

    The sources, strongest first: `arguments`, `sets` (`--set`), environment, `.env`, project file, user file, pipeline,
    preset, defaults. `stored` are the settings of an earlier run; they replace all sources except arguments and
    `--set`, and secrets, which are read again. Other sources that differ from them are reported, but not `offline`.
    With `complete` false, as for `config show`, problems are listed instead of raised. `docs` are folders to search,
    alone or before the engines that are named. `tags` stand for what the earlier run did not store; the key of tags is
    in the folder `cache`.
    `sealed` tells that the stored settings are as this machine wrote them; `reads` are further paths of documents.
    Raises `UntrustedSettings` where a file that nobody named sets what needs consent.
    """
    sources = Sources(cwd or Path.cwd(), os.environ if environ is None else environ, file, user_file, catalog.names())
    defaults = read_defaults(catalog.defaults)
    given = _folders(defaults, docs) | dict(arguments or {})
    layers = without_replaced(sources.layers(given, sets, stored), defaults.settings)
    above = ABOVE_STORED if stored is not None else None
    layers, unfit = with_pipeline(layers, len(defaults.settings), catalog.names(), above)
    layers, unknown_preset = with_preset(layers, defaults, catalog.names(), stored=stored is not None)
    core, invalid, invalid_keys = validate_partially(layers, catalog.names())
    if not core.pipelines and not catalog.defaults:
        raise ConfigError(NO_PLUGINS)
    sections = PluginSections(core.plugins, layers, sources.variables, sources.file_name, invalid_keys)
    review = Review(sources, layers, lambda name, key: has_variable(selected.plugins.get(name), key), reads)
    written = {"prompts": core.prompts}
    core = _without_untrusted_prompts(core, review)
    jinja = jinja_files(core.prompts, sources.cwd)
    prompts, unreadable = read_templates(core.prompts, sources.cwd, sections.place)
    jinja = {name: path for name, path in jinja.items() if name in prompts}
    # The templates of Jinja are filled in once the plugins are known, whose own texts they may include.
    core = core.model_copy(update={"prompts": prompts | dict.fromkeys(jinja, "to be filled in")})
    core = _with_documents(core, defaults.documents, sections) if docs else core
    selected = Selector(catalog, sections, defaults, has_docs=bool(docs)).select(core)
    core = _with_sandbox(core, selected.names["code.sandbox"])
    prompts, unfilled = render_prompts(core, jinja, selected.plugins.values(), sections.place)
    core, unreadable = core.model_copy(update={"prompts": prompts}), [*unreadable, *unfilled]
    problems = [*unknown_preset, *unfit, *invalid, *selected.problems, *unreadable]
    settings = _joined(core, selected.settings)
    tables = tables_of(settings.model_copy(update=written))
    if untrusted := review.untrusted(tables):
        problems.append(str(untrusted))
    if untrusted and complete:
        raise untrusted
    if problems and complete:
        raise _error_of(problems, selected.traces)
    values, hidden = settings.model_dump(), withheld(settings)
    begun = Comparison(tags or {}) if offline else compare(tags or {}, tags_of(hidden, cache), sections.place)
    drift: list[Drift] = []
    if stored and not offline:
        drift = find_drift(settings, stored, layers[:ABOVE_STORED], [*sources.written, sections.conventional])
        drift += withheld_drift(settings, begun.changed, layers)
    if stored is not None:
        below = (layer for layer in layers if not any(isinstance(each, Stored) for each in layer.origins.values()))
        today = [*sources.written, sections.conventional, *below]
        others = {item.path: item.shown for item in find_drift(settings, stored, layers[:ABOVE_STORED], today)}
        if foreign := [*review.foreign(tables, today, others, sealed=sealed, offline=offline)]:
            raise ConfigError("\n".join(foreign))
    if needed := [key for key in begun.lost if not is_unstored(settings, key)]:
        raise ConfigError("\n".join(f"{key}: {_NOT_KEPT}: set it again with --set {key}=…" for key in needed))
    return Loaded(
        settings,
        origins={".".join(path): origin_of(layers, path) for path, _ in leaves(values)},
        defaults=defaults,
        plugins=selected.plugins,
        chosen=selected.names,
        choices=tuple(selected.choices),
        notices=(
            *sources.unread_files(),
            *selected.notices,
            *(f"{key}: {_NOT_KEPT}, and its default is used; set it again with --set {key}=…" for key in begun.lost),
            *drift_notices(drift),
        ),
        dropped=selected.dropped,
        secrets=tuple(dict.fromkeys(filter(None, secrets_of(values)))),
        private=tuple(dict.fromkeys(private_texts(hidden.values()))),
        problems=tuple(problems),
        lacks=frozenset(selected.lacks),
        tags=begun.tags,
        untrusted=untrusted,
        cache=cache,
    )


def _without_untrusted_prompts(core: Settings, review: Review) -> Settings:
    """Return settings without templates that may not be read yet: reading them executes them."""
    kinds: tuple[type[str], ...] = (Stored, Found) if review.untrusted([(core, ())]) else (Stored,)
    uses = (use for kind in kinds for use in review.uses([(core, ())], kind))
    gone = {use.path[1] for use in uses if use.path[0] == "prompts" and use.what in (CODE, OUTSIDE)}
    prompts = {name: text for name, text in core.prompts.items() if name not in gone}
    return core.model_copy(update={"prompts": prompts}) if gone else core


def _with_sandbox(core: Settings, chosen: Sequence[str]) -> Settings:
    """Return settings that name the sandbox that `auto` chose: a run asks for it by its name."""
    code = core.code.model_copy(update={"sandbox": chosen[0] if chosen else core.code.sandbox})
    return core.model_copy(update={"code": code})


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


def _error_of(problems: Sequence[str], traces: Mapping[str, str]) -> ConfigError:
    """Return the error with all problems, and the tracebacks of plugins that could not be loaded."""
    if not traces:
        return ConfigError("\n".join(problems))
    error = PluginError("\n".join(problems))
    error.traceback = "\n".join(traces.values())
    return error


def obstacles(
    catalog: PluginCatalog,
    plugins: Iterable[Plugin],
    *,
    instance: str = "",
    arguments: Mapping[str, Any] | None = None,
    sets: Sequence[str] = (),
    file: Path | None = None,
    docs: Sequence[str] = (),
) -> dict[str, str]:
    """Return by name why each plugin could not work if it were chosen; empty for one that could.

    `instance` is the second instance of the plugin that is meant, if any. Raises `ConfigError` if the core's settings
    are invalid.
    """
    defaults = read_defaults(catalog.defaults)
    given = _folders(defaults, docs) | dict(arguments or {})
    selector = Selector(catalog, _plugin_sections(catalog, sets, file, given), defaults)
    return {plugin.name: selector.why_not(plugin, instance) for plugin in plugins}


def base_plugin(catalog: PluginCatalog, name: str, *, sets: Sequence[str] = (), file: Path | None = None) -> str:
    """Return the plugin of a name: another one if the section `use`s it. Raises `ConfigError` as `obstacles`."""
    return _plugin_sections(catalog, sets, file).base(name)


def _folders(defaults: Defaults, docs: Sequence[str]) -> dict[str, Any]:
    """Return folders of documents as a setting."""
    return {f"plugins.{defaults.documents}.folders": list(docs)} if docs else {}


def _plugin_sections(
    catalog: PluginCatalog, sets: Sequence[str], file: Path | None, arguments: Mapping[str, Any] | None = None
) -> PluginSections:
    sources = Sources(Path.cwd(), os.environ, file, plugins=catalog.names())
    layers = sources.layers(arguments or {}, sets, None)
    core, invalid, _ = validate_partially(layers, catalog.names())
    if invalid:
        raise ConfigError("\n".join(invalid))
    return PluginSections(core.plugins, layers, sources.variables, sources.file_name)


def compose(models: Mapping[str, type[PluginSettings]]) -> type[Settings]:
    """Return the model of all settings with the sections of exactly these plugins."""
    return _composed(tuple(models.items()))


@lru_cache(maxsize=64)  # a schema takes 25 ms, and most loads of a process choose the same plugins
def _composed(models: tuple[tuple[str, type[PluginSettings]], ...]) -> type[Settings]:
    with warnings.catch_warnings():
        # A plugin may have the name of a method of pydantic, such as `json`; nobody calls that on this model.
        warnings.filterwarnings("ignore", message="Field name", category=UserWarning)
        plugins = create_model(
            "Plugins",
            __base__=Section,
            **{name: (model, Field(description=f"The plugin {name}.")) for name, model in models},  # type: ignore[call-overload]
        )
    return create_model("Settings", __base__=Settings, plugins=(plugins, Field(description="By plugin.")))


def _joined(core: Settings, sections: Mapping[str, PluginSettings]) -> Settings:
    model = compose({name: type(section) for name, section in sections.items()})
    return model.model_validate({**dict(core), "plugins": dict(sections)})


# --- descriptions for `leadline.inventory` ----------------------------------------------------------------------------


def settings_of(loaded: Loaded) -> dict[str, Setting]:
    """Return every setting with its origin, by dotted key."""
    stored = dict(leaves(public(loaded.settings)))
    return {
        ".".join(path): Setting(
            value=stored.get(path, MASK if value else None),
            origin=loaded.origins.get(".".join(path), "default"),
        )
        for path, value in leaves(loaded.settings.model_dump())
        if value != {} or path[0] != "plugins"
    }


def plugins_of(catalog: PluginCatalog, entries: Iterable[CatalogEntry], **given: Any) -> list[InstalledPlugin]:
    """Return loaded plugins, with what they lack if there are arguments for `obstacles`."""
    able = [catalog.load(entry.name) for entry in entries if entry.status != "broken"]
    lacks = obstacles(catalog, able, **given) if given else {}
    return [
        InstalledPlugin(
            name=entry.name,
            kinds=tuple(entry.kinds),
            distribution=entry.distribution,
            version=entry.version,
            status="incomplete" if entry.status == "ready" and lacks.get(entry.name) else entry.status,
            lacks=entry.problem or lacks.get(entry.name, ""),
        )
        for entry in entries
    ]


def pipeline_in(loaded: Loaded) -> InstalledPipeline:
    """Return the pipeline of the settings, and why it cannot run."""
    name = loaded.settings.pipeline
    pipeline = loaded.settings.pipelines[name]
    return InstalledPipeline(
        name=name,
        description=pipeline.description,
        level=pipeline.level,
        problem="\n".join(loaded.problems),
        lacks=tuple(sorted(loaded.lacks)),
    )
