"""Numbers that languages read a thousandfold otherwise: support only where each is read as its own text reads it."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.conflicts import conflicts
from leadline_plugins.checks.judge import judge
from leadline_plugins.checks.passages import passage


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The tower weighs 1.250 tonnes.", "The tower weighs 1,250 tonnes."),
        ("The mean of the runs was 1.125 seconds.", "The mean of the runs was 1125 seconds."),
        ("The price rose to $1.500 in March.", "The price rose to $1,500 in March."),
        ("The market grew by 3.500 percent.", "The market grew by 3500 percent."),
        ("这座塔的重量为1.250吨。", "这座塔的重量为1,250吨。"),
        ("Der Turm wiegt heute nach dem Umbau 1,250 Tonnen.", "Der Turm wiegt heute nach dem Umbau 1250 Tonnen."),
    ],
)
def test_what_agrees_only_in_the_reading_of_another_language_is_to_be_asked(claim: str, text: str) -> None:
    assert judge(claim, text).verdict == "partial"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The tower weighs 1,250 tonnes.", "The tower weighs 1250 tonnes today."),
        ("The tower weighs 1.250 tonnes.", "The tower weighs 1.250 tonnes today."),
        ("Der Turm wiegt 1250 Tonnen und ist rot.", "Der Turm wiegt heute 1.250 Tonnen und ist rot."),
        ("Der Turm wiegt 1.250 Tonnen und ist rot.", "Der Turm wiegt heute 1 250 Tonnen und ist rot."),
        ("Le projet coûte 12 500 euros.", "Le projet coûte 12.500 euros."),
    ],
)
def test_what_agrees_as_its_own_language_reads_it_is_borne(claim: str, text: str) -> None:
    assert judge(claim, text).verdict == "supported"


def test_texts_of_two_languages_are_each_read_as_their_own() -> None:
    claim, text = "The tower Alba weighs 1,250 tonnes.", "Der Turm Alba wiegt nach dem Umbau 1.250 Tonnen und ist rot."
    assert not list(conflicts(claim, passage(claim, text), text))
    other = "The tower Alba weighs 1.125 tonnes."
    text = text.replace("1.250", "1125")
    assert [one.said for one in conflicts(other, passage(other, text), text)] == ["1.125 tonnes"]
