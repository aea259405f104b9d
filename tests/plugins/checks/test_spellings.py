"""Numbers and dates as languages write them: marks, scales, numerals, words, months, eras."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leadline_plugins.checks.figure import differ, missing, same
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.judge import judge
from leadline_plugins.checks.quotes import plain


def alike(one: str, other: str) -> bool:
    """Return whether both texts have figures, and the same."""
    mine, theirs = figures(one), figures(other)
    return bool(mine) and not missing(mine, theirs) and not missing(theirs, mine)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("356.000 Geräte", "356000 Geräte"),
        ("12,5 %", "12.5%"),
        ("1.234,50 Euro", "€1,234.50"),
        ("1 200 arbres", "1200 arbres"),
        ("12\u202f500", "12500"),
        ("12\u00a0500 x", "12.500 x"),
        ("1'234'567", "1.234.567"),
        ("12,34,567", "1234567"),
        ("36,254 млн тонн", "36.254 million"),
        ("350 Mio. Euro", "€350 million"),
        ("3 mil millones de euros", "3 Milliarden Euro"),
        ("3,5 milliards d'euros", "€3.5 billion"),
        ("12 lakh", "1.2 million"),
        ("५ करोड़", "50 million"),
        ("١٬٢٣٤٬٥٦٧", "1,234,567"),
        ("٣٫٥٪", "3.5%"),
        ("١١٫٥ مليون", "11.5 million"),
        ("120 ล้าน", "120 million"),
        ("2兆7000億円", "2.7兆円"),
        ("1万2千円", "12,000円"),
        ("6万1300亿元", "6.13万亿元"),
        ("3亿5000万元", "3.5亿元"),
        ("三点五亿元", "3.5亿元"),
        ("叁佰万元", "300万元"),
        ("12000兆瓦时", "1.2万兆瓦时"),
        ("230,000명", "23만 명"),
        ("3억 5천만 원", "3.5억 원"),
        ("3만 5000명", "35,000명"),
        ("百分之五十四", "54%"),
        ("千分之三", "0.3%"),
        ("八成", "80%"),
        ("3割5分", "35%"),
        ("四分之一", "25%"),
        ("三分之一", "33.3%"),
        ("3分の2", "67%"),
        ("fünf Jahre", "5 Jahre"),
        ("пять лет", "5 лет"),
        ("二〇二三年五月十五日", "2023年5月15日"),
        ("令和4年度", "2022年度"),
        ("昭和39年", "1964年"),
        ("平成元年", "1989年"),
        ("民國113年", "2024年"),
        ("2023년 3월 15일", "2023-03-15"),
        ("พ.ศ. 2566", "2023"),
        ("3. März 2021", "03.03.2021"),
        ("15 de marzo de 2021", "March 15, 2021"),
        ("1er janvier 2020", "1 January 2020"),
        ("15 مارس 2023", "15 March 2023"),
        ("3 марта 2021 года", "3 mars 2021"),
        ("3/4/2021", "4 March 2021"),
        ("3/4/2021", "3 April 2021"),
    ],
)
def test_a_figure_is_the_same_in_any_spelling(one: str, other: str) -> None:
    assert alike(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("12,5 %", "12,9 %"),
        ("12.500", "12.900"),
        ("380억 원", "380조 원"),
        ("36,254 млрд тонн", "36,254 млн тонн"),
        ("3/4/2021", "4/3/2021"),
        ("350 Millionen", "350 Milliarden"),
        ("350 млн", "350 млрд"),
        ("12 लाख", "12 करोड़"),
        ("350 مليون", "350 مليار"),
        ("四分之一", "四分之三"),
        ("百分之八十四", "百分之四十八"),
        ("令和3年", "2022年"),
        ("3. März 2021", "3. Mai 2021"),
        ("3 марта 2021", "3 мая 2021"),
        ("六月三十日", "九月三十日"),
        ("5人の参加", "6人の参加"),
    ],
)
def test_figures_that_differ_in_every_reading_differ(one: str, other: str) -> None:
    assert missing(figures(one), figures(other))


@pytest.mark.parametrize(
    "text",
    [
        "5 decades",
        "12 marines",
        "at least 5 may have died",
        "Mars 2020 landed",
        "Julio Iglesias sang",
        "Avril Lavigne sang",
        "двадцать пять",
        "3成员",
        "一成不变",
        "数百万人",
    ],
)
def test_what_only_looks_like_a_month_or_a_number_is_none(text: str) -> None:
    assert not any(figure.month or figure.value == 30 or figure.value >= 10**6 for figure in figures(text))
    assert all(figure.said not in ("пять", "成") for figure in figures(text))


def test_what_two_conventions_read_otherwise_is_the_same_as_either() -> None:
    (said,) = figures("1.234")
    assert [same(figures(text)[0], said) for text in ("1234", "1,234", "1.23", "1.235")] == [True, True, True, False]


def test_a_rounding_of_the_other_reading_is_no_certain_difference() -> None:
    (claimed,), (found,) = figures("1,2 km"), figures("1,234 km")
    assert not same(claimed, found)
    assert not differ(claimed, found)
    assert differ(figures("1300 km")[0], found)


Written = Callable[[int], str]
WRITTEN: tuple[Written, ...] = (
    lambda value: f"{value}",
    lambda value: f"{value:,}",
    lambda value: f"{value:,}".replace(",", "."),
    lambda value: f"{value:,}".replace(",", " "),
    lambda value: f"{value:,}".replace(",", "\u00a0"),
    lambda value: f"{value:,}".replace(",", "\u202f"),
    lambda value: f"{value:,}".replace(",", "\u2009"),
    lambda value: f"{value:,}".replace(",", "'"),
    lambda value: f"{value:,}".replace(",", "’"),
    lambda value: str(value).translate({48 + digit: 0x660 + digit for digit in range(10)}),
    lambda value: f"{value:,}".replace(",", "\u066c"),
)
SPELLINGS = st.sampled_from(WRITTEN)
DECIMALS = st.sampled_from((".", ",", "\u066b"))


@given(st.integers(0, 10**12), SPELLINGS, SPELLINGS)
def test_a_whole_number_in_any_two_spellings_is_the_same(value: int, one: Written, other: Written) -> None:
    mine, theirs = figures(f"of {one(value)} pieces"), figures(f"of {other(value)} pieces")
    assert not missing(mine, theirs)
    assert Decimal(value) in mine[0].readings


@given(st.integers(0, 10**6), st.integers(0, 99), DECIMALS, DECIMALS)
def test_decimals_are_the_same_behind_a_point_and_a_comma(whole: int, rest: int, one: str, other: str) -> None:
    mine, theirs = figures(f"of {whole}{one}{rest:02} pieces"), figures(f"of {whole}{other}{rest:02} pieces")
    assert not missing(mine, theirs)
    assert [figure.value for figure in mine] == [Decimal(f"{whole}.{rest:02}")]


@given(st.integers(0, 10**9), st.integers(0, 10**9), SPELLINGS, SPELLINGS)
def test_two_numbers_never_read_the_same_where_each_has_one_reading(
    first: int, second: int, one: Written, other: Written
) -> None:
    mine, theirs = figures(f"of {one(first)} pieces")[0], figures(f"of {other(second)} pieces")[0]
    if not (mine.others or theirs.others or mine.parts or theirs.parts):
        assert same(mine, theirs) == (first == second)


@given(st.integers(1, 9999), st.integers(1, 9999), st.sampled_from(("亿 万", "億 万", "억 만", "억  만", "兆 億")))
def test_a_number_in_two_scales_is_their_sum(high: int, low: int, scales: str) -> None:
    above, below = scales.split()
    gap = " " if "  " in scales else ""
    (figure,) = figures(f"{high}{above}{gap}{low}{below}")
    size = 10**12 if above == "兆" else 10**8
    assert figure.value == high * size + low * (size // 10**4)


RUSSIAN = "января февраля марта апреля мая июня июля августа сентября октября ноября декабря"


@given(st.dates(date(1927, 1, 1), date(2099, 12, 31)))
def test_a_day_is_the_same_in_any_language(day: date) -> None:
    era, before = ("昭和", 1925) if day.year < 1989 else ("平成", 1988)
    forms = [
        f"{day.day}.{day.month}.{day.year}",
        f"{day.year}年{day.month}月{day.day}日",
        f"{day.year}년 {day.month}월 {day.day}일",
        f"{era}{day.year - before}年{day.month}月{day.day}日",
        f"{day.day} {RUSSIAN.split()[day.month - 1]} {day.year} года",
    ]
    assert all(alike(day.isoformat(), form) for form in forms)


@settings(max_examples=500)
@example("3点5成 三.5割 3.五割 3亿5.5.5万 1,2,3分之1 3亿1,2万")
@given(
    st.text(
        "0123456789.,'’ -/:%$€年月日万亿億兆千百十三五八〇点割成分之の令和元억만조원千参拾万٣٫٬²½ mayst", max_size=24
    )
)
def test_no_run_of_digits_marks_and_numerals_is_too_odd_to_be_read(text: str) -> None:
    found = figures(text)
    assert all(same(figure, figure) for figure in found)
    assert all(0 <= figure.at <= len(text) * 3 for figure in found)


def test_mil_is_thousand_in_spanish_and_a_million_in_english() -> None:
    assert alike("10 mil euros", "10,000 euros")
    assert alike("10 mil dollars", "10 million dollars")
    assert differ(figures("10 mil euros")[0], figures("20 mil euros")[0])


@pytest.mark.parametrize("text", ["/15/11/6035/", "15.11.0035", "3.4.2021.7"])
def test_what_no_calendar_has_is_no_date(text: str) -> None:
    assert not any(figure.month for figure in figures(text))


@pytest.mark.parametrize("text", ["/2024-09-24/12-news", "2024/09/24-12"])
def test_a_date_in_an_address_is_one(text: str) -> None:
    assert [(str(figure.value), figure.year) for figure in figures(text) if figure.month] == [("9.24", 2024)]


def test_a_date_of_the_buddhist_era_is_of_ours() -> None:
    (day,) = [figure for figure in figures("15/11/2566") if figure.month]
    assert same(day, figures("15 November 2023")[-1])


@pytest.mark.parametrize("text", ["211.154.219.97", "19.375.030.1"])
def test_an_address_of_four_numbers_is_no_number_of_thousands(text: str) -> None:
    assert all(figure.value < 1000 for figure in figures(text))


def test_groups_of_naught_are_thousands() -> None:
    assert alike("1.000.000 Euro", "1 million Euro")


def test_a_power_in_a_claim_is_the_power_of_its_passage() -> None:
    held = "Annealing for 2 h at 520 °C raised the Q of the rings from 1.5×10⁶ to 5×10⁶."
    assert plain("from 1.5×10⁶ m² to 5×10⁻⁶") == "from 1.5×10⁶ m2 to 5×10⁻⁶"
    assert not missing(figures(plain("It raised Q from 1.5×10⁶ to 5×10⁶.")), figures(held))
    assert missing(figures(plain("It raised Q from 1.5×10⁶ to 5×10⁷.")), figures(held))
    assert judge(plain(held), held).exact
