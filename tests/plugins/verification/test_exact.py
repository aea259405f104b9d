"""The judge `exact`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from leadline.hookspecs import PluginSettings
from leadline.records import Judgement, JudgeRequest
from leadline_plugins.verification.judges.exact import ExactJudge

PASSAGE = "The bay is **40 fathoms** deep; it was “sounded” in 1831. It is not true that ships are safe."
PASSAGE += "\n\n- one lamp\n- two lamps"
NewRequest = Callable[..., JudgeRequest]


async def judged(request: JudgeRequest) -> list[Judgement]:
    found = await ExactJudge(PluginSettings(), cast("Any", None)).judge(request, cast("Any", None))
    return list(found.judgements)


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        (
            'The bay is 40 fathoms deep; it was "sounded" in 1831.',
            "The bay is **40 fathoms** deep; it was “sounded” in 1831",
        ),
        (
            "the bay is 40  fathoms deep; it was sounded in 1831",
            "The bay is **40 fathoms** deep; it was “sounded” in 1831",
        ),
        ("two lamps", "two lamps"),
        (
            "It is not true that ships are safe. […] two lamps",
            "It is not true that ships are safe.\n\n- one lamp\n- two lamps",
        ),
    ],
)
async def test_the_same_words_are_supported_with_the_quote(new_request: NewRequest, claim: str, quote: str) -> None:
    [found] = await judged(new_request(claim, PASSAGE))
    assert (found.verdict, found.quote, found.evidence_id) == ("supported", quote, "a")


async def test_the_words_around_and_in_a_nested_quotation_of_the_passage_are_found(new_request: NewRequest) -> None:
    passage = "The grommet is here:\n\n> The grommet\n> > holds the cable.\n\nSee also <the bracket>."
    [found] = await judged(
        new_request("The grommet is here: The grommet holds the cable. See also <the bracket>.", passage)
    )
    assert (found.verdict, found.quote) == ("supported", passage.removesuffix("."))


async def test_a_power_is_another_number_and_the_mark_of_a_note_is_none(new_request: NewRequest) -> None:
    passage = "The quay holds 10^6 litres[^12] of fuel."
    [found] = await judged(new_request("The quay holds 106 litres of fuel.", passage))
    assert found.verdict == "not_judged"
    [found] = await judged(new_request("The quay holds 10^6 litres of fuel.", passage))
    assert (found.verdict, found.quote) == ("supported", passage.removesuffix("."))


async def test_greater_than_is_a_sign_of_the_claim(new_request: NewRequest) -> None:
    assert not await judged(new_request("> 5 mm is deep", "5 mm is deep"))
    [found] = await judged(new_request("> 5 mm is deep", "\\> 5 mm is deep"))
    assert found.verdict == "supported"


async def test_a_row_is_supported_by_the_same_row_under_the_same_header(new_request: NewRequest) -> None:
    table = "| City | People |\n|---|---|\n| Bonn | 330,000 |"
    [found] = await judged(new_request("City: Bonn; People: 330,000", table))
    assert found.verdict == "supported"
    assert not await judged(new_request("City: Bonn; Ships: 330,000", table))


async def test_dots_of_the_passage_itself_are_no_omission(new_request: NewRequest) -> None:
    said = "Install it by `apt install ...` or by hand."
    [found] = await judged(new_request(said, said))
    assert found.verdict == "supported"


async def test_a_lead_in_that_is_repeated_before_a_passage_belongs_to_it(new_request: NewRequest) -> None:
    given = new_request("Take these steps: Open the lid.", "- Open the lid.\n- Put in a wick.")
    passages = tuple(one.model_copy(update={"lead": "Take these steps:"}) for one in given.passages)
    [found] = await judged(given.model_copy(update={"passages": passages}))
    assert (found.verdict, found.quote) == ("supported", "- Open the lid")


@pytest.mark.parametrize(
    "claim",
    [
        "Ships are safe.",
        "The bay is 40 fathoms deep.",
        "two lamps […] one lamp",
        "The bay is deep.",
        "lamps",
        "",
    ],
)
async def test_nothing_else_is_supported(new_request: NewRequest, claim: str) -> None:
    assert all(one.verdict == "not_judged" for one in await judged(new_request(claim, PASSAGE)))


async def test_part_of_a_chinese_sentence_is_not_supported(new_request: NewRequest) -> None:
    assert not await judged(new_request("可以混用软件源。", "用户不可以混用软件源。"))


@pytest.mark.parametrize(
    ("claim", "lacks"),
    [
        ("The bay is 50 fathoms deep.", "“50” does not occur in the cited passages"),
        ("It was sounded in April 1831.", "“April” does not occur in the cited passages"),
        ("Fitz wrote “the bay is very shallow”.", "the quoted text “the bay is very shallow” does not occur"),
    ],
)
async def test_what_no_cited_passage_has_is_passed_on(new_request: NewRequest, claim: str, lacks: str) -> None:
    source = f"{PASSAGE}\n\nElsewhere, in April, it is 50 fathoms deep: “the bay is very shallow”."
    [found] = await judged(new_request(claim, PASSAGE, source=source))
    assert found.verdict == "not_judged"
    assert lacks in found.reason


async def test_headings_titles_and_addresses_count_as_the_passage(new_request: NewRequest) -> None:
    given = new_request("Chart 7 of 1832, sheet 15, says so.", PASSAGE)
    hit = given.sources[0].hit.model_copy(update={"url": "https://0.example/chart-15/", "title": "Charts of 1832"})
    request = given.model_copy(
        update={
            "passages": tuple(one.model_copy(update={"path": ("Chart 7",)}) for one in given.passages),
            "sources": (given.sources[0].model_copy(update={"hit": hit}),),
        }
    )
    assert not await judged(request)


async def test_a_quotation_in_another_script_is_a_translation(new_request: NewRequest) -> None:
    assert not await judged(new_request("他写道“这个海湾其实非常浅”。", PASSAGE))
