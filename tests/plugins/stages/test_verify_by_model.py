"""Where a model judges: what it is asked, what it may not overrule, what happens when it cannot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from leadline.contracts import Run
from leadline.errors import CallFailed
from leadline.records import Document, Evidence, Failure, Hit, Report, Section, Source
from leadline.tasks import Task
from leadline_plugins.stages.claims import Library
from leadline_plugins.stages.verdicts import BATCH, by_model, by_rule
from leadline_plugins.stages.verify import claims_of
from leadline_plugins.tasks import ClaimVerdict, ClaimVerdicts, VerifyRequest

QUOTE = "The bay is 40 fathoms deep."


class Judge:
    """A run whose model calls every claim contradicted, or whose model fails."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.asked: list[VerifyRequest] = []
        self.notices: list[Any] = []

    async def perform(self, task: Task[Any]) -> Any:
        assert isinstance(task.inputs, VerifyRequest)
        self.asked.append(task.inputs)
        if self.fails:
            failure = Failure(kind="chat", provider="x", category="LLM", type="BadReply", message="no")
            raise CallFailed(failure)
        said = [ClaimVerdict(id=one.id, verdict="contradicted", reason="it says so") for one in task.inputs.claims]
        return ClaimVerdicts(others=tuple(said[:1]) if len(said) > 1 else tuple(said))

    async def each(self, items: Sequence[Any], do: Callable[[Any], Awaitable[Any]]) -> list[Any]:
        return [await do(item) for item in items]

    async def emit(self, kind: str, data: Any) -> None:
        self.notices.append(data)


def report(*sentences: str) -> Report:
    evidence = Evidence(id="e1", source_id="s1", quote=QUOTE, span=(0, len(QUOTE)), claim=QUOTE)
    return Report(
        title="Depth",
        language="en",
        sections=(Section(id="1", title="Depth", text=" ".join(f"{text} [@e1]" for text in sentences)),),
        sources=(Source(id="s1", hit=Hit(url="https://example.org/", title="The bay"), document=Document(text=QUOTE)),),
        evidence=(evidence,),
    )


async def judged(judge: Judge, *sentences: str) -> list[tuple[str, str]]:
    given = report(*sentences)
    claims, library = claims_of(given), Library(given)
    found = await by_model(cast("Run", judge), claims, by_rule(claims, library), library)
    return [(verdict.verdict, verdict.by) for verdict in found]


async def test_only_what_rules_leave_open_is_asked() -> None:
    judge = Judge()
    found = await judged(judge, QUOTE, "The bay is 41 fathoms deep.", "Deep is the bay, at forty fathoms.")
    assert found == [("supported", "exact"), ("contradicted", "exact"), ("contradicted", "model")]
    (request,) = judge.asked
    (claim,) = request.claims
    assert claim.passages == (QUOTE,)
    assert claim.around == "The bay"


async def test_what_a_model_leaves_out_keeps_its_verdict() -> None:
    found = await judged(Judge(), "Deep is the bay, at forty fathoms.", "The bay has a depth of 40 fathoms.")
    assert [by for _, by in found] == ["model", "words"]


async def test_a_model_that_fails_is_announced_and_words_stand() -> None:
    judge = Judge(fails=True)
    assert await judged(judge, "Deep is the bay, at forty fathoms.") == [("supported", "words")]
    assert "judged by words" in judge.notices[0]["message"]


async def test_many_claims_are_asked_in_batches() -> None:
    judge = Judge()
    await judged(judge, *(f"The bay has a depth of 40 fathoms, says {'x' * place}." for place in range(BATCH + 1)))
    assert [len(request.claims) for request in judge.asked] == [BATCH // 2 + 1, BATCH // 2]
    assert [claim.id for claim in judge.asked[1].claims][:2] == ["1", "2"]


async def test_supported_claims_are_a_list_and_what_is_said_to_be_both_is_not() -> None:
    class Sure(Judge):
        async def perform(self, task: Task[Any]) -> Any:
            other = ClaimVerdict(id="2", verdict="partial", reason="no fathoms")
            return ClaimVerdicts(supported=("1", "2", "7"), confidence=0.8, others=(other,))

    found = await judged(Sure(), "Deep is the bay, at forty fathoms.", "The bay has a depth of 40 fathoms.")
    assert found == [("supported", "model"), ("partial", "model")]
