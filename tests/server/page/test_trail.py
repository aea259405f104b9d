"""The trail of a run from its events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from leadline.records import Event
from leadline_server.page.trail import Trail


def trail_of(*events: tuple[str, dict[str, Any]]) -> Trail:
    trail = Trail()
    for seq, (kind, data) in enumerate(events):
        trail.add(Event(seq=seq, time=datetime.now(UTC), run_id="r", kind=kind, data=data))
    return trail


PLAN = {"kind": "plan", "text": "", "sections": [{"id": "s1", "title": "Depth", "questions": ["How deep?"]}]}


def test_searches_stand_below_their_section_with_sources_passages_and_failures() -> None:
    trail = trail_of(
        ("message", PLAN),
        ("query", {"id": "q1", "query": "harbour depth", "goal": "", "section": "s1", "round": 1}),
        ("query", {"id": "q2", "query": "pier", "goal": "", "section": "", "round": 1}),
        ("found", {"id": "q1", "hits": 7, "failure": ""}),
        ("found", {"id": "q2", "hits": 0, "failure": "closed"}),
        ("source", {"id": "x", "url": "https://a.example", "title": "A", "engine": "w", "tier": 1, "query": "q1"}),
        ("message", {"kind": "learning", "text": "Nine.", "source": "https://a.example", "passages": 3}),
        ("unread", {"url": "https://b.example", "reason": "403", "query": "q1"}),
        (
            "review",
            {"round": 1, "sections": [{"id": "s1", "coverage": "partial"}, {"id": "s9", "coverage": "covered"}]},
        ),
    )
    depth, rest = trail.aspects
    (search,) = depth.searches
    assert depth.coverage == "partial"
    assert (search.hits, [one.reason for one in search.unread]) == (7, ["403"])
    assert [(page.tier, page.passages, page.site) for page in search.pages.values()] == [(1, 3, "a.example")]
    assert (rest.title, rest.searches[0].failure) == ("", "closed")
    assert trail.passages == 3


def test_steps_spending_waits_and_failures_are_those_of_the_last_event() -> None:
    call = {"kind": "chat", "provider": "m", "task": "plan", "key": "k"}
    trail = trail_of(
        ("run.started", {"steps": ["plan", "search"], "choices": []}),
        ("progress", {"step": "plan", "status": "started", "data": {"round": 1}}),
        ("call.started", {**call, "model": "small"}),
        ("call.retried", {**call, "attempt": 1, "category": "NETWORK", "type": "RateLimited", "seconds": 2.0}),
        ("error", {"message": "closed", "category": "NETWORK", "step": "plan"}),
        ("error", {"message": "closed", "category": "NETWORK", "step": "plan"}),
        ("usage", {"spent": {"tokens": 50, "money": 0.25}}),
    )
    assert trail.current is not None
    assert trail.current.title == "Planning the report"
    assert trail.now == ["asking a model (plan) · small"]
    assert "Trying again in 2 s" in trail.waiting
    assert [(one.message, one.times) for one in trail.failures.values()] == [("closed", 2)]
    assert (trail.tokens, trail.cost, trail.last) == (50, 0.25, 6)


def test_the_draft_is_what_deltas_call_a_draft_and_nothing_else() -> None:
    def delta(key: str, **data: Any) -> tuple[str, dict[str, Any]]:
        return "call.delta", {"kind": "text", "key": key, "text": "{", **data}

    plan = {**PLAN, "sections": [{"id": "s1", "title": "Depth"}, {"id": "s2", "title": "Width"}]}
    trail = trail_of(
        ("message", plan),
        delta("judge", text='pported": [{"claim": 1'),
        delta("plan", said="Depth\nWidth"),
        delta("write", draft=[{"section": "s2", "text": "Wide [1]."}, {"section": "s1", "text": "\nNi"}]),
        delta("write", draft=[{"section": "s1", "text": "ne."}]),
        delta("summary", draft=[{"section": "summary", "text": "Deep."}]),
        delta("lost", draft=[{"section": "s3", "text": "Half"}]),
        ("call.finished", {"key": "lost", "kind": "chat", "outcome": "failure"}),
        ("call.finished", {"key": "write", "kind": "chat", "outcome": "reply"}),
    )
    assert trail.draft == [("", "Deep."), ("Depth", "Nine."), ("Width", "Wide [1].")]


def test_the_time_that_is_left_comes_from_earlier_runs_and_leaves_out_the_time_between_sessions() -> None:
    began = datetime(2026, 3, 1, tzinfo=UTC)
    trail = Trail(usual=100.0)
    for seq, (kind, seconds) in enumerate(
        [("run.started", 0), ("usage", 30), ("run.started", 9_000), ("usage", 9_020)]
    ):
        trail.add(Event(seq=seq, time=began + timedelta(seconds=seconds), run_id="r", kind=kind, data={"steps": []}))
    assert trail.clock == 50
    assert trail.progress(began + timedelta(seconds=9_040)) == (70, 30)
    assert trail.progress(began + timedelta(seconds=20_000)) == (97, 0)


def test_a_run_that_is_continued_keeps_its_trail() -> None:
    started = {"steps": ["plan", "search"], "choices": []}
    trail = trail_of(
        ("run.started", started),
        ("progress", {"step": "plan", "status": "finished", "data": {}}),
        ("progress", {"step": "search", "status": "started", "data": {}}),
        ("run.started", started),
        ("acme.unknown", {"anything": 1}),
    )
    assert [(step.name, step.state) for step in trail.steps.values()] == [("plan", "finished"), ("search", "pending")]
