"""Replies that were cut off: no sentence without its end, no sentence without its citation."""

from __future__ import annotations

import json
import time
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.forms import Composition, WrittenSection

from leadline._runtime.replies.parsing import parse
from leadline._runtime.replies.salvage import whole_sentences
from leadline.errors import BadReply
from leadline.records import SINGLE, Record
from leadline.research_findings import Digest, Plan


class Learning(Record):
    claim: str
    quote: str


class Learnings(Record):
    learnings: tuple[Annotated[Learning, SINGLE], ...] = ()


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Ports pay [@e1]. Ships pay mo", "Ports pay [@e1]."),
        ("Ports pay. [@e1] Ships pay mo", "Ports pay. [@e1]"),
        ("Ports pay. [@e1][@e2]\n\nShips pay. [@e", "Ports pay. [@e1][@e2]"),
        ("Ports pay. [@e1] Ships pay more. Crews pay", "Ports pay. [@e1]"),
        ("Ports pay. Ships pay mo", "Ports pay."),
        ("Ports pay 3.5 million, e.g. for cab", ""),
        ("Ports pay. It cost 13.", "Ports pay."),
        ("Ports pay 13. Ships p", "Ports pay 13."),
        ("Ports pay. [@e1]\n\n## Ships\n\nShips p", "Ports pay. [@e1]"),
        ("Ports pay.\n\n## 2. Ships\n\nShips p", "Ports pay."),
        ("- Ports pay [@e1]\n- Ships pay [@e2]\n- Crews", "- Ports pay [@e1]\n- Ships pay [@e2]"),
        ("港口付费。[@e1]船只付", "港口付费。[@e1]"),
        ("港口付费。船只付费。码头", "港口付费。船只付费。"),
        ("“Ports pay.” Ships p", "“Ports pay.”"),
        ("Ports pa", ""),
        ("", ""),
    ],
)
def test_a_text_ends_with_its_last_whole_sentence(text: str, whole: str) -> None:
    assert whole_sentences(text) == whole


@given(
    st.lists(st.sampled_from(["Ports pay [@e1]. ", "Ships, too. [@e2] ", "Crews? [@e3]\n\n"]), max_size=6), st.data()
)
def test_a_shortened_text_is_a_beginning_of_the_text(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    left = whole_sentences(text[: data.draw(st.integers(0, len(text)))])
    assert text.startswith(left)
    assert "[@" not in left or left.endswith(("[@e1].", "[@e2]", "[@e3]"))


def test_long_texts_are_shortened_in_linear_time() -> None:
    began = time.process_time()
    for unit in (". ", "[@e1]", ".\n", "a. b ", "[@", '."', ". [@e1] "):
        whole_sentences(unit * 100_000)
        whole_sentences("a." + unit[-1] * 200_000)
    assert time.process_time() - began < 5


def test_only_the_last_text_of_a_reply_was_cut() -> None:
    said = '{"title": "Ports", "summary": "Who pays? Ports, mostly", "conclusion": "They pay. And ships, t'
    read = parse(said, Composition, cut=True)
    assert (read.title, read.summary, read.conclusion) == ("Ports", "Who pays? Ports, mostly", "They pay.")


def test_a_complete_object_before_a_cut_is_unchanged() -> None:
    assert parse('{"text": "Ports pay"} and this is', WrittenSection, cut=True).text == "Ports pay"


def test_the_last_item_of_a_cut_list_is_left_out() -> None:
    plan = json.dumps({"title": "T", "sections": [{"id": name, "title": f"Title {name}"} for name in "123"]})
    for cut in range(5, 25):
        assert [one.title for one in parse(plan[:-cut], Plan, cut=True).sections] == ["Title 1", "Title 2"]
    (only,) = parse('{"title": "T", "sections": [{"id": "1", "title": "A", "goal": "Say it', Plan, cut=True).sections
    assert (only.id, only.title) == ("1", "A")
    (only,) = parse('{"title": "T", "sections": [{"title": "A", "goal": "Say it. An', Plan, cut=True).sections
    assert only.goal == "Say it."
    said = '{"learnings": [{"claim": "A.", "quote": "B."}, {"claim": "C.", "quote": "D and'
    assert [one.quote for one in parse(said, Learnings, cut=True).learnings] == ["B."]


@pytest.mark.parametrize("title", ["What went wr", ""])
def test_a_cut_title_is_left_out(title: str) -> None:
    said = '{"title": "T", "sections": [{"id": "1", "title": "' + title
    with pytest.raises(BadReply):
        parse(said, Plan, cut=True)
    (one,) = parse('{"title": "T", "sections": [{"id": "1", "title": "What went wrong"', Plan, cut=True).sections
    assert one.title == "What went wrong"


def test_a_cut_only_item_is_left_out() -> None:
    said = '{"review": {"is_sufficient": true, "priority_gaps": ["Who pa'
    review = parse(said, Digest, cut=True).review
    assert review is not None
    assert (review.is_sufficient, review.priority_gaps) == (True, ())


def test_complete_items_of_an_inner_record_are_kept() -> None:
    said = '{"review": {"is_sufficient": true, "priority_gaps": ["Who pays", "Wh'
    review = parse(said, Digest, cut=True).review
    assert review is not None
    assert (review.is_sufficient, review.priority_gaps) == (True, ("Who pays",))


@pytest.mark.parametrize("text", ['{"text": "Ports pa', '{"text": "', "Ports pay for it " * 20])
def test_a_reply_without_a_complete_part_is_refused(text: str) -> None:
    with pytest.raises(BadReply):
        parse(text, WrittenSection, cut=True)
