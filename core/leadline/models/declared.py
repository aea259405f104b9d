"""The tasks that plugins declare, by name: what `[ai.tasks]` and `[prompts]` may speak of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from errno import ENOENT
from pathlib import Path
from typing import Any

from leadline.hosting.host import Host, Plugin
from leadline.nearest import choose_from
from leadline.settings.model import Settings
from leadline.settings.pipelines import BUILT_IN
from leadline.task_kinds import TaskKind

TEMPLATES = (".md", ".txt")
"""What one line of a setting ends with that is the path of a template and not the template."""
_PATH = re.compile(r"[A-Za-z0-9_.~-]*[/\\][A-Za-z0-9_./\\~-]*|[A-Za-z0-9_-]+\.[A-Za-z][A-Za-z0-9]{1,4}")
"""A word with a slash in it, or with an ending: no template is that short."""
_BLANK = re.compile(r"\{\{[^{}]*\}\}|\{(\w+)\}")
"""A variable of Jinja, or one of `str.format`."""


@dataclass(frozen=True)
class Declared:
    """A task, and the plugin that asks it."""

    plugin: Plugin
    task: TaskKind[Any, Any]


def declared(plugins: Iterable[Plugin]) -> tuple[Declared, ...]:
    """Return what plugins declare, in their order; an offer given to two hooks counts once."""
    found = {
        (plugin.name, task.name): Declared(plugin, task)
        for plugin in plugins
        for offer in plugin.offers.values()
        for task in offer.tasks
    }
    return tuple(found.values())


def tools(plugins: Iterable[Plugin]) -> set[str]:
    """Return the names of the tools that plugins let models call."""
    return {tool.name for plugin in plugins for offer in plugin.offers.values() for tool in offer.tools}


def misnamed(core: Settings, host: Host, chosen: Iterable[Plugin], place: Callable[[str], str]) -> Iterator[str]:
    """Yield what is wrong with the names of tasks and tools; `place` says where a key stands.

    Names that only other plugins know are let pass: then all are loaded, and not otherwise.
    """
    chosen = tuple(chosen)
    named = [(f"ai.tasks.{name}", name) for name in core.ai.tasks]
    named += [(f"prompts.{name}", name) for name in core.prompts]
    yield from _unknown(named, "asks a task of this name", _tasks, host, chosen, place)
    ours = {tool for pipeline in BUILT_IN.values() for tool in pipeline.tools}
    masks = {f"pipelines.{name}.tools": pipeline.tools for name, pipeline in core.pipelines.items()}
    named = [(key, tool) for key, mask in masks.items() for tool in mask if tool not in ours]
    yield from _unknown(named, "has a tool {name!r}", tools, host, chosen, place)


def blanks(core: Settings, chosen: Iterable[Plugin], place: Callable[[str], str]) -> Iterator[str]:
    """Yield a notice for each template that is written as if its inputs were filled in: they stand apart, as data."""
    inputs = {one.task.name: set(one.task.inputs.model_fields) for one in declared(chosen)}
    for name, text in core.prompts.items():
        found = (blank[0] for blank in _BLANK.finditer(text) if blank[1] is None or blank[1] in inputs.get(name, ()))
        if blank := next(found, ""):
            yield (
                f"prompts.{name}: {blank:.60} is sent as it stands: templates have no variables, the inputs are sent "
                f"beside them, as data; see `leadline prompts show {name}`{place(f'prompts.{name}')}"
            )


def _tasks(plugins: Iterable[Plugin]) -> set[str]:
    return {one.task.name for one in declared(plugins)}


def _unknown(
    named: Iterable[tuple[str, str]],
    what: str,
    names: Callable[[Iterable[Plugin]], set[str]],
    host: Host,
    chosen: tuple[Plugin, ...],
    place: Callable[[str], str],
) -> Iterator[str]:
    known = names(chosen)
    left = [(key, name) for key, name in named if name not in known]
    known |= names(host.loadable()) if left else set()
    for key, name in left:
        if name not in known:
            yield f"{key}: no plugin {what.format(name=name)}: {choose_from(name, known)}{place(key)}"


def templates(
    prompts: Mapping[str, str], folder: Path, place: Callable[[str], str]
) -> tuple[dict[str, str], list[str]]:
    """Return the templates, those given as paths read from below `folder`, and what is wrong with them."""
    texts, problems = {}, []
    for name, said in prompts.items():
        try:
            texts[name] = _text(said, folder)
        except (OSError, ValueError) as error:
            problems.append(f"prompts.{name}: {_told(said, error)}{place(f'prompts.{name}')}")
    return texts, problems


def _text(said: str, folder: Path) -> str:
    if is_path(said, folder):
        # With a line's end, so that a run that keeps it never takes it for a path.
        said = _file(said.strip(), folder).read_text(encoding="utf-8-sig").rstrip() + "\n"
    if not any(map(str.isalnum, said)):
        raise ValueError("is empty")
    return said


def is_path(said: str, folder: Path) -> bool:
    """Return whether a setting is the path of a template: one line that is a file, or is written as paths are."""
    line = said.strip()
    if not line or "\n" in said:
        return False
    return line.endswith(TEMPLATES) or bool(_PATH.fullmatch(line)) or _is_file(line, folder)


def _is_file(line: str, folder: Path) -> bool:
    try:
        return _file(line, folder).is_file()
    except OSError:  # a text that is longer than any name
        return False


def _file(line: str, folder: Path) -> Path:
    """Return the path that a line may be. Raises `OSError` where it begins in the home of nobody."""
    try:
        return folder / Path(line).expanduser()
    except RuntimeError as error:
        raise FileNotFoundError(ENOENT, str(error)) from error


def _told(said: str, error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot read {said.strip()!r}: {error.strerror}: give the path of a template, or its text"
    if isinstance(error, UnicodeDecodeError):
        return f"{said.strip()!r} is no text in UTF-8"
    return "is empty: give the path of a template, or its text; without the key the plugin's own is used"
