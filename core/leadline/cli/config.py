"""`leadline config`: show settings with their origins, check them, write a commented file; `leadline trust`."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from leadline._hosting.catalog import PluginCatalog
from leadline._settings.layers import ENVIRONMENT_VARIABLE
from leadline._settings.load import load_settings, settings_of
from leadline._settings.schema import commented_toml
from leadline._settings.sources import Sources
from leadline._settings.trust import trust
from leadline.commands import agrees, client_of, interactive
from leadline.commands.output import say, table, write, write_json
from leadline.errors import ConfigError, LeadlineError, UntrustedSettings, UsageError

# A folder without a settings file.
NOWHERE = Path("/nonexistent")


def show(args: argparse.Namespace) -> int:
    """Print every setting and its origin."""
    loaded = client_of(args).load(complete=False)
    settings = settings_of(loaded, private=True)
    if args.json:
        write_json({key: setting.model_dump() for key, setting in settings.items()})
    else:
        rows = ((key, setting.origin, _text(setting.value)) for key, setting in settings.items())
        write(table(rows, ("KEY", "FROM", "VALUE")))
    _print_errors(loaded.problems)
    return 0


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def check(args: argparse.Namespace) -> int:
    """Print all errors; return 0 or the exit code of invalid settings.

    Each other pipeline that the user defined or changed is checked as if it were selected.
    """
    loaded = client_of(args).load(complete=False)
    origins = loaded.origins.items()
    written = {key.split(".")[1] for key, origin in origins if key.startswith("pipelines.") and origin != "default"}
    problems = [*loaded.problems]
    for name in loaded.settings.pipelines:
        if name in written and name != loaded.settings.pipeline:
            problems += client_of(args, name).load(complete=False).problems
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    for name in loaded.environments:
        if name != chosen:
            os.environ[ENVIRONMENT_VARIABLE] = name  # the process ends with this command
            others = client_of(args).load(complete=False).problems
            problems += [f"[environments.{name}] {problem}" for problem in others if problem not in loaded.problems]
    for notice in loaded.notices:
        say(f"note: {notice}")
    if not problems:
        write("The settings are valid.")
    return _print_errors(dict.fromkeys(problems))


def _print_errors(problems: Collection[str]) -> int:
    for problem in problems:
        say(f"leadline: {problem}")
    return ConfigError.exit_code if problems else 0


def init(args: argparse.Namespace) -> int:
    """Write a settings file with every key commented out at its default."""
    path = Path(args.path)
    # Use the defaults and ignore existing settings, so that a broken file can be replaced.
    loaded = load_settings(PluginCatalog.discover(), Sources(NOWHERE, {}, user_file=NOWHERE), complete=False)
    try:
        with path.open("w" if args.force else "x", encoding="utf-8") as file:
            file.write(commented_toml(loaded.settings))
    except FileExistsError:
        raise UsageError(f"{path} exists; use --force to overwrite it") from None
    except OSError as error:
        raise LeadlineError(f"cannot write {path}: {error.strerror or error}") from error
    write(f"Wrote {path}: every setting with its default. To see the current settings: leadline config show")
    return 0


# --- leadline trust ---------------------------------------------------------------------------------------------------


def trust_folder(args: argparse.Namespace) -> int:
    """Trust what the settings of the working folder set now, and print it."""
    if error := client_of(args).load(complete=False).untrusted:
        path = trust(Sources(Path.cwd(), os.environ), error.digests)
        write("\n".join([*error.lines, f"Trusted in {Path.cwd()} while these values stay; remembered in {path}."]))
    else:
        write("The settings of this folder need no consent, or have it.")
    return 0


def consented(error: UntrustedSettings) -> bool:
    """Return whether the user at the terminal agrees, and remember it."""
    if not interactive():
        return False
    say("\n  ".join(["The settings of this folder could act with your rights:", *error.lines]))
    if agree := agrees("Do you know who wrote them, and trust them?"):
        trust(Sources(Path.cwd(), os.environ), error.digests)
    return agree
