"""What hangs on what stands before it, and what that is."""

from __future__ import annotations

import pytest

from leadline_plugins.text.hanging import hangs_on, opening

SUITS = """## Suits

- Ashby v. Lorn (tolls of the bridge)
  - Allegations: tolls of 1931 were kept. Outcome: a settlement of 4 crowns.
- Elmford v. Lorn
  - Outcome: none.
- Varn v. Lorn. It was long. All was paid.

The town acts on these:
- it mends the bridge
"""
PLANS = "2031年，财政更加积极。具体有三个方面：一是提高赤字。二是发行债券。三是增加转移支付。"


@pytest.mark.parametrize(
    "said",
    [
        "It fell.",
        "As a result, it fell.",
        "Outcome: 4 crowns.",
        "- Results: none",
        "其中，税收下降。",
        "三是增加支出。",
    ],
)
def test_what_names_nobody_hangs_on_what_stands_before_it(said: str) -> None:
    assert hangs_on(said)


@pytest.mark.parametrize(
    "said", ["Lorn fell.", "Results of 1931 rose.", "In 1931, Lorn rose.", "一般公共预算收入增长。"]
)
def test_what_names_its_subject_hangs_on_nothing(said: str) -> None:
    assert not hangs_on(said)


@pytest.mark.parametrize(
    ("text", "quote", "told"),
    [
        (
            SUITS,
            "Outcome: a settlement of 4 crowns.",
            "- Ashby v. Lorn (tolls of the bridge) - Allegations: tolls of 1931 were kept.",
        ),
        (SUITS, "- Outcome: none.", "- Elmford v. Lorn"),
        (SUITS, "- it mends the bridge", "The town acts on these:"),
        (SUITS, "- Ashby v. Lorn", ""),
        (SUITS, "All was paid.", "- Varn v. Lorn. It was long."),
        (SUITS, "It was long.", "- Varn v. Lorn."),
        (PLANS, "三是增加转移支付。", "2031年，财政更加积极。 具体有三个方面：一是提高赤字。"),
        ("Lorn rose. Elmford fell. It froze.", "It froze.", "Elmford fell."),
        ("It froze.", "It froze.", ""),
    ],
)
def test_the_sentence_before_and_what_opens_a_list_tell_whom_it_means(text: str, quote: str, told: str) -> None:
    assert opening(quote, text[: text.index(quote)]) == told
