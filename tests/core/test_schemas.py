"""Schemas of replies: compact, closed, and the same for a prompt and for strict decoding."""

from __future__ import annotations

import json

from leadline.records import Record
from leadline.research_findings import Plan
from leadline.schemas import INTEGER, TEXT, list_of, object_of, one_of, schema_of
from leadline_plugins.ai.openai.chat_completions import strict_schema


class Part(Record):
    """A part with a docstring."""

    title: str = "none"
    description: str | None = None


class Whole(Record):
    properties: tuple[Part, ...] = ()
    counts: dict[str, int] = {}


def test_a_derived_schema_has_no_titles_defaults_or_descriptions() -> None:
    properties = schema_of(Whole)["properties"]
    assert properties["properties"]["items"] == {
        "type": "object",
        "properties": {"title": {"type": "string"}, "description": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        "required": ["title", "description"],
        "additionalProperties": False,
    }
    assert "docstring" not in json.dumps(schema_of(Whole))


class Tree(Record):
    branches: tuple[Tree, ...] = ()


def test_a_record_that_contains_itself_has_references() -> None:
    assert schema_of(Tree)["$ref"] == "#/$defs/Tree"


def test_free_keys_are_kept_open() -> None:
    counts = schema_of(Whole)["properties"]["counts"]
    assert counts == {"type": "object", "additionalProperties": {"type": "integer"}}


def test_strict_decoding_changes_nothing() -> None:
    written = object_of(name=one_of("a", "b"), parts=list_of(object_of(text=TEXT, count=INTEGER)))
    assert strict_schema(written) == written
    assert strict_schema(schema_of(Plan)) == schema_of(Plan)
