"""How calls hang together: a replay has a part in what it asked for, and in what that is made of."""

from __future__ import annotations

from leadline.journal.lineage import those_of
from leadline.journal.rows import Row


def row(key: str, parent: str = "", causes: tuple[str, ...] = ()) -> Row:
    return Row(key=key, kind="task", provider="p", outcome="reply", parent=parent, causes=causes)


def test_what_was_asked_for_comes_with_what_stands_below_it_and_what_it_was_lost_of() -> None:
    rows = [
        row("plan"),
        row("chat", parent="plan"),
        row("search", causes=("engine",)),
        row("engine"),
        row("other"),
        row("others chat", parent="other"),
    ]
    assert [one.key for one in those_of(rows, {"plan", "search", "unknown"})] == ["plan", "chat", "search", "engine"]


def test_calls_that_are_each_others_causes_end() -> None:
    rows = [row("a", parent="b", causes=("b",)), row("b", parent="a", causes=("a",))]
    assert those_of(rows, {"a"}) == rows
