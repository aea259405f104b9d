"""A claim in another language than its passage: where few words agree, that says nothing of whether it is borne."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.judge import judge

HELD = "The government passed its new budget in March 2024, after the council had asked for it."


@pytest.mark.parametrize(
    ("claim", "code"),
    [
        ("El gobierno aprobó el nuevo presupuesto en marzo de 2024.", "es"),
        ("政府在2024年3月通过了新的预算。", "zh"),
        ("Правительство приняло новый бюджет.", "ru"),
    ],
)
def test_what_words_cannot_tell_is_left_open(claim: str, code: str) -> None:
    found = judge(claim, HELD)
    assert found.verdict == "partial"
    assert f"({code})" in found.reason
    assert "(en)" in found.reason


@pytest.mark.parametrize(
    "claim",
    ["El gobierno aprobó el nuevo presupuesto en abril de 2023.", "The mouse sat upon a big red hat of the queen."],
)
def test_a_missing_figure_decides_in_any_language_and_words_do_in_one(claim: str) -> None:
    assert judge(claim, HELD).verdict == "unsupported"
