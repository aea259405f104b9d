"""`leadline prompts`: what models are asked and told, task by task, and where each template comes from."""

from __future__ import annotations

import argparse
from typing import Any

from leadline.api import Client
from leadline.cli.common import client_of
from leadline.cli.out import say, table, write, write_json
from leadline.errors import UsageError
from leadline.hosting.loading import named
from leadline.models.declared import Declared, declared
from leadline.nearest import choose_from
from leadline.records import Record
from leadline.schemas import schema_of
from leadline.settings.load import Loaded

_OURS = "leadline"
"""The distribution whose templates are the built-in ones."""
_HEADERS = ("TASK", "ASKED BY", "ROLE", "INPUTS", "REPLY", "TEMPLATE FROM")


def list_(args: argparse.Namespace) -> int:
    """Print all tasks."""
    loaded, tasks = _all(client_of(args))
    if args.json:
        write_json([_data(one, loaded) for one in tasks])
    else:
        write(table([_row(one, loaded) for one in tasks], _HEADERS))
    return 0


def show(args: argparse.Namespace) -> int:
    """Print a task: its template, its inputs, its reply. Raises `UsageError` where nobody asks it."""
    loaded, tasks = _all(client_of(args))
    found = [one for one in tasks if one.task.name == args.name]
    if not found:
        raise UsageError(f"no such task: {args.name!r}; {choose_from(args.name, {one.task.name for one in tasks})}")
    if args.json:
        data = [_whole(one, loaded) for one in found]
        write_json(data[0] if len(data) == 1 else data)
    else:
        write("\n\n".join(_shown(one, loaded) for one in found))
    return 0


def _all(client: Client) -> tuple[Loaded, list[Declared]]:
    """Return the settings and all tasks by name; what is wrong with the settings is told, and stops nothing."""
    loaded = client.load(complete=False)
    for problem in loaded.problems:
        say(f"leadline: {problem}")
    for notice in loaded.notices:
        if notice.startswith("prompts."):
            say(f"note: {notice}")
    return loaded, sorted(declared(client.host.loadable()), key=lambda one: (one.task.name, one.plugin.name))


def _row(one: Declared, loaded: Loaded) -> tuple[str, ...]:
    task = one.task
    return task.name, one.plugin.name, task.role, task.inputs.__name__, task.reply.__name__, _origin(one, loaded)


def _origin(one: Declared, loaded: Loaded) -> str:
    """Return where the template stands that a run would use."""
    if one.task.name in loaded.settings.prompts:
        return loaded.origins[f"prompts.{one.task.name}"]
    plugin = one.plugin
    return "built-in" if plugin.distribution == _OURS else named(plugin.name, plugin.distribution, plugin.version)


def _template(one: Declared, loaded: Loaded) -> str:
    return loaded.settings.prompts.get(one.task.name, one.task.prompt).strip()


def _shown(one: Declared, loaded: Loaded) -> str:
    task = one.task
    head = f"{task.name}  (asked by {one.plugin.name}, role {task.role}, template from {_origin(one, loaded)})"
    parts = [head, _template(one, loaded) or "(no template: only the inputs and the schema of the reply are sent)"]
    records: tuple[tuple[str, type[Record]], ...] = (("Inputs", task.inputs), ("Reply", task.reply))
    for label, record in records:
        form: Any = schema_of(record)
        parts.append(f"{label}: {record.__name__}. {_about(record)}".rstrip() + f"\n{_fields(form)}")
        parts += [f"{name}:\n{_fields(one)}" for name, one in form.get("$defs", {}).items() if "properties" in one]
    parts.append(f'Replace the template: prompts.{task.name} = "FILE.md"; the model: ai.tasks.{task.name}')
    return "\n\n".join(parts)


def _about(record: type[Record]) -> str:
    """Return the first line of a record's docstring; empty where its author wrote none."""
    return next(iter((record.__doc__ or "").strip().splitlines()), "")


def _fields(form: Any) -> str:
    """Return the fields of a record's JSON schema: name, type, whether it must be given."""
    needed = form.get("required", ())
    rows = ((name, _type(one), "required" if name in needed else "") for name, one in form["properties"].items())
    return table(rows, ("field", "type", ""), indent="  ")


def _type(form: Any) -> str:
    """Return the type of a field in a word or two, from its JSON schema."""
    if "$ref" in form:
        return str(form["$ref"]).rpartition("/")[2]
    if choices := form.get("enum"):
        return " | ".join(map(str, choices))
    if branches := form.get("anyOf"):
        return " | ".join(map(_type, branches))
    kind = str(form.get("type", "any"))
    return f"list of {_type(form['items'])}" if "items" in form else kind


def _data(one: Declared, loaded: Loaded) -> dict[str, Any]:
    return dict(zip(("task", "asked_by", "role", "inputs", "reply", "template_from"), _row(one, loaded), strict=True))


def _whole(one: Declared, loaded: Loaded) -> dict[str, Any]:
    inputs: type[Record] = one.task.inputs
    reply: type[Record] = one.task.reply
    schemas = {"inputs_schema": schema_of(inputs), "reply_schema": schema_of(reply)}
    return {**_data(one, loaded), "template": _template(one, loaded), **schemas}
