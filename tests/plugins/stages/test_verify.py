"""The stage `verify`: what it does about claims that are not borne, with a model that judges and without."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from leadline.errors import NoEvidence
from leadline.findings import REPORT, VERIFICATION, Verification
from leadline.records import Report
from leadline.tasks import Task
from leadline.testing.reports import quoting
from leadline_plugins.stages.judge import JUDGED
from leadline_plugins.stages.rechecking import recheck
from leadline_plugins.stages.verify import Verifying
from leadline_plugins.tasks.checking import (
    ClaimVerdict,
    ClaimVerdicts,
    RepairRequest,
    Reworded,
    Rewordings,
    VerifyRequest,
)

DEEP, OLD = "The bay of Oslo is 40 fathoms deep.", "The bay of Oslo was sounded by Beaufort in 1831."


class Run:
    """A run whose model bears out what a rule of the test says; `asked` are the claims with their passages."""

    def __init__(self, how: str, bears: Callable[[str, str], bool] | None) -> None:
        self.settings = SimpleNamespace(verify=SimpleNamespace(unsupported=how, require_support=True))
        self.bears = bears
        self.asked: list[tuple[str, str]] = []
        self.calls = 0
        self.notices: list[str] = []
        self.anew: Callable[[str], str] = lambda claim: ""
        self.otherwise = "unsupported"

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return self.bears is not None

    async def perform(self, task: Task[Any]) -> Any:
        self.calls += 1
        assert self.bears
        if isinstance(task.inputs, RepairRequest):
            texts = ((one.id, self.anew(one.claim)) for one in task.inputs.claims)
            return Rewordings(claims=tuple(Reworded(id=name, text=text) for name, text in texts))
        assert isinstance(task.inputs, VerifyRequest)
        said = []
        known = {one.id: one.text for source in task.inputs.sources for one in source.passages}
        for one in task.inputs.claims:
            passage = " ".join(known[name] for name in one.passages)
            self.asked.append((one.claim, passage))
            verdict = "supported" if self.bears(one.claim, passage) else self.otherwise
            said.append(ClaimVerdict(id=one.id, verdict=cast("Any", verdict), reason="it says so"))
        return ClaimVerdicts(others=tuple(said))

    async def each(self, items: Sequence[Any], do: Callable[[Any], Awaitable[Any]]) -> list[Any]:
        return [await do(item) for item in items]

    async def emit(self, kind: str, data: Any) -> None:
        self.notices.append(str(data["message"]))

    async def save(self, blob: Any) -> None:
        assert blob.name == "paragraphs.jsonl"


def report(*texts: str, quotes: Sequence[str] = (DEEP, OLD)) -> Report:
    return quoting(*texts, quotes=quotes)


async def verified(run: Run, made: Report) -> tuple[str, Verification]:
    findings: Any = {REPORT: made, JUDGED: ()}
    await Verifying().run(findings, cast("Any", run))
    changed, checks = findings[REPORT], findings[VERIFICATION]
    metadata = {"verification": checks.model_dump(mode="json")}
    again = recheck(changed.model_copy(update={"metadata": metadata}))
    assert again.counts == checks.claims
    return "\n\n".join(section.text or "" for section in changed.sections), checks


MOVED = "Beaufort had the bay of Oslo sounded in 1831 [@e1]."
FINE = "Deep is the bay of Oslo, 40 fathoms [@e1]."


async def test_what_is_cited_anew_is_judged_by_the_model_and_kept_where_it_holds() -> None:
    run = Run("recite", lambda claim, passage: ("Beaufort" in claim) == ("Beaufort" in passage))
    text, checks = await verified(run, report(f"{FINE} {MOVED}"))
    assert text == f"{FINE} {MOVED.replace('e1', 'e2')}"
    assert checks.claims == {"supported": 2}
    assert checks.judged_by == {"model": 2}
    assert [repair.done for repair in checks.repairs] == ["recited"]
    assert (len(run.asked), run.calls) == (3, 2)


async def test_what_the_model_does_not_bear_out_is_not_cited_anew_and_stays_flagged() -> None:
    run = Run("recite", lambda claim, passage: "Beaufort" not in claim)
    text, checks = await verified(run, report(f"{FINE} {MOVED}"))
    assert text == f"{FINE} {MOVED}"
    assert checks.claims == {"supported": 1, "unsupported": 1}
    assert (checks.repairs, checks.passed, run.calls) == ((), False, 2)


async def test_without_a_model_words_say_what_bears_a_claim() -> None:
    text, checks = await verified(Run("recite", None), report("Beaufort sounded the bay in 1831 [@e1]."))
    assert text == "Beaufort sounded the bay in 1831 [@e2]."
    assert checks.claims == {"supported": 1}
    assert checks.judged_by == {"words": 1}


async def test_what_is_taken_out_asks_nobody() -> None:
    run = Run("drop", lambda claim, passage: "Beaufort" not in claim)
    _, checks = await verified(run, report(f"{FINE} {MOVED}"))
    assert (checks.claims, checks.passed, run.calls) == ({"supported": 1}, True, 1)


async def test_what_is_not_borne_is_said_anew_by_the_model_and_judged() -> None:
    run = Run("weaken", lambda claim, passage: "Beaufort" not in claim)
    run.anew = lambda claim: "Somebody sounded it."
    text, checks = await verified(run, report(f"{FINE} {MOVED}"))
    assert text == f"{FINE} {MOVED}".replace(MOVED.partition(" [@")[0], "Somebody sounded it")
    assert (checks.claims, checks.passed) == ({"supported": 2}, True)
    (repair,) = checks.repairs
    assert (repair.done, repair.now) == ("weakened", "Somebody sounded it")
    assert (len(run.asked), run.calls) == (3, 3)


@pytest.mark.parametrize("how", ["weaken", "drop", "recite"])
@pytest.mark.parametrize("said", ["Somebody sounded it.", ""])
async def test_what_is_borne_in_part_is_said_anew_or_stays_as_it_is(how: str, said: str) -> None:
    run = Run(how, lambda claim, passage: "Beaufort" not in claim)
    run.otherwise, run.anew = "partial", lambda claim: said
    text, checks = await verified(run, report(f"{FINE} {MOVED}"))
    mended = how == "weaken" and bool(said)
    assert ("Beaufort" in text, "Somebody sounded it" in text) == (not mended, mended)
    assert checks.claims == ({"supported": 2} if mended else {"supported": 1, "partial": 1})
    assert [(one.verdict, one.done) for one in checks.repairs] == [("partial", "weakened")] * mended


@pytest.mark.parametrize(
    "said",
    [
        "",  # nothing is left that the passages bear
        "Beaufort sounded it twice.",  # it does not hold either
        "One thing.\n\nAnd another.",
        "word " * 80,
    ],
)
async def test_what_a_model_says_instead_stands_only_where_it_holds_and_fits(said: str) -> None:
    run = Run("weaken", lambda claim, passage: "Beaufort" not in claim)
    run.anew = lambda claim: said
    text, checks = await verified(run, report(f"{FINE} {MOVED}"))
    assert "(not confirmed by the source cited)" in text
    assert (checks.claims, checks.passed) == ({"supported": 1, "partial": 1}, True)
    assert checks.repairs[0].now == ""


async def test_marks_of_a_models_own_do_not_come_in_by_a_repair() -> None:
    run = Run("weaken", lambda claim, passage: "Beaufort" not in claim)
    run.anew = lambda claim: "Somebody sounded it [7] [@e9]."
    text, checks = await verified(run, report(f"{FINE} {MOVED}"))
    assert "Somebody sounded it [@e1]." in text
    assert checks.unknown_ids == ()


HEDGE = " (not confirmed by the source cited)"


def weakening(said: str | Callable[[str], str]) -> Run:
    run = Run("weaken", lambda claim, passage: "Beaufort" not in claim and "蒲福" not in claim)
    run.anew = said if callable(said) else lambda claim: said
    return run


@pytest.mark.parametrize(
    ("text", "said", "expected"),
    [
        ("Beaufort sounded it [@e1].", "Somebody did.", "Somebody did [@e1]."),
        ("Beaufort sounded it. [@e1]", "Somebody did", "Somebody did. [@e1]"),
        (f"- Beaufort sounded it. [@e1]\n- {FINE}", "- Somebody did.", f"- Somebody did. [@e1]\n- {FINE}"),
        (f"1. Beaufort sounded it. [@e1]\n2. {FINE}", "Somebody did.", f"1. Somebody did. [@e1]\n2. {FINE}"),
        (f"> Beaufort sounded it. [@e1]\n> {FINE}", "Somebody did.", f"> Somebody did. [@e1]\n> {FINE}"),
        (f"**Beaufort did [@e1].** {FINE}", "Somebody did.", f"**Somebody did [@e1].** {FINE}"),
        (f"(Beaufort did [@e1].) {FINE}", "Somebody did.", f"(Somebody did [@e1].) {FINE}"),
        ("Beaufort sounded it [@e1].", "**Somebody** did.", "Somebody did [@e1]."),
        ("1. **Who**: Beaufort. [@e1]", "**Who**: somebody.", "1. **Who**: somebody. [@e1]"),
        ("**Beaufort did.** [@e1]", "### Somebody did.", "Somebody did. [@e1]"),
        (f"蒲福测量了海湾[@e1]。{FINE}", "有人测量了海湾。", f"有人测量了海湾[@e1]。{FINE}"),
    ],
)
async def test_what_is_said_anew_stands_as_the_old_sentence_stood(text: str, said: str, expected: str) -> None:
    run = weakening(said)
    made, checks = await verified(run, report(text))
    assert made == expected
    assert set(checks.claims) == {"supported"}
    assert run.calls == 3  # what was judged as it was proposed is not asked about again
    assert checks.repairs[0].now in made


async def test_sentences_that_share_citations_are_said_anew_each() -> None:
    run = weakening(lambda claim: claim.replace("Beaufort", "Somebody"))
    made, checks = await verified(run, report("Beaufort did. Beaufort went. [@e1]"))
    assert made == "Somebody did. Somebody went. [@e1]"
    assert (checks.claims, len(checks.repairs)) == ({"supported": 2}, 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Beaufort sounded it. [@e1]", "Somebody did. It was deep."),
        ("Beaufort sounded it [@e1].", "**Beaufort sounded it.**"),
        ("Beaufort sounded it. [@e1]", "Somebody [did](https://example.org/)."),
        ("Beaufort sounded it. [@e1]", "Somebody did “so."),
        ("Beaufort sounded it. [@e1]", "| Somebody | did |"),
        (
            "Beaufort sounded it. [@e1]",
            "有人测量了这个海湾并记录下来它的深度为四十英寻而且还说这是一个很深的海湾所以大家都知道",
        ),
        ("It is deep. Beaufort sounded it. [@e1]", "eBay did."),
    ],
)
async def test_what_does_not_fit_is_hedged_as_it_was(text: str, said: str) -> None:
    made, checks = await verified(weakening(said), report(text))
    assert made == text.replace("sounded it", f"sounded it{HEDGE}")
    assert checks.claims["partial"] == 1
    assert checks.repairs[0].now == ""


@pytest.mark.parametrize(("name", "taken"), [("claim {}", True), ("#{}", True), ("{}.", True), ("x", False)])
async def test_a_claim_is_known_by_its_number_however_that_is_written(name: str, taken: bool) -> None:
    class Named(Run):
        async def perform(self, task: Task[Any]) -> Any:
            reply = await super().perform(task)
            if isinstance(reply, Rewordings):
                said = (one.model_copy(update={"id": name.format(one.id)}) for one in reply.claims)
                return Rewordings(claims=tuple(said))
            return reply

    run = Named("weaken", lambda claim, passage: "Beaufort" not in claim)
    run.anew = lambda claim: "Somebody did."
    made, _ = await verified(run, report("Beaufort sounded it. [@e1]"))
    assert made == ("Somebody did. [@e1]" if taken else f"Beaufort sounded it{HEDGE}. [@e1]")


async def test_without_a_model_what_is_not_borne_is_hedged() -> None:
    run = Run("weaken", None)
    text, checks = await verified(run, report("In 1925 ships paid 7 guilders in Lima [@e1]."))
    assert "(not confirmed by the source cited)" in text
    assert (checks.claims, run.calls) == ({"partial": 1}, 0)


async def test_a_section_that_is_taken_out_is_told_of() -> None:
    run = Run("drop", lambda claim, passage: "Beaufort" not in claim)
    text, _ = await verified(run, report(FINE, MOVED))
    assert text == FINE
    assert run.notices == ["section 'Part 2' was taken out, for the sources bear none of it"]


async def test_a_report_of_which_nothing_is_borne_rests_on_nothing() -> None:
    run = Run("drop", lambda claim, passage: False)
    with pytest.raises(NoEvidence, match="bear none of the report's 2 claims"):
        await verified(run, report(FINE, MOVED))


async def test_looking_for_what_bears_many_claims_holds_nothing_up() -> None:
    quotes = [f"The port of town {n} paid {n} million euros for shore power in its year {n + 1}." for n in range(400)]
    told = " ".join(f"For shore power {n} million euros were paid by the port of town {n} [@e400]." for n in range(100))
    made, run = report(told, quotes=quotes), Run("recite", lambda claim, passage: False)
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.01)
            longest = max(longest, time.perf_counter() - began)

    watching, began = asyncio.create_task(watch()), time.perf_counter()
    await Verifying().run(cast("Any", {REPORT: made, JUDGED: ()}), cast("Any", run))
    watching.cancel()
    assert run.asked
    assert longest < 0.5
    assert time.perf_counter() - began < 10
