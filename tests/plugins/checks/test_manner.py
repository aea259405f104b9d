"""A bound told as reached, and percentage points told as percent: the number is the same."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.causes import cause
from leadline_plugins.checks.figure import Bound
from leadline_plugins.checks.figures import figures


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("2024年不良贷款率达到1.25%。", "2024年不良贷款率低于1.25%。"),
        ("赤字率达到3%。", "赤字率控制在不超过3%的水平。"),
        ("不良率为1.25%。", "不良率不超过1.25%。"),
        ("The rate reached 1.25% in 2024.", "The rate stayed below 1.25% in 2024."),
        ("Costs amounted to $40 million.", "Costs were no more than $40 million."),
        ("Attendance reached 450 people.", "Attendance was up to 450 people."),
        ("Sales reached 100 million units.", "Sales approached nearly 100 million units."),
        ("Inflation was 2.5% in May.", "Inflation was not higher than 2.5% in May."),
        ("失業率は5.2%に達した。", "失業率は5.2%以下だった。"),
        ("Die Quote erreichte 40 Prozent.", "Die Quote lag unter 40 Prozent."),
        ("非税收入占比提高1.78%。", "非税收入占比提高1.78个百分点。"),
        ("The rate rose 1.8% in May.", "The rate rose by 1.8 percentage points in May."),
        ("Die Quote stieg um 1,8 Prozent.", "Die Quote stieg um 1,8 Prozentpunkte."),
        ("シェアは1.8%上昇した。", "シェアは1.8ポイント上昇した。"),
    ],
)
def test_a_figure_said_otherwise_is_asked_about(claim: str, held: str) -> None:
    against = cause(claim, held)
    assert against is not None
    assert "as a bound" in against.reason or "percentage points" in against.reason
    assert not against.answered(held, [held])
    assert against.answered(claim, [claim])


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("The rate reached 1.25% in 2024.", "The rate, which had been below 1.25%, was 1.25% in 2024."),
        ("赤字率上限为3%。", "赤字率不超过3%。"),
        ("The cap was 3%.", "The rate must be at most 3%."),
        ("产量达到15万亿元。", "产量超过15万亿元。"),
        ("Sales were 100 million.", "Sales were nearly 100 million."),
        ("The rate is below 1.25%.", "The rate is under 1.25%."),
        ("The rate rose 1.8 points.", "The rate rose 1.8 percentage points."),
        ("The rate rose 1.8% in May.", "The rate rose by 1.8 % (1.8 points)."),
        ("占比提高1.78个百分点，达到25.4%。", "占比达到25.4%，提高1.78个百分点。"),
        ("Growth was at least 5%.", "Growth was not below 5%."),
    ],
)
def test_a_figure_said_alike_is_not(claim: str, held: str) -> None:
    assert cause(claim, held) is None


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("It was not higher than 5%.", "ceiling"),
        ("It does not exceed 5%.", "ceiling"),
        ("It was not below 5%.", "floor"),
        ("Sie lag nicht über 5 %.", "ceiling"),
        ("It was not higher than in 2019.", ""),
    ],
)
def test_a_bound_that_is_denied_is_the_other_one(text: str, bound: Bound) -> None:
    assert figures(text)[0].bound == bound
