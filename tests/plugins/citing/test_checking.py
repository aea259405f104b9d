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
