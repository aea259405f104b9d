"""What people are told of a reply that was not taken."""

from __future__ import annotations

from typing import Literal

import pytest

from leadline._runtime.replies.parsing import CUT, WrongForm, describe_refusal
from leadline.errors import BadReply
from leadline.records import ChatReply, Message


def reply(text: str, finish: Literal["stop", "length", "content_filter"] = "stop") -> ChatReply:
    return ChatReply(message=Message(role="assistant", text=text), finish_reason=finish)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (WrongForm('the reply is no Plan: "sections" must be a list'), "it does not have the requested form"),
        (
            BadReply("it cites none of the passages: put the id there; it is 1 words long: more"),
            "it cites none of the passages; it is 1 words long",
        ),
        (BadReply("the reply ends in the middle: complete it"), "the reply ends in the middle"),
    ],
)
def test_people_read_what_was_wrong_and_not_what_the_model_is_to_do(error: BadReply, said: str) -> None:
    assert describe_refusal(error, reply("{}")) == f"the model's reply could not be used: {said}"


def test_who_was_stopped_is_not_said_to_have_missed_a_form() -> None:
    error = WrongForm("there is no JSON object in it")
    assert describe_refusal(error, reply('{"text": "It is', "length")) == CUT
    assert describe_refusal(error, reply("", "content_filter")) == "the vendor's content filter stopped the reply"
