"""Runs that continue others: their place in a conversation, and the earlier turns that they keep."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

import leadline
from leadline._runtime.runs.conversations import MAX_TEXT
from leadline._runtime.runs.folder import delete_run
from leadline.contracts import Call
from leadline.errors import ConfigError, LeadlineError, UsageError
from leadline.plugin import ai_provider
from leadline.records import Answer, ChatReply, ChatRequest, Conversation, Message, ModelTraits, Turn
from leadline.runs import Order, Result
from leadline.testing.plugins import plugin

PAGES = {
    "harbour.md": "# The harbour\n\nThe harbour of Kalmar was 7 fathoms deep in 1820, as the pilots measured it.\n\n"
    "Its quay was built of granite between 1831 and 1836.\n",
    "lead.md": "# The lead line\n\nThe lead line of the pilots had knots, and tallow brought up the bottom.\n",
}
FIRST = "How deep was the harbour of Kalmar in 1820?"


class Model:
    """A model that replies by task, and counts what it was asked."""

    def __init__(self, **replies: Any) -> None:
        self.replies = {
            "plan": {
                "title": "Kalmar",
                "sections": [{"id": "1", "title": "Depth", "goal": FIRST, "questions": [FIRST], "domain": ""}],
                "queries": [{"query": "harbour Kalmar depth", "goal": "", "priority": "high", "section": "1"}],
            },
            "digest": {"is_sufficient": True, "sections": [], "gaps": [], "queries": [], "synthesis": "", "links": []},
            "synthesize": {"sections": [{"id": "1", "text": "It was 7 fathoms deep [1]."}]},
            "follow_up": {"question": "Of what was the quay of the harbour of Kalmar built?"},
            "reuse": {"is_sufficient": True, "queries": []},
            **replies,
        }
        self.asked: list[tuple[str, str]] = []

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits()

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        self.asked.append((call.task, request.messages[-1].text))
        text = json.dumps(self.replies.get(call.task, {}))
        return ChatReply(message=Message(role="assistant", text=text), finish_reason="stop")

    def tasks(self) -> list[str]:
        return [task for task, _ in self.asked]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text)
    return folder


def client(folder: Path, model: Model | None = None, settings: Mapping[str, Any] | None = None) -> leadline.Client:
    offer = ai_provider("For a test")(lambda: cast("Any", model))
    values = {"ai.providers": ["scripted" if model else "embedded"], "verify.judges": ["exact"], "retry.base": 0}
    return leadline.Client(
        docs=folder / "docs",
        folder=folder / "runs",
        cache=folder / "cache",
        set=values | {"report.formats": ["json"]} | dict(settings or {}),
        plugins=[plugin("scripted", offer)] if model else (),
    )


def stored(result: Result) -> Conversation:
    return Conversation.model_validate_json((result.folder / "conversation.json").read_text())


def searches(result: Result) -> int:
    return sum(number for kind, number in result.metadata.calls.items() if kind.startswith("search"))


async def test_a_follow_up_that_earlier_sources_answer_makes_no_search_and_cites_their_passages(
    tmp_path: Path, docs: Path
) -> None:
    model = Model()
    async with client(tmp_path, model) as runs:
        first = await runs.research(FIRST)
        assert searches(first) == 2  # the question and the query of the plan
        then = await runs.research("And of what was its quay built?", follows=first.metadata.run_id)
    assert then.status == "complete", then.reason
    assert searches(then) == 0
    assert first.report
    assert then.report
    assert {source.id for source in then.report.sources} == {source.id for source in first.report.sources}
    spans = {item.id: (item.span, item.quote) for item in first.report.evidence}
    assert all(spans[item.id] == (item.span, item.quote) for item in then.report.evidence if item.id in spans)
    assert spans.keys() & {item.id for item in then.report.evidence}
    assert {step.name: step.status for step in then.metadata.steps}["search"] == "idle"
    assert "understood as: Of what was the quay of the harbour of Kalmar built?" in then.metadata.notices
    assert any("nothing was searched for" in notice for notice in then.metadata.notices)


async def test_the_model_reads_the_turns_before_and_the_passages_of_their_sources(tmp_path: Path, docs: Path) -> None:
    model = Model()
    async with client(tmp_path, model) as runs:
        first = await runs.research(FIRST)
        await runs.research("And its quay?", follows=first.folder)
    asked = dict(model.asked)
    assert f"Question: {FIRST}" in asked["follow_up"]
    assert "It was 7 fathoms deep." in asked["follow_up"], "without citations"
    assert "# The last message\n\nAnd its quay?" in asked["follow_up"]
    assert "Its quay was built of granite" in asked["reuse"]


async def test_only_what_is_missing_is_searched_for(tmp_path: Path, docs: Path) -> None:
    query = {"query": "lead line knots", "goal": "", "priority": "high", "section": ""}
    gaps = {"is_sufficient": False, "queries": [query]}
    async with client(tmp_path, Model(reuse=gaps)) as runs:
        first = await runs.research(FIRST)
        then = await runs.research("And what is a lead line?", follows=first.metadata.run_id)
    found = json.loads((then.folder / "search_results.json").read_text())
    assert [one["task"]["query"] for one in found] == ["lead line knots"]


async def test_the_searches_of_a_plan_that_a_person_approved_are_made_in_a_follow_up_too(
    tmp_path: Path, docs: Path
) -> None:
    async def asker(message: str, schema: Any) -> Answer:
        return Answer(action="accept", content={"plan": "Section: Quay\nSearch: granite quay"})

    async with client(tmp_path, Model(), {"plan.approve": "ask"}) as runs:
        first = await runs.research(FIRST, asker=asker)
        then = await runs.research("And of what was its quay built?", follows=first.metadata.run_id, asker=asker)
    own = "Of what was the quay of the harbour of Kalmar built?"
    for result, question in (first, FIRST), (then, own):
        done = json.loads((result.folder / "search_results.json").read_text())
        assert {item["task"]["query"] for item in done} == {question, "granite quay"}
    assert not any("nothing was searched for" in notice for notice in then.metadata.notices)


async def test_without_a_model_the_earlier_question_is_the_context_of_the_next(tmp_path: Path, docs: Path) -> None:
    async with client(tmp_path) as runs:
        first = await runs.research(FIRST)
        then = await runs.research("And the quay?", follows=first.metadata.run_id)
    assert then.status == "complete", then.reason
    found = json.loads((then.folder / "search_results.json").read_text())
    assert found[0]["task"]["query"] == f"And the quay? {FIRST}"
    assert "granite" in then.text


async def test_without_a_model_a_follow_up_of_enough_words_is_a_question_of_its_own(tmp_path: Path) -> None:
    kept = "# Rules\n\n## Cycles\n\nDependency cycles between packages are detected by a hare and a tortoise.\n\n"
    triggers = "## Triggers\n\nA trigger is activated when a file of a package is installed.\n"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "rules.md").write_text(kept + triggers)
    async with client(tmp_path) as runs:
        first = await runs.research("When is a trigger activated?")
        then = await runs.research("How are dependency cycles detected?", follows=first.metadata.run_id)
    assert "tortoise" not in first.text
    assert "tortoise" in then.text
    assert "trigger" not in then.text.lower()


async def test_a_run_that_continues_none_has_neither_the_stages_nor_the_file(tmp_path: Path, docs: Path) -> None:
    async with client(tmp_path) as runs:
        result = await runs.research(FIRST)
        steps = [step.name for step in runs.explain().steps]
    assert steps == [step.name for step in result.metadata.steps]
    assert not {"follow_up", "reuse"} & {*steps}
    assert not (result.folder / "conversation.json").exists()


async def test_a_follow_up_is_resumed_and_replayed_after_the_earlier_run_was_deleted(
    tmp_path: Path, docs: Path
) -> None:
    model = Model()
    async with client(tmp_path, model) as runs:
        first = await runs.research(FIRST)
        handle = await runs.start("And its quay?", follows=first.metadata.run_id)
        await handle.cancel()
        delete_run(first.folder)
        then = await (await runs.resume(handle.folder)).result()
        asked = len(model.asked)
        again = await runs.replay(handle.folder)
    assert then.status == again.status == "complete"
    assert len(model.asked) == asked
    assert then.report
    assert again.report == then.report


async def test_the_third_turn_knows_the_first(tmp_path: Path, docs: Path) -> None:
    async with client(tmp_path) as runs:
        first = await runs.research(FIRST)
        second = await runs.research("Of what was its quay built?", follows=first.metadata.run_id)
        delete_run(first.folder)
        third = await runs.research("What had the lead line?", follows=second.metadata.run_id)
        listed = runs.runs(conversation=first.metadata.run_id)
    turns = stored(third).turns
    assert [turn.question for turn in turns] == [FIRST, "Of what was its quay built?"]
    assert all(claim.verdict == "supported" for claim in turns[0].claims)
    assert {run.id for run in listed} == {third.metadata.run_id, second.metadata.run_id}
    assert {run.conversation for run in listed} == {first.metadata.run_id}
    assert third.metadata.follows == second.metadata.run_id


async def test_a_conversation_continues_at_its_last_run(tmp_path: Path, docs: Path) -> None:
    async with client(tmp_path) as runs:
        first = await runs.research(FIRST, conversation="harbours")
        second = await runs.research("And its quay?", conversation="harbours")
        third = await runs.research("And the lead line?", conversation="harbours")
        await runs.research(FIRST)
        listed = runs.runs(conversation="harbours")
    assert [first.metadata.follows, second.metadata.follows] == ["", first.metadata.run_id]
    assert third.metadata.follows == second.metadata.run_id
    assert len(listed) == 3


async def test_turns_that_were_no_runs_are_earlier_turns_too(tmp_path: Path, docs: Path) -> None:
    model = Model()
    async with client(tmp_path, model) as runs:
        talk = (Turn(question="What is in Kalmar?", answer="A harbour."),)
        order = Order.model_validate_json(runs.order("And its quay?", turns=talk).model_dump_json())
        result = await (await runs.run(order)).result()
    assert stored(result).turns == talk
    assert "What is in Kalmar?" in dict(model.asked)["follow_up"]
    assert "reuse" not in model.tasks(), "there are no sources"
    assert searches(result)


async def test_an_order_continues_a_run_as_it_is_when_the_new_one_starts(tmp_path: Path, docs: Path) -> None:
    async with client(tmp_path) as runs:
        first = await runs.research(FIRST)
        order, late = (runs.order("And its quay?", follows=first.metadata.run_id) for _ in range(2))
        assert (await (await runs.run(order)).result()).status == "complete"
        delete_run(first.folder)
        with pytest.raises(LeadlineError, match=r"which this one follows, was deleted"):
            await runs.run(late)


async def test_principals_continue_their_own_runs_only(tmp_path: Path, docs: Path) -> None:
    async with client(tmp_path) as runs:
        first = await runs.research(FIRST, principal="ada", conversation="harbours")
        with pytest.raises(UsageError, match="there is no run"):
            runs.order("And its quay?", follows=first.metadata.run_id, principal="bob")
        with pytest.raises(UsageError, match="cannot follow it"):
            runs.order("And its quay?", follows=first.folder)
        assert runs.order("And its quay?", conversation="harbours", principal="bob").follows == ""
        assert runs.order("And its quay?", conversation="harbours", principal="ada").follows == first.metadata.run_id


async def test_a_run_that_cannot_be_continued_is_refused_before_anything_is_written(tmp_path: Path, docs: Path) -> None:
    async with client(tmp_path) as runs:
        handle = await runs.start(FIRST)
        with pytest.raises(UsageError, match=f"the run {handle.id} is .*: follow it up when it has ended"):
            runs.order("And its quay?", follows=handle.id)
        await handle.result()
        with pytest.raises(UsageError, match="is in the conversation"):
            runs.order("And its quay?", follows=handle.id, conversation="other")
        for wrong in ("x" * 201, "a\nb", " "):
            with pytest.raises(UsageError, match="an id has 1 to 200 printable characters"):
                runs.order("And its quay?", conversation=wrong)
    own = {"pipelines": {"own": {"extends": "research", "without": ["follow_up", "reuse"]}}, "pipeline": "own"}
    async with client(tmp_path, settings=own) as runs:
        before = len(list((tmp_path / "runs").iterdir()))
        with pytest.raises(ConfigError, match=r"pipeline 'own': no stage uses 'conversation'"):
            await runs.start("And its quay?", follows=handle.id)
        assert len(list((tmp_path / "runs").iterdir())) == before


async def test_a_failed_run_can_be_continued_with_its_question_alone(tmp_path: Path, docs: Path) -> None:
    async with client(tmp_path) as runs:
        first = await runs.research("xyzzy plugh qwertz")
        assert first.status == "no_evidence"
        then = await runs.research(FIRST, follows=first.metadata.run_id)
    assert [(turn.question, turn.answer) for turn in stored(then).turns] == [("xyzzy plugh qwertz", "")]
    assert then.status == "complete"


async def test_sources_beyond_the_limit_are_left_out_uncited_ones_first(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_TEXT > 1_000_000
    monkeypatch.setattr("leadline._runtime.runs.conversations.MAX_TEXT", len(PAGES["harbour.md"]) + 5)
    async with client(tmp_path, Model()) as runs:
        first = await runs.research("How deep was the harbour of Kalmar by the lead line in 1820?")
        assert first.report
        assert len(first.report.sources) == 2
        then = await runs.research("And its quay?", follows=first.metadata.run_id)
    assert [Path(source.hit.url).name for source in stored(then).sources] == ["harbour.md"]
    assert any("1 earlier source" in notice for notice in then.metadata.notices)


async def test_a_damaged_copy_is_reported(tmp_path: Path, docs: Path) -> None:
    async with client(tmp_path) as runs:
        first = await runs.research(FIRST)
        then = await runs.research("And its quay?", follows=first.metadata.run_id)
        (then.folder / "conversation.json").write_text("{")
        with pytest.raises(LeadlineError, match="cannot read the earlier turns in"):
            await runs.replay(then.folder)
        (then.folder / "conversation.json").unlink()
        with pytest.raises(LeadlineError, match=r"conversation.json is missing"):
            await runs.replay(then.folder)


async def test_memory_is_off_unless_it_is_set(tmp_path: Path, docs: Path) -> None:
    model = Model()
    async with client(tmp_path, model) as runs:
        await runs.research(FIRST)
        then = await runs.research("Was the harbour of Kalmar deep?")
    assert "follow_up" not in model.tasks()
    assert not (then.folder / "conversation.json").exists()


async def test_a_question_remembers_related_ones_of_the_same_user_and_says_so(tmp_path: Path, docs: Path) -> None:
    model = Model(follow_up={"question": "Was the harbour of Kalmar deep in 1820?"})
    async with client(tmp_path, model, {"memory": 2}) as runs:
        await runs.research(FIRST, principal="ada")
        await runs.research("What is tallow good for?", principal="ada")
        await runs.research(FIRST, principal="bob")
        before = len(model.asked)
        then = await runs.research("Was the harbour of Kalmar deep?", principal="ada")
        asked = dict(model.asked[before:])
        assert [run.question for run in runs.memory(principal="bob")] == [FIRST]
    assert [turn.question for turn in stored(then).remembered] == [FIRST]
    assert f"memory: remembered {FIRST}" in then.metadata.notices
    assert "# Earlier conversations" in asked["follow_up"]
    assert "reuse" not in asked, "only turns of this conversation have sources"


@pytest.mark.parametrize(
    ("question", "points_back", "understood"),
    [
        ("Was the harbour of Kalmar deep?", [], False),
        ("Was the harbour of Kalmar deep?", ["that report"], False),
        ("Was that harbour of Kalmar deep?", ["That harbour"], True),
    ],
)
async def test_memory_changes_only_a_question_that_points_back(
    tmp_path: Path, docs: Path, question: str, points_back: list[str], understood: bool
) -> None:
    reply = {"question": f"{FIRST} {question}", "points_back": points_back}
    async with client(tmp_path, Model(follow_up=reply), {"memory": 2}) as runs:
        await runs.research(FIRST)
        then = await runs.research(question)
    assert any(f"{notice}".startswith("understood as") for notice in then.metadata.notices) is understood
    assert then.report
    assert (then.report.metadata["question"] == question) is not understood


async def test_a_forgotten_run_is_not_remembered_and_stays(tmp_path: Path, docs: Path) -> None:
    model = Model()
    async with client(tmp_path, model, {"memory": 2}) as runs:
        first = await runs.research(FIRST)
        runs.forget(first.metadata.run_id)
        assert runs.memory() == []
        await runs.research("Was the harbour of Kalmar deep?")
        assert runs.find(first.metadata.run_id).status == "complete"
    assert "follow_up" not in model.tasks()


async def test_memory_finds_questions_in_languages_without_spaces(tmp_path: Path, docs: Path) -> None:
    async with client(tmp_path, Model(), {"memory": 1}) as runs:
        await runs.research("卡尔马港口在1820年有多深?")
        await runs.research("铅垂线是什么东西?")
        then = await runs.research("港口的深度是多少? 卡尔马港口")
    assert [turn.question for turn in stored(then).remembered] == ["卡尔马港口在1820年有多深?"]


async def test_without_a_model_memory_says_that_it_is_of_no_use(tmp_path: Path, docs: Path) -> None:
    async with client(tmp_path, settings={"memory": 2}) as runs:
        await runs.research(FIRST)
        then = await runs.research("Was the harbour of Kalmar deep?")
    assert any("no model is configured that could use them" in notice for notice in then.metadata.notices)


async def test_an_argument_that_no_question_has_is_refused(tmp_path: Path) -> None:
    async with leadline.Client(folder=tmp_path / "runs") as runs:
        with pytest.raises(TypeError, match="unexpected arguments: pipeline"):
            await runs.research("How deep?", pipeline="chat")  # type: ignore[call-arg]
