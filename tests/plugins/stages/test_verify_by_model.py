"""Where a model judges: what it is asked, what it may not overrule, what happens when it cannot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from leadline.contracts import Run
from leadline.errors import CallFailed
from leadline.findings import ANALYSIS, EVIDENCE, QUESTION, SECTIONS, SOURCES, Analysis, Perspective, Question
from leadline.records import Document, Evidence, Failure, Hit, Report, Section, Source
from leadline.tasks import Task
from leadline_plugins.stages.claims import claims_of
from leadline_plugins.stages.judge import JUDGED, Judging
from leadline_plugins.stages.library import Library
from leadline_plugins.stages.putting import Passage, Put
from leadline_plugins.stages.questioning import ASK, BATCH, ask
from leadline_plugins.stages.verdicts import judged
from leadline_plugins.stages.write import body
from leadline_plugins.tasks.checking import ClaimToVerify, ClaimVerdict, ClaimVerdicts, VerifyRequest
from leadline_plugins.tasks.writing import Composition

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
        return ClaimVerdicts(others=tuple(said))

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return True

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


async def verdicts_on(judge: Judge, *sentences: str) -> list[tuple[str, str]]:
    given = report(*sentences)
    found = await judged(cast("Run", judge), claims_of(given), Library(given))
    return [(verdict.verdict, verdict.by) for verdict in found]


async def test_only_what_stands_word_for_word_is_not_asked() -> None:
    judge = Judge()
    found = await verdicts_on(judge, QUOTE, "The bay is 41 fathoms deep.", "Deep is the bay, at forty fathoms.")
    assert found == [("supported", "exact"), ("contradicted", "model"), ("contradicted", "model")]
    (request,) = judge.asked
    other, claim = request.claims
    assert (other.found, claim.found) == ("the claim says 41, the passage 40", "")
    (source,) = request.sources
    assert source.title == "The bay"
    assert [(one.id, one.text) for one in source.passages] == [(name, QUOTE) for name in claim.passages]


class Terse(Judge):
    """Judges the first claim of each call, and of one alone only what it has heard of."""

    knows = "fathoms"

    async def perform(self, task: Task[Any]) -> Any:
        reply = await super().perform(task)
        claims = self.asked[-1].claims
        alone = len(claims) == 1 and self.knows not in claims[0].claim
        return ClaimVerdicts() if alone else ClaimVerdicts(others=reply.others[:1])


CLAIMS = "Deep is the bay, at forty fathoms.", "The bay has a depth of 40 fathoms."


async def test_what_a_model_leaves_out_is_asked_for_once_more_alone() -> None:
    judge = Terse()
    found = await verdicts_on(judge, *CLAIMS)
    assert [by for _, by in found] == ["model", "model"]
    assert [[claim.claim for claim in request.claims] for request in judge.asked] == [[*CLAIMS], [CLAIMS[1]]]
    assert not judge.notices


async def test_what_a_model_leaves_out_again_keeps_its_verdict_and_is_told() -> None:
    judge = Terse()
    judge.knows = "leagues"
    found = await verdicts_on(judge, *CLAIMS)
    assert [by for _, by in found] == ["model", "words"]
    assert [notice["message"] for notice in judge.notices] == [
        "1 of 2 claims were judged by words, not by the model (it said nothing of them)"
    ]


@pytest.mark.parametrize("said", [("claim 1", "#2"), ("1.", "Claim-2"), ("1", "2", "99")])
async def test_claims_are_known_by_their_numbers(said: tuple[str, ...]) -> None:
    class Wordy(Judge):
        async def perform(self, task: Task[Any]) -> Any:
            assert not task.check or not task.check(task.inputs, ClaimVerdicts(supported=said))
            return ClaimVerdicts(supported=said, confidence=0.8)

    assert await verdicts_on(Wordy(), *CLAIMS) == [("supported", "model")] * 2


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("3", {3}),
        ("claim 12", {12}),
        ("claim_03", {3}),
        ("Claim No. 3", {3}),
        ("1, 2", {1, 2}),
        ("1,2 and 13", {1, 2, 13}),
        ("claims 1 and 2", {1, 2}),
        ("claim 1, claim 12", {1, 12}),
        ("1-3", {1, 2, 3}),
        ("1 – 3; 12", {1, 2, 3, 12}),
        ("1 to 3", {1, 2, 3}),
        ("1 2", set()),
        ("1.2", set()),
        ("1,000", set()),
        ("3-1", set()),
        ("1-9999", set()),
        ("1 of 3", set()),
        ("all 3", set()),
        ("all except 3", set()),
        ("1 and perhaps 2", set()),
        ("9" * 5000, set()),
        ("", set()),
    ],
)
async def test_a_claim_is_judged_by_its_own_number_alone(said: str, meant: set[int]) -> None:
    class Joining(Judge):
        async def perform(self, task: Task[Any]) -> Any:
            await super().perform(task)
            first = len(self.asked) == 1
            return ClaimVerdicts(supported=(said,) if first else ())

    claims = [Put(f"c{number}", "c", (Passage(QUOTE),)) for number in range(1, 14)]
    assert {*(await ask(cast("Run", Joining()), claims)).by_id} == {f"c{number}" for number in meant}


@pytest.mark.parametrize("reply", [ClaimVerdicts(), ClaimVerdicts(supported=("99", "the first"))])
def test_a_reply_that_judges_none_of_the_claims_is_asked_for_once_more(reply: ClaimVerdicts) -> None:
    asked = VerifyRequest(claims=tuple(ClaimToVerify(id=name, claim="c", passages=()) for name in "12"))
    assert ASK.check is not None
    assert ASK.check(asked, reply) == "it judges none of the claims by their ids (1, 2)"
    assert not ASK.check(asked, ClaimVerdicts(supported=("2",)))


async def test_a_model_that_fails_is_announced_and_words_stand() -> None:
    judge = Judge(fails=True)
    assert await verdicts_on(judge, "Deep is the bay, at forty fathoms.") == [("supported", "words")]
    assert "judged by words" in judge.notices[0]["message"]


async def test_many_claims_are_asked_in_batches() -> None:
    judge = Judge()
    await verdicts_on(judge, *(f"The bay has a depth of 40 fathoms, says {'x' * place}." for place in range(BATCH + 1)))
    assert [len(request.claims) for request in judge.asked] == [BATCH // 2 + 1, BATCH // 2]
    assert [claim.id for claim in judge.asked[1].claims][:2] == ["1", "2"]


class Both(Judge):
    """Says of the second claim that it is supported and that it is not, so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def perform(self, task: Task[Any]) -> Any:
        await super().perform(task)
        said = [one.id for one in self.asked[-1].claims]
        other = ClaimVerdict(id=said[-1], verdict="partial", reason="no fathoms")
        return ClaimVerdicts(
            supported=tuple(said), confidence=0.8, others=(other,) if len(self.asked) <= self.times else ()
        )


