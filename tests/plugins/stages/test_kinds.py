"""What people are told of a verdict, in one way everywhere; and paragraphs as they are known again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.cli.summary import checks
from leadline.findings import Verdict
from leadline_plugins.stages.hedges import hedge
from leadline_plugins.stages.kinds import KINDS, counts, kind_of, label
from leadline_plugins.text.beginnings import beginning, rows
from leadline_plugins.wording import tags

UNSHOWN = "so a rule says; the model calls it supported, and shows no words of a passage that say so"
UNSETTLED = "so a rule says; the model calls it supported by “so it is”, which does not settle it"


def verdict(**given: Any) -> Verdict:
    return Verdict(
        **{"id": "1.1.1", "section_id": "1", "evidence_id": "e", "claim": "It is deep.", "verdict": "partial"} | given
    )


@pytest.mark.parametrize(
    ("given_", "kind"),
    [
        ({"by": "model"}, "partial"),
        ({"by": "words"}, "undecided"),
        ({"by": "model", "reason": UNSHOWN}, "doubted"),
        ({"by": "model", "reason": UNSETTLED}, "doubted"),
        ({"by": "exact", "claim": hedge("It is deep.", "zh")}, "hedged"),
        ({"by": "words", "claim": hedge("It is deep.", "en")}, "hedged"),
        ({"by": "model", "reason": UNSHOWN, "verdict": "contradicted"}, "contradicted"),
    ],
)
def test_what_is_told_of_a_verdict(given_: dict[str, Any], kind: str) -> None:
    assert kind_of(verdict(**given_)) == kind


def test_claims_are_counted_in_the_order_in_which_they_are_told() -> None:
    found = [verdict(id="1.1.1", verdict="unsupported"), verdict(id="1.2.1", by="words"), verdict(id="1.3.1")]
    assert list(counts(found).items()) == [("partial", 1), ("undecided", 1), ("unsupported", 1)]
    told = checks({"passed": True, "claims": {"partial": 2, "unsupported": 1}, "kinds": counts(found)})
    assert told.endswith("claims: 1 supported in part, 1 not decided, 1 unsupported")


@pytest.mark.parametrize("language", tags())
def test_every_kind_has_a_name_of_its_own_in_every_language(language: str) -> None:
    assert len({label(kind, language) for kind in KINDS}) == len(KINDS)


@given(st.text(max_size=200), st.integers(1, 100))
def test_a_beginning_is_one(text: str, most: int) -> None:
    found = beginning(text, most)
    assert found == text if len(text) <= most else text.startswith(found.removesuffix(" …"))
    assert len(found) <= most + len(" …") or found == text


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("at 4.1% and 3.8%", 14, "at 4.1% and …"),
        ("at 4.1% and 3.8%", 11, "at 4.1% and …"),
        ("水深四十英寻半", 4, "水深四十 …"),
        ("Donaudampfschiff", 5, "Donau …"),
    ],
)
def test_no_number_is_cut(text: str, most: int, expected: str) -> None:
    assert beginning(text, most) == expected


@pytest.mark.parametrize(
    ("block", "count"),
    [("| a |\n|---|\n| 1 |\n| 2 |", 2), ("It is deep.", 0), ("| a | is not b", 0), ("| a |\n| b |", 0)],
)
def test_a_table_is_told_by_its_rows(block: str, count: int) -> None:
    assert rows(block) == count
