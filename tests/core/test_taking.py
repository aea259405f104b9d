"""What people are told of a reply that was not taken."""

from __future__ import annotations

import pytest

from leadline.errors import BadReply
from leadline.parsing import NotInForm
from leadline.taking import in_words


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (NotInForm('the reply is no Plan: "sections" must be a list'), "it has not the form that was asked for"),
        (
            BadReply(
                "the reply is unusable: it cites none of the passages: put the id there; it is 1 words long: more"
            ),
            "it cites none of the passages; it is 1 words long",
        ),
        (BadReply("the reply ends in the middle: say it whole"), "the reply ends in the middle"),
    ],
)
def test_people_read_what_was_wrong_and_not_what_the_model_is_to_do(error: BadReply, said: str) -> None:
    assert in_words(error) == f"the model's reply could not be used: {said}"
