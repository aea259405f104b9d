"""How long sections are: as asked for, and no longer than what was found for them bears."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from leadline.findings import PlannedSection, Question
from leadline.records import Evidence
from leadline_plugins.stages.lengths import lengths, shared_out
from leadline_plugins.synthesizers.lengths import bearable
from leadline_plugins.tasks.sorting import Sorted, SortedSection

DUES, TIDES = PlannedSection(id="1", title="Dues"), PlannedSection(id="2", title="Tides")
QUOTE = "Port dues brought nine pounds. " * 10
PIECES = tuple(Evidence(id=f"e{n}", source_id="s1", quote=QUOTE, span=(0, 9), claim="") for n in range(3))
PLANNED = Sorted(
    sections=(
        SortedSection(section=DUES, evidence_ids=("e0", "e1")),
        SortedSection(section=TIDES, evidence_ids=("e2",)),
    )
)


def test_a_text_is_no_longer_than_half_as_much_again_as_its_passages_in_whatever_script() -> None:
    english = Evidence(
        id="e", source_id="s", quote="Nine words are in this quote, as you count.", span=(0, 1), claim=""
    )
    chinese = english.model_copy(update={"quote": "港口收费九英镑。"})
    assert [bearable((item.quote,), code) for item in (english, chinese) for code in ("en", "zh")] == [14, 27, 6, 12]
    assert bearable((), "en") == 0


def test_no_section_is_longer_than_its_evidence_bears_and_the_others_have_what_it_leaves() -> None:
    parts = [SortedSection(section=TIDES, evidence_ids=("a",) * count) for count in (4, 1, 0, 4)]

    def shares(length: int, *most: int) -> list[int]:
        return [part.length for part in shared_out(Sorted(sections=tuple(parts)), length, most).sections]

    assert shares(3_000, 9_000, 100, 0, 9_000) == [1450, 100, 0, 1450]
    assert shares(3_000, 1_200, 100, 0, 9_000) == [1200, 100, 0, 1549]
    assert shares(3_000, 500, 100, 0, 600) == [500, 100, 0, 600]


@pytest.mark.parametrize(("asked", "told"), [(0, ""), (150, ""), (2_000, "the sections have about ")])
def test_a_report_that_becomes_shorter_than_asked_says_so(asked: int, told: str) -> None:
    run: Any = SimpleNamespace(settings=SimpleNamespace(report=SimpleNamespace(length=asked)))
    plan, said = lengths(PLANNED, PIECES, Question(text="Who pays?", language="en"), run)
    assert said.startswith(told)
    assert bool(said) == bool(told)
    assert all(part.length <= 75 * len(part.evidence_ids) for part in plan.sections)
    if told:
        assert said.endswith("words, not 2,000: what was found for them bears no more")
