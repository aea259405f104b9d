"""Claims that nothing bears: cited elsewhere, hedged, or taken out, at their place and nowhere else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.findings import VerdictKind
from leadline.records import Report
from leadline.testing.reports import quoting
from leadline_plugins.stages.claims import claims_of
from leadline_plugins.stages.library import Library
from leadline_plugins.stages.paragraphs import paragraphs
from leadline_plugins.stages.recite import bearers
from leadline_plugins.stages.repair import failed, repaired
from leadline_plugins.stages.verdicts import by_rule

QUOTES = "The bay is 40 fathoms deep.", "It was sounded in 1831."
HEDGE = " (not confirmed by the source cited)"


def report(text: str) -> Report:
    return quoting(text, quotes=QUOTES)


def shown(made: Report) -> str:
    return "\n\n".join(section.text or "" for section in made.sections)


def mended(text: str, how: str) -> tuple[str, list[str]]:
    made = report(text)
    claims, library = claims_of(made), Library(made)
    bad = failed(claims, by_rule(claims, library))
    better = bearers([claim for claim, _ in bad], library.sound()) if how == "recite" else {}
    changed, repairs = repaired(made, claims, bad, how, better)
    verdicts = by_rule(claims_of(changed), Library(changed))
    assert not failed(claims_of(changed), verdicts)
    return shown(changed), [item.done for item in repairs]


@pytest.mark.parametrize(
    ("text", "how", "expected", "done"),
    [
        ("The bay was sounded in 1831. [@e1]", "recite", "The bay was sounded in 1831. [@e2]", ["recited"]),
        ("The bay was sounded in 1831 [@e1].", "recite", "The bay was sounded in 1831 [@e2].", ["recited"]),
        (
            "The bay is 40 fathoms deep. The bay was sounded in 1831. [@e1]",
            "recite",
            "The bay is 40 fathoms deep. [@e1] The bay was sounded in 1831. [@e2]",
            ["recited"],
        ),
        (
            "The bay was sounded in 1831. The bay is 40 fathoms deep. [@e1]",
            "recite",
            "The bay was sounded in 1831. [@e2] The bay is 40 fathoms deep. [@e1]",
            ["recited"],
        ),
        (
            "| a | b |\n|---|---|\n| deep | The bay is 40 fathoms deep |\n| sounded | sounded in 1831 | [@e1]",
            "recite",
            "| a | b |\n|---|---|\n| deep | The bay is 40 fathoms deep [@e1] |\n| sounded | sounded in 1831 | [@e2]",
            ["recited"],
        ),
        ("Whales sing there. [@e1]", "weaken", f"Whales sing there{HEDGE}. [@e1]", ["weakened"]),
        ("Whales sing there [@e1].", "weaken", f"Whales sing there{HEDGE} [@e1].", ["weakened"]),
        ("Whales sing there ([@e1]).", "weaken", f"Whales sing there{HEDGE} ([@e1]).", ["weakened"]),
        (
            "| a | b |\n|---|---|\n| x | Whales sing [@e1] |",
            "weaken",
            f"| a | b |\n|---|---|\n| x | Whales sing{HEDGE} [@e1] |",
            ["weakened"],
        ),
        (
            "| a | b |\n|---|---|\n| x | Whales sing [@e1] | 2019 |\n| The bay is 40 fathoms deep. [@e1] | |",
            "weaken",
            f"| a | b |\n|---|---|\n| x | Whales sing [@e1] | 2019{HEDGE} |\n| The bay is 40 fathoms deep. [@e1] | |",
            ["weakened"],
        ),
        ("Whales sing there. [@e1]", "drop", "", ["dropped"]),
        (
            "The bay is 40 fathoms deep. Whales sing there. [@e1]",
            "drop",
            "The bay is 40 fathoms deep. [@e1]",
            ["dropped"],
        ),
        (
            "Whales sing there. The bay is 40 fathoms deep. [@e1]\n\nThe bay is 40 fathoms deep. [@e1]",
            "drop",
            "The bay is 40 fathoms deep. [@e1]\n\nThe bay is 40 fathoms deep. [@e1]",
            ["dropped"],
        ),
        ("The bay is 40 fathoms deep. [@e1]", "drop", "The bay is 40 fathoms deep. [@e1]", []),
    ],
)  # fmt: skip
def test_what_is_not_borne_is_repaired_as_the_setting_says(text: str, how: str, expected: str, done: list[str]) -> None:
    assert mended(text, how) == (expected, done)


@pytest.mark.parametrize(
    ("said", "verdict", "now"),
    [
        ("The bay is 90 fathoms deep", "contradicted", "The bay is 90 fathoms deep (the source cited says otherwise)"),
        ("The bay is 90 fathoms deep", "unsupported", f"The bay is 90 fathoms deep{HEDGE}"),
        ("No passage gives the price of 40 dollars", "unsupported", "No passage gives the price of 40 dollars"),
        (
            "No passage gives its depth of 40",
            "contradicted",
            "No passage gives its depth of 40 (the source cited says otherwise)",
        ),
    ],
)
def test_what_a_source_denies_is_not_called_unconfirmed_nor_what_it_lacks(
    said: str, verdict: VerdictKind, now: str
) -> None:
    made = report(f"It was sounded in 1831. [@e2] {said}. [@e1]")
    claims = claims_of(made)
    changed, repairs = repaired(made, claims, [(claims[1], verdict)], "weaken", {})
    assert shown(changed) == f"It was sounded in 1831. [@e2] {now}. [@e1]"
    assert [one.done for one in repairs] == ["weakened"] * (now != said)
    (_, found) = by_rule(claims_of(changed), Library(changed))
    if verdict == "contradicted":
        assert (found.verdict, found.reason) == ("partial", "the text itself says that the source says otherwise")


def test_what_no_evidence_bears_is_left_for_the_flag() -> None:
    made = report("Whales sing there. [@e1]")
    claims, library = claims_of(made), Library(made)
    bad = failed(claims, by_rule(claims, library))
    assert bearers([claim for claim, _ in bad], library.sound()) == {}
    for how in ("recite", "flag"):
        assert repaired(made, claims, bad, how, {}) == (made, ())


def without(text: str, word: str, how: str = "drop") -> str:
    """Return a text with every claim repaired that holds a word."""
    made = report(text)
    claims = claims_of(made)
    bad = [(claim, "unsupported") for claim in claims if word in claim.text]
    return shown(repaired(made, claims, bad, how, {})[0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("A rose [@e0]. Moon [@e1]. C fell [@e2].", "A rose [@e0]. C fell [@e2]."),
        ("A rose. [@e0] Moon. [@e1] C fell. [@e2]", "A rose. [@e0] C fell. [@e2]"),
        ("A rose [@e0].\n\nMoon [@e1].", "A rose [@e0]."),
        ("A rose ([@e0]). Moon ([@e1]). C fell ([@e2]).", "A rose ([@e0]). C fell ([@e2])."),
        ("港口在長（[@e0]）。月亮 Moon（[@e1]）。", "港口在長（[@e0]）。"),
        ("He said: “A rose.” [@e0] She: “Moon.” [@e1]", "He said: “A rose.” [@e0]"),
        ("港口在長[@e0]。月亮 Moon[@e1]。工會反對[@e2]。", "港口在長[@e0]。工會反對[@e2]。"),
        ("iPhones rose [@e0]. iPhone Moon [@e1]. iPhones fell [@e2].", "iPhones rose [@e0]. iPhones fell [@e2]."),
        ("A rose. [@e0] mMoon. [@e1] B sank. [@e2]", "A rose. [@e0] B sank. [@e2]"),
        ("A Moon. [@e0] iPhones rose. [@e1]", "iPhones rose. [@e1]"),
        ("**A rose. [@e0]** eBay Moon. [@e1]", "**A rose. [@e0]**"),
        ("(A rose.) [@e0] z. B. Moon. [@e1]", "(A rose.) [@e0]"),
        ("B [@e0]. Moon et al. [@e1] say so. [@e2]", "B [@e0]."),
        ("A rose. The Moon [@e1] is, [@e2] they say, green. C fell [@e0].", "A rose. [@e1] C fell [@e0]."),
        ("A rose, they say. Moon [@e1].\nC fell [@e0].", "A rose, they say [@e1].\nC fell [@e0]."),
        ("- A rose [@e0].\n- Moon [@e1].\n- C fell [@e2].", "- A rose [@e0].\n- C fell [@e2]."),
        ("- Moon [@e1]. A rose [@e0].\n- C [@e0]. Moon [@e1].\n- D [@e0].", "- A rose [@e0].\n- C [@e0].\n- D [@e0]."),
        ("- Moon [@e1]\n  - A [@e0]\n  - B [@e0]\n- C [@e0]", "- A [@e0]\n- B [@e0]\n- C [@e0]"),
        ("- A. [@e0]\n\n  Moon. [@e1]\n- B. [@e0]", "- A. [@e0]\n\n- B. [@e0]"),
        ("- A. [@e0]\n\n  Moon. [@e1] B. [@e0]\n- C. [@e0]", "- A. [@e0]\n\n  B. [@e0]\n- C. [@e0]"),
        ("- A. [@e0]\n\n  Moon. [@e1]\n\n  B. [@e0]", "- A. [@e0]\n\n  B. [@e0]"),
        ("A. [@e0]\n\n- Moon. [@e1]\n\n  - B. [@e0]\n  - C. [@e0]", "A. [@e0]\n\n- B. [@e0]\n- C. [@e0]"),
        ("**M.** Moon [@e1].\n\n**N.** A rose [@e0]. Moon [@e1].", "**N.** A rose [@e0]."),
        ("- **M.** Moon [@e1]. Moon [@e1].\n- **N.** Moon [@e1]. A rose [@e0].", "- **N.** A rose [@e0]."),
        ("> Moon [@e1].\n> A rose [@e0].", "> A rose [@e0]."),
        ("| a | b |\n|---|---|\n| A | rose [@e0] |\n| Moon | b [@e1] |", "| a | b |\n|---|---|\n| A | rose [@e0] |"),
        (
            "| a | b |\n|---|---|\n| A [@e0] | rose |\n| Moon [@e1] | fell |",
            "| a | b |\n|---|---|\n| A [@e0] | rose |",
        ),
        ("| a | b |\n|---|---|\n| A | rose |\n| Moon | b | [@e1]", "| a | b |\n|---|---|\n| A | rose [@e1] |"),
        (
            "| # | b |\n|---|---|\n| 1 | Moon [@e1] |\n| 2 | A [@e0] |\n| 9 | B [@e0] |\n| 4 | C [@e0] |",
            "| # | b |\n|---|---|\n| 1 | A [@e0] |\n| 9 | B [@e0] |\n| 3 | C [@e0] |",
        ),
        ("A [@e0].\n\nTable 1: M\n\n| a | b |\n|---|---|\n| Moon | b [@e1] |", "A [@e0]."),
        ("Moons are:\n\n- Moon [@e1]\n- Moon [@e2]\n\nA rose [@e0].", "A rose [@e0]."),
        ("Moons are:\n\n- Moon [@e1]\n\n- A rose [@e0].", "Moons are:\n\n- A rose [@e0]."),
        ("Moons are:\n- Moon [@e1]\n\nA rose [@e0].", "A rose [@e0]."),
        ("### M\nMoon [@e1].\n\n### N\n\nA rose [@e0].", "### N\n\nA rose [@e0]."),
        ("A [@e0].\n### M\n#### N\nMoon [@e1].\n#### O\nMoon [@e1].\n### P\nB [@e0].", "A [@e0].\n\n### P\nB [@e0]."),
        ("### M\n#### N\nMoon [@e1].\n#### O\nB [@e0].", "### M\n\n#### O\nB [@e0]."),
        ("Moon [@e1].\n\n![M](figure:f1)\n\nA rose [@e0].", "![M](figure:f1)\n\nA rose [@e0]."),
        ("```\nA\n\nB\n```\nMoon [@e1].", "```\nA\n\nB\n```"),
        ("### M\n\nMoon [@e1]. Moon [@e1].\n\n- Moon [@e1].", ""),
    ],
)  # fmt: skip
def test_a_sentence_goes_with_all_that_only_served_it(text: str, left: str) -> None:
    assert without(text, "Moon") == left


@pytest.mark.parametrize(
    ("how", "left"),
    [("weaken", f"Costs rose [@e1]. Costs rose{HEDGE} [@e2]."), ("drop", "Costs rose [@e1].")],
)
def test_of_two_sentences_alike_the_one_that_failed_is_repaired(how: str, left: str) -> None:
    made = report("Costs rose [@e1]. Costs rose [@e2].")
    claims = claims_of(made)
    changed, repairs = repaired(made, claims, [(claims[1], "unsupported")], how, {})
    assert (shown(changed), len(repairs)) == (left, 1)


def test_each_of_many_sentences_alike_is_hedged_once() -> None:
    again = "\n\n".join(["Costs rose, it is said. Costs rose [@e1]."] * 6)
    left = without(again, "Costs", "weaken")
    assert left == again.replace("said.", f"said{HEDGE}.").replace("rose [", f"rose{HEDGE} [")


TABLE = "| a | b |\n|---|---|\n| {} | x [@e1] |\n| {} | y [@e2] |"
BLOCKS = st.lists(
    st.tuples(
        st.sampled_from(["{}", "{}", "- {}\n- {}", "1. {}\n2. {}", "### Head\n{}\n{}", "> {}", "Lead:\n\n- {}", TABLE]),
        st.lists(st.booleans(), min_size=4, max_size=4),
        st.sampled_from([("", " [@e1]", "."), (".", " [@e1]", ""), ("", "[@e2]", "。")]),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip


@given(BLOCKS)
def test_what_is_left_is_what_was_not_to_go(
    blocks: list[tuple[str, list[bool], tuple[str, str, str], int]],
) -> None:
    parts, kept = [], []
    for number, (form, drops, (stop, mark, end), each) in enumerate(blocks):
        count = form.count("{}")
        names = [f"{'Moon' if drop else 'Bay'}{number}x{place}" for place, drop in enumerate(drops)][:count]
        kept += [name for name in names if not name.startswith("Moon")]
        before = "So it is said. " * (each == 2)
        told = names if form is TABLE else [f"{before}{name} is what rose there{stop}{mark}{end}" for name in names]
        parts.append(form.format(*told))
    text = "\n\n".join(parts)
    left = without(text, "Moon")
    assert [name for name in kept if not re.search(rf"{name}\b", left)] == []
    assert "Moon" not in left
    assert not re.search(r"\.\.|。。|^\W*[.。]\W*$", left, re.MULTILINE)
    assert not [part.text for part in paragraphs(report(left)) if part.states and not part.ends_with_citation]
    assert "Moon" in text or left == text
