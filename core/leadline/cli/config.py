"""`leadline config`: every setting with its origin, all that is wrong with them, a commented file to begin with."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from pydantic import SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

from leadline.assemble import House
from leadline.cli.common import client_of
from leadline.cli.out import say, table, write, write_json
from leadline.errors import ConfigError, LeadlineError, UsageError
from leadline.hosting.host import Host
from leadline.runs.opening import pipeline_of
from leadline.settings.layers import leaves
from leadline.settings.load import Loaded, Settings, commented_toml, load_settings
from leadline.settings.pipelines import BUILT_IN
from leadline.settings.secrecy import in_address

MASK = "********"
NOWHERE = Path("/nonexistent")
"""Where no settings file stands."""


def show(args: argparse.Namespace) -> int:
    """Print every setting and where it comes from."""
    loaded = client_of(args).load(complete=False)
    values = leaves(loaded.settings.model_dump())
    rows = [(".".join(path), shown(value)) for path, value in values if value != {} or path[0] != "plugins"]
    if args.json:
        write_json({key: {"value": value, "origin": loaded.origins.get(key, "default")} for key, value in rows})
    else:
        lines = ((key, loaded.origins.get(key, "default"), _text(value)) for key, value in rows)
        write(table(lines, ("KEY", "FROM", "VALUE")))
    _tell(loaded.problems)
    return 0


def shown(value: Any) -> Any:
    """Return a value as JSON data, secrets masked."""
    if isinstance(value, SecretStr | SecretBytes):
        return MASK if value.get_secret_value() else ""
    if in_address(value):
        return MASK
    if isinstance(value, list | tuple | set | frozenset):
        return [shown(item) for item in value]
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    return to_jsonable_python(value)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def check(args: argparse.Namespace) -> int:
    """Say all that is wrong; 0 or the exit code of settings that cannot work."""
    loaded = client_of(args).load(complete=False)
    problems = _unfit(loaded)
    for name in _others(loaded.settings):
        problems += [told for told in _unfit(client_of(args, name).load(complete=False)) if told not in problems]
    for notice in loaded.notices:
        say(f"note: {notice}")
    if not problems:
        write("The settings can work.")
    return _tell(problems)


def _others(settings: Settings) -> list[str]:
    """Return the pipelines beside the chosen one that are not as they ship: who wrote them means to run them."""
    changed = (name for name, pipeline in settings.pipelines.items() if pipeline != BUILT_IN.get(name))
    return [name for name in changed if name != settings.pipeline]


def _unfit(loaded: Loaded) -> list[str]:
    """Return what is wrong with the settings, and where nothing is, with how the stages of the pipeline fit together.

    A pipeline is looked at as if it were chosen: so each is told what a run with it would tell.
    """
    if loaded.problems:
        return list(loaded.problems)
    try:
        pipeline_of(House(loaded), loaded.settings.pipeline)
    except ConfigError as error:
        return [str(error)]
    return []


def _tell(problems: list[str] | tuple[str, ...]) -> int:
    for problem in problems:
        say(f"leadline: {problem}")
    return ConfigError.exit_code if problems else 0


def init(args: argparse.Namespace) -> int:
    """Write a settings file in which every key stands with its default, commented out."""
    path = Path(args.path)
    # The defaults, whatever the settings here: a file that is broken can so be written anew.
    loaded = load_settings(Host.discover(), cwd=NOWHERE, environ={}, user_file=NOWHERE, complete=False)
    try:
        with path.open("w" if args.force else "x", encoding="utf-8") as file:
            file.write(commented_toml(type(loaded.settings)))
    except FileExistsError:
        raise UsageError(f"{path} is there already: --force writes over it") from None
    except OSError as error:
        raise LeadlineError(f"cannot write {path}: {error.strerror or error}") from error
    write(f"Wrote {path}: every setting with its default. See what holds: leadline config show")
    return 0
