"""Texts while they are written, as a chat shows them."""

from __future__ import annotations

from typing import Any

import pytest

from leadline.events import utc_now
from leadline.records import Event
from leadline_server.openai.answers import Narration
from leadline_server.openai.writing import Answer


def event(kind: str, key: str = "", said: str = "", **data: Any) -> Event:
    about = {"key": key, **({"said": said} if said else {}), **data}
    return Event(seq=0, time=utc_now(), run_id="r", kind=kind, data=about)


def delta(key: str, said: str, **data: Any) -> Event:
    return event("call.delta", key, said, **data)


def notice(text: str) -> Event:
    return Event(seq=0, time=utc_now(), run_id="r", kind="notice", data={"message": text})


def test_texts_written_side_by_side_are_told_one_after_the_other() -> None:
    told = Narration("http://host/runs/r")
    events = [
        delta("a", "The quay "),
        delta("b", "The tide "),
        notice("slow"),
        delta("a", "is long."),
        delta("b", "is high."),
        event("call.finished", "b"),
        event("call.finished", "a"),
        notice("done"),
    ]
    assert [told.text(one) for one in events[:4]] == ["\n\nThe quay ", "", "", "is long."]
    assert [told.alive(), *(told.text(one) for one in events[4:])] == [
        "",
        "",
        "",
        "\n\n\n\nThe tide is high.\n\n- slow\n",
        "- done\n",
    ]


def test_a_text_that_is_written_anew_begins_anew() -> None:
    told = Narration("")
    events = [delta("a", "The key"), event("call.restart", "a"), delta("a", "The quay")]
    assert [told.text(one) for one in events] == ["\n\nThe key", "\n\n…\n\n", "The quay"]


def test_a_plan_is_told_by_its_message() -> None:
    assert Narration("").text(delta("a", "1. Tides", task="plan")) == ""


@pytest.mark.parametrize(
    ("pieces", "report", "rest"),
    [
        ([" The ", "sky ", "is blue.\n"], "The sky is blue.", ""),
        (["The sky"], "The sky is blue.", " is blue."),
        (["# The sky\n", "is blue."], "### The sky\n\nis blue.", ""),
        (["The key"], "The sky", "\n\n---\n\nThe sky"),
        ([], "The sky", "The sky"),
    ],
)
def test_missing_text_of_an_answer_is_sent_at_the_end(pieces: list[str], report: str, rest: str) -> None:
    answer = Answer()
    sent = [answer.text(delta("a", piece, answers=True)) for piece in pieces]
    assert "".join(sent) == answer.sent == "".join(pieces).strip()
    assert answer.rest(report) == rest


def test_a_second_reply_is_sent_when_it_is_whole() -> None:
    answer = Answer()
    events = [delta("a", "El cielo", answers=True), event("call.restart", "a"), delta("a", "The sky", answers=True)]
    assert [answer.text(one) for one in [*events, delta("b", "The sky", answers=True)]] == ["El cielo", "", "", ""]
    assert answer.rest("The sky") == "\n\n---\n\nThe sky"
