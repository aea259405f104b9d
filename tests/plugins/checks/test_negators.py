"""Yes and no in the languages whose negation is known, and what only looks like one."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.causes import cause
from leadline_plugins.checks.polarity import contrary

PAIRS = [
    ("de", "Der Bundestag hat das Gesetz beschlossen.", "Der Bundestag hat das Gesetz nicht beschlossen."),
    ("de, behind", "Der Bundestag beschloss das Gesetz.", "Der Bundestag beschloss das Gesetz nicht."),
    ("de, none", "Die Anlage verursacht Emissionen.", "Die Anlage verursacht keine Emissionen."),
    ("fr", "Le gouvernement a approuvé le projet.", "Le gouvernement n'a pas approuvé le projet."),
    ("es", "El gobierno aprobó el proyecto.", "El gobierno no aprobó el proyecto."),
    ("it", "Il governo ha approvato il progetto.", "Il governo non ha approvato il progetto."),
    ("pt", "O governo aprovou o projeto.", "O governo não aprovou o projeto."),
    ("nl", "De raad heeft het plan goedgekeurd.", "De raad heeft het plan niet goedgekeurd."),
    ("ru", "Правительство одобрило проект.", "Правительство не одобрило проект."),
    ("ko", "정부는 이 계획을 승인했다.", "정부는 이 계획을 승인하지 않았다."),
    ("ko, none", "이 약은 어린이에게 효과가 있다.", "이 약은 어린이에게 효과가 없다."),
    ("ar", "وافقت الحكومة على المشروع الجديد.", "لم توافق الحكومة على المشروع الجديد."),
    ("hi", "सरकार ने योजना को मंजूरी दी।", "सरकार ने योजना को मंजूरी नहीं दी।"),
    ("zh", "政府已经批准了该项目。", "该项目尚未获得政府批准。"),
    ("ja", "政府は計画を承認した。", "政府は計画を承認しなかった。"),
]


@pytest.mark.parametrize(("said", "denied"), [pair[1:] for pair in PAIRS], ids=[pair[0] for pair in PAIRS])
def test_what_one_denies_and_the_other_says_is_seen_either_way(said: str, denied: str) -> None:
    assert contrary(denied, said)
    assert contrary(said, denied)


@pytest.mark.parametrize(("said", "denied"), [pair[1:] for pair in PAIRS], ids=[pair[0] for pair in PAIRS])
def test_what_both_say_or_both_deny_is_no_contradiction(said: str, denied: str) -> None:
    assert not contrary(said, said)
    assert not contrary(denied, denied)


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("Das Gesetz gilt nicht nur für Neubauten.", "Das Gesetz gilt für Neubauten und Altbauten."),
        ("Die Anlage verursacht Emissionen.", "Die Anlage verursacht keinen Lärm, aber Emissionen."),
        ("La loi ne vise que les logements neufs.", "La loi vise les logements neufs."),
        ("Le pas suivant est la loi.", "La loi est le pas suivant."),
        ("El plan no solo cubre el agua.", "El plan cubre el agua y el gas."),
        ("No obstante, el plan cubre el agua.", "El plan cubre el agua."),
        ("Il piano non solo copre l'acqua.", "Il piano copre l'acqua e il gas."),
        ("O plano não só cobre a água.", "O plano cobre a água e o gás."),
        ("Het plan geldt niet alleen voor water.", "Het plan geldt voor water en gas."),
        ("Закон касается не только воды.", "Закон касается воды и газа."),
        ("لا يزال المشروع قيد التنفيذ.", "المشروع قيد التنفيذ."),
        ("비는 끊임없이 내렸다.", "비는 계속 내렸다."),
        ("该项目的报告尚未获得政府批准。", "政府尚未批准该项目的报告。"),
        ("事業者は排出量を報告する義務がある。", "事業者は排出量を報告しなければならない。"),
        ("事業者は排出量を報告する義務がある。", "事業者は排出量を報告せざるを得ない。"),
        ("計画は変更される可能性がある。", "計画は変更されるかもしれない。"),
        ("The plan covers water.", "The plan covers not only water but gas."),
        ("The non-profit runs the plant.", "The nonprofit runs the plant."),
    ],
)
def test_what_only_looks_like_a_negation_denies_nothing(claim: str, held: str) -> None:
    assert not contrary(claim, held)


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("The tool needs nothing but a key.", "The tool works with only a key."),
        ("No company other than Acme sells the tool.", "Acme alone sells the tool."),
        ("The plan did not start until 2020.", "The plan started in 2020."),
        ("No doubt the plan covers water.", "The plan covers water."),
        ("The pump did not fail in May.", "The pump worked in May."),
        ("The tool does not lack speed.", "The tool has speed."),
        ("Adding salt makes the engine refuse even clean fuel.", "Salt elicits refusal on even clean fuel."),
        ("Such tools are slow and lack speed and control.", "Such tools are slow and lacking in speed and control."),
        (
            "It cuts the rate at which harmful orders are refused.",
            "It cuts the rate at which one refuses harmful orders.",
        ),
        ("The firm denied the charge of fraud.", "The denial of the charge of fraud came late."),
        ("The test failed in three towns.", "The test was a failure in three towns."),
        ("The tool did not change.", "The tool remained unchanged."),
        ("Without it, start of the server is slow.", "With the cache disabled, start of the server is slow."),
        ("The bank did not raise rates in May.", "The bank left rates unchanged in May."),
        ("The bill did not pass the council.", "The council voted down the bill."),
        ("He drove the No. 1 car.", "He drove the car with the number one."),
        ("Die Anlage hat keine Sperre.", "Der Anlage fehlt eine Sperre."),
        ("需求一端也不乐观，购房者减少", "购房者将减少"),
        ("前景不容乐观，销量下降", "销量下降"),
        ("土地不再是居民唯一的来源", "务工收入是居民增收的大头"),
    ],
)
def test_what_is_denied_in_other_words_is_no_contradiction(claim: str, held: str) -> None:
    assert not contrary(claim, held)
    assert not contrary(held, claim)


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("The tool lacks a cache.", "The tool has a cache."),
        ("The model refuses the request.", "The model follows the request."),
        ("The firm did not deny the charge.", "The firm denied the charge."),
        ("The firm failed to return the loan.", "The firm returned the loan."),
        ("The bay is not 40 fathoms deep.", "The bay is 40 fathoms deep."),
        ("The council did not reject the plan.", "The council rejected the plan."),
        ("The firm did not close the mine.", "The firm closed the mine."),
        ("The bank gives no loans.", "The bank gives loans to farmers since May."),
        ("Der Rat hat dem Plan nie zugestimmt.", "Der Rat hat dem Plan zugestimmt."),
        ("Le conseil n'accepte plus le plan.", "Le conseil accepte le plan."),
        ("该市不再依赖土地收入", "该市依赖土地收入"),
    ],
)
def test_what_only_one_denies_is_seen_in_all_forms(claim: str, held: str) -> None:
    assert contrary(claim, held)
    assert contrary(held, claim)


def test_a_denial_is_named_by_its_negator_and_clause_and_cut_at_a_word() -> None:
    found = contrary("The tool is slow and lacks controllability.", "The tool is slow and has controllability.")
    assert found is not None
    assert (found.said, found.bare) == ("lacks controllability", False)
    long = "The tool has no " + "very " * 30 + "good speed."
    found = contrary(long, "The tool has speed, very good.")
    assert found is not None
    assert found.said.endswith("very …")


def test_words_that_deny_in_another_way_answer_a_denial() -> None:
    claim = "Engines with the old valve do not start in cold towns of the far north."
    text = (
        "Engines with the old valve halt, the mayor of the busy port told the press, "
        "when they start in cold towns of the far north."
    )
    found = cause(claim, text)
    assert found is not None
    assert found.answered(text, [text])
    assert not found.answered("when they start in cold towns of the far north", [text])
