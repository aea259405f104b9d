"""Questions at the terminal: one at a time, and no line is lost when a question is closed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest

from leadline.commands import questions as ask
from leadline.commands.questions import Terminal, content_of
from leadline.errors import UsageError
from leadline.records import Answer, Json

SCHEMA: Json = {"type": "object", "properties": {"answer": {"type": "string", "title": "Your answer"}}}


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[TextIO]:
    """Return what a user types to."""
    monkeypatch.setattr(ask, "STEP_ASIDE", 0)
    reading, writing = os.pipe()
    with os.fdopen(reading) as stdin, os.fdopen(writing, "w", buffering=1) as keyboard:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield keyboard


def accepted(text: str) -> Answer:
    return Answer(action="accept", content={"answer": text})


async def test_questions_asked_at_once_are_shown_one_after_the_other(
    typed: TextIO, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    first, second = (asyncio.create_task(terminal.ask(text, SCHEMA)) for text in ("Which basin?", "Which tide?"))
    while "Your answer" not in (shown := capsys.readouterr().err):
        await asyncio.sleep(0.01)
    assert "Which tide?" not in shown
    typed.write("outer\nlow\n")
    assert [await first, await second] == [accepted("outer"), accepted("low")]


async def test_the_line_that_a_closed_question_waited_for_answers_the_next_one(
    typed: TextIO, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    closed = asyncio.create_task(terminal.ask("Which basin?", SCHEMA))
    while "Your answer" not in capsys.readouterr().err:
        await asyncio.sleep(0.01)
    closed.cancel()
    await asyncio.wait({closed})
    following = asyncio.create_task(terminal.ask("Which tide?", SCHEMA))
    while "Your answer" not in capsys.readouterr().err:
        await asyncio.sleep(0.01)
    typed.write("low\n")
    assert await following == accepted("low")


@pytest.mark.parametrize(("line", "action"), [("\n", "decline"), ("", "cancel")])
async def test_an_empty_line_declines_and_the_end_of_the_input_cancels(line: str, action: str, typed: TextIO) -> None:
    typed.write(line)
    typed.close()
    assert (await Terminal().ask("Which basin?", SCHEMA)).action == action


FORM: Json = {
    "type": "object",
    "properties": {
        "basin": {"type": "string", "title": "Which basin?", "enum": ["outer", "inner"]},
        "tide": {"title": "Which tide?", "enum": ["hi", "lo"], "enumNames": ["High water", "Low water"]},
        "fathoms": {"type": "integer", "title": "How deep?", "minimum": 1},
        "basins": {"type": "array", "title": "Which others?"},
        "pilot": {"type": "boolean", "title": "With a pilot?"},
        "note": {"type": "string", "title": "Anything else"},
    },
    "required": ["basin", "tide", "fathoms", "basins", "pilot"],
}


async def test_choices_are_numbered_and_values_have_the_type_of_their_field(
    typed: TextIO, capsys: pytest.CaptureFixture[str]
) -> None:
    typed.write("2\nlow water\nmany\n0\n7\nold, new\nno\n\n")
    answer = await Terminal().ask("About the harbour", FORM)
    expected = {"basin": "inner", "tide": "lo", "fathoms": 7, "basins": ["old", "new"], "pilot": False}
    assert answer.content == expected
    shown = capsys.readouterr().err
    assert "  1. outer\n  2. inner\nWhich basin? (1-2): " in shown
    assert "  1. High water\n  2. Low water\nWhich tide? (1-2): " in shown
    assert "Please enter a whole number.\nHow deep?: " in shown
    assert "Please enter another value: it must be at least 1.\nHow deep?: " in shown
    assert "  1. yes\n  2. no\n" in shown
    assert "Anything else, or nothing: " in shown


async def test_a_wrong_choice_is_asked_for_again_and_an_empty_line_declines(
    typed: TextIO, capsys: pytest.CaptureFixture[str]
) -> None:
    typed.write("3\nthird\n\n")
    assert (await Terminal().ask("About the harbour", FORM)).action == "decline"
    assert capsys.readouterr().err.count("Please enter a number from 1 to 2.") == 2


def test_an_answer_in_words_has_the_type_of_its_field_and_reads_files_of_the_terminal_only(tmp_path: Path) -> None:
    fields: Any = FORM["properties"]
    for name, text, value in (("basin", "2", "inner"), ("fathoms", "7", 7), ("pilot", "no", False)):
        assert content_of({"properties": {name: fields[name]}}, text) == {name: value}
    (tmp_path / "plan.txt").write_text("Section: Depth")
    plan: Json = {"properties": {"plan": {"type": "string", "default": "Section: Tide\nSection: Depth"}}}
    named = f"@{tmp_path / 'plan.txt'}"
    assert content_of(plan, named) == {"plan": named}
    assert content_of(plan, named, files=True) == {"plan": "Section: Depth"}
    for text in ('{"plan":' * 10_000, '{"plan": "\\ud800"}', '{"plan": NaN}'):
        with pytest.raises(UsageError, match="not JSON"):
            content_of(plan, text)
