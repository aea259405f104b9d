"""What people read of a reply that is streamed."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from leadline._runtime.replies.streamed_text import BETWEEN, StreamedText

PLAN = {
    "title": "Depth",
    "queries": ["a", {"title": "no, b"}],
    "sections": [{"id": "1", "title": 'The "bay"\n\U0001f30a'}],
}


def read(text: str, *fields: str, size: int = 1) -> str:
    prose = StreamedText(fields)
    return "".join(said for at in range(0, len(text), size) for _, said in prose.take(text[at : at + size]))


def test_only_texts_of_the_fields_are_read() -> None:
    assert read(json.dumps({"id": "1", "text": "Deep.", "n": [1, "x"]}), "text") == "Deep."
    assert read(json.dumps(PLAN), "title") == 'Depth\nno, b\nThe "bay"\n\U0001f30a'
    assert read(json.dumps({"goals": ["a", "b"], "c": "d"}), "goals") == "a\nb"


def test_a_text_comes_with_the_id_of_its_section_even_in_pieces() -> None:
    reply = json.dumps({"sections": [{"id": "s-1", "text": "Deep."}, {"id": "s-22", "text": "Wide."}], "note": "no"})
    prose, sections = StreamedText(["text"]), dict[str, str]()
    for character in reply:
        for section, said in prose.take(character):
            sections[section] = sections.get(section, "") + said
    assert sections == {"s-1": "Deep.", "s-22": "\nWide."}


def test_text_around_the_json_is_not_read() -> None:
    assert read('Here: ```json\n{"text": "Deep."}\n```', "text") == "Deep."
    assert read("No JSON at all, text.", "text") == ""


def test_a_cut_reply_is_read_to_its_end() -> None:
    assert read('{"text": "Deep and wi\\', "text") == "Deep and wi"
    assert read('{"text": "Deep \\ud83c', "text") == "Deep "


text = st.text(max_size=20)
values = st.recursive(
    text | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)


def texts(value: object, field: str = "") -> list[str]:
    if isinstance(value, dict):
        return [one for name, inner in value.items() for one in texts(inner, name)]
    if isinstance(value, list):
        return [one for inner in value for one in texts(inner, field)]
    return [value] if isinstance(value, str) and value and field == "text" else []


@given(st.dictionaries(text | st.just("text"), values, max_size=4), st.booleans(), st.integers(1, 9))
def test_streamed_text_does_not_depend_on_the_pieces(reply: dict[str, object], plain: bool, size: int) -> None:
    said = json.dumps(reply, ensure_ascii=plain)
    assert read(said, "text", size=size) == BETWEEN.join(texts(json.loads(said)))


@given(st.text(alphabet='{}[]:,"\\ux0d8 ', max_size=60))
def test_any_text_can_be_read(said: str) -> None:
    assert isinstance(read(said, "x", "", size=3), str)
