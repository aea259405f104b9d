"""The templates of the typed tasks: one Markdown file a task, replaceable by `[prompts]` in the settings."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def template(name: str) -> str:
    """Return the instructions of a task."""
    return files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8")


def names() -> list[str]:
    """Return the tasks that have a template."""
    return sorted(path.name.removesuffix(".md") for path in files(__package__).iterdir() if path.name.endswith(".md"))
