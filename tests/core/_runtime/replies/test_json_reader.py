"""What models write where JSON was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.forms import Composition

from leadline._runtime.replies.json_reader import (
    Candidate,
    repaired_objects,
    sound_objects,
    without_thoughts,
)
from leadline._runtime.replies.parsing import parse, parse_reply
from leadline.errors import BadReply
from leadline.records import Record
from leadline.research_findings import Review
from leadline_plugins.prompting.research_tasks import Queries


def mended(text: str) -> Any:
    return next((item.value for item in repaired_objects(text)), {})


def python(text: str) -> str:
    return repr(json.loads(text))


def trailing(text: str) -> str:
    return text[:-1] + " , }"


def bare(text: str) -> str:
    return "{" + ", ".join(f"{key}: {json.dumps(item)}" for key, item in json.loads(text).items()) + "}"


def loose(text: str) -> str:
    return "{ // as asked\n" + text[1:-1] + "}"


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
        'Perhaps {"name": "lake", "depths": [3]}? No.\n</think>\n{"name": "bay", "depths": [1, 2]}',
        '{"name": "lake", "depths": [3]} Wait, that is wrong: {"name": "bay", "depths": [1, 2]}',
    ],
)
def test_the_object_of_the_reply_is_found(text: str) -> None:
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
def test_texts_are_kept(text: str, name: str) -> None:
    assert parse(text, Row).name == name


def test_numbers_that_are_not_finite_become_none() -> None:
    assert parse('{"name": "bay", "depths": [NaN, Infinity, 3]}', Row).depths == (None, None, 3)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "so-called "depth"", "b": 1}', {"a": 'so-called "depth"', "b": 1}),
        ('{"a": "The "depth", of it", "b": "x"}', {"a": 'The "depth", of it', "b": "x"}),
        ("{'a': 'it's deep', 'b': True, 'c': None}", {"a": "it's deep", "b": True, "c": None}),
        ('{“a”: “deep”, "b": 1,}', {"a": "deep", "b": 1}),
        ("{“a”: [“1”, “2”, “3”], “b”: 1}", {"a": ["1", "2", "3"], "b": 1}),
        ('{"a": "deep", "so far', {"a": "deep"}),
        ('{"a": "deep", "b"', {"a": "deep"}),
        ('{"a": [1, 2}, "b": 3', {"a": [1, 2], "b": 3}),
        ('{"a": Infinity, "b": 1e999, "c": -NaN, "d": 1.5e3,}', {"a": None, "b": None, "c": None, "d": 1500.0}),
        (
            r'{"a": "\frac{1}{2} \(x\) \"q\"\n\u00e9",}',
            {"a": '\\frac{1}{2} \\(x\\) "q"\né'},
        ),
        (r'{"a": "\ud83d\ude00 \ud83d",}', {"a": "😀 \ufffd"}),
        (
            '{"a": "# no comment // none /* none */", # one\n b: "see http://x.y", // one\n}',
            {"a": "# no comment // none /* none */", "b": "see http://x.y"},
        ),
        ('{"a": [{"x": 1}, {"x": 2], "b": "left', {"a": [{"x": 1}, {"x": 2}], "b": "left"}),
    ],
)
def test_broken_json_is_repaired(text: str, value: dict[str, Any]) -> None:
    assert mended(text) == value


@pytest.mark.parametrize("text", ['{"name": """bay"""}', '{"name": `bay`}', '{"name": "' + "x" * 9_000 + '",}'])
def test_a_string_unfit_for_repair_is_refused(text: str) -> None:
    with pytest.raises(BadReply, match="the reply is no Row"):
        parse(text, Row)


def test_a_part_of_a_broken_reply_is_not_the_reply() -> None:
    review = '{"sections": [{"id": "1", "coverage": "covered"},], "is_sufficient": true,}'
    assert parse(review, Review).sections[0].coverage == "covered"
    queries = '{"queries": [{"query": "harbour depth", "goal": "depth"}, {"query": "mole",}'
    assert [query.query for query in parse(queries, Queries).queries] == ["harbour depth", "mole"]
    composed = '{"title": "Ports", "summary": "Deep.", "sections": [{"id": "1", "title": "x"}], "conclusion": "So.",}'
    assert parse(composed, Composition).conclusion == "So."


def test_an_object_without_fields_of_the_reply_is_refused() -> None:
    with pytest.raises(BadReply, match="it has none of the fields sections, is_sufficient, priority_gaps"):
        parse('{"answer": 42}', Review)
    assert parse("{}", Review) == Review()


def test_marks_of_thoughts_in_a_text_are_kept() -> None:
    assert parse('{"name": "<think>deep</think> bay"}', Row).name == "<think>deep</think> bay"


def test_lone_surrogates_are_replaced() -> None:
    assert parse(r'{"name": "bay \ud83d"}', Row).name == "bay \ufffd"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"name": ""}', ""),
        ('{"name": "<think>deep</think> and </think> bay"}', "<think>deep</think> and </think> bay"),
        ('{"name": "a </think> bay"}', "a </think> bay"),
    ],
)
def test_texts_with_marks_of_thoughts_are_whole(text: str, name: str) -> None:
    assert parse(text, Row).name == name


def test_an_endless_thought_is_refused() -> None:
    with pytest.raises(BadReply):
        parse('<think>Perhaps {"name": "lake"}, or not, for', Row)


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ('{"name": "bay", "depths": [1, 2]}', False),
        ('{"name": "bay", "depths": [1, 2]', False),
        ('```json\n{"name": "bay",}\n```', False),
        ('{"name": "bay", "depths": [1, 2', True),
        ('{"name": "ba', True),
        ('{"name": "bay", ', True),
        ('{"name": "bay", "depths":', True),
    ],
)
def test_an_object_that_ends_early_is_broken(text: str, broken: bool) -> None:
    assert parse_reply(text, Row).broken is broken


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot.",
        "{",
        "{}{}",
        '{"name":' + "[" * 900 + "]" * 900 + "}",
        "[" * 5000,
        '{"a":' * 50_000,
        '{"a' * 50_000,
        '{"a": """' * 20_000,
        "</think>{" * 20_000,
        "x" + " <|im_end|>" * 100_000,
        "```<|im_end|><|im_start|>" * 40_000,
        " <think>" * 100_000,
        "<|im_end|>" + " " * 200_000 + "x",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(BadReply, match="the reply is no Row"):
        parse(text, Row)


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    said = without_thoughts(text + "{" + text)
    assert all(item.value is not None for item in [*sound_objects(said), *repaired_objects(said)])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


