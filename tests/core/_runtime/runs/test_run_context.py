"""A run calls the judges and the reranker of its settings."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline import hookspecs
from leadline.contracts import Call
from leadline.errors import CallFailed, ConfigError
from leadline.findings import Findings, Key
from leadline.plugin import Limits, ai_provider, claim_judge, reranker
from leadline.records import (
    Claim,
    Document,
    Evidence,
    Hit,
    Judgement,
    Judgements,
    JudgeRequest,
    Ranking,
    Record,
    RerankRequest,
    Source,
)
from leadline.tasks import TaskKind
from leadline.testing.plugins import plugin

QUOTE = "The harbour is nine fathoms deep."
REQUEST = JudgeRequest(
    claims=(Claim(id="1.1", section_id="1", text=QUOTE, span=(0, len(QUOTE)), evidence_ids=("e1",)),),
    passages=(Evidence(id="e1", source_id="s1", quote=QUOTE, span=(0, len(QUOTE))),),
    sources=(Source(id="s1", hit=Hit(url="https://example.org/"), document=Document(text=QUOTE)),),
)
SUPPORTED = Judgement(claim_id="1.1", verdict="supported", quote=QUOTE, evidence_id="e1")


class Asked(Record):
    text: str


class Said(Record):
    text: str


ASK = TaskKind("say_whether", Asked, Said)


class Nothing(Record):
    pass


DONE: Key[Nothing] = Key("done", Nothing)


class Judge:
    """Returns what it was made with; with `asks`, it asks a model first."""

    def __init__(self, *judgements: Judgement, asks: bool = False) -> None:
        self._judgements = judgements
        self._asks = asks
        self.asked: list[JudgeRequest] = []

    async def judge(self, request: JudgeRequest, call: Call, /) -> Judgements:
        self.asked.append(request)
        if self._asks:
            await call.run.perform(ASK.of(Asked(text=request.claims[0].text)))
        return Judgements(judgements=self._judgements)


class Model:
    """Answers the task of the judge."""

    asked = 0

    async def perform(self, task: Any, call: Call, /) -> Any:
        self.asked += 1
        return Said(text="yes")


class Rate:
    def __init__(self, *scores: float) -> None:
        self._scores = scores

    async def rerank(self, request: RerankRequest, call: Call, /) -> Ranking:
        return Ranking(scores=self._scores)


class Stage:
    def __init__(self, do: Callable[[Any], Awaitable[object]], done: list[Any]) -> None:
        self._do = do
        self._done = done

    async def run(self, findings: Findings, run: Any, /) -> None:
        findings[DONE] = Nothing()
        try:
            self._done.append(await self._do(run))
        except CallFailed as error:
            self._done.append(error)


def judge_of(made: Any, **more: Any) -> Any:
    return claim_judge("For a test", **more)(lambda: made)


async def through(tmp_path: Path, do: Callable[[Any], Awaitable[object]], *plugins: Any, **settings: Any) -> Any:
    """Return what this gave, done with a run; and the notices of that run."""
    done: list[Any] = []
    stage = hookspecs.stage("Acts", gives=(DONE,))(lambda: Stage(do, done))
    chosen: dict[str, Any] = {"pipeline": "probed", "pipelines": {"probed": {"stages": ["acts"]}}}
    chosen |= {"ai.providers": ["embedded"], "verify.judges": [], "retry.base": 0}
    chosen |= {name.replace("__", "."): value for name, value in settings.items()}
    (tmp_path / "harbour.md").write_text("The harbour of Port Ellery is nine fathoms deep at the mole.")
    options: Any = {"folder": tmp_path / "runs", "cache": tmp_path / "cache", "docs": tmp_path}
    points = [plugin("acts", stage), *plugins]
    async with leadline.Client(set=chosen, plugins=points, **options) as client:
        result = await client.research("How deep is the harbour of Port Ellery at the mole?")
    assert done, result.reason
    return done[0], result.metadata.notices


def judging(run: Any) -> Any:
    return run.judge(REQUEST, "mine")


async def test_judgements_on_other_claims_are_dropped_with_a_notice(tmp_path: Path) -> None:
    odd = SUPPORTED.model_copy(update={"claim_id": "9.9"})
    mine = plugin("mine", judge_of(Judge(odd, SUPPORTED)))
    made, notices = await through(tmp_path, judging, mine, verify__judges=["mine"])
    assert made.judgements == (SUPPORTED,)
    assert "judge mine: 1 judgement names a claim that it was not asked about; dropped" in notices


async def test_a_judge_may_call_a_model_through_its_run(tmp_path: Path) -> None:
    model = Model()
    judge = plugin("mine", judge_of(Judge(SUPPORTED, asks=True), uses=(ASK,), limits=Limits(timeout=0.001)))
    chats = plugin("house", ai_provider("For a test")(lambda: model))
    made, _ = await through(tmp_path, judging, judge, chats, verify__judges=["mine"], ai__providers=["house"])
    assert made.judgements == (SUPPORTED,), "its own call has no limit of time: that of the model counts"
    assert model.asked == 1


async def test_the_failed_call_of_a_judge_names_the_judge(tmp_path: Path) -> None:
    class Broken:
        async def judge(self, request: JudgeRequest, call: Call, /) -> Judgements:
            raise ValueError("broken")

    mine = plugin("mine", judge_of(Broken()))
    error, _ = await through(tmp_path, judging, mine, verify__judges=["mine"])
    assert isinstance(error, CallFailed)
    assert "mine: ValueError: broken" in str(error)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"verify__judges": ["mine", "nosuch"]}, "verify.judges: no plugin 'nosuch' is installed"),
        ({"verify__judges": ["asleep", "mine"]}, "verify.judges: no model is there"),
        ({"verify__judges": ["embedded"]}, "is not among the claim judges: it offers AI providers"),
        ({"ai__reranker": "nosuch"}, "ai.reranker: no plugin 'nosuch' is installed"),
        ({"ai__reranker": "rates:small"}, "ai.reranker: no plugin 'rates:small' is installed"),
    ],
)
async def test_a_configured_judge_that_cannot_work_is_an_error_before_the_run(
    tmp_path: Path, settings: dict[str, Any], told: str
) -> None:
    mine = plugin("mine", judge_of(Judge()))
    asleep = plugin("asleep", judge_of(Judge(), ready=lambda settings: "no model is there"))
    rates = plugin("rates", reranker("For a test")(lambda: Rate()))
    with pytest.raises(ConfigError, match=re.escape(told)):
        await through(tmp_path, judging, mine, asleep, rates, **settings)


def ranking(run: Any) -> Any:
    return run.rerank("How deep?", ["one", "two"])


async def test_fewer_scores_than_texts_are_a_fault_of_the_reranker(tmp_path: Path) -> None:
    rates = plugin("rates", reranker("For a test")(lambda: Rate(0.1)))
    error, _ = await through(tmp_path, ranking, rates, ai__reranker="rates")
    assert "1 scores for 2 texts" in str(error)
