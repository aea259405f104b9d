"""Where rules find something against a claim, a model that calls it supported shows the words that say so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.contracts import Run
from leadline.errors import CallFailed
from leadline.findings import Verdict
from leadline.records import Document, Evidence, Failure, Hit, Report, Section, Source
from leadline.tasks import Task
from leadline_plugins.checks.causes import Cause, cause
from leadline_plugins.checks.conflicts import conflicts
from leadline_plugins.checks.passages import passage
from leadline_plugins.stages.claims import claims_of
from leadline_plugins.stages.library import Library
from leadline_plugins.stages.verdicts import judged
from leadline_plugins.tasks.checking import ClaimToVerify, ClaimVerdict, ClaimVerdicts, VerifyRequest
from leadline_plugins.wording.notices import retold

QUOTE = "In the trial of 2020 the drug worked better than the placebo: 54 % of the patients recovered within 12 days."
FALSE = (
    "In the trial of 2014 the drug worked better than the placebo.",
    "The drug worked worse than the placebo in the trial.",
    "The drug did not work better than the placebo in the trial.",
    "Recovery within 12 days came for 83 % of the patients on the drug.",
    "Fishermen along remote northern coasts celebrate elaborate harvest festivals every winter.",
)
Says = Callable[[ClaimToVerify], ClaimVerdict | None]


class Judge:
    """A run whose model says what it is made to say; None is the bare word that a claim is supported."""

    def __init__(self, says: Says, *, fails_on: int = 99) -> None:
        self._says, self._fails_on = says, fails_on
        self.asked: list[VerifyRequest] = []
        self.notices: list[str] = []

    async def perform(self, task: Task[Any]) -> Any:
        assert isinstance(task.inputs, VerifyRequest)
        self.asked.append(task.inputs)
        if len(self.asked) >= self._fails_on:
            raise CallFailed(Failure(kind="chat", provider="x", category="LLM", type="BadReply", message="no"))
        said = [(one.id, self._says(one)) for one in task.inputs.claims]
        return ClaimVerdicts(
            supported=tuple(name for name, one in said if one is None),
            confidence=0.95,
            others=tuple(one.model_copy(update={"id": name}) for name, one in said if one),
        )

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return True

    async def each(self, items: Sequence[Any], do: Callable[[Any], Awaitable[Any]]) -> list[Any]:
        return [await do(item) for item in items]

    async def emit(self, kind: str, data: Any) -> None:
        self.notices.append(data["message"])


def lazy(_: ClaimToVerify) -> None:
    """Call everything supported."""


def answering(said: ClaimVerdict) -> Says:
    """Return a judge that calls all supported, and says this where it is told what was found."""
    return lambda one: said if one.found else None


def quoting(words: str) -> Says:
    """Return a judge that calls all supported, and shows these words where it is asked for some."""
    return answering(ClaimVerdict(id="", verdict="supported", words=words))


def report(*sentences: str, quote: str = QUOTE) -> Report:
    return Report(
        title="Trials",
        language="en",
        sections=(Section(id="1", title="Trials", text=" ".join(f"{text} [@e1]" for text in sentences)),),
        sources=(Source(id="s1", hit=Hit(url="https://example.org/", title="A trial"), document=Document(text=quote)),),
        evidence=(Evidence(id="e1", source_id="s1", quote=quote, span=(0, len(quote)), claim=quote),),
    )


async def verdicts_on(judge: Judge, *sentences: str, quote: str = QUOTE, ahead: bool = False) -> list[Verdict]:
    made = report(*sentences, quote=quote)
    return await judged(cast("Run", judge), claims_of(made), Library(made), ahead=ahead)


async def test_a_bare_word_does_not_erase_what_rules_can_name() -> None:
    judge = Judge(lazy)
    true = "More patients got well with the drug than with the placebo in the 2020 trial."
    found = await verdicts_on(judge, *FALSE, true)
    rules = ["contradicted", "partial", "partial", "contradicted", "unsupported"]
    assert [one.verdict for one in found] == [*rules, "supported"]
    first, second = judge.asked
    assert len(first.claims) == len(FALSE) + 1
    assert [one.claim for one in second.claims] == [*FALSE]
    assert all(one.found for one in second.claims)
    assert [one.found in verdict.reason for one, verdict in zip(second.claims, found, strict=False)] == [True] * 5


@pytest.mark.parametrize("claim", FALSE)
async def test_another_verdict_in_the_second_call_stands(claim: str) -> None:
    judge = Judge(answering(ClaimVerdict(id="", verdict="contradicted", reason="not so")))
    (found,) = await verdicts_on(judge, claim)
    assert (found.verdict, found.by, found.reason) == ("contradicted", "model", "not so")


DERIVED = "The drug gave 54 of 100 patients their health back, the trial of 2020 found."
QUOTED = "54 % of the patients recovered"


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (QUOTED, "supported"),
        ("“54 % of the patients recovered”", "supported"),
        ("…54 % of the patients recovered within 12 days.", "supported"),
        ("100 of 100 patients recovered", "partial"),
        ("the drug worked better than the placebo", "partial"),
        ("the", "partial"),
        ("", "partial"),
        ("  ", "partial"),
    ],
)
async def test_words_of_the_passage_support_a_claim_and_others_do_not(words: str, verdict: str) -> None:
    (found,) = await verdicts_on(Judge(quoting(words)), DERIVED)
    assert (found.verdict, found.by) == (verdict, "model")
    assert "the claim says 100" in found.reason
    assert ("54 % of the patients" in found.reason) is (verdict == "supported")


KINDS: tuple[Literal["partial", "unsupported", "contradicted"], ...] = "partial", "unsupported", "contradicted"


async def test_what_a_rule_contradicts_is_asked_with_what_it_found_and_the_model_is_believed() -> None:
    claim = "In the trial of 2020 the drug worked better than the placebo: 56 % of the patients recovered."
    hint = "the claim says 56 %, the passage 54 %"
    for said in [ClaimVerdict(id="", verdict=kind, reason="of others") for kind in KINDS]:
        (found,) = await verdicts_on(judge := Judge(answering(said)), claim)
        assert (found.verdict, found.by, found.reason) == (said.verdict, "model", "of others")
        assert [[one.found for one in request.claims] for request in judge.asked] == [[hint]]
    for says in quoting(QUOTED), quoting(QUOTE), lazy:
        (found,) = await verdicts_on(judge := Judge(says), claim)
        assert (found.verdict, found.by, len(judge.asked)) == ("contradicted", "model", 2)
        assert hint in found.reason


async def test_a_verdict_without_a_reason_has_that_of_the_rule() -> None:
    claim = "In the trial of 2020 the drug worked better than the placebo: 56 % of the patients recovered."
    (found,) = await verdicts_on(Judge(answering(ClaimVerdict(id="", verdict="contradicted"))), claim)
    assert found.reason == "by rule: the claim says 56 %, the passage 54 %"


async def test_without_an_answer_rules_stand() -> None:
    claim = "In the trial of 2020 the drug worked better than the placebo: 56 % of the patients recovered."
    judge = Judge(lazy, fails_on=1)
    found = await verdicts_on(judge, claim, FALSE[-1])
    assert [(one.verdict, one.by) for one in found] == [("contradicted", "exact"), ("unsupported", "words")]
    (told,) = judge.notices
    assert told.startswith("2 of 2 claims were judged by words, not by the model (")


async def test_where_the_second_call_fails_nothing_is_supported_against_the_rules() -> None:
    found = await verdicts_on(Judge(lazy, fails_on=2), *FALSE)
    assert {one.verdict for one in found} == {"contradicted", "partial", "unsupported"}
    assert {one.by for one in found} == {"model"}


@pytest.mark.parametrize("claim", FALSE[1:3])
async def test_what_rules_are_not_sure_of_contradicts_nothing_that_a_model_supports_twice(claim: str) -> None:
    (alone,) = await verdicts_on(Judge(lazy, fails_on=1), claim)
    assert alone.verdict == "contradicted"
    for words in "", QUOTED, "the drug worked better than the placebo":
        (found,) = await verdicts_on(Judge(quoting(words)), claim)
        assert (found.verdict, found.by) == ("partial", "model")


async def test_of_what_is_judged_ahead_in_vain_nothing_is_told_and_all_is_asked_again() -> None:
    made = report(FALSE[0], "In 2020 the drug was tried, and worked better.")
    silent = Judge(lazy, fails_on=1)
    before = await judged(cast("Run", silent), claims_of(made), Library(made), ahead=True)
    assert not silent.notices
    judge = Judge(lambda one: ClaimVerdict(id="", verdict="partial", reason="in part"))
    found = await judged(cast("Run", judge), claims_of(made), Library(made), before)
    assert not judge.notices
    assert [one.by for one in found] == ["model", "model"]


async def test_a_model_that_supports_all_against_the_rules_is_told_of() -> None:
    judge = Judge(lazy)
    await verdicts_on(judge, *FALSE)
    assert judge.notices == [
        "the model called 5 of 5 claims supported, 5 of them against what rules found and without words of a passage "
        "that say so: those count as the rules say, partial where they are not sure"
    ]
    honest = Judge(quoting(QUOTED))
    await verdicts_on(honest, *[DERIVED] * 5, FALSE[0])
    assert not honest.notices


@pytest.mark.parametrize(
    "claim",
    [
        "Das Mittel half in der Studie von 2020 besser als das Scheinmedikament, 54 % der Kranken genasen.",
        "2020年的试验显示，该药疗效优于安慰剂，54%的患者在12天内康复。",
        "Of those treated, more than half of the patients were well again in under two weeks.",
        "The drug did better than the placebo in 2020.",
    ],
)
async def test_other_languages_and_other_words_are_the_models_to_judge(claim: str) -> None:
    judge = Judge(lazy)
    (found,) = await verdicts_on(judge, claim)
    assert (found.verdict, len(judge.asked)) == ("supported", 1)


async def test_what_shares_hardly_a_word_with_its_passage_needs_but_a_quotation() -> None:
    claim = "Treatment made over half of people healthy again inside a fortnight."
    (found,) = await verdicts_on(Judge(lazy), claim)
    assert found.verdict == "unsupported"
    (found,) = await verdicts_on(Judge(quoting("patients recovered within 12 days")), claim)
    assert found.verdict == "supported"


async def test_a_figure_of_a_heading_or_title_stands_in_what_the_model_is_shown() -> None:
    assert cause("The drug was tried in 2021.", "The drug was tried.") is not None
    assert cause("The drug was tried in 2021.", "The drug was tried.", shown="Trials of 2021") is None
    assert cause("The drug was tried.", "The drug was tried.") is None


@given(words=st.text(max_size=40), text=st.text(max_size=80))
def test_words_answer_only_where_they_stand_in_a_passage(words: str, text: str) -> None:
    answered = Cause("x").answered(words, [text])
    assert not answered or any(sign in text for sign in words if sign.isalnum())
    assert not Cause("x").answered(words, [])


@given(start=st.integers(0, 40), length=st.integers(1, 110))
def test_a_piece_of_the_passage_answers_a_figure_only_with_a_figure(start: int, length: int) -> None:
    words = QUOTE[start : start + length]
    found = cause("The drug worked in 2020: 56 of 100 patients recovered.", QUOTE)
    assert found is not None
    if found.answered(words, [QUOTE]):
        assert any(sign.isdigit() for sign in words)


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("The harbour is preparing to cut 14,000 jobs.", "The harbour is preparing to cut 4,000 jobs this year."),
        ("The bank put $9.5 billion into the harbour.", "The bank put $6.5 billion into the harbour on Monday."),
        ("The harbour has not received an inquiry.", "The harbour has received an inquiry from the mayor."),
        ("The cranes have returned to the harbour.", "The cranes have not returned to the harbour."),
        ("The trip takes one hour less than the old one.", "The trip takes one hour more than the old one did."),
        ("Trade of the harbour grew in Oslo by 4 % in 1990.", "Trade of the harbour grew in Oslo by 7 % in 1990."),
        ("港口计划裁员14000人。", "港口计划裁员4000人，消息人士说。"),
    ],
)
@pytest.mark.parametrize("whole", [True, False])
def test_the_very_words_that_differ_from_a_claim_bear_nothing(claim: str, words: str, whole: bool) -> None:
    text = f"Much is said of it. {words} The mayor did not comment on that."
    found = cause(claim, text)
    assert found is not None
    assert not found.answered(text if whole else words, [text])


@pytest.mark.parametrize(
    ("claim", "text", "words", "bears"),
    [
        ("Wages rose by 3.2 points in ten years.", "Wages rose from 10.1 to 13.3 %.", "from 10.1 to 13.3 %", True),
        ("Wages rose by 3.2 points in ten years.", "Wages rose from 10.1 to 14.3 %.", "from 10.1 to 14.3 %", False),
        (
            "Both yards built 61 ships.",
            "The old yard built 40 ships. Much later the new yard built 21 ships.",
            "The old yard built 40 ships … the new yard built 21 ships",
            True,
        ),
        (
            "Both yards built 61 ships.",
            "The old yard built 40 ships. Much later the new yard built 21 ships.",
            "The old yard built 40 ships … the new yard built 99 ships",
            False,
        ),
        ("The shell weighs 10 kg.", "The shell is a 22-pound projectile.", "a 22-pound projectile", True),
        ("Cranes have not returned.", "Cranes are gone, and the quay is rust.", "Cranes are gone", True),
    ],
)
def test_what_a_figure_is_computed_from_bears_it(claim: str, text: str, words: str, bears: bool) -> None:
    found = cause(claim, text) or Cause("x", claim, next(conflicts(claim, passage(claim, text), text)))
    assert found.answered(words, [text]) is bears


async def test_the_reason_of_what_a_model_does_not_show_is_told_in_the_language_of_the_report() -> None:
    (found,) = await verdicts_on(Judge(lazy), FALSE[0])
    assert found.reason.endswith("; the model calls it supported, and shows no words of a passage that say so")
    told = retold(found.reason, "de")
    assert told.startswith("die Aussage sagt 2014, die Textstelle: 2020; das Modell")


async def test_words_that_stand_there_and_settle_nothing_are_told_as_such() -> None:
    (found,) = await verdicts_on(Judge(quoting("better than the placebo")), FALSE[0])
    said = "; the model calls it supported by “better than the placebo”, which does not settle it"
    assert found.verdict != "supported"
    assert found.reason.endswith(said)
    assert "belegt durch „better than the placebo“" in retold(found.reason, "de")
