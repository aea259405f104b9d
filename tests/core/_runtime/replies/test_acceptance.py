"""What people are told of a reply that was not taken."""

from __future__ import annotations

from typing import Literal

import pytest

from leadline._runtime.replies.parsing import CUT, WrongForm, describe_refusal
from leadline.errors import BadReply
from leadline.records import ChatReply, Message, Notice


def reply(text: str, finish: Literal["stop", "length", "content_filter"] = "stop") -> ChatReply:
    return ChatReply(message=Message(role="assistant", text=text), finish_reason=finish)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (WrongForm('the reply is no Plan: "sections" must be a list'), "it does not have the requested form"),
        (
            BadReply(Notice.several([Notice("it cites none").because("put the id there"), Notice("it has 1 word")])),
            "it cites none; it has 1 word",
        ),
        (BadReply(Notice("the reply ends in the middle").because("complete it")), "the reply ends in the middle"),
        (BadReply("it is about: nothing; at all"), "it is about: nothing; at all"),
    ],
)
def test_the_reason_for_users_has_no_instructions_for_the_model(error: BadReply, said: str) -> None:
    assert describe_refusal(error, reply("{}")) == f"the model's reply could not be used: {said}"


def test_a_stopped_reply_is_not_reported_as_a_wrong_form() -> None:
    error = WrongForm("there is no JSON object in it")
    assert describe_refusal(error, reply('{"text": "It is', "length")) == CUT
    assert describe_refusal(error, reply("", "content_filter")) == "the vendor's content filter stopped the reply"
