"""What a passage does not say as the claim says it is put to a judge, and decides nothing by itself."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.causes import cause
from leadline_plugins.checks.hints import hints
from leadline_plugins.checks.judge import judge
from leadline_plugins.checks.passages import passage

KEYS = "Given its design, the new keyboard should prove far more reliable than the old keyboards."
LOUD = (
    "On the new machine that area reached a maximum of 89 degrees under load.\n"
    "The new machine reached a maximum of 44 dBa under load."
)
SAYS = "Apple analyst Ming-Chi Kuo has predicted that the lineup will move to scissor keyboards in 2020."
CHIPS = "The firm fitted the same chips as before, and the new machine gets slightly better performance out of them."


@pytest.mark.parametrize(
    ("claim", "held", "found"),
    [
        ("The new keyboard has proven far more reliable than the old keyboards.", KEYS, "should prove"),
        ("该公司市场规模在2028年超过8,110亿元。", "预计该公司市场规模在2028年超过8,110亿元。", "预计"),
        ("The area reached a maximum of 44 degrees, the machine 89 dBa under load.", LOUD, "89 degrees"),
        ("DigiTimes has predicted that the lineup will move to scissor keyboards in 2020.", SAYS, "Ming-Chi Kuo"),
        ("The new machine gets slightly better performance because faster fans cool it.", CHIPS, "faster fans"),
        (
            "According to Crane-4b as a judge the harbour is full.",
            "According to Crane-4 as a judge the harbour is full, of Crane-3.5, Crane-4b and others.",
            "Crane-4",
        ),
        ("由于原料大跌，公司今年净利润继续快速增长。", "公司今年净利润继续快速增长。", "原料"),
    ],
)
def test_what_is_said_otherwise_is_asked_about_and_decides_nothing(claim: str, held: str, found: str) -> None:
    against = cause(claim, held)
    assert against is not None
    assert found in against.reason
    assert judge(claim, held).verdict != "contradicted"


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("The new keyboard should prove far more reliable than the old keyboards.", KEYS),
        ("The new keyboard is expected to be far more reliable than the old keyboards.", KEYS),
        ("预计该公司市场规模在2028年超过8,110亿元。", "该公司市场规模有望在2028年超过8,110亿元。"),
        ("该公司市场规模2023年为2,137亿元。", "该公司市场规模2023年为2,137亿元，预计2028年将超过8,110亿元。"),
        ("The area reached 89 degrees under load, the machine 44 dBa.", LOUD),
        ("There were 12 patients, of 44 patients.", "There were 12 adult patients, and 44 patients in all."),
        ("Ming-Chi Kuo has predicted that the lineup will move to scissor keyboards.", SAYS),
        ("Of these ten harbours of the coast all were surveyed.", "They surveyed 13 harbours of the coast."),
        ("Three methods were compared for speed.", "Compared for speed were 13 methods, of them A, B and C."),
        ("The ten harbours of the coast were surveyed.", "They surveyed the ten harbours of the coast."),
        ("Crane-4b and Crane-4 judge the harbour.", "Crane-4 and Crane-4b judge the harbour."),
        (
            "Crane-4b as a judge finds the harbour full.",
            "Crane-4b as a judge finds the harbour full; Crane-4 is old.",
        ),
        ("Analysts predicted that the lineup will move to scissor keyboards in 2020.", SAYS),
        ("Abu Dhabi's ADIA holds 32% of its fund in shares.", "ADIA (UAE): 32% of its fund in shares."),
        ("Quantum acoustic; Reason: Minimal TLS density", "Consider skipping GCIB for minimal TLS density."),
        ("The machine gets better performance because of the same chips as before.", CHIPS),
    ],
)
def test_what_is_said_alike_is_not_asked_about(claim: str, held: str) -> None:
    assert cause(claim, held) is None


@pytest.mark.parametrize(
    ("claim", "held", "words"),
    [
        (
            "The area reached a maximum of 44 degrees, the machine 89 dBa under load.",
            LOUD,
            "reached a maximum of 89 degrees under load",
        ),
        ("The new keyboard has proven far more reliable than the old keyboards.", KEYS, KEYS),
        ("DigiTimes has predicted that the lineup will move to scissor keyboards in 2020.", SAYS, SAYS),
        ("The new machine gets slightly better performance because faster fans cool it.", CHIPS, CHIPS),
    ],
)
def test_who_copies_the_passage_does_not_answer_what_it_says_otherwise(claim: str, held: str, words: str) -> None:
    against = cause(claim, held)
    assert against is not None
    assert not against.answered(words, [held])


def test_words_that_say_it_as_the_claim_does_answer() -> None:
    held = f"{CHIPS} Faster fans cool the new machine, which gives it slightly better performance."
    against = cause("The new machine gets slightly better performance because faster fans cool it.", CHIPS)
    assert against is not None
    assert against.answered("Faster fans cool the new machine, which gives it slightly better performance", [held])


def test_a_subject_that_a_judge_is_shown_beside_the_passage_is_named() -> None:
    claim = "DigiTimes has predicted that the lineup will move to scissor keyboards in 2020."
    assert cause(claim, SAYS, shown="DigiTimes: what comes next") is None


def _expected(claim: str, held: str) -> bool:
    return any("tells as a fact" in hint.reason for hint in hints(claim, passage(claim, held), held, held))


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("Prices rise with demand.", "Prices will rise with demand."),
        ("The rise in prices followed demand.", "Prices will rise with demand."),
        ("The club will be joining the league.", "The club is expected to join the league."),
        ("The bridge is to be opened in May.", "The bridge is expected to open in May."),
        ("The design of the bridge won a prize.", "They plan to design a bridge."),
        ("The fund has raised its share to 50%.", "The fund met its target of raising its share to 50%."),
        ("The fund targets 50%, having raised its share.", "The fund targets raising its share to 50%."),
        ("The power plant is planned to have opened in May.", "The power plant is expected to open in May."),
    ],
)
def test_what_is_not_told_as_done_may_well_be_expected(claim: str, held: str) -> None:
    assert not _expected(claim, held)


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("The power plant opened in May.", "The power plant is expected to open in May."),
        ("The plane has landed on the planet.", "The plane should land on the planet."),
        ("Due to demand, the company has opened a shop.", "The company expects to open a shop."),
        ("The city has not built a bridge.", "The city plans to build a bridge."),
        ("The fund has raised its share to 50%.", "The fund targets raising its share to 50% by 2030."),
        ("The fund has raised its share to 50%.", "The fund is considering raising its share to 50%."),
        ("The fund has raised its share to 50%.", "The fund aims at raising its share to 50%."),
    ],
)
def test_what_is_told_as_done_was_only_expected(claim: str, held: str) -> None:
    assert _expected(claim, held)


SNAP = "FastDock is a snapshot-based platform that cuts the cold start of virtual machines by loading less."


@pytest.mark.parametrize(
    ("claim", "held", "found"),
    [
        (
            "LayerKite combines layer-wise warming with keep-alive for cold start of functions.",
            SNAP,
            "FastDock",
        ),
        ("It is therefore the cheapest choice for all workloads.", "Provisioning of clusters for data analytics", "0%"),
    ],
)
def test_what_is_said_of_another_is_asked_about_however_few_words_are_shared(claim: str, held: str, found: str) -> None:
    against = cause(claim, held)
    assert against is not None
    assert found in against.reason


@pytest.mark.parametrize(
    ("claim", "held", "shown"),
    [
        ("LayerKite warms layers for a cold start.", SNAP, "LayerKite and FastDock compared"),
        ("Norway warms layers for a cold start.", SNAP, ""),
        ("Workloads are cheap.", "Provisioning of clusters for data analytics", ""),
    ],
)
def test_of_few_shared_words_another_kind_of_name_or_hardly_a_claim_tells_nothing(
    claim: str, held: str, shown: str
) -> None:
    assert cause(claim, held, shown=shown) is None


def test_a_number_in_words_is_asked_about_where_the_passage_counts_the_same_thing() -> None:
    found = cause("Ten small harbours of the coast were surveyed.", "They surveyed 13 small harbours of the coast.")
    assert found is not None
    assert found.reason == "the claim says ten, the passage 13"
