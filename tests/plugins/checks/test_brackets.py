"""What stands in brackets: a figure or an article of the text, or the mark of a reference of its source."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.judge import judge
from leadline_plugins.checks.verbatim import stands

INTERVAL = "The median survival was in the 95% CI [10, 20] of months after the treatment."
ARTICLE = "The court held that Article [5] of the Convention had been violated by the state."
REFERRED = "Ports are paid for by port dues [9]. Their depth follows the tide [12, 13]."


@pytest.mark.parametrize(
    ("claim", "text", "reason"),
    [
        (INTERVAL.replace("[10, 20]", "[30, 99]"), INTERVAL, "the claim says 30, the passage 10"),
        (INTERVAL.replace("[10, 20]", r"\[30, 99\]"), INTERVAL, "the claim says 30, the passage 10"),
        (ARTICLE.replace("[5]", "[8]"), ARTICLE, "the claim says 8, the passage 5"),
        (ARTICLE.replace("[5]", r"\[8\]"), ARTICLE, "the claim says 8, the passage 5"),
    ],
)
def test_other_figures_in_brackets_contradict(claim: str, text: str, reason: str) -> None:
    found = judge(claim, text)
    assert (found.verdict, found.reason, found.exact) == ("contradicted", reason, True)


@pytest.mark.parametrize("claim", [INTERVAL, ARTICLE])
def test_figures_in_brackets_that_the_source_lacks_are_not_word_for_word(claim: str) -> None:
    for text in (INTERVAL, ARTICLE):
        assert not stands(claim, text.replace(" [10, 20]", "").replace(" [5]", ""))


@pytest.mark.parametrize(
    "claim",
    [
        "Ports are paid for by port dues.",
        "Ports are paid for by port dues [9].",
        r"Ports are paid for by port dues \[9\].",
        "In addition, their depth follows the tide.",
        "Ports are paid for by port dues. Their depth follows the tide [12,13].",
        REFERRED,
    ],
)
def test_a_sentence_with_the_marks_of_its_source_or_without_is_word_for_word(claim: str) -> None:
    found = judge(claim, REFERRED)
    assert (found.verdict, found.exact) == ("supported", True)


@pytest.mark.parametrize("claim", [INTERVAL, ARTICLE])
def test_the_same_figures_in_brackets_are_word_for_word(claim: str) -> None:
    escaped = claim.replace("[", r"\[").replace("]", r"\]")
    assert stands(escaped, claim)
    assert stands(claim, escaped)
