"""`leadline plugins check`: run the contract tests of a plugin, of an installed one or of a file."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path

from leadline._hosting.loading import Plugin, load_plugin
from leadline._settings.selection import KIND_OF_KEY
from leadline.commands import client_of
from leadline.commands.output import say
from leadline.errors import LeadlineError, UsageError
from leadline.hookspecs import GROUP, PluginSettings


def run(args: argparse.Namespace) -> int:
    """Run the tests by pytest; 0 if all pass. Raises `LeadlineError` without pytest."""
    if lacking := [name for name in ("pytest", "pytest_asyncio") if find_spec(name) is None]:
        install = " ".join(name.replace("_", "-") for name in lacking)
        raise LeadlineError(f"plugins check runs tests by pytest: pip install {install}")
    # By name: the kit imports the command line, for the contract of commands.
    check = import_module("leadline.testing.check").check
    file = Path(args.name)
    plugin = _of_file(file) if file.suffix == ".py" else client_of(args).catalog.load(args.name)
    code: int = check(plugin, None if file.suffix == ".py" else _settings(plugin, args), live=args.live)
    return code


def _of_file(file: Path) -> Plugin:
    """Return the plugin of a file."""
    if not file.is_file():
        raise UsageError(f"there is no file {file}; leadline plugins new KIND NAME writes one")
    sys.path.insert(0, str(file.parent.absolute()))
    return load_plugin(EntryPoint(file.stem, file.stem, GROUP))


def _settings(plugin: Plugin, args: argparse.Namespace) -> PluginSettings | None:
    """Return the settings of a plugin if it were selected; None, with the reason, if they are incomplete."""
    key = next((key for key, kind in KIND_OF_KEY.items() if kind in plugin.offers), "")
    loaded = client_of(args, set=[f"{key}={plugin.name}"] if key else []).load(complete=False)
    if plugin.name in loaded.plugins:
        settings: PluginSettings = loaded.settings.plugin(plugin.name)
        return settings
    for reason in (loaded.dropped.get(plugin.name, ""), *loaded.problems) if plugin.settings.model_fields else ():
        if reason:
            say(f"tested with default settings: {reason}")
    return None
