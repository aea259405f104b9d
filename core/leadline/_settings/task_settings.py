"""Settings about typed tasks: names in `[ai.tasks]` and `[prompts]`, templates, tools, and prices of models."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from errno import ENOENT
from pathlib import Path
from typing import Any

from leadline._hosting.catalog import Plugin, PluginCatalog
from leadline._hosting.loading import AnyOffer
from leadline._settings.layers import Layer, Stored
from leadline.display import choose_from
from leadline.errors import ConfigError
from leadline.hookspecs import PluginSettings
from leadline.settings import Settings
from leadline.tasks import TaskKind
from leadline.templates import SUFFIX, render_file

# Endings of one line that is the path of a template, not the template itself.
TEMPLATES = (".md", ".txt", SUFFIX)
# A word with a slash, or with an ending: no template is that short.
_PATH = re.compile(r"[A-Za-z0-9_.~-]*[/\\][A-Za-z0-9_./\\~-]*|[A-Za-z0-9_-]+\.[A-Za-z][A-Za-z0-9]{1,4}")
# A variable of Jinja, or of `str.format`.
_VARIABLE = re.compile(r"\{\{[^{}]*\}\}|\{(\w+)\}")
# The kinds whose plugins may call models.
_CALL_MODELS = {"ai_providers", "claim_judges", "embedders", "rerankers", "search_providers"}

# Returns the origin of a key in brackets; empty for a default.
Place = Callable[[str], str]


@dataclass(frozen=True)
class Declared:
    """A task and the plugin that asks it."""

    plugin: Plugin
    task: TaskKind[Any, Any]


def declared(plugins: Iterable[Plugin]) -> tuple[Declared, ...]:
    """Return the tasks of plugins, in their order; one that two kinds of a plugin use counts once."""
    by_name = {
        (plugin.name, task.name): Declared(plugin, task)
        for plugin in plugins
        for offer in plugin.offers.values()
        for task in offer.tasks
    }
    return tuple(by_name.values())


# --- names -----------------------------------------------------------------------------------------------------------


def unknown_names(
    core: Settings,
    catalog: PluginCatalog,
    chosen: Iterable[Plugin],
    place: Place,
    default_tools: Collection[str] = (),
) -> Iterator[str]:
    """Yield an error for each name of a task or a tool that no installed plugin has.

    All plugins are loaded only if the chosen ones do not have the name.
    """
    chosen = tuple(chosen)

    def unknown(keys: Mapping[str, str], what: str, names: Callable[[AnyOffer], Iterable[str]]) -> Iterator[str]:
        known = {name for plugin in chosen for offer in plugin.offers.values() for name in names(offer)}
        rest = {key: name for key, name in keys.items() if name not in known}
        others = catalog.loadable() if rest else ()
        known |= {name for plugin in others for offer in plugin.offers.values() for name in names(offer)}
        for key, name in rest.items():
            if name not in known:
                yield f"{key}: no plugin {what.format(name=name)}: {choose_from(name, known)}{place(key)}"

    asks = "asks a task of this name"
    tasks = {f"ai.tasks.{name}": name for name in core.ai.tasks}
    yield from unknown(tasks, asks, lambda offer: [task.name for task in offer.tasks])
    prompts = {f"prompts.{name}": name for name in core.prompts}
    yield from unknown(prompts, asks, lambda offer: [name for it in offer.tasks for name in (it.name, *it.parts)])
    for task in (item.task for item in declared(chosen) if item.task.name in core.prompts):
        for part in task.parts.keys() & core.prompts.keys():
            if f"{{{part}}}" not in core.prompts[task.name]:
                key = f"prompts.{part}"
                yield f"{key}: it is not used, because prompts.{task.name} has no {{{part}}}{place(key)}"
    for name, pipeline in core.pipelines.items():
        for tool in pipeline.tools:
            if tool not in default_tools:
                key = f"pipelines.{name}.tools"
                yield from unknown({key: tool}, "has a tool {name!r}", lambda offer: [it.name for it in offer.tools])


# --- prompt templates ------------------------------------------------------------------------------------------------


def read_prompts(core: Settings, folder: Path, chosen: Iterable[Plugin], origins: Layer) -> tuple[Settings, list[str]]:
    """Return settings with the text of every template, and all errors; paths are relative to `folder`.

    What a run stored is the text itself: it is never read as a path, which another machine may have written.

    A template of Jinja knows `builtin`, the text that it replaces; `task`, its name in `[prompts]`; and the tables
    `report`, `research` and `search` of the settings with `language`. The inputs of a task are no variables: they are
    data, sent separately.
    """
    texts, problems = {}, []
    builtin = {name: text for item in declared(chosen) for name, text in item.task.parts.items()}
    builtin |= {item.task.name: item.task.prompt for item in declared(chosen)}
    tables = core.model_dump(include={"language", "report", "research", "search"})
    for name, value in core.prompts.items():
        origin = origins.origin(("prompts", name))
        if isinstance(origin, Stored):
            texts[name] = value
            continue
        try:
            texts[name] = _template(value, folder, {"task": name, "builtin": builtin.get(name, ""), **tables})
        except (OSError, ValueError, ConfigError) as error:
            problems.append(f"prompts.{name}: {_template_problem(value, error)} ({origin})")
    return core.model_copy(update={"prompts": texts}), problems


def _template(value: str, folder: Path, data: Mapping[str, Any]) -> str:
    if is_path(value, folder):
        path = _file(value.strip(), folder)
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == SUFFIX:
            text = render_file(path, data).lstrip()
        value = text.rstrip() + "\n"
    if not any(map(str.isalnum, value)):
        raise ValueError("the template is empty")
    return value


def is_path(value: str, folder: Path) -> bool:
    """Return whether a setting is the path of a template: one line that is a file, or has the form of a path."""
    line = value.strip()
    if not line or "\n" in value:
        return False
    if line.endswith(TEMPLATES) or _PATH.fullmatch(line):
        return True
    with suppress(OSError):  # the text is longer than any file name
        return _file(line, folder).is_file()
    return False


def _file(line: str, folder: Path) -> Path:
    """Return the path of a line. Raises `OSError` if it begins with the home of an unknown user."""
    try:
        return folder / Path(line).expanduser()
    except RuntimeError as error:
        raise FileNotFoundError(ENOENT, str(error)) from error


def _template_problem(value: str, error: Exception) -> str:
    if isinstance(error, ConfigError):
        return str(error)
    if isinstance(error, OSError):
        return f"cannot read {value.strip()!r}: {error.strerror}: give the path of a template, or its text"
    if isinstance(error, UnicodeDecodeError):
        return f"{value.strip()!r} is no text in UTF-8"
    return "the template is empty: give the path of a template, or its text; without the key the plugin's own is used"


def template_notices(core: Settings, chosen: Iterable[Plugin], place: Place) -> Iterator[str]:
    """Yield a notice for each template with variables: inputs are not filled in, but sent separately."""
    inputs = {item.task.name: set(item.task.inputs.model_fields) for item in declared(chosen)}
    for name, text in core.prompts.items():
        known = inputs.get(name, ())
        matches = (match[0] for match in _VARIABLE.finditer(text) if match[1] is None or match[1] in known)
        if variable := next(matches, ""):
            yield (
                f"prompts.{name}: {variable:.60} is sent as it is written: templates have no variables, the inputs are "
                f"sent separately, as data; see `leadline prompts show {name}`{place(f'prompts.{name}')}"
            )


# --- prices ----------------------------------------------------------------------------------------------------------


def unused_prices(
    core: Settings, plugins: Mapping[str, Plugin], sections: Mapping[str, PluginSettings], place: Place
) -> Iterator[str]:
    """Yield a notice for each price of a model that no provider, role or task names.

    With a typo there, a run would have no limit of money. A provider without a model has a default that only the
    provider knows; then an unused price is no sign of a typo.
    """
    if not core.ai.prices:
        return
    callers = {name: sections[name] for name, plugin in plugins.items() if _CALL_MODELS & {*plugin.offers}}
    qualified = (*core.ai.roles.values(), *core.ai.tasks.values(), core.ai.embedder)
    used = {model for settings in callers.values() for model in _named_models(settings)}
    used |= {model for name in qualified if (model := name.partition(":")[2])}
    used |= {name for model in used if (name := model.partition("/")[2])}  # a VENDOR/NAME also as NAME
    offers = {name: plugins[name].offers.get("ai_providers") for name in callers}
    chats = [callers[name] for name, offer in offers.items() if offer and offer.work != "local"]
    all_known = all(getattr(settings, "model", "") for settings in chats)
    for model in (model for model in core.ai.prices if model not in used):
        provider, _, name = model.partition(":")
        if name and provider in callers:
            advice = f"prices have the name of the model without its provider: write {name!r}"
            yield f"ai.prices.{model}: {advice}{place('ai.prices')}"
        elif all_known:
            advice = f"no provider, role or task uses this model: {choose_from(model, used)}"
            yield f"ai.prices.{model}: {advice}{place('ai.prices')}"


def _named_models(settings: PluginSettings) -> Iterator[str]:
    """Yield the models of a section: in `model`, in fields such as `embedding_model`, and as keys of `models`."""
    for name, value in settings:
        if isinstance(value, str) and value and (name == "model" or name.endswith("_model")):
            yield value
        elif name == "models" and isinstance(value, Mapping):
            yield from map(str, value)
