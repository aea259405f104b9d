from __future__ import annotations

import pytest

from leadline_plugins.documents.names import Names, name


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Kansas (band)", "They admired Kansas, and said so."),
        ("The Black Sands", "He sang for the black sand's choir."),
        ("吕凯 (蜀汉)", "后来吕凯被叛夷所杀。"),
    ],
)
def test_a_title_is_found_where_it_is_mentioned(title: str, text: str) -> None:
    assert set(Names([name(title), ""]).mentioned(text)) == {name(title)}


def test_a_part_of_a_title_is_no_mention() -> None:
    assert list(Names([name("Black Sand Beach")]).mentioned("The black sand of the beach")) == []
    assert name("a title " * 10) == ""
