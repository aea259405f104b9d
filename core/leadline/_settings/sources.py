"""Sources of settings: arguments, environment, `.env`, TOML and YAML files, in their order."""

from __future__ import annotations

import codecs
import io
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from leadline._settings.layers import (
    DEEPEST,
    FILE_VARIABLE,
    TRUST_VARIABLE,
    Found,
    Layer,
    Stored,
    from_arguments,
    from_environment,
    from_sets,
    is_map,
    leaves,
    tables,
    with_plugin_tables,
    without_replaced,
)
from leadline.errors import ConfigError
from leadline.files import home_folder, read_limited

PROJECT_FILE = "leadline.toml"
# The names of a settings file; the first in a folder is read.
FILES = (PROJECT_FILE, "leadline.yaml", "leadline.yml")
_HEADER = re.compile(r"\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"([A-Za-z0-9_\-.\"' \t]+)=")
# Bytes of a settings file, and values in it; of a faulty one, characters times lines where the fault is searched for.
_LARGEST, _MOST, _SEARCHED = 2**18, 20_000, 5_000_000
# The origin of a value that was stored with a run.
STORED = Stored("the run's own settings")
Variables = Mapping[str, str | None]


@dataclass(frozen=True)
class Sources:
    """The working folder, the environment and the files from which a process reads its settings."""

    cwd: Path
    environ: Mapping[str, str]
    file: Path | None = None
    user_file: Path | None = None
    # The names of the installed plugins.
    plugins: Collection[str] = ()

    @cached_property
    def variables(self) -> tuple[tuple[str, Variables], ...]:
        """The environment and `.env` with their names, strongest first."""
        return ("environment", self.environ), (Found(".env"), read_dotenv(self.cwd / ".env"))

    @property
    def user_folder(self) -> Path:
        """The folder of the user's own settings."""
        return (self.user_file or _user_file(self.environ)).parent

    @property
    def file_name(self) -> str:
        """The name of the settings file, whether it exists or not."""
        return _label(self._project_file() or self.cwd / PROJECT_FILE, self.cwd)

    def unread_files(self) -> list[str]:
        """Return a notice for each settings file of the folder, and for each variable of `.env`, that is not read."""
        variable = f".env {TRUST_VARIABLE} is not read: a folder cannot trust itself; see `leadline trust`"
        notices = [variable] if self.variables[1][1].get(TRUST_VARIABLE) else []
        read = self._project_file()
        if read is None or read not in (found := _settings_files(self.cwd)) or self._named():
            return notices
        why = f"is not read, since {read.name} exists: keep one of them, or name one with --settings"
        return [*notices, *(f"{path.name} {why}" for path in found if path != read)]

    def layers(
        self, arguments: Mapping[str, Any], sets: Sequence[str], stored: Mapping[str, Any] | None
    ) -> list[Layer]:
        """Return all layers, strongest first; below `stored` only the plugins' sections, for their secrets."""
        above = [self._read(layer) for layer in (from_arguments(arguments), from_sets(sets))]
        if stored is None:
            return [*above, *self.written]
        return [*above, with_plugin_tables(_stored(stored), self.plugins), *map(_only_plugins, self.written)]

    @cached_property
    def written(self) -> list[Layer]:
        """The layers of the environment and of the files, strongest first."""
        layers = [from_environment(variables, label) for label, variables in self.variables]
        layers += [read_file(path, self._origin(path)) for path in self._files()]
        return without_replaced(map(self._read, layers))

    def _origin(self, path: Path) -> str:
        """Return the name of a settings file, as `Found` unless the user named it or it is the user's own."""
        label = _label(path, self.cwd)
        named = self.file or self.environ.get(FILE_VARIABLE) or path == (self.user_file or _user_file(self.environ))
        return label if named else Found(label)

    def _read(self, layer: Layer) -> Layer:
        return with_plugin_tables(layer, self.plugins).parsed()

    def _files(self) -> list[Path]:
        user = self.user_file or _user_file(self.environ)
        return [path for path in (self._project_file(), user) if path is not None and _exists(path)]

    def _named(self) -> Path | str | None:
        """Return the settings file that an option or a variable names."""
        given = (variables.get(FILE_VARIABLE) for _, variables in self.variables)
        return self.file or next(filter(None, given), None)

    def _project_file(self) -> Path | None:
        named = self._named()
        if not named:
            return next(iter(_settings_files(self.cwd)), None)
        path = self.cwd / named
        if not path.is_file():
            raise ConfigError(f"{named}: there is no such settings file; `leadline config init` writes one")
        return path


def _label(path: Path, cwd: Path) -> str:
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def _stored(values: Mapping[str, Any]) -> Layer:
    """Return the settings of a run. Its tables are whole, except those of plugins, which lack their secrets."""
    core = {key: value for key, value in values.items() if key != "plugins"}
    layer = Layer(whole=set(filter(is_map, tables(core))))
    for path, value in leaves(values):
        layer.put(path, value, STORED)
    return layer


def _only_plugins(layer: Layer) -> Layer:
    origins = {path: where for path, where in layer.origins.items() if path[0] == "plugins"}
    return Layer({key: value for key, value in layer.values.items() if key == "plugins"}, origins)


# --- files -----------------------------------------------------------------------------------------------------------


def read_file(path: Path, label: str) -> Layer:
    """Return the values of a settings file with their lines. Raises `ConfigError`."""
    text = _text(path, label)
    if path.suffix in (".yaml", ".yml"):
        values, lines = _yaml(text, label)
    else:
        values, lines = _toml(text, label), dict(reversed([*_lines(text)]))
    layer = Layer()
    try:
        for where, value in leaves(values):
            if len(where) > DEEPEST:
                raise RecursionError
            if where:
                layer.put(where, value, _place(label, where, lines))
    except RecursionError:
        raise ConfigError(f"{label} has tables in tables, more than {DEEPEST} deep") from None
    return layer


def _text(path: Path, label: str) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 with a byte-order mark. Raises `ConfigError`."""
    try:
        data = read_limited(path, _LARGEST)
    except OSError as error:
        raise ConfigError(f"{label} cannot be read: {error}") from error
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        # Universal newlines, as `Path.read_text` has them.
        return io.TextIOWrapper(io.BytesIO(data), "utf-16" if wide else "utf-8-sig").read()
    except UnicodeDecodeError:
        encoding = "UTF-16" if wide else "UTF-8"
        raise ConfigError(f"{label} cannot be read: it is not {encoding}: save the file as UTF-8") from None


def read_dotenv(path: Path) -> Mapping[str, str | None]:
    """Return the variables of a `.env` file; empty if there is no file. Raises `ConfigError`."""
    if not path.is_file():
        return {}
    from dotenv import dotenv_values  # most folders have no such file

    # No interpolation: a secret may contain `${`.
    return dotenv_values(stream=io.StringIO(_text(path, str(path))), interpolate=False)


def _user_file(environ: Mapping[str, str]) -> Path:
    """Return the path of the user's own settings file, by the XDG rules."""
    home = Path(environ["HOME"]) if environ.get("HOME") else home_folder()
    folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "leadline"
    return next(iter(_settings_files(folder)), folder / PROJECT_FILE)


def _settings_files(folder: Path) -> list[Path]:
    """Return the settings files of a folder, in their order."""
    return [path for name in FILES if _exists(path := folder / name)]


def _exists(path: Path) -> bool:
    """Return whether a file exists; false in a folder of another user, where `Path.exists` raises."""
    return os.path.exists(path)  # noqa: PTH110


def _toml(text: str, label: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{label} is not valid TOML: {_toml_fault(text, str(error))}") from None
    except (ValueError, RecursionError):  # an integer of thousands of digits, lists in lists
        raise ConfigError(f"{label} has a value that is too long or too deep") from None


def _toml_fault(text: str, message: str) -> str:
    """Return the message about invalid TOML with the line where the faulty value begins, if it is another one."""
    lines = text.splitlines()
    if len(lines) * len(text) > _SEARCHED:
        return message
    end = next(end for end in range(len(lines), -1, -1) if _is_toml("\n".join(lines[:end])))
    begin = next((n for n, line in enumerate(lines[end:], end + 1) if line.strip() and line.lstrip()[0] != "#"), end)
    if f"at line {begin}," in message:
        return message
    if begin and _is_toml(lines[begin - 1]):  # valid by itself, so the fault is what stands above it
        return f"line {begin} sets a key or table that is set already: {message}"
    return f"the value that begins in line {begin} is not closed or not valid: {message}"


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _yaml(text: str, label: str) -> tuple[dict[str, Any], dict[tuple[str, ...], int]]:
    import yaml  # only for those who write it

    class Loader(yaml.SafeLoader):
        """YAML 1.2's booleans: `mode: off` is a word, as in TOML."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$", re.IGNORECASE), [*"tTfF"])
    try:
        loader = Loader(text)
        node = loader.get_single_node()
        if sum(1 for _ in islice(_nodes(node), _MOST)) == _MOST:
            raise ConfigError(f"{label} has more than {_MOST:,} values, each alias counted as what it stands for")
        lines: dict[tuple[str, ...], int] = {}
        for key, number in _yaml_lines(node):
            if key in lines:
                name = ".".join(key)
                raise ConfigError(f"{label}: {name} is set twice, in lines {lines[key]} and {number}: remove one")
            lines[key] = number
        values = loader.construct_document(node) if node else None
    except yaml.MarkedYAMLError as error:
        marks = [mark.line + 1 for mark in (error.problem_mark, error.context_mark) if mark]
        line = ", line " + ", in the value that begins in line ".join(map(str, dict.fromkeys(marks))) if marks else ""
        raise ConfigError(f"{label} is not valid YAML: {error.problem}{line}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{label} is not valid YAML: {error}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{label} has a value that is not valid, too long or too deep") from None
    if values is not None and not isinstance(values, dict):
        raise ConfigError(f"{label} must be a table of settings, not {type(values).__name__}")
    return values or {}, lines


def _nodes(top: Any) -> Iterator[Any]:
    """Yield the nodes of YAML, without an end for one that contains itself."""
    waiting = [top] if top else []
    while waiting:
        yield (node := waiting.pop())
        waiting += chain.from_iterable(node.value) if node.id == "mapping" else node.value * (node.id == "sequence")


def _yaml_lines(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the keys of a YAML node with their lines."""
    for key, value in node.value if getattr(node, "id", "") == "mapping" else ():
        if key.id == "scalar":
            yield (*path, key.value), key.start_mark.line + 1
            yield from _yaml_lines(value, (*path, key.value))


def _lines(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the keys of a TOML text with their lines. A line may be wrong in rare cases; no value depends on it."""
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            section = _split(header[1])
        elif key := _KEY.match(line):
            yield (*section, *_split(key[1])), number


def _split(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _place(label: str, path: tuple[str, ...], lines: Mapping[tuple[str, ...], int]) -> str:
    line = next((lines[path[:depth]] for depth in range(len(path), 0, -1) if path[:depth] in lines), None)
    return type(label)(f"{label}:{line}") if line else label
