"""What the templates say must be what the tasks check."""

from __future__ import annotations

import pytest

from leadline_plugins.prompts import names, template


@pytest.mark.parametrize("name", ["analyze", "chart_plan", "digest", "plan", "synthesize", "write"])
def test_who_writes_is_told_the_language_that_is_checked(name: str) -> None:
    assert "language that `question.language` names" in " ".join(template(name).split())


@pytest.mark.parametrize("name", names())
def test_the_language_of_the_words_asked_in_is_not_what_a_template_names(name: str) -> None:
    assert "in the language of the question" not in " ".join(template(name).split())


def test_who_judges_is_told_which_words_bear_what_follows_and_the_language_of_reasons() -> None:
    told = " ".join(template("verify_claim").split())
    assert "Of what follows from others, as a difference, sum or share does, they are the words with those" in told
    assert "in `reason` one short sentence, in the language of the claim" in told