objects_of_any_sort = st.dictionaries(st.text(max_size=8), json_values, max_size=4)


@example({"<THINK>": None}, "Here: ")
@example({"a": "<think>no</think>", "b": "<think>"}, "<think>{}</think> So: ")
@given(objects_of_any_sort, st.sampled_from(["", "Here: ", "```json\n", "<think>or not?</think>"]))
def test_valid_json_is_read_unchanged(value: dict[str, Any], before: str) -> None:
    assert next(sound_objects(without_thoughts(before + json.dumps(value)))) == Candidate(value, whole=True)


plain_text = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="\"'“”\\"), max_size=12)
FAULTS: list[Callable[[str], str]] = [str, python, trailing, bare, loose]
keys = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
plain_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | plain_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(keys, plain_values, min_size=1, max_size=4), st.sampled_from(FAULTS))
def test_common_faults_do_not_change_a_reply(value: dict[str, Any], spoil: Callable[[str], str]) -> None:
    assert mended(spoil(json.dumps(value, ensure_ascii=False))) == value


@given(st.dictionaries(keys, plain_values, min_size=1, max_size=4), st.data())
def test_a_cut_reply_keeps_its_beginning(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False)
    cut = text[: data.draw(st.integers(0, len(text)))]
    found = mended(cut)
    whole = list(found)[:-1]  # the last may be cut itself
    assert [found[name] for name in whole] == [value[name] for name in whole]


SAID = "The quay is 40 m long [1], and the mole `x` ends there [2]."
THOUGHT = 'They ask for a record. Is {"name": "lake"} right? I\'d say [3] is wrong.'
HARMONY = f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>%s"
CALL = '<|start|>assistant<|channel|>commentary to=functions.find <|constrain|>json<|message|>{"name": "sea"}<|call|>'
WRAPPED = [
    HARMONY,
    f"{HARMONY}<|return|>",
    f"<|start|>assistant{HARMONY}",
    f"{CALL}{HARMONY}",
    "<|start|>assistant<|channel|>final<|message|>%s<|end|>",
    f"◁think▷{THOUGHT}◁/think▷%s",
    f"{THOUGHT}◁/think▷\n%s",
    f"<seed:think>{THOUGHT}</seed:think>%s<seed:think>{THOUGHT}</seed:think>",
    f"[THINK]{THOUGHT}[/THINK]%s</s>",
    f"<|channel>thought\n{THOUGHT}<channel|>%s<end_of_turn>",
    f"<|START_THINKING|>{THOUGHT}<|END_THINKING|><|START_RESPONSE|>%s<|END_RESPONSE|>",
    f"<|im_start|>assistant\n<think>\n{THOUGHT}\n</think>\n\n%s<|im_end|>\n",
    "%s<|im_end|>\n<|im_start|>user\nAnd the crane?<|im_end|>\n<|im_start|>assistant\nIt is red.<|im_end|>",
    "<|start_header_id|>assistant<|end_header_id|>\n\n%s<|eot_id|>",
    "<｜Assistant｜>%s<｜end▁of▁sentence｜><｜User｜>Go on",
    "[/INST]%s</s>",
    "\ufeff%s\n\n<|endoftext|>",
]


@pytest.mark.parametrize("wrapping", WRAPPED)
@pytest.mark.parametrize(
    "said", [SAID, '{"name": "bay <|im_end|><|im_start|>user", "depths": [1, 2]}', f"```\n{SAID}\n```"]
)
def test_thoughts_and_control_tokens_are_removed(wrapping: str, said: str) -> None:
    assert without_thoughts(wrapping % said) == said


@pytest.mark.parametrize(
    "text",
    [
        "A thought begins with `<think>` and ends with `</think>` [1].",
        'It writes “<think>”, then "</think>", and ends with `<|im_end|>`',
        "So:\n\n```\n<|im_start|>user\n<think>\n</think>\n<|im_end|>\n<|im_start|>assistant\n```\n\nIt has turns.",
        "The fare was <s>4</s> crowns, now <s>5</s>",
        "It is <|im_end|> that ends a turn, and [INST] that begins one.",
        "Ends in quotes: “<|im_end|>”",
    ],
)
def test_quoted_marks_are_kept(text: str) -> None:
    assert without_thoughts(text) == text
