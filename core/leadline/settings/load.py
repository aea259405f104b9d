"""The settings of a run: read from every source, the chosen plugins' sections joined to the core's.

`load_settings` reads in two steps, because the models of the plugins' sections come from plugins that the settings
themselves name: first the core's settings, with the sections as they are written, then the section of each plugin
that is chosen.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field, create_model

from leadline.errors import ConfigError, PluginError
from leadline.hookspecs import PluginSettings
from leadline.hosting.host import Host, Plugin
from leadline.hosting.loading import AnyOffer
from leadline.models.declared import templates
from leadline.settings.layers import leaves, origin_of
from leadline.settings.model import Limits, Settings
from leadline.settings.otherwise import in_words, misdirected, otherwise
from leadline.settings.pipelines import Loop, PipelineSettings, resolve, stage_names
from leadline.settings.plugins import Sections
from leadline.settings.presets import ABOVE_STORED, with_preset
from leadline.settings.secrecy import answer_options, left_out, secrets_of
from leadline.settings.section import Section
from leadline.settings.select import Chosen, Selector
from leadline.settings.selections import kind_of
from leadline.settings.sound import beside, sound
from leadline.settings.sources import Sources
from leadline.settings.toml import commented_toml

__all__ = [
    "Limits",
    "Loaded",
    "Loop",
    "PipelineSettings",
    "Settings",
    "answer_options",
    "commented_toml",
    "compose",
    "load_settings",
    "obstacles",
    "resolve",
    "stage_names",
]


@dataclass(frozen=True)
class Loaded:
    """The settings, and how they came about.

    `origins` by dotted key; `chosen` names by selection (`search.engines`); `choices` are sentences for the start of a
    run; `plugins` by name, as far as they work; `dropped` why the others do not; `secrets` for the scrubber.
    """

    settings: Settings
    origins: Mapping[str, str]
    plugins: Mapping[str, Plugin]
    chosen: Mapping[str, tuple[str, ...]]
    choices: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def offer(self, kind: str, name: str) -> AnyOffer:
        """Return what a chosen plugin offers of a kind."""
        return self.plugins[name].offers[kind]

    def offers(self) -> Iterator[AnyOffer]:
        """Yield what the settings choose: a plugin may offer more than that."""
        for key, names in self.chosen.items():
            yield from (self.offer(kind_of(key), name) for name in names)

    def same(self, other: Loaded) -> bool:
        """Return whether a run by the other would do and tell the same; the model of settings is each time its own."""
        return self._whole == other._whole

    @cached_property
    def _whole(self) -> tuple[Any, ...]:
        told = (self.choices, self.notices, self.dropped, self.problems)
        return (self.settings.model_dump(), dict(self.plugins), dict(self.chosen), told)


def load_settings(
    host: Host,
    *,
    arguments: Mapping[str, Any] | None = None,
    sets: Sequence[str] = (),
    stored: Mapping[str, Any] | None = None,
    file: Path | None = None,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    user_file: Path | None = None,
    complete: bool = True,
    docs: bool = False,
    offline: bool = False,
) -> Loaded:
    """Return the settings: arguments before `--set`, environment, `.env`, project file, user file, defaults.

    `stored` are those of an earlier run (`Settings.public()`), which then stand in place of all but arguments and
    secrets; what the other sources say otherwise is told, but where nobody is asked for them (`offline`). With
    `complete` false, as for `config show`, what cannot work is told in `problems` and not raised. With `docs`, folders
    were given to this very call: they are searched, and first, whatever engines the settings name.
    Raises `ConfigError`.
    """
    sources = Sources(cwd or Path.cwd(), os.environ if environ is None else environ, file, user_file)
    layers = sources.layers(arguments or {}, sets, stored)
    layers = with_preset(layers, host.names(), stored=stored is not None)
    core, wrong, gone = sound(layers)
    sections = Sections(core.plugins, layers, sources.variables, sources.file_name)
    prompts, unread = templates(core.prompts, sources.cwd, sections.place)
    core = core.model_copy(update={"prompts": prompts})
    core = _documents_first(core) if docs else core
    chosen = Selector(host, sections).choose(core)
    chosen.problems = [*wrong, *beside(gone, (*chosen.problems, *unread))]
    if chosen.problems and complete:
        raise _unfit(chosen)
    settings = _joined(core, chosen.settings)
    apart = otherwise(settings, stored, layers[:ABOVE_STORED], sources.written) if stored and not offline else []
    if stray := misdirected(settings, apart):
        raise ConfigError("\n".join(stray))
    values = settings.model_dump()
    return Loaded(
        settings,
        {".".join(path): origin_of(layers, path) for path, _ in leaves(values)},
        chosen.plugins,
        chosen.names,
        tuple(chosen.choices),
        (
            *sources.passed_over(),
            *chosen.notices,
            *_forgotten(chosen, stored or {}, sections.place),
            *in_words(apart),
        ),
        chosen.dropped,
        tuple(dict.fromkeys(filter(None, secrets_of(values)))),
        tuple(chosen.problems),
    )


def _documents_first(core: Settings) -> Settings:
    """Return the settings by which one's own documents are searched, before all else, and can be read."""
    engines, fetchers = core.search.engines, core.read.fetchers
    if engines[:1] != ("auto",):  # which puts them first by itself
        engines = tuple(dict.fromkeys(("local", *engines)))
    if "local" not in fetchers:
        fetchers = ("local", *fetchers)
    search, read = (
        core.search.model_copy(update={"engines": engines}),
        core.read.model_copy(update={"fetchers": fetchers}),
    )
    return core.model_copy(update={"search": search, "read": read})