async def test_what_is_said_to_be_supported_and_not_is_asked_for_once_more() -> None:
    claims = "Deep is the bay, at forty fathoms.", "The bay has a depth of 40 fathoms."
    assert await verdicts_on(judge := Both(1), *claims) == [("supported", "model")] * 2
    assert [[one.claim for one in request.claims] for request in judge.asked] == [[*claims], [claims[1]]]
    assert await verdicts_on(judge := Both(2), *claims) == [("supported", "model"), ("supported", "words")]
    assert len(judge.asked) == 2
    assert "1 of 2 claims were judged by words" in judge.notices[0]["message"]


async def test_one_claim_that_is_said_to_be_both_is_no_reply_that_judges_none() -> None:
    both = ClaimVerdicts(supported=("1",), others=(ClaimVerdict(id="1", verdict="partial"),))
    assert ASK.check is not None
    assert not ASK.check(VerifyRequest(claims=(ClaimToVerify(id="1", claim="c", passages=()),)), both)
    assert await verdicts_on(judge := Both(1), CLAIMS[0]) == [("supported", "model")]
    assert len(judge.asked) == 2


async def test_a_claim_named_in_both_with_its_words_is_supported() -> None:
    class Naming(Judge):
        async def perform(self, task: Task[Any]) -> Any:
            await super().perform(task)
            return ClaimVerdicts(supported=("1",), others=(ClaimVerdict(id="1", verdict="supported", words="40"),))

    assert await verdicts_on(judge := Naming(), CLAIMS[0]) == [("supported", "model")]
    assert len(judge.asked) == 1


