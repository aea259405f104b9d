"""Replies: what a caller gets is what the journal will give."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.journal.wire import compact, decode, encode, indented, lined
from leadline.records import Blob, Document, Embeddings, Hit, Message, Record, SearchPage


class Loose(Record):
    value: Any = None


class Narrow(Hit):
    more: str = ""


def test_a_reply_comes_back_as_it_was() -> None:
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
        (Loose(value=float("nan")), Loose, "value is not the same when read again"),
        (Loose(value=(1, 2)), Loose, "value is not the same when read again"),
        (Loose(value=object()), Loose, "does not survive JSON"),
        (
            SearchPage(hits=(Narrow(url="u", more="lost"),)),
            SearchPage,
            "hits is not the same when read again",
        ),
    ],
)
def test_what_would_not_come_back_the_same_is_refused(reply: Any, model: type[Record], words: str) -> None:
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
def test_what_is_written_for_files_and_prompts_is_utf8_whatever_stands_in_it(value: object, written: str) -> None:
    assert written in compact(value).decode()
    assert json.loads(indented(value)) == json.loads(compact(value))


@given(st.dictionaries(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists)))
def test_what_is_written_for_models_is_json_too(fields: dict[str, Any]) -> None:
    assert json.loads(lined(fields)) == json.loads(compact(fields))


def test_what_is_written_for_models_has_a_field_a_line_and_of_a_list_an_item_a_line() -> None:
    written = lined({"round": 1, "past": [{"query": "a"}, {"query": "b", "hits": [1, 2]}], "gaps": ["c"]}).decode()
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


def test_labels_have_one_json_whatever_their_order() -> None:
    names = [f"label {number}" for number in range(12)]
    one, other = (Hit(url="https://example.org/", labels=frozenset(some)) for some in (names, reversed(names)))
    assert one.model_dump_json() == other.model_dump_json()
    assert json.loads(compact((one,)))[0]["labels"] == sorted(names)
    assert decode(compact(one), Hit) == one
