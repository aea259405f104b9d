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


@pytest.mark.parametrize(
    ("text", "declines"),
    [
        ("I'm sorry, but I can't help with that.", True),
        ("I cannot assist with this request.", True),
        ("抱歉，我无法回答这个问题。", True),
        ("申し訳ありませんが、お手伝いできません。", True),
        ("Es tut mir leid, dabei kann ich nicht helfen.", True),
        ("The company is sorry for its losses.", False),
        ('{"text": "I am sorry to say"}', False),
        ("I'm sorry. " + "The bay is deep. " * 60, False),
        ("", False),
    ],
)
def test_who_declines_is_not_said_to_have_missed_a_form(text: str, declines: bool) -> None:
    said = describe_refusal(WrongForm("there is no JSON object in it"), reply(text))
    assert said.endswith("it declines the task") is declines
    assert describe_refusal(BadReply("it cites nothing"), reply(text)).endswith("it cites nothing")


def test_who_was_stopped_is_not_said_to_have_missed_a_form() -> None:
    error = WrongForm("there is no JSON object in it")
    assert describe_refusal(error, reply('{"text": "It is', "length")) == CUT
    assert describe_refusal(error, reply("", "content_filter")) == "the vendor's content filter stopped the reply"
    assert describe_refusal(error, reply("I cannot help with that.", "content_filter")).endswith("it declines the task")
