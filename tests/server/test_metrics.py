"""What runs do is counted from their events, under labels with few values."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from leadline.events import utc_now
from leadline.records import Event
from leadline_server.metrics import ServerMetrics
from leadline_server.prometheus import OTHER, RUN_METRICS, SERIES, SERVER_METRICS, TOKENS, Metrics

prometheus_client = pytest.importorskip("prometheus_client", reason="needs leadline[serve]")
CHAT = {"kind": "chat", "provider": "house", "task": "plan", "key": "k"}
GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "telemetry.md"
_NUMBERS = count()


def event(kind: str, /, **data: Any) -> Event:
    """Make the next event, a second after the last."""
    seq = next(_NUMBERS)
    time = datetime(2026, 1, 31, tzinfo=UTC) + timedelta(seconds=seq)
    return Event(seq=seq, time=time, run_id="run", kind=kind, data=data)


def values(*events: Event) -> Callable[..., float | None]:
    """Return a function that gives the value of a sample."""
    registry = prometheus_client.CollectorRegistry()
    counted = Metrics(registry)
    for event in events:
        counted.count(event)

    def value(name: str, **labels: str) -> float | None:
        found: float | None = registry.get_sample_value(f"leadline_{name}", labels)
        return found

    return value


def test_runs_stages_and_claims_are_counted() -> None:
    value = values(
        event("run.started", pipeline="auto"),
        event("route", pipeline="search"),
        event("progress", step="plan", status="started", data={}),
        event("progress", step="plan", status="finished", data={}),
        event("progress", step="chart", status="failed", data={}),
        event("run.finished", status="partial", claims={"supported": 3, "unsupported": 1}),
    )
    assert value("runs_total", pipeline="search", status="partial") == 1
    assert value("run_seconds_sum", pipeline="search", status="partial") == 5
    assert value("stage_seconds_sum", stage="plan", status="finished") == 1
    assert value("stage_seconds_count", stage="chart", status="failed") is None
    assert value("claims_total", verdict="supported") == 3
    assert value("claims_total", verdict="unsupported") == 1


def test_only_live_calls_cost_time_tokens_and_money() -> None:
    usage = {"input_tokens": 100, "output_tokens": 7, "cost": "0.25"}
    done = {**CHAT, "outcome": "reply", "seconds": 2.0, "usage": usage}
    data = [{**done, "from": origin} for origin in ("live", "journal", "cache", "shared")]
    finished = [event("call.finished", **one) for one in data]
    value = values(*finished)
    for origin in ("live", "journal", "cache", "shared"):
        labels = {"kind": "chat", "provider": "house", "outcome": "reply", "origin": origin}
        assert value("calls_total", **labels) == 1
    assert value("call_seconds_sum", kind="chat", provider="house") == 2
    assert value("tokens_total", provider="house", type="input") == 100
    assert value("tokens_total", provider="house", type="output") == 7
    assert value("tokens_total", provider="house", type="cached_input") is None
    assert value("cost_usd_total", provider="house") == 0.25


def test_the_time_of_the_last_success_of_a_provider_is_kept() -> None:
    first, failed = (event("call.finished", **CHAT, outcome=how, **{"from": "live"}) for how in ("reply", "failure"))
    later = event("call.finished", **CHAT, outcome="reply", **{"from": "live"})
    value = values(later, first, failed)  # the events of two runs come in the order of their ends
    labels = {"kind": "chat", "provider": "house"}
    assert value("last_success_timestamp_seconds", **labels) == later.time.timestamp()


def test_every_429_is_counted_once() -> None:
    value = values(
        event("call.retried", **CHAT, attempt=1, category="NETWORK", type="RateLimited", seconds=1),
        event("call.retried", **CHAT, attempt=2, category="NETWORK", type="Unavailable", seconds=1),
        event("error", **CHAT, message="HTTP 429", category="NETWORK", type="RateLimited", replayed=False),
        event("error", **CHAT, message="HTTP 429", category="NETWORK", type="RateLimited", replayed=True),
        event("error", message="a stage failed", category="NETWORK", step="plan"),
    )
    assert value("rate_limited_total", provider="house") == 2
    assert value("call_retries_total", kind="chat", provider="house", error="Unavailable") == 1


def test_labels_without_end_are_counted_together() -> None:
    registry = prometheus_client.CollectorRegistry()
    counted = Metrics(registry)
    for number in range(SERIES + 5):
        counted.series(TOKENS, f"provider {number}", "input").inc()
    counted.series(TOKENS, "provider 0", "input").inc()
    assert registry.get_sample_value("leadline_tokens_total", {"provider": OTHER, "type": OTHER}) == 5
    assert registry.get_sample_value("leadline_tokens_total", {"provider": "provider 0", "type": "input"}) == 2


def test_the_guide_lists_every_metric_with_its_labels() -> None:
    rows = re.findall(r"^\| (`leadline_.*?) \|(.*?)\|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    described = {name: labels for names, labels in rows for name in re.findall(r"`(\w+)`", names)}
    assert described.keys() == {metric.exported for metric in RUN_METRICS + SERVER_METRICS}
    for metric in RUN_METRICS + SERVER_METRICS:
        assert tuple(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", described[metric.exported]))) == metric.labels


def test_no_label_is_a_run_a_user_or_a_question() -> None:
    labels = {label for metric in RUN_METRICS + SERVER_METRICS for label in metric.labels}
    assert labels == {
        *("error", "kind", "method", "origin", "outcome", "pipeline", "provider", "route", "stage", "status", "type"),
        *("verdict", "version"),
    }


def test_providers_that_failed_are_told_with_their_last_success() -> None:
    metrics, now = ServerMetrics(), utc_now()
    assert metrics.failures() == []
    for provider, outcome in (("house", "failure"), ("house", "reply"), ("wiki", "reply")):
        data = {"kind": "search", "provider": provider, "outcome": outcome, "from": "live"}
        metrics._metrics.count(Event(seq=0, time=now, run_id="r", kind="call.finished", data=data))
    [house] = metrics.failures()
    assert house["last_success"] == pytest.approx(now.timestamp())
    assert (house["kind"], house["provider"], house["failed"], house["calls"]) == ("search", "house", 1, 2)
