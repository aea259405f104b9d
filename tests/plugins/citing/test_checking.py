"""A claim of another tool's report, held against all that it cites together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import pytest

from leadline.contracts import Run
from leadline.records import Document
from leadline.tasks import Task
from leadline_plugins.citing.checking import CheckedReport, check
from leadline_plugins.stages.asking import asked, is_open
from leadline_plugins.tasks.checking import ClaimVerdict, ClaimVerdicts, VerifyRequest

LISTED = "\n\n## Sources\n\n[1] The river gauge\n[2] The town archive\n[3] The lost page\n"
GAUGE = "The yearbook opens with thanks. The river Aller rose to 9 metres in 1841. The summer was dry."
ARCHIVE = "The town of Verden lost its timber bridge in the flood. It was rebuilt in stone. Archives open at ten."
BOTH = "The river Aller rose to 9 metres in 1841, and Verden lost its timber bridge in the flood [1][2]."


def of(text: str, **documents: str) -> CheckedReport:
    return check(f"# T\n\n{text}{LISTED}", {key[1:]: Document(text=held) for key, held in documents.items()})


def test_several_sources_bear_a_claim_together_and_it_has_one_verdict() -> None:
    (claim,) = of(BOTH, s1=GAUGE, s2=ARCHIVE).claims
    assert (claim.verdict, claim.source) == ("supported", "1, 2")
    assert [one.source for one in claim.near] == ["1", "2"]
    assert claim.passage == "\n".join(one.passage for one in claim.near)


def test_one_source_that_bears_a_claim_is_enough() -> None:
    (claim,) = of("The river Aller rose to 9 metres in 1841 [1][2].", s1=GAUGE, s2=ARCHIVE).claims
    assert (claim.verdict, claim.by) == ("supported", "exact")


def test_where_another_source_speaks_against_it_it_is_open() -> None:
    other = "The river Aller rose to 7 metres in 1841."
    (claim,) = of("The river Aller rose to 9 metres in 1841 [1][2].", s1=GAUGE, s2=other).claims
    assert (claim.verdict, claim.by) == ("partial", "words")
    assert "another passage says otherwise" in claim.reason


def test_what_was_not_read_is_told_where_the_rest_does_not_bear_it() -> None:
    (claim,) = of("The mayor of Celle wrote four operas about herons [2][3].", s2=ARCHIVE).claims
    assert (claim.verdict, claim.source) == ("unsupported", "2, 3")
    assert claim.reason.endswith("; not read: [3]")
    (claim,) = of("The mayor of Celle wrote four operas about herons [3].", s2=ARCHIVE).claims
    assert (claim.verdict, claim.reason) == (None, "the source was not read")


class Judge:
    """A run whose model says one thing of all claims; without a verdict it calls them supported."""

    def __init__(self, said: ClaimVerdict | None = None) -> None:
        self._said = said
        self.asked: list[VerifyRequest] = []
        self.notices: list[str] = []

    async def perform(self, task: Task[Any]) -> Any:
        assert isinstance(task.inputs, VerifyRequest)
        self.asked.append(task.inputs)
        names = [one.id for one in task.inputs.claims]
        if self._said is None:
            return ClaimVerdicts(supported=tuple(names))
        return ClaimVerdicts(others=tuple(self._said.model_copy(update={"id": name}) for name in names))

    async def each(self, items: Sequence[Any], do: Callable[[Any], Awaitable[Any]]) -> list[Any]:
        return [await do(item) for item in items]

    async def emit(self, kind: str, data: Any) -> None:
        self.notices.append(data["message"])


async def test_a_model_is_asked_once_about_a_claim_with_all_its_sources_and_what_stands_beside_the_best() -> None:
    found = of("Verden's bridge of timber was lost when the Aller rose [1][2].", s1=GAUGE, s2=ARCHIVE)
    assert is_open(found)
    judge = Judge()
    (claim,) = (await asked(cast("Run", judge), found)).claims
    assert (claim.verdict, claim.by) == ("supported", "model")
    ((put,),) = [request.claims for request in judge.asked]
    texts = {source.title: source.passages[0].text for source in judge.asked[0].sources}
    assert len(put.passages) == 2
    assert texts["The town archive"].endswith("It was rebuilt in stone.")
    assert not judge.notices


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (None, "contradicted"),
        (ClaimVerdict(id="", verdict="partial", reason="seven"), "partial"),
        (ClaimVerdict(id="", verdict="supported", words="rose to 9 metres"), "contradicted"),
        (ClaimVerdict(id="", verdict="supported", words="rose to 88 metres"), "contradicted"),
    ],
)
async def test_what_rules_contradict_is_asked_about_too(said: ClaimVerdict | None, verdict: str) -> None:
    found = of("The river Aller rose to 8 metres in 1841 [1].", s1=GAUGE)
    assert (found.claims[0].verdict, found.passed) == ("contradicted", False)
    judged = await asked(cast("Run", judge := Judge(said)), found)
    assert judged.claims[0].verdict == verdict
    assert judge.asked[0].claims[0].found or judge.asked[-1].claims[0].found
    assert judged.passed is (verdict == "partial")


TABLE = """## Rivers

| # | River | Rise in 1841 | Lost |
|---|---|---|---|
| 1 | Aller | 9 metres [1] | |
| 2 | Weser | | the timber bridge of Verden [2] |
"""


def test_a_row_is_shown_with_what_stands_over_its_cells() -> None:
    found = of(TABLE, s1=GAUGE, s2=ARCHIVE).claims
    assert [claim.claim for claim in found] == [
        "Aller; Rise in 1841: 9 metres",
        "Weser; Lost: the timber bridge of Verden",
    ]
    assert [claim.text for claim in found] == ["Aller; 9 metres", "Weser; the timber bridge of Verden"]
    row = "| Aller | it rose to all of 9 metres [1] | no bridge [2] |"
    first, second = of(f"| R | Rise | Lost |\n|---|---|---|\n{row}").claims
    assert (first.claim, first.source) == ("Aller; Rise: it rose to all of 9 metres", "1")
    assert (second.claim, second.source) == ("Aller; Lost: no bridge", "2")


async def test_a_model_is_shown_where_a_claim_stands() -> None:
    said = "It was a wet year [2]. It rose high that summer, they say [1]; Verden fled in boats over two days [2]."
    text = f"## Floods\n\n### The Aller\n\n{said}"
    judge = Judge()
    await asked(cast("Run", judge), of(text, s1=GAUGE, s2=ARCHIVE))
    shown = {put.claim: put for request in judge.asked for put in request.claims}
    assert {put.under for put in shown.values()} == {"Floods › The Aller"}
    assert shown["It rose high that summer, they say"].before == "It was a wet year."
    assert shown["Verden fled in boats over two days."].whole.startswith("It rose high that summer, they say; Verden")


def test_what_is_said_with_less_than_a_statement_since_another_mark_has_that_too() -> None:
    first, second = of("One gauge names 9 metres [1], the other 7 metres [2].", s1=GAUGE, s2="It rose 7 metres.").claims
    assert (first.source, second.source) == ("1", "1, 2")
    assert second.claim.startswith("One gauge names 9 metres, the other")


@pytest.mark.parametrize(
    "text",
    [
        "**Figure 1.** The river Aller in 1841 [1]",
        "None of the sources says how many houses were lost [1][2].",
        "But why did the river rise [1]?",
    ],
)
def test_captions_and_remarks_are_no_claims(text: str) -> None:
    found = of(f"{BOTH}\n\n{text}", s1=GAUGE, s2=ARCHIVE)
    assert len(found.claims) == 1
    assert found.paragraphs_without_citation == 0
