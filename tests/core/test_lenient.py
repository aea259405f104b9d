"""What models write where JSON was asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadline.errors import BadReply
from leadline.lenient import objects
from leadline.records import Record
from leadline.tasks import parse


class Row(Record):
    name: str
    depths: tuple[float | None, ...] = ()


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "bay", "depths": [1, 2]}',
        '```json\n{"name": "bay", "depths": [1, 2]}\n```',
        'Sure!\n```\n{"name": "bay", "depths": [1, 2]}',
        'As asked: {"name": "bay", "depths": [1, 2]}. Anything else?',
        '<think>{"name": "lake"} or not?</think>\n{"name": "bay", "depths": [1, 2]}',
        '<think>{"name": "lake"} and no end {"name": "bay", "depths": [1, 2]}',
        '{"other": 1} {"name": "bay", "depths": [1, 2]} {"name": "sea"}',
        '{"name": "bay", "depths": [1, 2,],}',
        "{'name': 'bay', 'depths': [1, 2]}",
        '{name: "bay", depths: [1, 2]}',
        '{"name": "bay", // the name\n "depths": [1, 2] /* in fathoms */}',
        '{"name": "bay", "depths": [1, 2',
        '[{"name": "bay", "depths": [1, 2]}]',
        '{"name": "bay" "depths": [1 2]}',
    ],
)
def test_the_object_that_was_meant_is_found(text: str) -> None:
    if "no end" in text:  # a thought that never ends hides all: then the whole text is looked through
        assert parse(text, Row).name == "lake"
    else:
        assert parse(text, Row) == Row(name="bay", depths=(1, 2))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"name": "deep\nbay"}', "deep\nbay"),
        (r'{"name": "\alpha"}', "\\alpha"),
        ('{"name": "the "deep" bay"}', 'the "deep" bay'),
        ('{"name": "海湾", }', "海湾"),
    ],
)
def test_what_stands_in_texts_is_kept(text: str, name: str) -> None:
    assert parse(text, Row).name == name


def test_what_is_no_number_reads_as_none() -> None:
    assert parse('{"name": "bay", "depths": [NaN, Infinity, 3]}', Row).depths == (None, None, 3)


@pytest.mark.parametrize("text", ["", "I cannot.", "{", "{}{}", "[" * 5000, '{"a":' * 50_000, '{"a' * 50_000])
def test_a_reply_that_is_none_is_said_to_be_none(text: str) -> None:
    with pytest.raises(BadReply, match="the reply is no Row"):
        parse(text, Row)


@given(st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_no_text_breaks_it(text: str) -> None:
    assert all(isinstance(item, object) for item in objects(text + "{" + text))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8), json_values, max_size=4), st.sampled_from(["", "Here: ", "```json\n"]))
@settings(max_examples=200, deadline=None)
def test_sound_json_is_taken_as_it_stands(value: dict[str, Any], before: str) -> None:
    assert next(objects(before + json.dumps(value))) == value
