"""What the templates say must be what the tasks check."""

from __future__ import annotations

import pytest

from leadline_plugins.prompts import names, template


@pytest.mark.parametrize("name", ["analyze", "clarify", "digest", "plan", "synthesize", "write", "write_whole"])
def test_who_writes_is_told_the_language_that_is_checked(name: str) -> None:
    assert "in the given language, or else in that of the question" in " ".join(template(name).split())


@pytest.mark.parametrize("name", names())
def test_a_template_has_at_most_25_lines(name: str) -> None:
    assert len(template(name).strip().splitlines()) <= 25


@pytest.mark.parametrize("name", names())
def test_the_language_of_the_words_asked_in_is_not_what_a_template_names(name: str) -> None:
    assert "in the language of the question" not in " ".join(template(name).split())
