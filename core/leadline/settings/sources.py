"""The sources of settings in their order, from a folder and an environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from leadline.errors import ConfigError
from leadline.settings.files import PROJECT_FILE, files_in, read_dotenv, read_file
from leadline.settings.files import user_file as usual_user_file
from leadline.settings.layers import (
    FILE_VARIABLE,
    Layer,
    built_in,
    from_arguments,
    from_environment,
    from_sets,
    leaves,
)

Variables = Mapping[str, str | None]


@dataclass(frozen=True)
class Sources:
    """Where a process reads its settings: the folder it works in, its environment, and files named for it."""

    cwd: Path
    environ: Mapping[str, str]
    file: Path | None = None
    user_file: Path | None = None

    @cached_property
    def variables(self) -> tuple[tuple[str, Variables], ...]:
        """Return the environment and `.env`, each with its name, the stronger first."""
        return ("environment", self.environ), (".env", read_dotenv(self.cwd / ".env"))

    @property
    def file_name(self) -> str:
        """The settings file as people call it, there or not."""
        return _label(self._project_file() or self.cwd / PROJECT_FILE, self.cwd)

    def passed_over(self) -> list[str]:
        """Say which settings files of the folder are not read, though nobody named another."""
        read = self._project_file()
        if read is None or read not in (there := files_in(self.cwd)) or self._named():
            return []
        told = f"is not read, for {read.name} stands beside it: keep one, or name one with --settings"
        return [f"{path.name} {told}" for path in there if path != read]

    def layers(
        self, arguments: Mapping[str, Any], sets: Sequence[str], stored: Mapping[str, Any] | None
    ) -> list[Layer]:
        """Return all layers, the strongest first; below `stored` only the plugins' sections, for their secrets."""
        above = [from_arguments(arguments), from_sets(sets)]
        if stored is None:
            return [*above, *self.written, built_in()]
        return [*above, _stored(stored), *map(_only_plugins, self.written)]

    @cached_property
    def written(self) -> list[Layer]:
        """The layers of the environment and of the files, the strongest first."""
        layers = [from_environment(variables, label) for label, variables in self.variables]
        return layers + [read_file(path, _label(path, self.cwd)) for path in self._files()]

    def _files(self) -> list[Path]:
        mine = self.user_file or usual_user_file(self.environ)
        return [path for path in (self._project_file(), mine) if path is not None and path.is_file()]

    def _named(self) -> Path | str | None:
        """Return the settings file that was named, by an option or a variable."""
        given = (variables.get(FILE_VARIABLE) for _, variables in self.variables)
        return self.file or next(filter(None, given), None)

    def _project_file(self) -> Path | None:
        named = self._named()
        if not named:
            return next(iter(files_in(self.cwd)), None)
        path = self.cwd / named
        if not path.is_file():
            raise ConfigError(f"{named}: there is no such settings file; `leadline config init` writes one")
        return path


def _label(path: Path, cwd: Path) -> str:
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def _stored(values: Mapping[str, Any]) -> Layer:
    layer = Layer()
    for path, value in leaves(values):
        layer.put(path, value, "the run's own settings")
    return layer


def _only_plugins(layer: Layer) -> Layer:
    origins = {path: where for path, where in layer.origins.items() if path[0] == "plugins"}
    return Layer({key: value for key, value in layer.values.items() if key == "plugins"}, origins)
