"""What is only expected, planned or possible, told as a fact or as certain to come."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.causes import cause
from leadline_plugins.checks.expectations import only_expected


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("市场规模已超过15万亿元。", "到2025年，市场规模应超过15万亿元。"),
        ("全市新建住房10万套。", "全市拟新建住房10万套。"),
        ("社会消费品零售总额增长5%。", "社会消费品零售总额力争增长5%。"),
        ("新厂房于2026年投产。", "新厂房将于2026年投产。"),
        ("GDP增速为5%左右。", "GDP增速目标为5%左右。"),
        ("美联储将在9月降息。", "美联储可能在9月降息。"),
        ("净利润将增长20%。", "净利润有望增长20%。"),
        ("净利润将增长20%。", "净利润或增长20%。"),
        ("公司供应能力达到300万吨。", "公司供应能力争取达到300万吨。"),
        ("The bank will cut rates in June.", "The bank may cut rates in June."),
        ("Sales will reach $5bn in 2030.", "Sales could reach $5bn in 2030."),
        ("Der Umsatz stieg 2024 um 5 Prozent.", "Der Umsatz dürfte 2024 um 5 Prozent steigen."),
        ("Das Werk wurde 2024 eröffnet.", "Das Werk soll 2024 eröffnet werden."),
        ("売上高は5%増加した。", "売上高は5%増加する見込みだ。"),
        ("新工場は2026年に稼働した。", "新工場は2026年に稼働する予定である。"),
        ("金利は上昇した。", "金利は上昇する可能性がある。"),
    ],
)
def test_what_is_only_expected_is_asked_about(claim: str, held: str) -> None:
    against = cause(claim, held)
    assert against is not None
    assert "tells as a fact" in against.reason
    assert not against.answered(held, [held])


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("The bank will cut rates in June.", "The bank will cut rates in June, and may cut rates in July."),
        ("The bank could cut rates in June.", "The bank may cut rates in June."),
        ("The bank will probably cut rates.", "The bank may cut rates."),
        ("美联储或将在9月降息。", "美联储可能在9月降息。"),
        ("市场规模预计超过15万亿元。", "市场规模应超过15万亿元。"),
        ("将房地产作为支柱产业。", "将房地产作为支柱产业，净利润有望增长。"),
        ("企业供应链增长5%。", "企业供应链增长5%，应对能力增强。"),
        ("2023年净利润增长5%。", "2023年净利润增长5%，2024年有望增长6%。"),
        ("央行将继续降息。", "央行将继续降息。预计CPI可能回升。"),
        ("Der Umsatz dürfte um 5 Prozent steigen.", "Der Umsatz soll um 5 Prozent steigen."),
        ("2023年は5%上昇した。", "2023年は5%上昇し、2024年は6%上昇する見込み。"),
        ("売上高は5%増加する見通し。", "売上高は5%増加する見込みだ。"),
        ("政府将该项目列入规划。", "政府拟将该项目列入规划。"),
        ("2023年净利润增长5%。", "2024年净利润有望增长5%。"),
    ],
)
def test_what_is_as_open_or_of_something_else_is_not(claim: str, held: str) -> None:
    assert only_expected(claim, held) == ""