WORDS = "The bay is 40 fathoms deep, and the lead has a line of 60."


@pytest.mark.parametrize("kind", ["unsupported", "contradicted"])
async def test_the_very_words_of_a_passage_that_a_model_does_not_find_are_asked_for_once_more(kind: Any) -> None:
    class Blind(Judge):
        heeds = True

        async def perform(self, task: Task[Any]) -> Any:
            await super().perform(task)
            if self.heeds and self.asked[-1].claims[0].found == "a passage says these very words":
                return ClaimVerdicts(supported=("1",))
            return ClaimVerdicts(others=(ClaimVerdict(id="1", verdict=kind, reason="Not said."),))

    given = report("The bay is 40 fathoms deep.").model_copy(update={"evidence": ()})
    evidence = Evidence(id="e1", source_id="s1", quote=WORDS, span=(0, len(WORDS)), claim=WORDS)
    source = given.sources[0].model_copy(update={"document": Document(text=WORDS)})
    made = given.model_copy(update={"evidence": (evidence,), "sources": (source,)})
    for heeds, expected in (True, "supported"), (False, kind):
        judge = Blind()
        judge.heeds = heeds
        (found,) = await judged(cast("Run", judge), claims_of(made), Library(made))
        assert (found.verdict, found.by, len(judge.asked)) == (expected, "model", 2)


async def test_a_claim_that_was_judged_is_not_judged_again() -> None:
    judge, run_on, other = Judge(), "Deep is the bay, at forty fathoms.", "The bay goes down for forty fathoms."
    draft = report(run_on)
    before = tuple(await judged(cast("Run", judge), claims_of(draft), Library(draft)))
    whole = report(QUOTE, other, run_on, run_on)
    found = await judged(cast("Run", judge), claims_of(whole), Library(whole), before)
    assert [claim.claim for request in judge.asked for claim in request.claims] == [run_on, other]
    assert [verdict.id for verdict in found] == ["1.1.1.1", "1.1.2.1", "1.1.3.1", "1.1.4.1"]
    assert [verdict.claim for verdict in found] == [QUOTE, other, run_on, run_on]
    assert {verdict.reason for verdict in found[2:]} == {before[0].reason}


async def test_what_a_model_was_asked_in_vain_is_asked_again() -> None:
    given = report("Deep is the bay, at forty fathoms.")
    before = tuple(await judged(cast("Run", Judge(fails=True)), claims_of(given), Library(given)))
    found = await judged(cast("Run", Judge()), claims_of(given), Library(given), before)
    assert [(verdict.verdict, verdict.by) for verdict in before] == [("supported", "words")]
    assert [(verdict.verdict, verdict.by) for verdict in found] == [("contradicted", "model")]


async def test_the_same_words_with_other_evidence_are_another_claim() -> None:
    judge, words = Judge(), "Deep is the bay, at forty fathoms."
    given = report(words)
    again = given.evidence[0].model_copy(update={"id": "e2"})
    both = given.model_copy(
        update={
            "evidence": (*given.evidence, again),
            "sections": (given.sections[0].model_copy(update={"text": f"{words} [@e2]"}),),
        }
    )
    before = tuple(await judged(cast("Run", judge), claims_of(given), Library(given)))
    await judged(cast("Run", judge), claims_of(both), Library(both), before)
    assert len(judge.asked) == 2


