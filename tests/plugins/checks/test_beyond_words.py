"""What words alone cannot see, as the documentation says: it passes as supported, by words and never exactly."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.judge import judge


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("All patients recovered within two weeks.", "Some patients recovered within two weeks."),
        ("The dam fills always in spring.", "In most years the dam fills in spring."),
        ("Hamburg is the largest port of Germany.", "Hamburg is a large port of Germany."),
        ("Drinking coffee lowers the risk of stroke.", "Those drinking coffee have a lower risk of stroke."),
        ("Ajax beat Feyenoord in the final of 1998.", "In the final of 1998 Feyenoord beat Ajax."),
        ("Exports were 40 tons in 1990 and 60 tons in 1995.", "Exports were 60 tons in 1990 and 40 tons in 1995."),
        ("The bank will cut rates in June.", "The bank may cut rates in June."),
        ("The bridge was built in spring by the city.", "The city plans that the bridge be built in spring."),
    ],
)
def test_it_is_supported_by_words_and_left_to_a_model(claim: str, passage: str) -> None:
    found = judge(claim, passage)
    assert (found.verdict, found.exact) == ("supported", False)
