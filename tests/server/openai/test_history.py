"""The history of a chat as earlier turns of a run."""

from __future__ import annotations

from leadline_server.openai.requests import ChatRequest
from leadline_server.openai.turns import history


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
