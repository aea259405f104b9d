"""The terminal's progress says where a run stands, in both its forms, and lets no foreign text steer the screen."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from leadline.progress import RunProgress
from leadline.records import Event, Failure, Notice
from leadline_plugins.observers.live import LiveView
from leadline_plugins.observers.terminal import PlainView, Terminal, TerminalSettings, can_change

Make = Callable[..., Event]
STEPS = ["clarify", "query", "search", "fetch", "review", "write"]


def started(event: Make, **data: Any) -> Event:
    return event("run.started", **{"question": "How?", "choices": ["by: local"], "steps": STEPS, **data})


def research(event: Make) -> Iterator[Event]:
    """Yield the events of a small run."""
    yield started(event)
    for number in (1, 2):
        yield event("progress", step="query", status="started", data={"round": number})
        yield event("progress", step="query", status="finished", data={"round": number, "tasks": 2})
        yield event("source", url=f"file:{number}", title=f"Page \x1b[2J{number}\nof two", engine="local", tier=3)
        yield event("progress", step="fetch", status="finished", data={"round": number, "sources": 1, "unread": 1})
    yield event("usage", usage={}, spent={"tokens": 9_000, "money": 0.09})  # with what is under way
    for origin in ("live", "journal"):
        used = {"input_tokens": 1_000, "output_tokens": 200, "cost": "0.01"}
        yield event("call.finished", key="k1", usage=used, **{"from": origin})
    yield event("call.finished", key="k2", usage={}, **{"from": "cache"})
    sections = [{"id": "1", "coverage": "covered"}, {"id": "2", "coverage": "partial"}]
    yield event("review", round=2, sections=sections, gaps=["How deep in\x1b[2J winter?"], conflicts=["the depth"])
    yield event("progress", step="query", status="finished", data={"idle": True, "loop_end": "no new search"})
    yield event("progress", step="review", status="failed", data={"reason": "budget spent"})
    yield event("run.finished", status="partial", reason="budget spent")


def plain(events: Iterator[Event]) -> list[str]:
    out = io.StringIO()
    view = PlainView(out)
    for event in events:
        view.show(event)
    return out.getvalue().splitlines()


def test_plain_progress_is_a_line_a_step(event: Make) -> None:
    assert plain(research(event)) == [
        "How?",
        "by: local",
        "   2.0 s  query (round 1): 2 queries",
        "   4.0 s  fetch (round 1): 1 source, 1 page not readable",
        "   6.0 s  query (round 2): 2 queries",
        "   8.0 s  fetch (round 2): 1 source, 1 page not readable",
        "  13.0 s  review (round 2): 1 of 2 sections covered; open: How deep in[2J winter?; "
        "sources disagree: the depth",
        "  14.0 s  query: no further round: no new search",
        "  15.0 s  review: not done: budget spent",
        "partial, 2 rounds, 4 queries, 2 sources, 1,200 tokens, $0.0100, 16.0 s",
    ]


def test_the_index_of_documents_has_lines_and_an_idle_step_has_none(event: Make) -> None:
    steps = [
        event("message", kind="index", text="local: 512 of 4,002 files read"),
        *(event("progress", step="chart", status=status, data={"idle": True}) for status in ("started", "finished")),
        event("progress", step="query", status="finished", data={"round": 1, "tasks": 2}),
        event("progress", step="query", status="finished", data={"round": 2, "tasks": 0, "idle": True}),
    ]
    lines = [line.split(" s  ")[-1] for line in plain(iter([started(event), *steps]))]
    assert lines[2:] == ["local: 512 of 4,002 files read", "query (round 1): 2 queries"]
    progress = RunProgress()
    for one in steps:
        progress.update(one)
    assert progress.steps == {"query": "finished"}


def test_a_wait_for_a_provider_is_told_once(event: Make) -> None:
    waits = [event("call.held", provider="acme", task="write", key=key, seconds=13.0) for key in "ab"]
    later = event("call.held", provider="acme", task="write", key="c", seconds=20.0)
    lines = [line.split(" s  ")[-1] for line in plain(iter([started(event), *waits, later]))]
    assert lines[2:] == ["acme is rate limited: waiting 13 s", "acme is rate limited: waiting 20 s"]


def test_a_pass_over_the_same_rounds_counts_once(event: Make) -> None:
    standing = RunProgress()
    for one in (*research(event), *research(event)):
        standing.update(one)
    assert list(standing.totals())[:3] == ["2 rounds", "4 queries", "2 sources"]


def test_a_round_in_which_nothing_was_searched_is_none(event: Make) -> None:
    standing = RunProgress()
    for one in (*research(event), event("progress", step="query", status="finished", data={"round": 3, "tasks": 0})):
        standing.update(one)
    assert next(standing.totals()) == "2 rounds"


def test_a_failure_is_said_once_though_the_calls_around_it_fail_with_it(event: Make) -> None:
    messages = ["search by web: gone", "query by batch: search by web: gone", "search by web: slow"]
    told = plain(iter([started(event), *(event("error", message=message) for message in messages)]))
    assert told[2:] == ["error: search by web: gone", "error: search by web: slow"]


def test_a_reader_that_went_away_is_no_failure(event: Make) -> None:
    class Closed(io.StringIO):
        tries = 0

        def write(self, _: str) -> int:
            self.tries += 1
            raise BrokenPipeError

    stream = Closed()
    view = PlainView(stream)
    for one in research(event):
        view.show(one)
    view.close()
    assert stream.tries


@pytest.mark.parametrize("width", [20, 40, 120])
def test_the_changing_lines_fit_the_terminal_and_are_few(event: Make, width: int) -> None:
    view = LiveView(Console(file=io.StringIO(), force_terminal=True, width=width))
    for one in [*research(event)][:-1]:
        view.show(one)
    view.show(event("source", url="u", title="一个很长的标题" * 20, engine="local", tier=3))
    screen = Console(file=io.StringIO(), width=width)
    screen.print(view)
    view.close()
    drawn = screen.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert all(cell_len(line) <= width for line in drawn)
    assert len(drawn) <= 2 + len(STEPS)
    flat = " ".join("".join(drawn).split())
    assert all(part in flat for part in ("✓ query", "✗ review", "· write"))


def test_notices_and_errors_stay_on_the_screen(event: Make) -> None:
    out = io.StringIO()
    view = LiveView(Console(file=out, width=100))
    for one in research(event):
        view.show(one)
        if one.kind == "run.started":
            view.show(event("notice", message="tavily is left out:\x1b[31m no key"))
    shown = out.getvalue()
    assert shown.startswith("How?\nby: local\n")
    assert "note: tavily is left out:[31m no key\n" in shown
    assert shown.splitlines()[-1].startswith("◐ partial · 2 rounds · 4 queries · 2 sources · 1,200 tokens · $0.0100 · ")


def test_foreign_text_cannot_steer_the_terminal(event: Make) -> None:
    out = io.StringIO()
    view = LiveView(Console(file=out, width=100))
    for one in research(event):
        view.show(one)
    screen = Console(file=io.StringIO(), width=100)
    screen.print(view)
    assert "\x1b" not in out.getvalue() + screen.file.getvalue()  # type: ignore[attr-defined]
    assert "Page [2J2 of two" in screen.file.getvalue()  # type: ignore[attr-defined]


def test_the_lines_step_aside_for_a_question_and_come_back(event: Make) -> None:
    view = LiveView(Console(file=io.StringIO(), force_terminal=True))
    view.show(started(event))
    assert view.drawing
    view.show(event("question", message="What exactly?"))
    assert not view.drawing
    view.show(event("progress", step="query", status="started", data={"round": 1}))
    assert view.drawing
    view.close()
    assert not view.drawing


class Tty(io.TextIOWrapper):
    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding)

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("out", "environ", "changes"),
    [
        (Tty(), {"TERM": "xterm"}, True),
        (Tty(), {"TERM": "xterm", "NO_COLOR": ""}, True),
        (Tty(), {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (Tty(), {"TERM": "dumb"}, False),
        (Tty("ascii"), {"TERM": "xterm"}, False),
        (io.StringIO(), {"TERM": "xterm"}, False),
    ],
)
def test_lines_change_in_place_only_where_the_terminal_can(out: Any, environ: dict[str, str], changes: bool) -> None:
    assert can_change(out, environ) is changes


async def test_beside_a_changing_run_another_gets_plain_lines(event: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    observer = Terminal(TerminalSettings(style="live"))
    await observer.observe(started(event, run="one"))
    await observer.observe(started(event, run="two", question="Beside?"))
    await observer.observe(event("run.finished", run="two", status="complete", reason=""))
    observer.close()
    assert "complete, 1.0 s\n" in out.getvalue()


def failed(kind: str, provider: str, message: str) -> Notice:
    return Failure(kind=kind, provider=provider, category="LLM", type="BadReply", message=message).text


def notes(event: Make, *messages: tuple[str, Notice]) -> list[str]:
    events = (event(kind, **notice.data()) for kind, notice in messages)
    return plain(iter([started(event), *events]))


def test_a_note_on_what_became_of_a_failure_does_not_tell_it_again(event: Make) -> None:
    not_drawn = Notice("the chart 'A' was not drawn: {reason}", "chart", reason="it has no points")
    told = notes(event, ("error", failed("draw", "data", "it has no points")), ("notice", not_drawn))
    assert told[2:] == ["error: draw by data: it has no points", "note: the chart 'A' was not drawn"]


WHY = "x.test has no model 'a' (HTTP 404): set another (choose from: b, c)"


def test_a_note_is_never_cut_within_what_it_says(event: Make) -> None:
    why = failed("task", "openai", WHY)
    absent = Notice("openai is left out of this run: {reason}", "absent", reason=Notice(WHY))
    told = notes(
        event,
        ("error", failed("chat", "openai", WHY)),
        ("error", why),
        ("notice", absent),
        ("notice", Notice("no queries were proposed").because(why)),
        ("notice", Notice("this round was not reviewed").because(why)),
        ("notice", Notice("it was not written").because(Notice.several([why, failed("task", "other", "gone")]))),
        ("error", failed("chat", "other", WHY)),
    )
    assert told[2:] == [
        f"error: chat by openai: {WHY}",
        "note: openai is left out of this run",
        "note: no queries were proposed",
        "note: this round was not reviewed",
        f"note: it was not written (task by openai: {WHY}; task by other: gone)",
        f"error: chat by other: {WHY}",
    ]
