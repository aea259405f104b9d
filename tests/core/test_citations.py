"""Citations in the text of a report: what counts as one, and that none is shown as it is written."""

from __future__ import annotations

import pytest

from leadline.citations import cited, number, uncited
from leadline.testing.fakes import quoting


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Nine fathoms [@e1].", ["e1"]),
        ("Nine [@e1][@e2].", ["e1", "e2"]),
        ("Nine [@e1, e2].", ["e1", "e2"]),
        ("Nine [@e1,@e2; e3].", ["e1", "e2", "e3"]),
        ("九英寻[@e1、e2]。", ["e1", "e2"]),
        ("Nine [@e1 @e2].", ["e1", "e2"]),
        ("Escaped \\[@e1, e2].", []),
        ("Open [@e1, e2", []),
        ("Empty [@] and [@ e1].", []),
    ],
)
def test_ids_are_read_alone_and_in_lists(text: str, ids: list[str]) -> None:
    assert cited(text) == ids
    assert "e1" not in uncited(text) or not ids


@pytest.mark.parametrize("marks", ["[@e1, e2]", "[@e1; @e2]", "[@e1, @nowhere, e2]", "([@e1, e2])", "[@e1, e2][@e1]"])
def test_a_list_of_ids_is_rendered_as_numbers(marks: str) -> None:
    numbered = number(quoting("Nine fathoms [@e1]. Ten [@e2].", quotes=("Nine fathoms.", "Ten fathoms.")))
    shown = numbered.render(f"Nine fathoms {marks}.")
    assert "@" not in shown
    assert shown.startswith("Nine fathoms [1]")
    assert number(quoting(f"Nine fathoms {marks}.", quotes=("Nine fathoms.", "Ten fathoms."))).by_evidence.keys() >= {
        "e1"
    }
