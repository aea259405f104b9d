"""Which plugins the settings choose, and which of them can work here.

Alternatives (providers, engines, fetchers, parsers) and observers that cannot work drop out with a notice, and the
others go on; whatever is wanted for itself (a strategy, a stage, a format, a middleware) is an error at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from leadline.door.secrets import Secrets
from leadline.errors import ConfigError, PluginError
from leadline.hookspecs import PluginSettings
from leadline.hosting.host import Host, Plugin, lacking
from leadline.hosting.loading import NAME, AnyOffer
from leadline.models.declared import blanks, misnamed
from leadline.nearest import choose_from
from leadline.settings.model import Settings
from leadline.settings.pipelines import resolve, stage_names, written_at
from leadline.settings.plugins import Misset, Sections, Unset
from leadline.settings.prices import unused_prices
from leadline.settings.selections import (
    AUTO,
    AUTO_PROVIDERS,
    KEYLESS_ENGINES,
    MAY_BE_NONE,
    PLAIN,
    Selection,
    emptied,
    is_usual,
    selections,
)

_NO_KEY = "no folder and no engine with a key is set up; these need none"
_NO_MODEL = "no language model is set up; the report will be a brief of quoted passages"


@dataclass
class Chosen:
    """What was chosen: `names` by key, plugins and settings by name; who dropped out, and what cannot stand."""

    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    plugins: dict[str, Plugin] = field(default_factory=dict)
    settings: dict[str, PluginSettings] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    choices: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    traces: dict[str, str] = field(default_factory=dict)
    """Of plugins that could not be loaded, by name."""


class Selector:
    """Goes through the selections, loading and checking each plugin they name."""

    def __init__(self, host: Host, sections: Sections) -> None:
        self._host = host
        self._sections = sections
        self._chosen = Chosen()
        self._emptied: dict[tuple[tuple[str, str], ...], list[str]] = {}

    def choose(self, core: Settings) -> Chosen:
        """Return what the settings choose; whatever is wrong stands in `problems`."""
        self._chosen.problems += self._sections.misnamed(self._host, core.limits)
        stages = self._stages(core)
        places = written_at(core.pipelines, core.pipeline) if stages else {}
        self._select(Selection("pipeline", "stages", stages, places=places))
        for selection in selections(core):
            self._select(selection)
            if problem := emptied(selection, self._host, tuple(map(self._sections.base, stages))):
                self._problem(f"{problem}{self._sections.place(selection.key)}")
        for reasons, keys in self._emptied.items():
            listed = "".join(f"\n  {name}: {reason}" for name, reason in reasons)
            self._problem(f"{', '.join(keys)}: none of the chosen plugins can work here{listed}")
        for problem in misnamed(core, self._host, self._chosen.plugins.values(), self._sections.place):
            self._problem(problem)
        found = self._chosen
        found.notices += blanks(core, found.plugins.values(), self._sections.place)
        found.notices += unused_prices(core, found.plugins, found.settings, self._sections.place)
        return found

    def _stages(self, core: Settings) -> tuple[str, ...]:
        """Return the stages of the pipeline; every other one is looked through as well, for typos."""
        stages: tuple[str, ...] = ()
        for name in dict.fromkeys((core.pipeline, *core.pipelines)):
            try:
                steps = resolve(core.pipelines, name)
            except ConfigError as error:
                key = str(error).partition(":")[0]
                self._problem(f"{error}{self._sections.place(key)}")
                continue
            if name == core.pipeline:
                stages = stage_names(steps)
        return tuple(dict.fromkeys(stages))

    def _select(self, selection: Selection) -> None:
        names, automatic = self._expanded(selection)
        reasons = {name: self._judged(selection, name) for name in names}
        kept = tuple(name for name, reason in reasons.items() if reason is None)
        lost = {name: reason for name, reason in reasons.items() if reason is not None}
        self._report(selection, kept, lost, automatic)

    def _judged(self, selection: Selection, name: str) -> str | None:
        """Return None for a plugin that was taken in; why not, or nothing where that is among the problems already."""
        try:
            return self._admit(selection, name) or None
        except Misset as error:
            self._problem(str(error))
        except ConfigError as error:
            key = selection.key_of(name)
            self._problem(f"{key}: {error}{self._sections.place(key)}")
        return ""

    def _expanded(self, selection: Selection) -> tuple[tuple[str, ...], frozenset[str]]:
        """Return the names with `auto` spelt out, and which of them it brought."""
        if "auto" not in selection.names or selection.key not in AUTO:
            return selection.names, frozenset()
        found = self._automatic(selection)
        brought = frozenset(found) - set(selection.names)
        names = (other for name in selection.names for other in (found if name == "auto" else (name,)))
        return tuple(dict.fromkeys(names)), brought

    def _automatic(self, selection: Selection) -> tuple[str, ...]:
        """Return what is installed of what `auto` stands for; engines without a key where no other is set up.

        Of AI providers it is the first that is set up: a fallback is never chosen unasked, or a model that cannot be
        reached would go unnoticed.
        """
        # Without a key or a section nothing can come of the others: they are not even imported.
        found = self._installed(AUTO[selection.key], lambda name: name in PLAIN or self._sections.hinted(name))
        if selection.key == "ai.providers":
            ready = (place for place, name in enumerate(found) if self._judged(selection, name) is None)
            return found[: next(ready, len(found)) + 1]
        if selection.key != "search.engines" or self._sections.has("local", "folders"):
            return found
        if any(self._judged(selection, name) is None for name in found):
            return found
        return self._installed((*AUTO[selection.key], *KEYLESS_ENGINES))

    def _installed(self, names: tuple[str, ...], also: Callable[[str], bool] = bool) -> tuple[str, ...]:
        return tuple(name for name in names if name in self._host.names() and also(name))

    def _report(
        self, selection: Selection, kept: tuple[str, ...], lost: Mapping[str, str], automatic: frozenset[str]
    ) -> None:
        """Write down what came of a selection."""
        key, chosen = selection.key, self._chosen
        keyless = automatic & set(KEYLESS_ENGINES)
        chosen.names[key] = kept
        reasons = {name: reason for name, reason in lost.items() if reason}
        if not selection.may_drop:
            for name, reason in reasons.items():
                self._problem(f"{selection.key_of(name)}: {reason}")
            return
        for name, reason in reasons.items():
            named = name not in automatic and not is_usual(selection)
            if (named or self._sections.has(name, "folders")) and kept and name not in chosen.dropped:
                chosen.notices.append(f"{key}: {name} is left out: {reason}")
            chosen.dropped.setdefault(name, reason)
        needed = key not in MAY_BE_NONE or (selection.names != ("auto",) and self._sections.place(key))
        if needed and selection.names and not kept and len(reasons) == len(lost):
            self._emptied.setdefault(tuple(reasons.items()) or self._none_of(selection), []).append(key)
        if selection.names and (automatic or key == "ai.providers") and kept:
            if kept == ("embedded",):
                because = _NO_MODEL
            elif automatic & set(kept):
                because = _NO_KEY if set(kept) & keyless else "chosen by auto"
            else:
                because = self._sections.place(key).strip(" ()") or "as set"
            chosen.choices.append(f"{key}: {', '.join(kept)} ({because})")

    def _none_of(self, selection: Selection) -> tuple[tuple[str, str]]:
        looked_for = ", ".join(AUTO.get(selection.key, ()))
        return (("auto", f"looks for {looked_for}, and none is installed; see `leadline plugins`"),)

    def _problem(self, text: str) -> None:
        if text not in self._chosen.problems:
            self._chosen.problems.append(text)

    def _admit(self, selection: Selection, name: str) -> str:
        """Take a plugin in, or say why it cannot work. Raises `ConfigError` for what no setup would cure."""
        base = self._base(selection, name)
        try:
            plugin = self._host.load(base)
        except PluginError as error:
            return self._unloaded(name, error)
        offer = self._host.offer(selection.kind, base)
        reason = lacking(plugin, offer) or self._configured(plugin, offer, name)
        if not reason:
            self._chosen.plugins[name] = plugin
        return reason

    def _unloaded(self, name: str, error: PluginError) -> str:
        """Say why a plugin could not be loaded, and keep where, without what its settings hold: no model read them."""
        secrets = Secrets(self._sections.texts(name))
        if error.traceback:
            self._chosen.traces[name] = secrets.scrub(error.traceback)
        return secrets.scrub(str(error))

    def why_not(self, plugin: Plugin) -> str:
        """Say why a plugin could not work if it were chosen; empty where it could."""
        try:
            offers = plugin.offers.values()
            reasons = [lacking(plugin, offer) or self._configured(plugin, offer, plugin.name) for offer in offers]
        except ConfigError as error:
            return str(error)
        return "; ".join(dict.fromkeys(filter(None, reasons)))

    def _base(self, selection: Selection, name: str) -> str:
        """Return the installed plugin behind a name: itself, or what its section says to `use`."""
        base = self._sections.base(name)
        if base not in self._host.names():
            if base in self._host.refused:
                raise ConfigError(self._host.refused[base])
            instances = (other for other in self._sections.instances() if NAME.fullmatch(other))
            choices = {*self._host.offering(selection.kind), *instances}
            told = f"no plugin {base!r} is installed: {choose_from(base, choices)}"
            raise ConfigError(f"{told}{self._form(selection)}; see `leadline plugins`")
        return base

    def _form(self, selection: Selection) -> str:
        """Say how a model is written, where one was named without its provider."""
        if not selection.model or ":" in selection.model:
            return ""
        chosen = (name for name in self._chosen.names.get("ai.providers", ()) if name not in PLAIN)
        example = f"{next(chosen, AUTO_PROVIDERS[0])}:{selection.model}"
        return f"; a model is written PROVIDER:MODEL, such as {example!r}"

    def _configured(self, plugin: Plugin, offer: AnyOffer, name: str) -> str:
        """Read the plugin's section, or say what it lacks."""
        try:
            settings = self._chosen.settings.get(name) or self._sections.read(name, plugin)
        except Unset as unset:
            return str(unset)
        try:
            reason = offer.ready(settings)
        except Exception as error:  # noqa: BLE001 - told, without its text, which may repeat a secret
            reason = f"{plugin} raised {type(error).__name__} as it was asked whether it is ready"
        if not reason:
            self._chosen.settings[name] = settings
        return reason or ""
