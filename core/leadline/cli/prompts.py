"""`leadline prompts`: list the tasks of models, and show the full text of each prompt."""

from __future__ import annotations

import argparse
from typing import Any

from leadline._hosting.catalog import OWN
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

_HEADERS = ("TASK", "ASKED BY", "ROLE", "INPUTS", "REPLY", "TEMPLATE FROM")


def list_(args: argparse.Namespace) -> int:
    """Print all tasks."""
    loaded, tasks = _all(client_of(args))
    rows = [_about(item, loaded) for item in tasks]
    if args.json:
        write_json(rows)
    else:
        write(table([tuple(row.values()) for row in rows], _HEADERS))
    return 0


def show(args: argparse.Namespace) -> int:
    """Print the prompt of one task, or of all. Raises `UsageError` for an unknown task."""
    loaded, tasks = _all(client_of(args))
    wanted = [item for item in tasks if args.name in ("", item.task.name)]
    if not wanted:
        raise UsageError(f"no such task: {args.name!r}; {choose_from(args.name, {item.task.name for item in tasks})}")
    details = [_details(item, loaded) for item in wanted]
    if args.json:
        write_json(details[0] if len(details) == 1 else details)
    else:
        write("\n\n\n".join(_text(item, data) for item, data in zip(wanted, details, strict=True)))
    return 0


def _all(client: Client) -> tuple[Loaded, list[Declared]]:
    """Return the settings and all tasks sorted by name; print errors in the settings without stopping."""
    loaded = client.load(complete=False)
    for problem in loaded.problems:
        say(f"leadline: {problem}")
    for notice in loaded.notices:
        if notice.startswith("prompts."):
            say(f"note: {notice}")
    return loaded, sorted(declared(loaded.catalog.loadable()), key=lambda item: (item.task.name, item.plugin.name))


def _about(item: Declared, loaded: Loaded) -> dict[str, Any]:
    """Return a task as JSON data, with the origin of the template that a run would use."""
    task, template = item.task, "built-in" if item.plugin.distribution == OWN else str(item.plugin)
    return {
        "task": task.name,
        "asked_by": item.plugin.name,
        "role": task.role,
        "inputs": task.inputs.__name__,
        "reply": task.reply.__name__,
        "template_from": loaded.origins.get(f"prompts.{task.name}", template),
    }


def _details(item: Declared, loaded: Loaded) -> dict[str, Any]:
    task, template = item.task, template_of(item.task, loaded.settings.prompts).strip()
    messages = [{"role": message.role, "text": message.text} for message in prompt_messages(task, template)]
    form = {} if task.reply is Message else {"example": task.example, "schema": reply_schema(task)}
    return {**_about(item, loaded), "template": template, "messages": messages, **form}


def _text(item: Declared, data: dict[str, Any]) -> str:
    task = item.task
    head = f"{task.name}  (asked by {item.plugin.name}, role {task.role}, template from {data['template_from']})"
    messages = [f"--- {message['role']} ---\n{message['text']}" for message in data["messages"]]
    note = "" if task.reply is Message else f"Reply: {task.reply.__name__}. "
    template = f'To replace the template, set prompts.{task.name} = "FILE.md".'
    template += "".join(f" Of its part {part}, set prompts.{part}." for part in task.parts)
    replace = f"{note}{template} To choose the model, set ai.tasks.{task.name}."
    return "\n\n".join([head, *messages, replace])
