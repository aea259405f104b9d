"""`leadline plugins`: what is installed, whether it can work here, and what each plugin may be told."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python

from leadline.cli.out import say, table, write, write_json
from leadline.errors import ConfigError, UsageError
from leadline.hookspecs import KINDS, MapOffer, StageOffer
from leadline.host import Entry, Host
from leadline.loading import AnyOffer, Plugin
from leadline.nearest import choose_from
from leadline.settings import obstacles


def list_(args: argparse.Namespace) -> int:
    """Print all plugins."""
    if args.kind and args.kind not in KINDS:
        raise UsageError(f"no such kind: {args.kind!r}; {choose_from(args.kind, KINDS)}")
    host = Host.discover()
    entries = [entry for entry in host.catalog(load=True) if not args.kind or args.kind in entry.kinds]
    lacks = _lacks(host, entries, args)
    if args.json:
        write_json([_data(entry, lacks.get(entry.name, "")) for entry in entries])
        return 0
    headers = ("NAME", "KIND", "FROM", "STATUS", "LACKS")
    write(table([_row(entry, lacks.get(entry.name, "")) for entry in entries], headers))
    return 0


def _lacks(host: Host, entries: list[Entry], args: argparse.Namespace) -> dict[str, str]:
    """Return what each plugin lacks; settings that cannot be read take only this part of the listing away."""
    loaded = [host.load(entry.name) for entry in entries if entry.status != "broken"]
    try:
        return obstacles(host, loaded, sets=args.set, file=Path(args.settings) if args.settings else None)
    except ConfigError as error:
        say(f"leadline: what the plugins lack cannot be told, since the settings cannot be read:\n{error}")
        return {}


def _status(entry: Entry, lacks: str) -> str:
    return "incomplete" if lacks and entry.status == "ready" else entry.status


def _row(entry: Entry, lacks: str) -> tuple[str, ...]:
    origin = f"{entry.distribution} {entry.version}".strip()
    return entry.name, ", ".join(entry.kinds), origin, _status(entry, lacks), entry.problem or lacks


def _data(entry: Entry, lacks: str) -> dict[str, Any]:
    return {
        "name": entry.name,
        "kinds": list(entry.kinds),
        "distribution": entry.distribution,
        "version": entry.version,
        "status": _status(entry, lacks),
        "lacks": entry.problem or lacks,
    }


def show(args: argparse.Namespace) -> int:
    """Print what a plugin offers, needs, and may be told."""
    host = Host.discover()
    plugin = host.load(args.name)
    entry = next(entry for entry in host.catalog(load=True) if entry.name == plugin.name)
    lacks = _lacks(host, [entry], args).get(plugin.name, "")
    if args.json:
        write_json({**_data(entry, lacks), "offers": _offers(plugin), "settings": _settings(plugin)})
        return 0
    write(f"{plugin.name}  ({entry.distribution} {entry.version}, {_status(entry, lacks)})")
    if entry.problem or lacks:
        write(f"  {entry.problem or lacks}")
    for kind, offer in plugin.offers.items():
        write(f"\n{kind}: {offer.summary}")
        write(table(_details(offer), indent="  "))
    _write_settings(plugin)
    return 0


def _write_settings(plugin: Plugin) -> None:
    fields = plugin.settings.model_fields.items()
    if not fields:
        write("\nNo settings of its own.")
        return
    write(f"\n[plugins.{plugin.name}]")
    rows = ((name, _type(field), json.dumps(_default(field)), field.description or "") for name, field in fields)
    write(table(rows, ("setting", "type", "default", ""), indent="  "))


def _details(offer: AnyOffer) -> Iterator[tuple[str, str]]:
    """Yield what an offer needs and gives, under labels."""
    rows = [
        ("over", offer.over.name if isinstance(offer, MapOffer) else ""),
        *_findings(offer),
        ("tasks", ", ".join(task.name for task in offer.tasks)),
        ("tools", ", ".join(tool.name for tool in offer.tools)),
        ("requires", ", ".join(offer.requires)),
        ("environment", ", ".join(f"{variable} ({field})" for field, variable in offer.env.items())),
        ("costs", "money or tokens" if offer.priced else ""),
        ("limits", _limits(offer)),
    ]
    yield from ((label, text) for label, text in rows if text)


def _findings(offer: AnyOffer) -> Iterator[tuple[str, str]]:
    if isinstance(offer, StageOffer | MapOffer):
        gives = (offer.gives,) if isinstance(offer, MapOffer) else offer.gives
        keys = {"needs": offer.needs, "wants": offer.wants, "gives": gives, "may give": offer.may_give}
        for label, some in keys.items():
            yield label, ", ".join(key.name for key in some)


def _limits(offer: AnyOffer) -> str:
    if isinstance(offer, StageOffer | MapOffer):
        return ""
    every = f", one every {offer.interval:g} s" if offer.interval else ""
    timeout = f", {offer.timeout:g} s each" if offer.timeout else ""
    return f"{offer.at_once} at once{every}{timeout}"


def _offers(plugin: Plugin) -> dict[str, Any]:
    return {kind: {"summary": offer.summary, **dict(_details(offer))} for kind, offer in plugin.offers.items()}


def _settings(plugin: Plugin) -> dict[str, Any]:
    return {
        name: {"type": _type(field), "default": _default(field), "description": field.description or ""}
        for name, field in plugin.settings.model_fields.items()
    }


def _default(field: FieldInfo) -> Any:
    value = field.get_default(call_default_factory=True)
    return "(required)" if value is PydanticUndefined else to_jsonable_python(value)


def _type(field: FieldInfo) -> str:
    kind = field.annotation
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else re.sub(r"\w+\.", "", str(kind))
