"""What stands over a row of a table, in a page."""

from __future__ import annotations

import pytest

from leadline_plugins.text.rows import heads_over

PAGE = """# Tolls

| Topic | **Ashby** | Elmford |
|---|:--|--:|
| Carts | a penny | none |
| Boats | It was two. Then three | none |
More is said | below.

a | b
--|--
1 | 2

Not | a table
3 | 4
"""


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("| Carts", "Topic | Ashby | Elmford"),
        ("| Boats", "Topic | Ashby | Elmford"),
        ("Then three", "Boats | Ashby"),
        ("1 | 2", "a | b"),
        ("| Topic", ""),
        ("# Tolls", ""),
        ("3 | 4", ""),
        ("Not |", ""),
    ],
)
def test_a_row_stands_under_the_head_of_its_table_and_a_part_of_it_under_its_column(place: str, told: str) -> None:
    assert heads_over(PAGE, PAGE.index(place)) == told


def test_a_page_without_tables_has_no_heads() -> None:
    assert heads_over("", 0) == heads_over("One. Two.", 5) == ""
    assert heads_over("|--|\n| 1 |", 5) == ""
