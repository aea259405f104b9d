"""Questions of a run to a person: asked, answered from the program, closed, and kept over a crash."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import leadline
from leadline._runtime.runs.interprocess import Message
from leadline._runtime.runs.session import take
from leadline.commands.outcome import advise
from leadline.contracts import StageRun
from leadline.errors import AlreadyAnswered, UsageError
from leadline.findings import Findings, Key
from leadline.plugin import stage
from leadline.records import Answer, Json, Record
from leadline.testing.plugins import plugin

SCHEMA: Json = {"type": "object", "properties": {"answer": {"type": "string"}}}


class Answers(Record):
    texts: tuple[str, ...]


ANSWERS: Key[Answers] = Key("asks.answers", Answers, file="answers.json")
Ask = Callable[[StageRun], Awaitable[tuple[str, ...]]]


class Asks:
    """A stage that asks."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        findings[ANSWERS] = Answers(texts=await self._ask(run))


def client(folder: Path, ask: Ask) -> leadline.Client:
    offer = stage("Asks", gives=(ANSWERS,))(lambda: Asks(ask))
    settings = {"pipeline": "mine", "pipelines": {"mine": {"stages": ["asks"]}}, "retry.base": 0}
    plugins = [plugin("asks", offer)]
    return leadline.Client(plugins=plugins, folder=folder / "runs", cache=folder / "cache", set=settings)


def text_of(answer: Answer) -> str:
    return f"{answer.action}: {answer.content.get('answer', '')}"


async def two(run: StageRun) -> tuple[str, ...]:
    """Ask two questions at once."""

    async def ask(message: str) -> str:
        return text_of(await run.ask(message, SCHEMA))

    return tuple(await run.each(["Which basin?", "Which tide?"], ask))


async def one(run: StageRun) -> tuple[str, ...]:
    return (text_of(await run.ask("Which basin?", SCHEMA)),)


async def asked(run: leadline.Run, count: int) -> dict[str, str]:
    """Wait until a run has asked so many questions; return their ids by message."""
    found: dict[str, str] = {}
    async for event in run.events():
        assert event.kind != "run.finished"
        if event.kind == "question":
            assert (event.data["schema"], event.data["seconds"]) == (SCHEMA, None)
            found[str(event.data["message"])] = str(event.data["id"])
            if len(found) == count:
                break
    return found


def written(result: leadline.Result) -> list[str]:
    texts: list[str] = json.loads((result.folder / "answers.json").read_text())["texts"]
    return texts


async def test_several_open_questions_are_answered_by_id_and_shown_on_disk_meanwhile(tmp_path: Path) -> None:
    async with client(tmp_path, two) as runs:
        run = await runs.start("How deep is it?", interactive=True)
        ids = await asked(run, 2)
        known = runs.find(run.id)  # reads the folder, like another process
        assert known.status == "waiting"
        assert known.metadata is not None
        assert {question.id: question.message for question in known.metadata.questions} == {
            name: message for message, name in ids.items()
        }
        assert run.questions() == known.metadata.questions
        await run.answer(ids["Which tide?"], {"answer": "low"})
        assert runs.find(run.id).status == "waiting"
        assert [question.message for question in run.questions()] == ["Which basin?"]
        await run.answer(ids["Which basin?"], Answer(action="decline"))
        result = await run.result()
        assert (result.status, written(result)) == ("complete", ["decline: ", "accept: low"])
        assert result.metadata.questions == ()
        assert runs.find(run.id).status == "complete"
        # A replay needs nobody.
        assert (await runs.replay(run.id)).status == "complete"


async def test_the_first_answer_counts_and_unknown_questions_are_refused(tmp_path: Path) -> None:
    async with client(tmp_path, two) as runs:
        run = await runs.start("How deep is it?", interactive=True)
        ids = await asked(run, 2)
        basin = ids["Which basin?"]
        for unknown in ("", "nothing", "../x", basin[:-1]):
            with pytest.raises(
                UsageError, match=f"no question '{unknown}' is open in this run; open questions: {basin}"
            ):
                await run.answer(unknown, {"answer": "?"})
        answers = [run.answer(basin, {"answer": "outer"}), run.answer(basin, {"answer": "inner"})]
        first, second = await asyncio.gather(*answers, return_exceptions=True)
        assert (first, type(second)) == (None, AlreadyAnswered)
        with pytest.raises(AlreadyAnswered):
            await run.answer(basin, {"answer": "inner"})
        await run.answer(ids["Which tide?"], {"answer": "low"})
        result = await run.result()
        assert written(result) == ["accept: outer", "accept: low"]
        for name in ids.values():
            with pytest.raises(AlreadyAnswered):
                await run.answer(name, {"answer": "late"})


