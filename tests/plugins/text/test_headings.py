"""The headings over a place of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.text.headings import Headings, unnamed

PAGE = """# Growth after 1945

Europe grew. [1]

## Europe

### Germany [2]

- **Education:** schooling was extended.

**Sweden**

It taxed.

## Asia ##

Japan
-----

It made steel.

```
# no heading
```

Korea saved.

=====
"""


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("Europe grew", ("Growth after 1945",)),
        ("schooling", ("Growth after 1945", "Europe", "Germany")),
        ("It taxed", ("Growth after 1945", "Europe", "Germany", "Sweden")),
        ("It made steel", ("Growth after 1945", "Japan")),
        ("Korea saved", ("Growth after 1945", "Japan")),
        ("# Growth", ()),
        ("## Europe", ("Growth after 1945",)),
    ],
)
def test_a_place_stands_under_the_headings_before_it(words: str, path: tuple[str, ...]) -> None:
    assert Headings(PAGE).over(PAGE.index(words)) == path


def test_a_text_without_headings_has_none() -> None:
    assert Headings("It is deep. **Very** deep - so.").over(5) == ()


@given(st.text(alphabet="#*=- `ab\n", max_size=60), st.integers(0, 60))
def test_any_text_has_paths_of_names(text: str, place: int) -> None:
    assert all(title.strip() for title in Headings(text).over(place))


def test_long_texts_of_one_sign_are_read_through() -> None:
    for text in ("a" * 400_000, "**a" * 100_000, "# " * 100_000, "a\n" * 100_000, "`" * 200_000, " " * 400_000):
        assert len(Headings(text).over(len(text))) <= 1


def test_of_a_path_stands_what_a_text_does_not_name() -> None:
    path = "Growth after 1945 › Europe › Germany › Schools"
    assert unnamed(path, "The schools of Germany grew.") == "Growth after 1945 › Europe"
    assert unnamed(path, "It rained.") == "Europe › Germany › Schools"
    assert unnamed(path, "Growth of schools", "in Germany and Europe after 1945") == ""
    assert unnamed("", "It rained.") == ""
