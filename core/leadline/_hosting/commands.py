"""The commands that packages bring: names and help from metadata, and one module when its command is called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from leadline.errors import PluginError

GROUP = "leadline.commands"
HOOK = "leadline_commands"
_DOCSTRING = re.compile(r'\s*(?:#[^\n]*\n\s*)*r?"""\s*(.+?)\s*(?:"""|\n\s*\n)', re.DOTALL)


@dataclass(frozen=True)
class InstalledCommand:
    """A command of an installed package."""

    point: EntryPoint
    others: tuple[EntryPoint, ...] = ()
    """Those of other packages with the same name."""

    @property
    def name(self) -> str:
        """The name of the command."""
        return self.point.name

    def __str__(self) -> str:
        made = self.point.dist
        return f"command {self.name!r}" + (f" ({made.name} {made.version})" if made else "")

    def summary(self) -> str:
        """Return the first sentence of the module's docstring, read without an import; empty if there is none."""
        package, *parts = self.point.module.split(".")
        with suppress(ImportError, OSError, ValueError):
            spec = find_spec(package)  # of the topmost package, which imports nothing
            places = spec.submodule_search_locations if spec else None
            if spec is None or not (places or spec.origin):
                return ""
            path = Path(places[0], *parts) if places else Path(str(spec.origin))
            path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            if found := _DOCSTRING.match(path.read_text(encoding="utf-8")):
                text = " ".join(found[1].split()).partition(". ")[0].removesuffix(".")
                return f"{text[:1].lower()}{text[1:]}"
        return ""

    def load(self) -> Any:
        """Import the module and return its `leadline.hookspecs.Command`. Raises `PluginError`, whatever it does."""
        from leadline._hosting.faults import trace, words
        from leadline._hosting.thread_output import printing_to_stderr

        if self.others:
            brought = ", ".join(sorted(f"{made.name} {made.version}" for made in self._distributions()))
            raise PluginError(f"command {self.name!r} is brought by {brought}: uninstall all but one")
        try:
            with printing_to_stderr():
                hook: Any = getattr(self.point.load(), HOOK, None)
                commands = list(hook()) if hasattr(hook, "leadline_impl") else []
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            failure = PluginError(f"{self} cannot be loaded: {self.point.value} raised {words(error)}")
            failure.traceback = trace(error, str)
            raise failure from error
        for command in commands:
            if getattr(command, "name", "") == self.name:
                return command
        raise PluginError(
            f"{self} is not there: {self.point.value} has no function {HOOK}, marked @hookimpl, that yields it"
        )

    def _distributions(self) -> Iterator[Any]:
        return (point.dist for point in (self.point, *self.others) if point.dist)


def installed_commands() -> list[InstalledCommand]:
    """Return the commands of all installed packages by name, without an import."""
    points: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        points.setdefault(point.name, []).append(point)
    return [InstalledCommand(first, tuple(others)) for _, (first, *others) in sorted(points.items())]