def on_headings(text: str) -> Report:
    """Return a report on two countries, with a passage that leaves its own to the heading over it."""
    stored = "# Reforms\n\n## Germany\n\nThe war had ended. Schooling was extended.\n\n## Brazil\n\nIt grew."
    quotes = "Schooling was extended.", "It grew."
    evidence = tuple(
        Evidence(id=f"e{n}", source_id="s1", quote=quote, span=(at, at + len(quote)), claim=quote)
        for n, quote in enumerate(quotes, start=1)
        for at in [stored.index(quote)]
    )
    source = Source(id="s1", hit=Hit(url="https://example.org/", title="Reforms"), document=Document(text=stored))
    section = Section(id="1", title="The Americas", text=text)
    return Report(title="T", language="en", sections=(section,), sources=(source,), evidence=evidence)


async def test_a_model_sees_where_claim_and_passage_stand_and_each_passage_once() -> None:
    judge = Judge()
    made = on_headings(
        "In the US schools were extended [@e1]. They extended them more [@e1]. Growth was seen [@e1][@e2]."
    )
    found = await judged(cast("Run", judge), claims_of(made), Library(made))
    (request,) = judge.asked
    (source,) = request.sources
    first, second = source.passages
    assert (source.title, first.under, first.before) == ("Reforms", "Germany", "The war had ended.")
    assert (second.under, second.text) == ("Brazil", "It grew.")
    assert [one.passages for one in request.claims] == [("p1",), ("p1",), ("p1", "p2")]
    assert {one.under for one in request.claims} == {"The Americas"}
    assert [one.before for one in request.claims] == ["", "In the US schools were extended.", ""]
    assert [one.cites for one in found] == [("e1",), ("e1",), ("e1", "e2")]


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("The picture changes at once. Schools were made larger [@e1].", True),
        ("The picture changes at once [@e1].", False),
        ("No source says so, but Germany may have grown [@e1].", False),
        ("No source says so, but Schooling may have grown [@e1].", True),
        ("The picture changes in Brazil. Schools were made larger [@e1].", False),
        ("The picture changes by 40 percent. Schools were made larger [@e1].", False),
    ],
)
async def test_a_remark_by_the_word_of_a_model_has_no_citation_no_name_and_no_figure(text: str, remark: bool) -> None:
    class Lazy(Judge):
        async def perform(self, task: Task[Any]) -> Any:
            await super().perform(task)
            asked = self.asked[-1].claims
            return ClaimVerdicts(others=tuple(ClaimVerdict(id=one.id, verdict="remark") for one in asked))

    made = on_headings(text)
    found = await judged(cast("Run", Lazy()), claims_of(made), Library(made))
    own = text.startswith("No source")
    assert (found[0].remark, found[0].verdict) == (remark, "partial" if own and not remark else "unsupported")