def _forgotten(chosen: Chosen, stored: Mapping[str, Any], place: Callable[[str], str]) -> Iterator[str]:
    """Yield what a run goes on without: an address that was not kept with it, for its secret, and stands nowhere now.

    The plugin's default would be asked in its place, without a word.
    """
    for name, settings in chosen.settings.items():
        section = stored.get("plugins", {}).get(name)
        for key in left_out(settings, section) if section is not None else ():
            dotted = f"plugins.{name}.{key}"
            if not place(dotted):
                yield (
                    f"{dotted} was not kept with the run, as an address that holds a secret is not: "
                    f"its default is taken; give it again with --set {dotted}=…"
                )


def _unfit(chosen: Chosen) -> ConfigError:
    """Return the error that tells what cannot stand, with where plugins failed that could not be loaded."""
    error = PluginError("\n".join(chosen.problems)) if chosen.traces else ConfigError("\n".join(chosen.problems))
    if isinstance(error, PluginError):
        error.traceback = "\n".join(chosen.traces.values())
    return error


def obstacles(
    host: Host, plugins: Iterable[Plugin], *, sets: Sequence[str] = (), file: Path | None = None
) -> dict[str, str]:
    """Return, by name, why each plugin could not work here if it were chosen; empty texts where it could.

    Raises `ConfigError` where the core's settings cannot be read.
    """
    selector = Selector(host, _sections(sets, file))
    return {plugin.name: selector.why_not(plugin) for plugin in plugins}


def behind(name: str, *, sets: Sequence[str] = (), file: Path | None = None) -> str:
    """Return the plugin behind a name: another than itself where its section makes it a second instance of that.

    Raises `ConfigError` where the core's settings cannot be read.
    """
    return _sections(sets, file).base(name)


def _sections(sets: Sequence[str], file: Path | None) -> Sections:
    sources = Sources(Path.cwd(), os.environ, file)
    layers = sources.layers({}, sets, None)
    core, wrong, _ = sound(layers)
    if wrong:
        raise ConfigError("\n".join(wrong))
    return Sections(core.plugins, layers, sources.variables, sources.file_name)


def compose(models: Mapping[str, type[PluginSettings]]) -> type[Settings]:
    """Return the model of all settings, with exactly these plugins' sections."""
    with warnings.catch_warnings():
        # A plugin may be called `json` or `copy`, as pydantic's own methods are, which nobody calls on this model.
        warnings.filterwarnings("ignore", message="Field name", category=UserWarning)
        plugins = create_model(
            "Plugins",
            __base__=Section,
            **{name: (model, Field(description=f"Of the plugin {name}.")) for name, model in models.items()},  # type: ignore[call-overload]
        )
    return create_model("Settings", __base__=Settings, plugins=(plugins, Field(description="By plugin.")))


def _joined(core: Settings, sections: Mapping[str, PluginSettings]) -> Settings:
    model = compose({name: type(section) for name, section in sections.items()})
    return model.model_validate({**dict(core), "plugins": dict(sections)})
