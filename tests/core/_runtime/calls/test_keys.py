"""Keys: equal content gives equal keys, and what cannot be told apart safely is refused."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from leadline._runtime.calls.keys import call_text, dump, fingerprint, outline, plain
from leadline.encoding import digest
from leadline.records import Blob, Principal, Record, SearchRequest
from leadline.tasks import TaskRequest


class Newer(Record):
    query: str
    limit: int = 10
    language: str = ""
    cursor: str | None = None
    joined_later: tuple[str, ...] = ()


def key(request: Any, **changes: Any) -> str:
    parts = {"kind": "search", "provider": "tavily", "fingerprint": "", "request": request, "sample": 0} | changes
    return digest(call_text(**(parts | {"request": outline(plain(parts["request"]))})))


def test_fields_at_their_default_do_not_stand_in_the_key() -> None:
    assert dump(plain(SearchRequest(query="a", limit=10))) == b'{"query":"a"}'
    assert key(SearchRequest(query="a")) == key(Newer(query="a"))


def test_a_key_stays_the_same_over_releases() -> None:
    """Else every journal on every disk would be asked for again."""
    assert key(SearchRequest(query="lead", limit=5)) == "f6ab743dfc623a031dbd976fa9cef336"


@pytest.mark.parametrize(
    "change",
    [{"kind": "chat"}, {"provider": "exa"}, {"fingerprint": "1"}, {"sample": 1}, {"request": {"query": "b"}}],
)
def test_every_part_is_in_the_key(change: dict[str, Any]) -> None:
    assert key({"query": "a"}) != key(**({"request": {"query": "a"}} | change))


@pytest.mark.parametrize(
    "value",
    [
        {1},
        Path("/a"),
        datetime.now(UTC),
        float("nan"),
        float("inf"),
        Decimal("NaN"),
        SecretStr("s"),
        object(),
    ],
)
def test_values_that_differ_from_run_to_run_are_refused_with_their_path(value: object) -> None:
    with pytest.raises(TypeError, match=r"^request\.filters\[1\]\.value: "):
        plain({"filters": ["fine", {"value": value}]})


def test_mappings_have_text_for_keys() -> None:
    with pytest.raises(TypeError, match="request: a mapping's keys are text, not int"):
        plain({1: "a"})


def test_order_does_not_matter_where_it_has_no_meaning() -> None:
    assert dump(plain({"a": 1, "b": 2})) == dump(plain({"b": 2, "a": 1}))
    assert dump(plain(frozenset("cab"))) == b'["a","b","c"]'
    assert dump(plain(["a", "b"])) != dump(plain(["b", "a"]))


def test_bytes_and_lone_surrogates_have_a_canonical_form() -> None:
    assert dump(plain(Blob(name="a", media_type="b", data=b"\xff"))) == b'{"data":"/w==","media_type":"b","name":"a"}'
    assert dump(plain("\ud800")) == b'"\\ud800"'


def test_excluded_fields_are_left_out() -> None:
    assert dump(plain(Principal(id="ann", credential=SecretStr("hush")))) == b'{"id":"ann"}'


def test_fingerprints_tell_settings_apart() -> None:
    assert fingerprint({}) == ""
    assert fingerprint({"depth": "basic"}) != fingerprint({"depth": "advanced"})


def test_an_outline_cuts_long_texts_and_still_tells_them_apart() -> None:
    one, other = outline({"text": "a" * 5000 + "b"}), outline({"text": "a" * 5000 + "c"})
    assert one != other
    assert len(str(one)) < 300
    assert outline(["short", 1]) == ["short", 1]


def test_long_texts_stand_in_the_key_by_all_they_hold() -> None:
    long = {"text": "a" * 5000 + "b"}
    assert key(long) == "5c118894661c004f387eb1a09a012f47"
    assert key(long) != key({"text": "a" * 5000 + "c"})
    one, two = "x" * 500, "y" * 500
    assert key({"a": one, "b": two}) == key({"b": two, "a": one})
    assert key({"a": one, "b": two}) != key({"a": two, "b": one})


def test_a_text_that_looks_like_the_outline_of_another_is_not_taken_for_it() -> None:
    long = "a" * 5000
    like = outline(long)
    assert outline(like) != like
    assert key([long, like]) != key([like, long])
    assert key(long) != key(like) != key(outline(like))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_the_canonical_form_of_json_is_json_and_stable(value: Any) -> None:
    assert dump(plain(json.loads(dump(plain(value))))) == dump(plain(value))


def test_a_task_on_its_way_has_the_key_of_its_parts() -> None:
    inputs: Any = {"passages": [{"id": "e1", "score": 2}], "question": "why"}
    assert plain(TaskRequest(name="plan", inputs=inputs)) == {"name": "plan", "inputs": inputs}
    assert plain(TaskRequest(name="plan")) == {"name": "plan"}
