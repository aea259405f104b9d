"""What is compared exactly: figures, dates, names, yes and no; in English, Chinese and Japanese."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.conflicts import conflicts
from leadline_plugins.checks.figure import missing
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.opposites import opposed
from leadline_plugins.checks.passages import passage
from leadline_plugins.checks.polarity import contrary
from leadline_plugins.checks.spelled import han_value


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("It cost $3.5 billion.", "It cost 3,500 million dollars."),
        ("It grew 12 percent.", "It grew 12%."),
        ("There were twenty-five ships.", "There were 25 ships."),
        ("There were 5 rounds.", "A five-round fight."),
        ("It was in the 1990s.", "It was in 1994."),
        ("It was 4.2 m deep.", "It was 4.18 m deep."),
        ("On April 9, 2011 it sank.", "It sank on 9 April 2011."),
        ("On April 9 it sank.", "2011-04-09: it sank."),
        ("In September 2011 it sank.", "It sank on Sept. 9, 2011."),
        ("增长12%。", "同比增长百分之12，即12%。"),
        ("规模达2,137亿元。", "规模为213700000000元。"),
        ("2018年2月22日成立。", "成立于2018-02-22。"),
        ("三頭のシマウマがいます。", "シマウマが3頭います。"),
        ("時計が５つ並んでいます。", "五つの時計があります。"),
        ("The year 2018–19 began.", "The year 2018-2019 began."),
        ("COVID-19 spread.", "It spread."),
        ("CO2 rose.", "It rose."),
        ("The season of 1998–2002.", "From 1998 to 2002."),
        ("The top 8 teams.", "The top-8 teams."),
        ("One of the first ships sank.", "A ship sank."),
    ],
)
def test_figures_are_found_however_they_are_written(claim: str, held: str) -> None:
    assert missing(figures(claim), figures(held)) == []


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("It cost $3.5 billion.", "It cost $3.5 million."),
        ("It grew 12 percent.", "It took 12 days."),
        ("It was 4.2 m deep.", "It was 4.26 m deep."),
        ("It is 42 m deep.", "It is 42.6 m deep."),
        ("On April 9, 2011 it sank.", "It sank on April 8, 2011."),
        ("In May 2011 it sank.", "It sank in June 2011."),
        ("增长13%。", "增长12%。"),
        ("2018年3月成立。", "成立于2018年2月。"),
        ("四頭のシマウマがいます。", "シマウマが3頭います。"),
        ("The year 2018–15 began.", "The year 2018-2019 began."),
        ("On April 9, 2008 it sank.", "It sank on April 9, 2011, and the harbour closed in 2008."),
        ("On April 9 it sank.", "It sank in April, and 9 were lost."),
        ("He was 14.", "He came at 4:14 PM."),
        ("2018年2月成立。", "成立于2017年2月，2018年搬迁。"),
    ],
)
def test_other_figures_are_missing(claim: str, held: str) -> None:
    assert missing(figures(claim), figures(held))


@pytest.mark.parametrize(
    ("numeral", "value"), [("三百五十", 350), ("十二", 12), ("二〇二四", 2024), ("一千零五", 1005)]
)
def test_han_numerals(numeral: str, value: int) -> None:
    assert han_value(numeral) == value


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("The bay was not sounded.", "The bay was sounded."),
        ("The bay was sounded.", "The bay was never sounded."),
        ("Nobody sounded the bay.", "Fitz sounded the bay."),
        ("The bay wasn’t sounded.", "The bay was sounded in 1831."),
        ("海湾没有测量。", "海湾测量过。"),
        ("这不是事实。", "这是事实。"),
        ("鯨がいません。", "鯨がいます。"),
    ],
)
def test_what_one_denies_and_the_other_says(claim: str, held: str) -> None:
    assert contrary(claim, held)


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("The bay was not sounded.", "Nobody ever sounded the bay: it was not sounded."),
        ("The bay was sounded.", "The bay was sounded, though the lake was not."),
        ("不仅很深，而且很宽。", "很深，也很宽。"),
        ("不断增长。", "持续增长。"),
        ("做生意很困难。", "不，做生意很困难。"),
        ("农村教师需要培训。", "教师特别是农村教师需要培训。"),
    ],
)
def test_what_both_say(claim: str, held: str) -> None:
    assert not contrary(claim, held)


def test_opposites() -> None:
    assert opposed("Prices increased.", "Prices decreased.") == ("increased", "decreased")
    assert opposed("It did worse.", "It did Better!") == ("worse", "Better")
    assert opposed("Prices increased.", "Prices increased, then decreased.") is None


@pytest.mark.parametrize(
    ("claim", "kinds"),
    [
        ("In 1831 Robert Fitz sounded the bay.", []),
        ("In 1832 Robert Fitz sounded the bay.", ["figure"]),
        ("In 1831 Francis Beaufort sounded the bay.", ["name"]),
        ("In 1831 Robert Fitz did not sound the bay.", ["negation"]),
    ],
)
def test_what_conflicts_is_named(claim: str, kinds: list[str]) -> None:
    text = "The bay lies north. Robert Fitz sounded the bay in 1831. It is deep."
    assert [found.kind for found in conflicts(claim, passage(claim, text), text)] == kinds
