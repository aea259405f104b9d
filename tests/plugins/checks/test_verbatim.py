"""Which claims are their passage word for word."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.verbatim import stands

TEXT = "In 1831 the crew sounded the bay at 40 fathoms. 该湾深四十英寻。"


@pytest.mark.parametrize(
    "claim",
    [
        "In 1831 the crew sounded the bay at 40 fathoms.",
        "In addition, in 1831 the crew sounded the bay at 40 fathoms.",
        "By contrast, the crew sounded the bay at 40 fathoms.",
        "Taken together with the above, in 1831 the crew sounded the bay at 40 fathoms.",
        "此外，该湾深四十英寻。",
    ],
)
def test_words_that_only_join_do_not_count(claim: str) -> None:
    assert stands(claim, TEXT)


@pytest.mark.parametrize(
    "claim",
    [
        "It is false that in 1831 the crew sounded the bay at 40 fathoms.",
        "Contrary to legend, in 1831 the crew sounded the bay at 40 fathoms.",
        "Allegedly, in 1831 the crew sounded the bay at 40 fathoms.",
        "Unlike others, the crew sounded the bay at 40 fathoms.",
        "In addition, in 1832 the crew sounded the bay at 40 fathoms.",
        "In addition, the bay was never sounded.",
    ],
)
def test_words_that_state_something_count(claim: str) -> None:
    assert not stands(claim, TEXT)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("However, the bay is deep.", "No survey has shown that the bay is deep."),
        ("In addition, Boulogne is a port.", "It is untrue that Boulogne is a port."),
        ("此外，该湾深四十英寻。", "没有证据表明该湾深四十英寻。"),
        ("Ada built the bridge.", "No proof that Ada built the bridge was found."),
        ("The vaccine is safe.", "The vaccine is safe for adults, but not for children."),
        ("该湾很深。", "该湾很深的说法有误。"),
    ],
)
def test_what_is_denied_or_taken_back_does_not_stand(claim: str, text: str) -> None:
    assert not stands(claim, text)
