"""Sources of settings: arguments, environment, `.env`, TOML and YAML files, in their order."""

from __future__ import annotations

import codecs
import io
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from leadline._settings.layers import (
    DEBUG_VARIABLE,
    ENVIRONMENT_VARIABLE,
    FILE_VARIABLE,
    PREFIX,
    SECRETS_VARIABLE,
    TRUST_VARIABLE,
    Found,
    Layer,
    Leaf,
    Stored,
    Unresolved,
    leaves,
    refusal,
)
from leadline._settings.schema import KeyPath, Raw, annotation_at, is_secret, names_code, scalars, unquoted
from leadline.display import choose_from
from leadline.errors import ConfigError, UsageError
from leadline.files import home_folder, read_limited
from leadline.settings import Settings

PROJECT_FILE = "leadline.toml"
# The names of a settings file; the first in a folder is read.
FILES = (PROJECT_FILE, "leadline.yaml", "leadline.yml")
_HEADER = re.compile(r"\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"([A-Za-z0-9_\-.\"' \t]+)=")
# Bytes of a settings file, and values in it; of a faulty one, characters times lines where the fault is searched for.
_LARGEST, _MOST, _SEARCHED = 2**18, 20_000, 5_000_000
# Keys from a setting up to the top. No model has more tables in each other.
_DEEPEST = 20
# Variables with the prefix that are no settings.
_NO_SETTINGS = (FILE_VARIABLE, DEBUG_VARIABLE, TRUST_VARIABLE, ENVIRONMENT_VARIABLE, SECRETS_VARIABLE)
# The folder in which Docker and Kubernetes put secrets, and the ending of variables that name the file of one.
_SECRETS_FOLDER, _FILE = "/run/secrets", "_FILE"
_REFERENCE = re.compile(r"\$\{(env|file):([^{}]+)\}")
# Keys of settings files that are no settings.
EXTENDS, ENVIRONMENTS = "extends", "environments"
# The origin of a value that was stored with a run.
STORED = Stored("the run's own settings")
# What a resumed run reads from today's sources: sections, for their secrets, and the files of plugins.
_TODAYS = ("plugins", "plugin_folder")
Variables = Mapping[str, str | None]
# The lines of the keys of a file.
Lines = dict[KeyPath, int]


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
        """The environment, `.env` and the folder of secrets with their names, strongest first."""
        folder = Path(self.environ.get(SECRETS_VARIABLE) or _SECRETS_FOLDER)
        dotenv = (Found(".env"), read_dotenv(self.cwd / ".env"))
        return ("environment", self.environ), dotenv, (str(folder), SecretsFolder(folder))

    @cached_property
    def user_path(self) -> Path:
        """The user's own settings file, by the XDG rules."""
        if self.user_file is not None:
            return self.user_file
        home = Path(self.environ["HOME"]) if self.environ.get("HOME") else home_folder()
        folder = Path(self.environ.get("XDG_CONFIG_HOME") or home / ".config") / "leadline"
        return next(iter(_settings_files(folder)), folder / PROJECT_FILE)

    @property
    def file_name(self) -> str:
        """The name of the settings file, whether it exists or not."""
        return self._label(self._project_file() or self.cwd / PROJECT_FILE)

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
        """Return all layers, strongest first; below `stored` only the plugins' sections, for their secrets.

        `arguments` are dotted or nested; None counts as not given. `sets` are those of `--set`.
        """
        given, options = Layer(self.plugins), Layer(self.plugins)
        for key, value in arguments.items():
            if (set_now := _without_none(value)) is not None:
                given.put(tuple(key.split(".")), set_now, "argument", whole=True)
        for text in sets:
            key, equals, value = text.partition("=")
            path = tuple(part.strip() for part in key.split("."))
            if not equals or not all(path):
                raise UsageError(f"--set {text!r}: write KEY=VALUE, such as --set search.strategy=race")
            options.put(path, Raw(value), f"--set {key.strip()}")
        if stored is None:
            return [with_paths(given, self.cwd), with_paths(options, self.cwd), *self.written]
        # The tables of a run are whole, except those of plugins, which lack their secrets.
        run = Layer(self.plugins)
        for key, value in stored.items():
            run.put((key,), value, STORED, whole=key != "plugins")
        sections = (layer.only(path for path in layer.leaves if path[0] in _TODAYS) for layer in self.written)
        return [with_paths(given, self.cwd), with_paths(options, self.cwd), run, *sections]

    @property
    def written(self) -> list[Layer]:
        """The layers of the environment and of the files, strongest first."""
        return self._read[0]

    @property
    def extended(self) -> list[Leaf]:
        """The names of the files that other files extend, with their origins."""
        return self._read[1]

    @property
    def environments(self) -> list[str]:
        """The names of the environments in the files."""
        return self._read[2]

    @cached_property
    def _read(self) -> tuple[list[Layer], list[Leaf], list[str]]:
        layers = [with_paths(self._environment(variables, label), self.cwd) for label, variables in self.variables]
        extended, names = list[Leaf](), list[str]()
        chosen = next(filter(None, (each.get(ENVIRONMENT_VARIABLE) for _, each in self.variables)), "") or ""
        for path, values in self._files():
            if extends := values.pop((EXTENDS,), None):
                extended.append(extends)
            own = {key: leaf for key, leaf in values.items() if key[0] != ENVIRONMENTS}
            names += [key[1] for key in values.keys() - own.keys() if len(key) > 1]
            table = (ENVIRONMENTS, chosen)
            environment = {key[2:]: leaf for key, leaf in values.items() if key[:2] == table and key[2:]}
            layers += [self._layer(environment, path.parent), self._layer(own, path.parent)]
        if chosen and chosen not in names:
            known = f": {choose_from(chosen, {*names})}" if names else ""
            what = f"no settings file has a table [{ENVIRONMENTS}.{chosen}]{known}"
            raise ConfigError(f"{what} (--env, or {ENVIRONMENT_VARIABLE})")
        return layers, extended, sorted({*names})

    def _files(self) -> Iterator[tuple[Path, dict[KeyPath, Leaf]]]:
        """Yield the settings files with their values, strongest first; after each one those that it extends."""
        if project := self._project_file():
            named = self.file or self.environ.get(FILE_VARIABLE) or project == self.user_path
            yield from self._chain(project, self._label(project) if named else Found(self._label(project)))
        if _exists(self.user_path):
            yield from self._chain(self.user_path, self._label(self.user_path))

    def _chain(
        self, path: Path, label: str, before: tuple[Path, ...] = ()
    ) -> Iterator[tuple[Path, dict[KeyPath, Leaf]]]:
        values, seen = _values(path, label), (*before, path)
        extends = values.get((EXTENDS,))
        yield path, values
        if extends is None:
            return
        if not isinstance(extends.value, str):
            raise ConfigError(f"{EXTENDS}: the name of another settings file, a text ({extends.origin})")
        base = Path(os.path.abspath(path.parent / Path(extends.value).expanduser()))  # noqa: PTH100 - links stay
        if base in seen:
            circle = " -> ".join(map(self._label, (*seen, base)))
            raise ConfigError(f"{EXTENDS}: the files extend each other: {circle} ({extends.origin})")
        if not os.path.isfile(base):  # noqa: PTH113 - the name may be too long
            raise ConfigError(f"{EXTENDS}: there is no file {base} ({extends.origin})")
        yield from self._chain(base, type(label)(self._label(base)), seen)

    def _layer(self, values: Mapping[KeyPath, Leaf], folder: Path) -> Layer:
        """Return the layer of the values of a file, with what they refer to in place of the references."""
        layer = Layer(self.plugins)
        for path, leaf in values.items():
            try:
                value = self.resolved(leaf.value, folder, partial(refusal, path, origin=leaf.origin))
            except ConfigError as error:
                value = Unresolved(leaf.value)
                value.fault = str(error)
            layer.put(path, value, leaf.origin)
            if has_reference(leaf.value):
                path = path if path in layer.leaves else ("plugins", *path)
                current = value if isinstance(value, Unresolved) else layer.leaves[path].value
                layer.leaves[path] = layer.leaves[path]._replace(value=current, reference=leaf.value)
        return with_paths(layer, folder)

    def resolved(self, value: Any, folder: Path, refuse: Callable[[str], Exception]) -> Any:
        """Return a value with the variables and the files in place of `${env:NAME}` and `${file:PATH}`."""

        def replacement(match: re.Match[str]) -> str:
            kind, name = match[1], match[2].strip()
            if kind == "env":
                given = (variables.get(name) for _, variables in self.variables)
                if value := next(filter(None, given), None):
                    return value
                raise refuse(f"the variable {name} is not set")
            try:
                return _text(folder / Path(name).expanduser(), name).removesuffix("\n")
            except (ConfigError, RuntimeError) as error:
                raise refuse(str(error)) from None

        if isinstance(value, list):
            return [self.resolved(item, folder, refuse) for item in value]
        return _REFERENCE.sub(replacement, value) if isinstance(value, str) else value

    def _environment(self, variables: Variables, label: str) -> Layer:
        """Return the settings among variables, `LEADLINE_TABLE__KEY`.

        An empty variable counts as not set, as in the shell's `${NAME:-default}`.
        """
        layer = Layer(self.plugins)
        for name, value in variables.items():
            if not name.startswith(PREFIX) or name in _NO_SETTINGS or value == "":
                continue
            path = tuple(name.removeprefix(PREFIX).lower().split("__"))
            if name.endswith(_FILE) and annotation_at(Settings, path) is None:
                plain = (*path[:-1], path[-1].removesuffix(_FILE.lower()))
                if is_secret(annotation_at(Settings, plain)):
                    path, value = plain, secret_in(str(value), f"{label} {name}")
            if value is None or not all(path) or len(path) > _DEEPEST:
                raise ConfigError(f"{label} {name:.80}: write {PREFIX}KEY=VALUE or {PREFIX}TABLE__KEY=VALUE")
            layer.put(path, Raw(value), type(label)(f"{label} {name}"))
        return layer

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

    def _label(self, path: Path) -> str:
        return str(path.relative_to(self.cwd)) if path.is_relative_to(self.cwd) else str(path)


def _without_none(value: Any) -> Any:
    """Return a value without None in its tables; None if nothing else was given."""
    if not isinstance(value, Mapping):
        return value
    values = {key: given for key, item in value.items() if (given := _without_none(item)) is not None}
    return values if values or not value else None


# --- files -----------------------------------------------------------------------------------------------------------


class SecretsFolder(Mapping[str, str]):
    """The files of a folder of secrets as variables: `openai_api_key` or `OPENAI_API_KEY` is OPENAI_API_KEY."""

    def __init__(self, folder: Path) -> None:
        self._files = {path.name.upper(): path for path in sorted(folder.glob("*"))} if folder.is_dir() else {}

    def __getitem__(self, name: str) -> str:
        return secret_in(str(self._files[name]), name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, path in self._files.items() if path.is_file()])

    def __len__(self) -> int:
        return len([*self])


def secret_in(path: str, name: str) -> str:
    """Return the secret in a file, without the end of its line. Raises `ConfigError`."""
    return _text(Path(path).expanduser(), f"{name}: {path}").rstrip("\r\n")


def has_reference(value: Any) -> bool:
    """Return whether a text, or one in a list, refers to a variable or a file."""
    return any(isinstance(text, str) and _REFERENCE.search(text) for text in scalars(value))


def _values(path: Path, label: str) -> dict[KeyPath, Leaf]:
    """Return the values of a settings file with their lines. Raises `ConfigError`."""
    text = _text(path, label)
    values, lines = _yaml(text, label) if path.suffix in (".yaml", ".yml") else _toml(text, label)
    leaf_by_path: dict[KeyPath, Leaf] = {}
    try:
        for where, value in leaves(values):
            if len(where) > _DEEPEST:
                raise RecursionError
            if where:
                line = next((lines[where[:end]] for end in range(len(where), 0, -1) if where[:end] in lines), None)
                leaf_by_path[where] = Leaf(value, type(label)(f"{label}:{line}") if line else label)
    except RecursionError:
        raise ConfigError(f"{label} has tables in tables, more than {_DEEPEST} deep") from None
    return leaf_by_path


def with_paths(layer: Layer, folder: Path) -> Layer:
    """Make plugins' files, and `./…` in their sections, absolute: both are relative to the folder of what sets them."""
    for path, leaf in layer.leaves.items():
        beside = path[0] == "plugins" and str(leaf.value).startswith(("./", "../"))
        if (beside or names_code(path, leaf.value)) and not isinstance(leaf.value, Unresolved):
            file = os.path.abspath(folder / Path(unquoted(leaf.value)).expanduser())  # noqa: PTH100 - links stay
            layer.leaves[path] = leaf._replace(value=file)
    return layer


def _text(path: Path, label: str) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 as Windows writes it. Raises `ConfigError`."""
    try:
        data = read_limited(path, _LARGEST)
    except OSError as error:
        raise ConfigError(f"{label} cannot be read: {error}") from error
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if marked else "utf-16-le" if data[1:2] == b"\0" else "utf-8-sig"
    try:
        # Universal newlines, as `Path.read_text` has them.
        return io.TextIOWrapper(io.BytesIO(data), encoding).read()
    except UnicodeDecodeError:
        name = encoding[:6].strip("-").upper()
        raise ConfigError(f"{label} cannot be read: it is not {name}: save the file as UTF-8") from None


def read_dotenv(path: Path) -> Mapping[str, str | None]:
    """Return the variables of a `.env` file; empty if there is none that this user may see. Raises `ConfigError`."""
    if not os.path.isfile(path):  # noqa: PTH113 - false in a folder of another user, where `Path.is_file` raises
        return {}
    from dotenv import dotenv_values  # most folders have no such file

    # No interpolation: a secret may contain `${`.
    return dotenv_values(stream=io.StringIO(_text(path, str(path))), interpolate=False)


def _settings_files(folder: Path) -> list[Path]:
    """Return the settings files of a folder, in their order."""
    return [path for name in FILES if _exists(path := folder / name)]


def _exists(path: Path) -> bool:
    """Return whether a file exists; false in a folder of another user, where `Path.exists` raises."""
    return os.path.exists(path)  # noqa: PTH110


def _toml(text: str, label: str) -> tuple[dict[str, Any], Lines]:
    try:
        return tomllib.loads(f"{text}\n"), dict(reversed([*_lines(text)]))
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
    return f"the value that begins in line {begin} is not closed or not valid: {message}"


def _is_toml(text: str) -> bool:
    with suppress(ValueError, RecursionError):
        tomllib.loads(text)
        return True
    return False


def _yaml(text: str, label: str) -> tuple[dict[str, Any], Lines]:
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
        lines: Lines = {}
        for count, (path, line) in enumerate(_yaml_nodes(node)):
            if count == _MOST:
                raise ConfigError(f"{label} has more than {_MOST:,} values, each alias counted as what it stands for")
            if path in lines:
                name = ".".join(path)
                raise ConfigError(f"{label}: {name} is set twice, in lines {lines[path]} and {line}: remove one")
            if path:
                lines[path] = line
        values = loader.construct_document(node) if node else None
    except yaml.MarkedYAMLError as error:
        marks = [mark.line + 1 for mark in (error.problem_mark, error.context_mark) if mark]
        where = ", line " + ", in the value that begins in line ".join(map(str, dict.fromkeys(marks))) if marks else ""
        raise ConfigError(f"{label} is not valid YAML: {error.problem}{where}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{label} is not valid YAML: {error}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{label} has a value that is not valid, too long or too deep") from None
    if values is not None and not isinstance(values, dict):
        raise ConfigError(f"{label} must be a table of settings, not {type(values).__name__}")
    return values or {}, lines


def _yaml_nodes(top: Any) -> Iterator[tuple[KeyPath, int]]:
    """Yield the path and the line of each YAML node; those in lists have no path.

    It has no end for a node that contains itself.
    """
    waiting: list[tuple[KeyPath, int, Any]] = [((), 0, top)] if top else []
    while waiting:
        path, line, node = waiting.pop()
        yield path, line
        if node.id == "sequence":
            waiting += [((), 0, item) for item in node.value]
        elif node.id == "mapping":
            has_path = (path or node is top) and len(path) <= _DEEPEST
            for key, item in reversed(node.value):
                below = (*path, key.value) if has_path and key.id == "scalar" else ()
                waiting.append((below, key.start_mark.line + 1, item))


def _lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Yield the keys of a TOML text with their lines. A line may be wrong in rare cases; no value depends on it."""
    section: KeyPath = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            section = _split(header[1])
        elif key := _KEY.match(line):
            yield (*section, *_split(key[1])), number


def _split(dotted: str) -> KeyPath:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
