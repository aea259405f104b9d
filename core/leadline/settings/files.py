"""Settings files: TOML and YAML, the `.env` of the folder, and where the user's own file is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leadline.errors import ConfigError
from leadline.settings.layers import Layer, leaves

PROJECT_FILE = "leadline.toml"
FILES = (PROJECT_FILE, "leadline.yaml", "leadline.yml")
"""The names of a settings file, in this order: of several in a folder the first is read."""
_HEADER = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_\-.\"' ]+?)\s*=")


def read_file(path: Path, label: str) -> Layer:
    """Return what a settings file says, every value with its line. Raises `ConfigError` where it cannot be read."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{label}: cannot be read: {error}") from error
    if path.suffix in (".yaml", ".yml"):
        values, lines = _yaml(text, label)
    else:
        values, lines = _toml(text, label), dict(reversed([*_lines(text)]))
    layer = Layer()
    for where, value in leaves(values):
        if where:
            layer.put(where, value, _place(label, where, lines))
    return layer


def read_dotenv(path: Path) -> Mapping[str, str | None]:
    """Return the variables of a `.env` file; none where there is no file."""
    if not path.is_file():
        return {}
    from dotenv import dotenv_values  # most folders have no such file

    try:
        # No interpolation: a secret may hold `${`, and the process's environment is not this file's business.
        return dotenv_values(path, interpolate=False, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error


def user_file(environ: Mapping[str, str]) -> Path:
    """Return where the user's own settings are, by the XDG rules."""
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "leadline"
    return next(iter(files_in(folder)), folder / PROJECT_FILE)


def files_in(folder: Path) -> list[Path]:
    """Return the settings files of a folder, the one that is read first."""
    return [path for name in FILES if (path := folder / name).is_file()]


def _toml(text: str, label: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{label}: is no TOML: {error}") from None


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
        lines = dict(_yaml_lines(node))
        values = loader.construct_document(node) if node else None
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{label}: is no YAML: {error.problem}{line}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{label}: is no YAML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{label}: a table in it contains itself: write it out") from None
    if values is not None and not isinstance(values, dict):
        raise ConfigError(f"{label}: must be a table of settings, not {type(values).__name__}")
    return values or {}, lines


def _yaml_lines(
    node: Any, path: tuple[str, ...] = (), above: tuple[int, ...] = (), seen: set[int] | None = None
) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the keys of a YAML node with their lines; a node that stands in several places is gone through once.

    Else one that doubles another, and is doubled in turn, would take the time of all their places. Raises
    RecursionError for a node within itself.
    """
    seen = set() if seen is None else seen
    if id(node) in above:
        raise RecursionError
    if getattr(node, "id", "") != "mapping" or id(node) in seen:
        return
    seen.add(id(node))
    for key, value in node.value:
        if key.id == "scalar":
            yield (*path, key.value), key.start_mark.line + 1
            yield from _yaml_lines(value, (*path, key.value), (*above, id(node)), seen)


def _lines(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the keys of a TOML text with their lines. A plain scan: a wrong line costs a glance, not a setting."""
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
    return f"{label}:{line}" if line else label
