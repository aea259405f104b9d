"""How calls hang together: a replay has a part in what it asked for, and in what that is made of."""

from __future__ import annotations

from leadline._runtime.journal.rows import Row, with_descendants


def row(key: str, parent: str = "", causes: tuple[str, ...] = ()) -> Row:
    return Row(key=key, kind="task", provider="p", outcome="reply", parent=parent, causes=causes)


def test_descendants_include_the_causes_of_failures() -> None:
    rows = [
        row("plan"),
        row("chat", parent="plan"),
        row("search", causes=("engine",)),
        row("engine"),
        row("other"),
        row("others chat", parent="other"),
    ]
    found = with_descendants(rows, {"plan", "search", "unknown"})
    assert [row.key for row in found] == ["plan", "chat", "search", "engine"]


def test_mutual_causes_are_followed_once() -> None:
    rows = [row("a", parent="b", causes=("b",)), row("b", parent="a", causes=("a",))]
    assert with_descendants(rows, {"a"}) == rows
