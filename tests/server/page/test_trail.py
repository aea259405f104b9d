"""The trail of a run from its events."""

from __future__ import annotations

from datetime import UTC, datetime
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
    assert [(page.tier, page.passages, page.learning) for page in search.pages.values()] == [(1, 3, "Nine.")]
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
    assert trail.current.title == "Plan the report"
    assert trail.now == ["asking a model (plan) · small"]
    assert "trying again in 2 s" in trail.waiting
    assert [(one.message, one.times) for one in trail.failures.values()] == [("closed", 2)]
    assert (trail.tokens, trail.cost, trail.last) == (50, 0.25, 6)


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
