"""The history of a chat as earlier turns of a run."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

from leadline_server.openai.requests import ChatRequest
from leadline_server.openai.turns import Turns, history
from leadline_server.requests import NewRun


def request(*messages: tuple[str, str]) -> ChatRequest:
    return ChatRequest.model_validate(
        {"model": "leadline-chat", "messages": [{"role": role, "content": text} for role, text in messages]}
    )


def test_questions_are_paired_with_their_answers() -> None:
    turns = history(
        request(
            ("system", "Be brief."),
            ("assistant", "Hello!"),
            ("user", "How deep is it? "),
            ("assistant", "7 fathoms."),
            ("assistant", "At the mole."),
            ("user", "And the quay?"),
            ("user", "Of what is it?"),
        )
    )
    assert [(turn.question, turn.answer) for turn in turns] == [
        ("How deep is it?", "7 fathoms.\n\nAt the mole."),
        ("And the quay?", ""),
    ]


def test_a_first_question_has_no_history() -> None:
    assert history(request(("system", "Be brief."), ("user", "How deep is it?"))) == []


class Runs:
    """A service that counts the looks at its runs."""

    def __init__(self) -> None:
        self.looks = 0
        self.known: list[Any] = []

    async def runs(self, principal: str | None, chosen: Any, *, limit: int) -> Any:
        self.looks += 1
        return SimpleNamespace(runs=self.known)

    async def view(self, run_id: str, principal: str | None) -> Any:
        return SimpleNamespace(id=run_id, status="complete", questions=(), ended=None)

    async def order(self, body: NewRun, principal: str | None, turns: Any) -> str:
        self.known.insert(0, SimpleNamespace(id=f"run {len(self.known)}", tags=body.tags, follows=body.follows))
        return str(self.known[0].id)


async def test_a_history_of_ten_thousand_messages_costs_one_look_at_the_runs() -> None:
    service: Any = Runs()
    turns, began = Turns(service), time.process_time()
    asked = [("user", f"{number} " + "x" * 300) for number in range(9_999)]
    first = await turns.turn(request(*asked), "alice")
    assert service.looks == 1
    await turns.turn(request(*asked, ("user", "How many feet is a fathom?")), "alice")
    assert service.looks == 2
    assert service.known[0].follows == first.run_id
    told = request(("user", "How deep?"), *(("assistant", "x" * 400) for _ in range(9_998)), ("user", "And there?"))
    assert len(history(told)[0].answer) == 9_998 * 402 - 2
    assert time.process_time() - began < 10  # each message is read once; square time takes minutes
