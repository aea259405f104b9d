"""The commands that packages bring: names and help from files, and one module when its command is called."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from leadline.errors import PluginError

GROUP = "leadline.commands"
_SECTION = re.compile(rf"^\[{re.escape(GROUP)}\]\n((?:[^\[\n].*\n?|\n)*)", re.MULTILINE)
_DOCSTRING = re.compile(r'\s*(?:#[^\n]*\n\s*)*r?"""\s*(.+?)\s*(?:"""|\n\s*\n)', re.DOTALL)


class InstalledCommand:
    """A command of an installed package: its name, and the module that brings it."""

    def __init__(self, name: str, module: str) -> None:
        self.name = name
        self.module = module

    def __str__(self) -> str:
        brought = ", ".join(sorted(f"{point.dist.name} {point.dist.version}" for point in self._points() if point.dist))
        return f"command {self.name!r}" + (f" ({brought})" if brought else "")

    def _points(self) -> list[Any]:
        from importlib.metadata import entry_points

        return list(entry_points(group=GROUP, name=self.name))

    def summary(self) -> str:
        """Return the first sentence of the module's docstring, read without an import; empty if there is none."""
        package, *parts = self.module.split(".")
        with suppress(ImportError, OSError, ValueError):
            spec = find_spec(package)  # of the topmost package, which imports nothing
            places = spec.submodule_search_locations if spec else None
            if spec is None or not (places or spec.origin):
                return ""
            path = Path(places[0], *parts) if places else Path(str(spec.origin))
            path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            if docstring := _DOCSTRING.match(path.read_text(encoding="utf-8")):
                text = " ".join(docstring[1].split()).partition(". ")[0].removesuffix(".")
                return f"{text[:1].lower()}{text[1:]}"
        return ""

    def load(self) -> Any:
        """Import the module and return it. Raises `PluginError`, whatever it does."""
        from leadline._hosting.loading import naming_the_plugin, printing_to_stderr

        points = self._points()
        if len(points) != 1:
            raise PluginError(f"{self} is brought by {len(points)} packages: uninstall all but one")
        with naming_the_plugin(f"{self} cannot be loaded: {self.module} raised "), printing_to_stderr():
            module = points[0].load()
        if not callable(getattr(module, "arguments", None)):
            raise PluginError(f"{self} is not there: {self.module} has no function arguments(parser)")
        return module


def installed_commands() -> list[InstalledCommand]:
    """Return the commands of all installed packages by name, each once, without an import.

    Files are read instead of `importlib.metadata.entry_points`, whose import would take a quarter of the time of help.
    """
    modules = {}
    for folder in dict.fromkeys(sys.path):
        for path in Path(folder).glob("*.dist-info/entry_points.txt"):
            with suppress(OSError, ValueError):
                if section := _SECTION.search(path.read_text(encoding="utf-8")):
                    lines = (line.partition("=") for line in section[1].splitlines() if "=" in line)
                    modules.update({name.strip(): module.strip() for name, _, module in lines})
    return [InstalledCommand(name, modules[name]) for name in sorted(modules)]
