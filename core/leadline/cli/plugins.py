"""`leadline plugins`: list and show plugins, with their status and settings; install and remove their packages."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from sysconfig import get_paths
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from leadline._hosting.catalog import PluginCatalog
from leadline._hosting.loading import AnyOffer, Plugin
from leadline._settings.load import Loaded, plugins_of
from leadline._settings.plugin_sections import variable_of
from leadline.commands import client_of
from leadline.commands.output import say, table, write, write_json
from leadline.display import choose_from
from leadline.errors import ConfigError, LeadlineError, UsageError
from leadline.hookspecs import AT_ONCE, KINDS, map_stage, stage
from leadline.inventory import InstalledPlugin


def list_(args: argparse.Namespace) -> int:
    """Print all plugins."""
    if args.kind and args.kind not in KINDS:
        raise UsageError(f"no such kind: {args.kind!r}; {choose_from(args.kind, KINDS)}")
    catalog, loaded = _read(args)
    found = plugins_of(catalog, catalog.entries(load=True), loaded)
    found = [plugin for plugin in found if not args.kind or args.kind in plugin.kinds]
    if args.json:
        write_json([plugin.model_dump() for plugin in found])
        return 0
    rows = [(one.name, ", ".join(one.kinds), _origin(one), one.status, one.lacks) for one in found]
    write(table(rows, ("NAME", "KIND", "FROM", "STATUS", "MISSING")))
    return 0


def _read(args: argparse.Namespace) -> tuple[PluginCatalog, Loaded | None]:
    """Return the plugins, and the settings if they can be read: without them nobody knows what the plugins lack."""
    client = client_of(args)
    try:
        loaded = client.load(complete=False)
        if loaded.selector.sections.invalid:
            raise ConfigError("\n".join(loaded.problems))
    except ConfigError as error:
        say(f"leadline: cannot check what the plugins need, because the settings cannot be read:\n{error}")
        return client.catalog, None
    return loaded.catalog, loaded


def _origin(plugin: InstalledPlugin) -> str:
    return f"{plugin.distribution} {plugin.version}".strip()


def show(args: argparse.Namespace) -> int:
    """Print the offers, requirements and settings of a plugin."""
    catalog, loaded = _read(args)
    base = args.name
    if loaded and not catalog.has(base) and base not in catalog.refused:
        base = loaded.selector.sections.base(base)
    if not catalog.has(base) and base not in catalog.refused:
        raise UsageError(f"no such plugin: {args.name!r}; {choose_from(args.name, catalog.names())}")
    plugin = catalog.load(base)
    (found,) = plugins_of(catalog, [catalog.entry(plugin)], loaded, "" if base == args.name else args.name)
    if args.json:
        write_json({**found.model_dump(), "offers": _offers(plugin, args.name), "settings": _settings(plugin)})
        return 0
    instance = f"{args.name}: a second instance of " if args.name != base else ""
    write(f"{instance}{plugin.name}  ({_origin(found)}, {found.status})")
    if found.lacks:
        write(f"  {found.lacks}")
    for kind, offer in plugin.offers.items():
        write(f"\n{kind}: {offer.summary}")
        write(table(_details(offer, plugin, args.name), indent="  "))
    _write_settings(plugin, args.name)
    return 0


def _write_settings(plugin: Plugin, name: str) -> None:
    fields = plugin.settings.model_fields.items()
    if not fields:
        write("\nThis plugin has no settings.")
        return
    write(f"\n[plugins.{name}]")
    rows = ((key, _type(field), _default_text(field), field.description or "") for key, field in fields)
    write(table(rows, ("setting", "type", "default", ""), indent="  "))


def _details(offer: AnyOffer, plugin: Plugin, name: str) -> Iterator[tuple[str, str]]:
    """Yield labelled details of an offer."""
    rows = [
        ("over", offer.over.name if isinstance(offer, map_stage) else ""),
        *_findings(offer),
        ("tasks", ", ".join(task.name for task in offer.tasks)),
        ("tools", ", ".join(tool.name for tool in offer.tools)),
        ("requires", ", ".join(offer.requires)),
        ("environment", ", ".join(f"{variable_of(plugin, name, field)} ({field})" for field in offer.env)),
        ("costs", "money or tokens" if offer.priced else ""),
        ("limits", _limits(offer)),
    ]
    yield from ((label, text) for label, text in rows if text)


def _findings(offer: AnyOffer) -> Iterator[tuple[str, str]]:
    if isinstance(offer, stage | map_stage):
        gives = (offer.gives,) if isinstance(offer, map_stage) else offer.gives
        keys = {"needs": offer.needs, "wants": offer.wants, "gives": gives, "may give": offer.may_give}
        for label, some in keys.items():
            yield label, ", ".join(key.name for key in some)


def _limits(offer: AnyOffer) -> str:
    if isinstance(offer, stage | map_stage):
        return ""
    limits = offer.limits
    every = f", one every {limits.interval:g} s" if limits.interval else ""
    timeout = f", {limits.timeout:g} s each" if limits.timeout else ""
    return f"{limits.at_once or AT_ONCE} at once{every}{timeout}"


def _offers(plugin: Plugin, name: str) -> dict[str, Any]:
    return {
        kind: {"summary": offer.summary, **dict(_details(offer, plugin, name))} for kind, offer in plugin.offers.items()
    }


def _settings(plugin: Plugin) -> dict[str, Any]:
    return {
        name: {
            "type": _type(field),
            "required": field.is_required(),
            "default": _default(field),
            "description": field.description or "",
        }
        for name, field in plugin.settings.model_fields.items()
    }


def _default_text(field: FieldInfo) -> str:
    return "(required)" if field.is_required() else json.dumps(_default(field))


def _default(field: FieldInfo) -> Any:
    if field.is_required():
        return None
    try:
        return to_jsonable_python(field.get_default(call_default_factory=True), fallback=repr)
    except Exception:  # noqa: BLE001 - the factory of a plugin may raise anything
        return "(unknown)"


def _type(field: FieldInfo) -> str:
    return _kind(field.annotation)


def _kind(kind: Any) -> str:
    """Return a type as people write it, without constraints."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _kind(inner[0])
    if origin in (Union, UnionType):
        return " | ".join(map(_kind, inner))
    if origin is Literal:
        return " | ".join(map(repr, inner))
    if kind in (None, NoneType):
        return "None"
    if inner:
        return f"{_kind(origin)}[{', '.join('...' if one is ... else _kind(one) for one in inner)}]"
    return kind.__name__ if isinstance(kind, type) else re.sub(r"\w+\.", "", str(kind))


