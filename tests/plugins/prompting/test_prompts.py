"""Every prompt of the built-in plugins: its length, its example, its schema, its placeholders."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leadline._runtime.models.task_messages import prompt_messages
from leadline._runtime.replies.parsing import parse_reply
from leadline._settings.task_settings import declared
from leadline.client import Client
from leadline.records import Message
from leadline.tasks import TaskKind, reply_schema
from leadline_plugins.ai.openai.chat_completions import strict_schema

MOST_LINES = 25
KINDS = [one.task for one in declared(Client().catalog.loadable()) if one.plugin.distribution == "leadline"]
REPLYING = [kind for kind in KINDS if kind.reply is not Message]
_TYPES: dict[str, Any] = {
    "string": str,
    "number": int | float,
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def name_of(kind: TaskKind[Any, Any]) -> str:
    return kind.name


def mismatches(value: Any, schema: Any, place: str = "reply") -> list[str]:
    """Return where a value does not match a schema of the kind that replies have."""
    if branches := schema.get("anyOf"):
        return min((mismatches(value, branch, place) for branch in branches), key=len)
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, _TYPES[name]) for name in types):
        return [f"{place} is not of type {types}"]
    if value not in schema.get("enum", [value]):
        return [f"{place} is none of the choices"]
    if isinstance(value, dict) and value.keys() != schema["properties"].keys():
        return [f"{place} has the keys {list(value)}"]
    parts: list[tuple[Any, Any, str]] = []
    if isinstance(value, list):
        parts = [(item, schema["items"], f"{place}[{index}]") for index, item in enumerate(value)]
    elif isinstance(value, dict):
        parts = [(item, schema["properties"][key], f"{place}.{key}") for key, item in value.items()]
    return [found for part in parts for found in mismatches(*part)]


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_instructions_are_short(kind: TaskKind[Any, Any]) -> None:
    assert 0 < len(kind.prompt.strip().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("kind", REPLYING, ids=name_of)
def test_an_example_matches_the_schema_and_reads_as_the_reply(kind: TaskKind[Any, Any]) -> None:
    assert kind.example, "each prompt has an example"
    assert not mismatches(json.loads(kind.example), reply_schema(kind))
    read = parse_reply(kind.example, kind.reply)
    assert (read.broken, read.left_out) == (False, 0)
    assert read.reply.model_fields_set == json.loads(kind.example).keys()


@pytest.mark.parametrize("kind", REPLYING, ids=name_of)
def test_strict_decoding_takes_a_schema_as_it_is_shown(kind: TaskKind[Any, Any]) -> None:
    assert strict_schema(reply_schema(kind)) == reply_schema(kind)


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_placeholders_show_the_layout_of_the_inputs(kind: TaskKind[Any, Any]) -> None:
    system, user = prompt_messages(kind, kind.prompt)
    assert kind.prompt.strip() in system.text
    assert user.text.startswith("<data>\n")
    assert "{text}" in user.text
