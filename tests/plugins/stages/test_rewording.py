"""Claims that a model says anew: which replies are taken, and how a sentence is made to fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.stages.fitting import body, fitted
from leadline_plugins.stages.rewording import ASK
from leadline_plugins.tasks.checking import ClaimToRepair, RepairRequest, Reworded, Rewordings


@pytest.mark.parametrize(
    ("ids", "language", "text", "wrong"),
    [
        (("1",), "en", "Somebody did.", ""),
        ((), "en", "", ""),
        (("7", "p1"), "en", "Somebody did.", "it says none of the claims anew by their ids (1)"),
        (("1",), "en", "有人测量了这个海湾。" * 6, "it is in zh and must be in en"),
        (("1",), "und", "有人测量了这个海湾。" * 6, ""),
    ],
)
def test_a_reply_that_answers_something_else_is_asked_for_again(
    ids: tuple[str, ...], language: str, text: str, wrong: str
) -> None:
    asked = RepairRequest(language=language, claims=(ClaimToRepair(id="1", claim="Beaufort did.", passages=()),))
    assert ASK.check
    assert ASK.check(asked, Rewordings(claims=tuple(Reworded(id=name, text=text) for name in ids))) == wrong


SIGNS = st.lists(
    st.sampled_from(["A rose", "月亮", ". ", "。", "**", "(", ")", "“", "”", "- ", "1. ", "> ", " ", "\n"])
)


@given(SIGNS, SIGNS)
def test_a_fitted_sentence_is_one_line_that_ends_as_the_old_one_did(new: list[str], old: list[str]) -> None:
    was = "".join(old).strip()
    kept = body(was)
    made = fitted("".join(new), kept)
    assert was.endswith(kept)
    assert "\n" not in made
    assert not made or made.rstrip("\"'”’»)*_ ").endswith((".", "。")) == kept.rstrip("\"'”’»)*_ ").endswith(
        (".", "。")
    )