# --- packages --------------------------------------------------------------------------------------------------------


def install(args: argparse.Namespace) -> int:
    """Install or update packages in the environment that runs Leadline."""
    return _change("install", *(["--upgrade"] if args.upgrade else []), packages=args.packages)


def remove(args: argparse.Namespace) -> int:
    """Remove packages from the environment that runs Leadline."""
    if "leadline" in (package.lower() for package in args.packages):
        raise UsageError("leadline itself is no plugin; to remove it, use what installed it")
    return _change("uninstall", packages=args.packages)


def _change(verb: str, *options: str, packages: Sequence[str]) -> int:
    """Call pip, or uv where there is no pip. Raises `UsageError` with what to do where neither may change anything."""
    what = shlex.join(packages)
    if other := _other_way(verb, what):
        raise UsageError(f"the packages of this environment cannot be changed here; instead: {other}")
    uv = shutil.which("uv")
    if find_spec("pip"):
        command = [sys.executable, "-m", "pip", verb, *options, *(["--yes"] if verb == "uninstall" else []), *packages]
    elif uv:
        command = [uv, "pip", verb, "--python", sys.executable, *options, *packages]
    else:
        raise UsageError(f"this environment has neither pip nor uv: {sys.executable} -m ensurepip installs pip")
    if code := subprocess.call(command):  # noqa: S603 - what the user asked for
        raise LeadlineError(f"{shlex.join(command)} ended with exit code {code}")
    say("Next: leadline plugins list")
    return 0


def _other_way(verb: str, what: str) -> str:
    """Return how to change the packages of an environment that another tool made; empty if pip or uv may."""
    prefix, adds = Path(sys.prefix), verb == "install"
    if (prefix / "uv-receipt.toml").exists():
        return f"uv tool install leadline --with {what}" if adds else "uv tool install leadline, without --with"
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx {'inject' if adds else 'uninject'} leadline {what}"
    if "archive-v0" in prefix.parts or "environments-v2" in prefix.parts:  # of uvx, made anew by each call
        return f"uvx --with {what} leadline" if adds else "uvx without --with"
    packages = Path(get_paths()["purelib"])
    managed = sys.prefix == sys.base_prefix and (Path(get_paths()["stdlib"]) / "EXTERNALLY-MANAGED").exists()
    if managed or not os.access(packages, os.W_OK):
        why = "is managed by the system" if managed else "is read-only"
        return f"in an image, RUN pip {verb} {what}; else install Leadline in a venv of your own: {packages} {why}"
    return ""
