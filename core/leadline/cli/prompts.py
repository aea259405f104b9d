"""`leadline prompts`: list the tasks of models, and show the full text of each prompt."""

from __future__ import annotations

import argparse
from typing import Any

from leadline._hosting.loading import named
from leadline._runtime.models.task_messages import prompt_messages
from leadline._settings.load import Loaded
from leadline._settings.task_settings import Declared, declared
from leadline.client import Client
from leadline.commands import client_of
from leadline.commands.output import say, table, write, write_json
from leadline.display import choose_from
from leadline.errors import UsageError
from leadline.records import Message
from leadline.tasks import reply_schema, template_of

# The distribution whose templates are built in.
_OURS = "leadline"
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
    """Print the prompt of one task, or of all. Raises `UsageError` for an unknown task."""
    loaded, tasks = _all(client_of(args))
    found = [one for one in tasks if args.name in ("", one.task.name)]
    if not found:
        raise UsageError(f"no such task: {args.name!r}; {choose_from(args.name, {one.task.name for one in tasks})}")
    if args.json:
        data = [_details(one, loaded) for one in found]
        write_json(data[0] if len(data) == 1 else data)
    else:
        write("\n\n\n".join(_text(one, loaded) for one in found))
    return 0


def _all(client: Client) -> tuple[Loaded, list[Declared]]:
    """Return the settings and all tasks sorted by name; print errors in the settings without stopping."""
    loaded = client.load(complete=False)
    for problem in loaded.problems:
        say(f"leadline: {problem}")
    for notice in loaded.notices:
        if notice.startswith("prompts."):
            say(f"note: {notice}")
    return loaded, sorted(declared(loaded.catalog.loadable()), key=lambda one: (one.task.name, one.plugin.name))


def _row(one: Declared, loaded: Loaded) -> tuple[str, ...]:
    task = one.task
    return task.name, one.plugin.name, task.role, task.inputs.__name__, task.reply.__name__, _origin(one, loaded)


def _origin(one: Declared, loaded: Loaded) -> str:
    """Return the origin of the template that a run would use."""
    if one.task.name in loaded.settings.prompts:
        return loaded.origins[f"prompts.{one.task.name}"]
    plugin = one.plugin
    return "built-in" if plugin.distribution == _OURS else named(plugin.name, plugin.distribution, plugin.version)


def _template(one: Declared, loaded: Loaded) -> str:
    return template_of(one.task, loaded.settings.prompts).strip()


def _text(one: Declared, loaded: Loaded) -> str:
    task = one.task
    head = f"{task.name}  (asked by {one.plugin.name}, role {task.role}, template from {_origin(one, loaded)})"
    messages = [f"--- {message.role} ---\n{message.text}" for message in _messages(one, loaded)]
    note = "" if task.reply is Message else f"Reply: {task.reply.__name__}. "
    template = f'To replace the template, set prompts.{task.name} = "FILE.md".'
    template += "".join(f" Of its part {part}, set prompts.{part}." for part in task.parts)
    replace = f"{note}{template} To choose the model, set ai.tasks.{task.name}."
    return "\n\n".join([head, *messages, replace])


def _messages(one: Declared, loaded: Loaded) -> tuple[Message, ...]:
    return prompt_messages(one.task, _template(one, loaded))


def _data(one: Declared, loaded: Loaded) -> dict[str, Any]:
    return dict(zip(("task", "asked_by", "role", "inputs", "reply", "template_from"), _row(one, loaded), strict=True))


def _details(one: Declared, loaded: Loaded) -> dict[str, Any]:
    task = one.task
    messages = [{"role": message.role, "text": message.text} for message in _messages(one, loaded)]
    form = {} if task.reply is Message else {"example": task.example, "schema": reply_schema(task)}
    return {**_data(one, loaded), "template": _template(one, loaded), "messages": messages, **form}
