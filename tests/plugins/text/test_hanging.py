"""Sentences that depend on the one before, and those that do not."""

from __future__ import annotations

import pytest

from leadline_plugins.text.hanging import hangs_on


@pytest.mark.parametrize(
    "said",
    [
        "It fell.",
        "As a result, it fell.",
        "Outcome: 4 crowns.",
        "- Results: none",
        "其中，税收下降。",
        "三是增加支出。",
    ],
)
def test_what_names_nobody_hangs_on_what_stands_before_it(said: str) -> None:
    assert hangs_on(said)


@pytest.mark.parametrize(
    "said", ["Lorn fell.", "Results of 1931 rose.", "In 1931, Lorn rose.", "一般公共预算收入增长。"]
)
def test_what_names_its_subject_hangs_on_nothing(said: str) -> None:
    assert not hangs_on(said)
