"""Questions at the terminal: one at a time, and no line is lost when a question is closed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from typing import TextIO

import pytest

from leadline.cli import ask
from leadline.cli.ask import Terminal
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
