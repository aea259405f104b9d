"""Words of up and down deny each other, whichever verbs they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.checks.opposites import opposed

UP = ("rose", "climbed", "grew", "surged", "increased", "soared")
DOWN = ("fell", "declined", "dropped", "plunged", "decreased", "shrank")


@given(st.sampled_from(UP), st.sampled_from(DOWN), st.booleans())
def test_any_up_is_the_opposite_of_any_down(up: str, down: str, turned: bool) -> None:
    one, other = (down, up) if turned else (up, down)
    assert opposed(f"Sales of cars {one} by 18%.", f"Sales of cars {other} by 18%.") == (one, other)


@given(st.sampled_from(UP), st.sampled_from(UP))
def test_no_up_is_the_opposite_of_another(one: str, other: str) -> None:
    assert opposed(f"Sales of cars {one} by 18%.", f"Sales of cars {other} by 18%.") is None


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Der Umsatz stieg um 5 Prozent.", "Der Umsatz sank um 5 Prozent."),
        ("Der Umsatz erhöhte sich um 5 Prozent.", "Der Umsatz verringerte sich um 5 Prozent."),
        ("Les ventes ont augmenté de 5 %.", "Les ventes ont baissé de 5 %."),
        ("去年汽车销量上涨18%。", "去年汽车销量回落18%。"),
        ("环境质量改善。", "环境质量恶化。"),
        ("売上高は12%増えた。", "売上高は12%減った。"),
        ("매출이 12% 증가했다.", "매출이 12% 하락했다."),
    ],
)
def test_of_other_languages_too(claim: str, text: str) -> None:
    assert opposed(claim, text) is not None
    assert opposed(text, claim) is not None


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Sales of cars rose by 5%.", "Sales of cars climbed by 5%, before sales of cars fell."),
        ("Sales of cars rose before they fell.", "Sales of cars declined."),
        ("Sales of cars fell.", "The popularity of cake increased."),
    ],
)
def test_not_where_both_are_said_nor_of_other_things(claim: str, text: str) -> None:
    assert opposed(claim, text) is None
