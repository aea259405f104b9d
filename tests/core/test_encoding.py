"""Replies: what a caller gets is what the journal will give."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.encoding import decode, encode, json_bytes, prompt_json
from leadline.records import Blob, Document, Embeddings, Hit, Message, Record, SearchPage


class Loose(Record):
    value: Any = None


class Narrow(Hit):
    more: str = ""


def test_a_reply_survives_encoding() -> None:
    blob = Blob(name="a.bin", media_type="x/y", data=bytes(range(256)))
    data, again = encode(blob, Blob)
    assert decode(data, Blob) == again == blob
    assert again is not blob


def test_lone_surrogates_are_replaced() -> None:
    document = Document(text="a\ud800b", title="\udfff")
    assert (
        decode(encode(document, Document)[0], Document)
        == encode(document, Document)[1]
        == Document(text="a\ufffdb", title="\ufffd")
    )


def test_lone_surrogates_are_replaced_in_depth() -> None:
    page = SearchPage(hits=(Hit(url="u", csl={"author": [{"family\ud800": "x\ud800"}]}),))
    assert encode(page, SearchPage)[1].hits[0].csl == {"author": [{"family\ufffd": "x\ufffd"}]}


@pytest.mark.parametrize(
    ("reply", "model", "words"),
    [
        ("text", Document, "the reply is str, not Document"),
        (None, Document, "the reply is NoneType, not Document"),
        (Embeddings(vectors=((float("nan"),),)), Embeddings, "does not survive JSON"),
        (Loose(value=float("nan")), Loose, "value changes"),
        (Loose(value=(1, 2)), Loose, "value changes"),
        (Loose(value=object()), Loose, "does not survive JSON"),
        (
            SearchPage(hits=(Narrow(url="u", more="lost"),)),
            SearchPage,
            "hits changes",
        ),
    ],
)
def test_replies_that_json_would_change_are_refused(reply: Any, model: type[Record], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        encode(reply, model)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"\ud800": "a", "b": ["\udc80", 1.5, None]}, '{"\ufffd":"a","b":["\ufffd",1.5,null]}'),
        (Message(role="user", text="x\ud800"), '"text":"x\ufffd"'),
        ((Message(role="user", text="測深"),), '[{"role":"user","text":"測深"'),
    ],
)
def test_json_for_files_is_utf8_whatever_the_text(value: object, written: str) -> None:
    assert written in json_bytes(value).decode()


@given(st.dictionaries(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=8)))
def test_json_for_prompts_is_json(fields: dict[str, Any]) -> None:
    assert json.loads(prompt_json(fields)) == json.loads(json_bytes(fields))


def test_json_for_prompts_has_a_line_per_field_and_item() -> None:
    past = [{"query": "a"}, {"query": "b", "hits": [1, 2]}]
    written = prompt_json({"round": 1, "past": past, "gaps": ["c"]}).decode()
    assert written.split("\n") == [
        "{",
        '"round": 1,',
        '"past": [',
        '{"query":"a"},',
        '{"query":"b","hits":[1,2]}',
        "],",
        '"gaps": ["c"]',
        "}",
    ]


def test_labels_have_the_same_json_in_any_order() -> None:
    names = [f"label {number}" for number in range(12)]
    one, other = (Hit(url="https://example.org/", labels=frozenset(some)) for some in (names, reversed(names)))
    assert one.model_dump_json() == other.model_dump_json()
    assert json.loads(json_bytes((one,)))[0]["labels"] == sorted(names)
    assert decode(json_bytes(one), Hit) == one
