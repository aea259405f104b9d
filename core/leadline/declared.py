"""The tasks that plugins declare, by name: what `[ai.tasks]` and `[prompts]` may speak of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leadline.host import Host, Plugin
from leadline.nearest import choose_from
from leadline.settings_model import ALGORITHMS, Settings
from leadline.task_kinds import TaskKind

TEMPLATES = (".md", ".txt")
"""What one line of a setting ends with that is the path of a template and not the template."""


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


def misnamed(core: Settings, host: Host, chosen: Iterable[Plugin], place: Callable[[str], str]) -> Iterator[str]:
    """Yield what is wrong with the names of tasks; `place` says where a key stands.

    Names of tasks that only other plugins ask are let pass: then all are loaded, and not otherwise.
    """
    named = [(f"ai.tasks.{name}", name) for name in core.ai.tasks if name not in ALGORITHMS]
    named += [(f"prompts.{name}", name) for name in core.prompts]
    known = {one.task.name for one in declared(chosen)}
    if any(name not in known for _, name in named):
        known |= {one.task.name for one in declared(host.loadable())}
    for key, name in named:
        if name not in known:
            yield f"{key}: no plugin asks a task of this name: {choose_from(name, known)}{place(key)}"


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
    if is_path(said):
        # With a line's end, so that a run that keeps it never takes it for a path.
        said = (folder / Path(said.strip()).expanduser()).read_text(encoding="utf-8-sig").rstrip() + "\n"
    if not said.strip():
        raise ValueError("is empty")
    return said


def is_path(said: str) -> bool:
    """Return whether a setting is the path of a template: one line that ends as file names do."""
    return "\n" not in said and said.strip().endswith(TEMPLATES)


def _told(said: str, error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot read {said.strip()!r}: {error.strerror}: give the path of a template, or its text"
    if isinstance(error, UnicodeDecodeError):
        return f"{said.strip()!r} is no text in UTF-8"
    return "is empty: give the path of a template, or its text; without the key the plugin's own is used"