@pytest.mark.parametrize(
    ("then", "verdict", "reason"),
    [
        (
            ClaimVerdict(id="", verdict="remark", reason="It leads on."),
            "unsupported",
            "the model calls it a remark, but",
        ),
        (ClaimVerdict(id="", verdict="partial", reason="Not of Brazil."), "partial", "Not of Brazil."),
        (ClaimVerdict(id="", verdict="supported"), "unsupported", "shows no words of a passage"),
        (ClaimVerdict(id="", verdict="supported", words="Schooling was extended"), "supported", "a passage says"),
        (None, "unsupported", "calls it a remark, but"),
    ],
)
async def test_what_a_model_calls_a_remark_and_rules_a_claim_is_asked_for_once_more(
    then: ClaimVerdict | None, verdict: str, reason: str
) -> None:
    class Lazy(Judge):
        async def perform(self, task: Task[Any]) -> Any:
            await super().perform(task)
            (one,) = self.asked[-1].claims
            said = then if one.found else ClaimVerdict(id="", verdict="remark", reason="It leads on.")
            return ClaimVerdicts(others=(said.model_copy(update={"id": one.id}),) if said else ())

    made = on_headings("Whales sang in cold caves of Brazil [@e1].")
    (found,) = await judged(cast("Run", judge := Lazy()), claims_of(made), Library(made))
    assert (found.verdict, found.remark, found.by) == (verdict, False, "model")
    assert reason in found.reason
    assert judge.asked[1].claims[0].found == "it has a figure, a name or a citation of its own: judge it as a claim"


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("The source does not say how long this lasted, so that figure holds for the early years alone", True),
        ("The passages do not tell how far this would carry over to elsewhere, which leaves it open for all", True),
        ("来源没有说明这一影响会持续多久，所以只能看作早期的情况", True),
        ("The source does not say how long this lasted, but exports collapsed", False),
        ("The source does not say how long this lasted, so the 40 prices hold", False),
        ("The source does not say how long this lasted, so that holds for Oslo alone", False),
        ("This lasted for the early years alone", False),
    ],
)
async def test_a_citation_alone_makes_no_claim_of_what_the_sources_lack(text: str, remark: bool) -> None:
    class Lazy(Judge):
        async def perform(self, task: Task[Any]) -> Any:
            await super().perform(task)
            asked = self.asked[-1].claims
            return ClaimVerdicts(others=tuple(ClaimVerdict(id=one.id, verdict="remark") for one in asked))

    made = on_headings(f"{text} [@e1].")
    (found,) = await judged(cast("Run", judge := Lazy()), claims_of(made), Library(made))
    assert found.remark is remark
    assert len(judge.asked) == (1 if remark else 2)


async def test_what_the_sources_lack_is_not_called_unsupported_for_being_a_remark() -> None:
    class Lazy(Judge):
        async def perform(self, task: Task[Any]) -> Any:
            await super().perform(task)
            return ClaimVerdicts(others=(ClaimVerdict(id="1", verdict="remark", reason="It speaks of the passages."),))

    made = on_headings("No passage gives the 40 prices of Oslo [@e1].")
    (found,) = await judged(cast("Run", Lazy()), claims_of(made), Library(made))
    assert (found.verdict, found.remark) == ("partial", False)


async def test_what_is_said_anew_is_put_to_the_model_though_a_passage_has_it_word_for_word() -> None:
    judge = Judge()
    made = on_headings("Schooling was extended. [@e1]")
    assert await judged(cast("Run", judge), claims_of(made), Library(made))
    assert not judge.asked
    found = await judged(cast("Run", judge), claims_of(made), Library(made), anew=True)
    assert [(one.verdict, one.by) for one in found] == [("contradicted", "model")]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_an_analysis_is_judged_ahead_and_not_again_at_the_end(language: str) -> None:
    class Ahead(Judge):
        settings = SimpleNamespace(report=SimpleNamespace(write="compose"))

    judge, made = Ahead(), report("Deep is the bay, at forty fathoms.")
    analysis = Analysis(perspectives=(Perspective(name="critical", text="Forty fathoms is no depth of bays. [@e1]"),))
    findings: dict[Any, Any] = {
        QUESTION: Question(text="How deep is it?", language=language),
        SECTIONS: made.sections,
        EVIDENCE: made.evidence,
        SOURCES: made.sources,
        ANALYSIS: analysis,
    }
    await Judging().run(cast("Any", findings), cast("Run", judge))
    assert [len(request.claims) for request in judge.asked] == [2]
    whole = body(Composition(title="T"), made.sections, "How deep is it?", language, analysis)
    final = made.model_copy(update={"sections": whole, "language": language})
    found = await judged(cast("Run", judge), claims_of(final), Library(final), findings[JUDGED])
    assert [(one.section_id, one.by) for one in found] == [("1", "model"), ("analysis", "model")]
    assert len(judge.asked) == 1
