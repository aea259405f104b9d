"""The gate before a research: rules decide, a model says what to ask, and of a complex question whether."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.errors import Unavailable
from leadline.plugin import ai_provider
from leadline.records import Answer, Json, Message
from leadline.testing.fakes import Reply, ScriptedChat
from leadline.testing.plugins import plugin
from leadline_plugins.stages.clarify import ClarifySettings as Rules
from leadline_plugins.stages.clarify import is_complex, unclear_reasons

COMPLEX = "A comprehensive study of the depth of the harbour of Porto Alvo"
PLAIN = "How deep is the harbour of Porto Alvo at low water?"
TOWN, YEAR = "Which of the two basins?", "At which tide?"
ASSUMED = "the outer basin is meant"


def said(needs: bool, *questions: str, assumptions: Sequence[str] = ()) -> Message:
    told = {"needs_clarification": needs, "questions": questions, "assumptions": assumptions}
    return Message(role="assistant", text=json.dumps(told))


async def gated(
    folder: Path, question: str, replies: Sequence[Reply], asker: Any = None, **settings: Any
) -> tuple[leadline.Result, ScriptedChat, dict[str, Any]]:
    """Run a research whose `clarify` is done by a model, and all else by algorithms."""
    docs = folder / "docs"
    docs.mkdir()
    (docs / "harbour.md").write_text("The harbour of Porto Alvo has a depth of nine metres at low water.")
    chat = ScriptedChat(replies)
    model = plugin("chat", ai_provider("A chat", priced=True)(lambda: chat))
    values = {"ai.providers": ["embedded"], "ai.tasks": {"clarify": "chat:m"}, "retry.base": 0}
    values |= {name.replace("__", "."): value for name, value in settings.items()}
    async with leadline.Client(docs=docs, plugins=[model], folder=folder / "runs", cache=folder / "c", set=values) as c:
        result = await c.research(question, asker=asker)
    return result, chat, json.loads((result.folder / "clarify.json").read_text())


async def test_a_model_decides_whether_a_complex_question_is_clear(tmp_path: Path) -> None:
    result, chat, known = await gated(tmp_path, COMPLEX, [said(False)])
    assert f"Question: {COMPLEX}\nLanguage: en" in chat.asked[0].messages[-1].text
    assert result.status == "complete"
    assert result.metadata.notices == ()
    assert known["needs_clarification"] is False


async def test_questions_and_assumptions_of_the_model_are_stored_and_shown(tmp_path: Path) -> None:
    result, _, known = await gated(tmp_path, COMPLEX, [said(True, TOWN, YEAR, assumptions=[ASSUMED])])
    assert (known["questions"], known["assumptions"]) == ([TOWN, YEAR], [ASSUMED])
    assert known["needs_clarification"] is True
    assert [note for note in result.metadata.notices if ASSUMED in note]
    assert result.report


async def test_it_is_asked_back_in_the_models_words(tmp_path: Path) -> None:
    heard: list[str] = []

    async def answer(message: str, schema: Json) -> Answer:
        heard.append(message)
        return Answer(action="accept", content={"answer": "the outer basin"})

    _, _, known = await gated(tmp_path, COMPLEX, [said(True, TOWN, YEAR)], answer, clarify__mode="ask")
    assert heard[0] == f"1. {TOWN}\n2. {YEAR}"
    assert known["text"] == f"{COMPLEX} (the outer basin)"


async def test_a_run_goes_on_without_an_answer_if_the_user_wants_that(tmp_path: Path) -> None:
    async def decline(message: str, schema: Json) -> Answer:
        return Answer(action="decline")

    reply = said(True, TOWN, YEAR, assumptions=[ASSUMED])
    result, _, known = await gated(tmp_path, COMPLEX, [reply], decline, clarify__mode="ask")
    assert (known["text"], known["assumptions"], known["needs_clarification"]) == (COMPLEX, [ASSUMED], True)
    assert [note for note in result.metadata.notices if ASSUMED in note]


async def test_a_question_that_was_cancelled_fails_the_run_and_is_asked_again_on_resume(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "harbour.md").write_text("The harbour of Porto Alvo has a depth of nine metres at low water.")
    answers = [Answer(action="cancel"), Answer(action="accept", content={"answer": "the depth of the harbour"})]

    async def answer(message: str, schema: Json) -> Answer:
        return answers.pop(0)

    values = {"ai.providers": ["embedded"], "clarify.mode": "ask"}
    folders = {"docs": tmp_path / "docs", "folder": tmp_path / "runs", "cache": tmp_path / "c"}
    async with leadline.Client(**folders, set=values) as client:  # type: ignore[arg-type]
        failed = await client.research("How is it?", asker=answer)
        assert (failed.status, failed.exit_code) == ("failed", 1)
        assert failed.reason.startswith("there was no usable answer to: The question is unclear: ")
        resumed = await (await client.resume(failed.folder, asker=answer)).result()
    assert (resumed.status, resumed.exit_code, answers) == ("complete", 0, [])


async def test_a_model_cannot_overrule_the_rules_that_find_a_question_unclear(tmp_path: Path) -> None:
    _, chat, known = await gated(tmp_path, "How about it?", [said(False, assumptions=[ASSUMED])])
    assert "Unclear:" in chat.asked[0].messages[-1].text
    assert known["needs_clarification"] is True
    assert known["assumptions"] == [ASSUMED]


@pytest.mark.parametrize(("question", "settings"), [(PLAIN, {}), (COMPLEX, {"clarify__mode": "off"})])
async def test_a_plain_question_costs_no_call_and_neither_does_the_gate_that_is_off(
    question: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    _, chat, _ = await gated(tmp_path, question, [], **settings)
    assert chat.asked == []


async def test_without_a_model_a_complex_question_is_taken_as_it_stands(tmp_path: Path) -> None:
    result, chat, known = await gated(tmp_path, COMPLEX, [], ai__tasks={})
    assert chat.asked == []
    assert result.metadata.notices == ()
    assert known["needs_clarification"] is False


async def test_without_a_model_nothing_is_assumed_of_an_unclear_question(tmp_path: Path) -> None:
    result, _, known = await gated(tmp_path, "How do I moor it?", [], ai__tasks={})
    assert known["needs_clarification"] is True
    assert known["reasons"]
    assert known["assumptions"] == []
    assert result.metadata.notices == ()


async def test_a_model_that_fails_costs_the_run_nothing_and_is_told(tmp_path: Path) -> None:
    result, _, known = await gated(tmp_path, COMPLEX, [Unavailable("no")] * 9)
    assert result.report
    assert known["needs_clarification"] is False
    assert any(note.startswith("no model checked whether the question is clear") for note in result.metadata.notices)


def examples(name: str) -> list[str]:
    data = tomllib.loads(files("leadline_plugins.stages").joinpath("clarify.toml").read_text("utf-8"))
    return list(data[name]["examples"])


@pytest.mark.parametrize("question", examples("complex"))
def test_marks_of_a_complex_question(question: str) -> None:
    assert is_complex(question)


@pytest.mark.parametrize("question", [PLAIN, "What do TVs cost in Porto Alvo?", "黄河有多长"])
def test_most_questions_have_no_mark_of_complexity(question: str) -> None:
    assert not is_complex(question)


@pytest.mark.parametrize(
    ("name", "reason"), [("vague", "what it is about"), ("short", "short terms only"), ("own", "personal case")]
)
def test_the_examples_of_a_word_list_are_unclear_for_its_reason(name: str, reason: str) -> None:
    for question in examples(name):
        assert [one for one in unclear_reasons(question, Rules()) if reason in one], question


def test_the_literal_rules_count_every_vague_term_and_no_case_of_ones_own() -> None:
    literal = Rules(rules="literal")
    assert [one for one in unclear_reasons("How deep is the harbour of Porto Alvo?", literal) if "vague" in one]
    assert not list(unclear_reasons("Which anchor suits my boat in mud?", literal))
    assert [one for one in unclear_reasons("黄河有多长", literal) if "short" in one]


@pytest.mark.parametrize(
    "question",
    [
        PLAIN,
        "What moved the harbours of Europe to their mouths after World War I?",
        f"My dinghy is to be varnished: {'it is old, of oak, moored in fresh water and used every week; ' * 4}how?",
        "波尔图阿尔沃港在低潮时有多深？",
    ],
)
def test_a_question_that_tells_enough_is_clear(question: str) -> None:
    assert list(unclear_reasons(question, Rules())) == []