FORM: Json = {
    "type": "object",
    "properties": {
        "answer": {"type": "string"},
        "depth": {"type": "number", "minimum": 0, "maximum": 11_000},
        "soundings": {"type": "integer"},
        "tide": {"type": "string", "enum": ["low", "high"]},
        "sure": {"type": "boolean"},
        "basins": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["answer"],
}
MISSED: list[tuple[Json, str]] = [
    ({}, "answer: field required"),
    ({"wrong": "x"}, "answer: field required"),
    ({"answer": "x", "wrong": "x"}, "wrong: there is no such field; choose from answer, depth"),
    ({"answer": float("nan")}, "answer: it must be of the type string"),
    ({"answer": 5}, "answer: it must be of the type string"),
    ({"answer": ["x"]}, "answer: it must be of the type string"),
    ({"answer": None}, "answer: it must be of the type string"),
    ({"answer": "x", "depth": float("nan")}, "depth: JSON has no such number"),
    ({"answer": "x", "depth": True}, "depth: it must be of the type number"),
    ({"answer": "x", "soundings": 1.5}, "soundings: it must be of the type integer"),
    ({"answer": "x", "soundings": 10**5_000}, "soundings: JSON has no such number"),
    ({"answer": "x", "tide": "ebb"}, "tide: choose from low, high"),
    ({"answer": "x", "sure": "yes"}, "sure: it must be of the type boolean"),
    ({"answer": "x", "basins": [float("inf")]}, "basins: JSON has no such number"),
    ({"answer": "x", "basins": ["outer", 5]}, "basins: it must be of the type string"),
    ({"answer": "x", "depth": -1}, "depth: it must be at least 0"),
    ({"answer": "x", "depth": 12_000}, "depth: it must be at most 11000"),
]


async def test_an_answer_that_misses_the_schema_names_its_field_and_the_question_stays_open(tmp_path: Path) -> None:
    async def form(run: StageRun) -> tuple[str, ...]:
        return (text_of(await run.ask("Which basin?", FORM)),)

    async with client(tmp_path, form) as runs:
        run = await runs.start("How deep is it?", interactive=True)
        while not run.questions():
            await asyncio.sleep(0.01)
        question = run.questions()[0]
        for content, fault in MISSED:
            with pytest.raises(UsageError, match=f"does not fit the question: {fault}"):
                await run.answer(question.id, content)
            assert run.questions() == (question,)
        await run.answer(question.id, {"answer": "outer", "depth": 7, "tide": "low", "sure": True, "basins": ["x"]})
        assert written(await run.result()) == ["accept: outer"]


async def test_an_answer_of_the_program_that_misses_the_schema_passes_no_gate(tmp_path: Path) -> None:
    async def gate(run: StageRun) -> tuple[str, ...]:
        return (text_of(await run.ask("Which basin?", FORM, {"answer": "any"})),)

    async def answers(message: str, json_schema: Json) -> Answer:
        return Answer(action="accept", content={"answer": "outer", "tide": "maybe"})

    async with client(tmp_path, gate) as runs:
        result = await (await runs.start("How deep is it?", asker=answers)).result()
    assert result.status == "failed"
    assert "the answer of the program does not fit the question: tide: choose from low, high" in result.reason


async def test_a_run_that_is_cancelled_while_it_waits_asks_again_what_was_not_answered(tmp_path: Path) -> None:
    async with client(tmp_path, two) as runs:
        run = await runs.start("How deep is it?", interactive=True)
        ids = await asked(run, 2)
        await run.answer(ids["Which basin?"], {"answer": "outer"})
        await run.cancel()
        assert (await run.result()).status == runs.find(run.id).status == "cancelled"
        with pytest.raises(UsageError, match="open questions: none"):
            await run.answer(ids["Which tide?"], {"answer": "low"})
        # Nobody to ask: the run waits for somebody, with the answer that it has.
        nobody = await (await runs.resume(run.id)).result()
        assert (nobody.status, nobody.exit_code, nobody.reason) == ("waiting", 2, "Which tide?")
        again = await runs.resume(run.id, interactive=True)
        assert await asked(again, 1) == {"Which tide?": ids["Which tide?"]}
        with pytest.raises(AlreadyAnswered):
            await again.answer(ids["Which basin?"], {"answer": "inner"})
        await again.answer(ids["Which tide?"], {"answer": "low"})
        assert written(await again.result()) == ["accept: outer", "accept: low"]
        # All answers are there: nobody is needed.
        assert (await (await runs.resume(run.id)).result()).status == "complete"


async def test_another_process_follows_a_run_that_waits_to_its_end(tmp_path: Path) -> None:
    async with client(tmp_path, one) as runs, client(tmp_path, one) as others:
        run = await runs.start("How deep is it?", interactive=True)
        kinds = []
        async for event in others.events(run.id):  # from the file, as another process does
            kinds.append(event.kind)
            if event.kind == "question":
                await run.answer(str(event.data["id"]), {"answer": "outer"})
        assert kinds[-1] == "run.finished"
        assert (await run.result()).status == "complete"


_KILLED = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_questions import asked, client, two

async def main():
    async with client(Path(sys.argv[1]), two) as runs:
        run = await runs.start("How deep is it?", interactive=True)
        ids = await asked(run, 2)
        await run.answer(ids["Which basin?"], {"answer": "outer"})
        print(run.id, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_killed_run_keeps_its_answers_and_asks_again_what_was_not_answered(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _KILLED, str(tmp_path), str(Path(__file__).parent)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, env=dict(os.environ))
    assert process.stdout
    name = (await process.stdout.readline()).decode().strip()
    async with client(tmp_path, two) as runs:
        assert runs.find(name).status == "waiting"
        process.send_signal(signal.SIGKILL)
        await process.wait()
        assert runs.find(name).status == "interrupted"
        run = await runs.resume(name, interactive=True)
        ids = await asked(run, 1)
        await run.answer(ids["Which tide?"], {"answer": "low"})
        assert written(await run.result()) == ["accept: outer", "accept: low"]


async def test_a_question_that_nobody_answers_in_time_is_asked_once_and_again_on_resume(tmp_path: Path) -> None:
    asked_messages: list[str] = []

    async def count(message: str, schema: Json) -> Answer:
        asked_messages.append(message)
        await asyncio.Event().wait()
        raise AssertionError

    async def ask(run: StageRun) -> tuple[str, ...]:
        tide = await run.ask("Which tide?", SCHEMA, {"answer": "low"}, wait=0.01)
        return text_of(tide), text_of(await run.ask("Which basin?", SCHEMA, wait=0.01))

    async with client(tmp_path, ask) as runs:
        result = await runs.research("How deep is it?", asker=count)
        assert (result.status, result.metadata.questions) == ("failed", ())
        assert result.reason == "ask by person: nobody answered within 0.01 s"
        assert asked_messages == ["Which tide?", "Which basin?"]

        async def answer(message: str, schema: Json) -> Answer:
            asked_messages.append(message)
            return Answer(action="accept", content={"answer": "outer"})

        again = await (await runs.resume(result.folder, asker=answer)).result()
    assert asked_messages[2:] == ["Which tide?", "Which basin?"]
    assert written(again) == ["accept: outer", "accept: outer"]


async def test_an_error_of_the_asker_fails_the_run_with_its_words(tmp_path: Path) -> None:
    async def fail(message: str, schema: Json) -> Answer:
        raise TimeoutError("the chat is closed")

    async with client(tmp_path, one) as runs:
        result = await runs.research("How deep is it?", asker=fail)
    assert result.status == "failed"
    assert "the chat is closed" in result.reason


async def test_without_anybody_to_ask_the_default_is_the_answer(tmp_path: Path) -> None:
    async def ask(run: StageRun) -> tuple[str, ...]:
        return (text_of(await run.ask("Which tide?", SCHEMA, {"answer": "low"})),)

    async with client(tmp_path, ask) as runs:
        result = await runs.research("How deep is it?")
        assert written(result) == ["accept: low"]
        assert (await runs.replay(result.folder)).status == "complete"


async def test_a_stop_while_a_run_waits_ends_the_question(tmp_path: Path) -> None:
    async with client(tmp_path, one) as runs:
        run = await runs.start("How deep is it?", interactive=True)
        await asked(run, 1)
        run.stop()
        result = await run.result()
        assert result.status in ("failed", "partial")
        assert result.metadata.questions == ()
        with pytest.raises(UsageError, match="open questions: none"):
            await run.answer("x", {})


async def test_a_question_to_nobody_is_answered_with_advice_that_fits_any_stage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with client(tmp_path, one) as runs:
        result = await runs.research("How deep is the basin of the harbour?")
    assert (result.status, result.reason, result.exit_code) == ("waiting", "Which basin?", 2)
    advise(result, Namespace(folder=None, set=[], settings=None))
    said = " ".join(capsys.readouterr().err.split())
    command = f"leadline resume {result.folder.name}"
    assert f"waits for an answer: {command} --answer TEXT, or in a terminal: {command}" in said
    assert f"go on without answering: {command} --no-answer" in said
    assert "clarify" not in said


async def test_a_run_that_nobody_attends_waits_without_a_process_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    async with client(tmp_path, two) as runs:
        result = await runs.research("How deep is it?")
        question, other = result.metadata.questions
        assert (result.status, result.exit_code, question.seconds) == ("waiting", 2, None)
    async with client(tmp_path, two) as runs:  # after a restart
        known = runs.find(result.folder)
        assert (known.status, known.metadata and known.metadata.questions) == ("waiting", (question, other))
        kinds = [event.kind async for event in runs.events(known.id)]
        assert kinds[-3:] == ["question", "question", "run.finished"]
        with pytest.raises(UsageError, match=f"no question 'x' is open in this run; open questions: {question.id}"):
            await runs.answer(known.id, "x", {"answer": "outer"})
        with pytest.raises(UsageError, match="answer: it must be of the type string"):
            await runs.answer(known.id, question.id, {"answer": 5})
        await runs.answer(known.id, question.id, {"answer": "outer"})
        with pytest.raises(AlreadyAnswered):
            await runs.answer(known.id, question.id, {"answer": "inner"})
        second = await (await runs.resume(known.id)).result()
        assert (second.status, second.metadata.questions) == ("waiting", (other,))
        await runs.answer(known.id, other.id, Answer(action="decline"))
        ended = await (await runs.resume(known.id)).result()
        assert (ended.status, ended.metadata.questions) == ("complete", ())
        assert sorted(written(ended)) == ["accept: outer", "decline: "]
        assert (await runs.replay(known.id)).status == "complete"


async def test_a_run_that_waits_is_cancelled_and_one_with_a_limit_ends_after_it(tmp_path: Path) -> None:
    async def ask(run: StageRun) -> tuple[str, ...]:
        return (text_of(await run.ask("Which basin?", SCHEMA, wait=0.2)),)

    async with client(tmp_path, ask) as runs:
        result = await runs.research("How deep is it?")
        assert result.metadata.questions[0].seconds == 0.2
        await asyncio.sleep(0.2)
        late = await (await runs.resume(result.folder)).result()
        assert (late.status, late.reason) == ("failed", "ask by person: nobody answered within 0.2 s")
    async with client(tmp_path, one) as runs:
        result = await runs.research("How deep is it?")
        await runs.cancel(result.folder, "not needed")
        known = runs.find(result.folder)
        assert known.metadata
        assert (known.status, known.metadata.reason, known.metadata.questions) == ("cancelled", "not needed", ())
        with pytest.raises(UsageError, match="is not active: it is cancelled"):
            await runs.answer(result.folder, result.metadata.questions[0].id, {"answer": "outer"})
        with pytest.raises(UsageError, match="is not active: it is cancelled"):  # as of a run that went on meanwhile
            await take(result.folder, Message(action="cancel"))
        (result.folder / "metadata.json").unlink()  # as by whoever deletes it at the same time
        with pytest.raises(UsageError, match="was deleted"):
            await take(result.folder, Message(action="cancel"))
