"""`prometheus` counts what runs do, under labels with few values."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import leadline
from leadline.errors import PluginError
from leadline.records import Event
from leadline.testing.fakes import fake_web
from leadline_plugins.observers.prometheus import OTHER, SERIES, Limited, Metrics, Prometheus, metrics

prometheus_client = pytest.importorskip("prometheus_client", reason="needs leadline[telemetry]")
QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "observers": ["prometheus"]}
CHAT = {"kind": "chat", "provider": "house", "task": "plan", "key": "k"}
Make = Callable[..., Event]


async def counted(*events: Event) -> Callable[..., float | None]:
    """Return a function that gives the value of a sample."""
    registry = prometheus_client.CollectorRegistry()
    observer = Prometheus(Metrics(registry))
    for event in events:
        await observer.observe(event)

    def value(name: str, **labels: str) -> float | None:
        found: float | None = registry.get_sample_value(f"leadline_{name}", labels)
        return found

    return value


async def test_runs_stages_and_claims_are_counted(event: Make) -> None:
    value = await counted(
        event("run.started"),
        event("progress", step="plan", status="started", data={}),
        event("progress", step="plan", status="finished", data={}),
        event("progress", step="chart", status="failed", data={}),
        event("run.finished", status="partial", claims={"supported": 3, "unsupported": 1}),
    )
    assert value("runs_total", status="partial") == 1
    assert value("run_seconds_sum", status="partial") == 4
    assert value("stage_seconds_sum", stage="plan", status="finished") == 1
    assert value("stage_seconds_count", stage="chart", status="failed") is None
    assert value("claims_total", verdict="supported") == 3
    assert value("claims_total", verdict="unsupported") == 1


async def test_only_live_calls_cost_time_tokens_and_money(event: Make) -> None:
    usage = {"input_tokens": 100, "output_tokens": 7, "cost": "0.25"}
    done = {**CHAT, "outcome": "reply", "seconds": 2.0, "usage": usage}
    data = [{**done, "from": origin} for origin in ("live", "journal", "cache", "shared")]
    finished = [event("call.finished", **one) for one in data]
    value = await counted(*finished)
    for origin in ("live", "journal", "cache", "shared"):
        labels = {"kind": "chat", "provider": "house", "outcome": "reply", "origin": origin}
        assert value("calls_total", **labels) == 1
    assert value("call_seconds_sum", kind="chat", provider="house") == 2
    assert value("tokens_total", provider="house", type="input") == 100
    assert value("tokens_total", provider="house", type="output") == 7
    assert value("tokens_total", provider="house", type="cached_input") is None
    assert value("cost_usd_total", provider="house") == 0.25


async def test_every_429_is_counted_once(event: Make) -> None:
    value = await counted(
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
    limited = Limited(prometheus_client.Counter("made_up", "For a test.", ["kind"], registry=registry))
    for number in range(SERIES + 5):
        limited.labels(f"kind {number}").inc()
    limited.labels("kind 0").inc()
    assert registry.get_sample_value("made_up_total", {"kind": OTHER}) == 5
    assert registry.get_sample_value("made_up_total", {"kind": "kind 0"}) == 2


async def test_a_run_is_counted_and_no_label_names_it(tmp_path: Path) -> None:
    def ended() -> float:
        return prometheus_client.REGISTRY.get_sample_value("leadline_runs_total", {"status": "complete"}) or 0

    before = ended()
    for folder in ("one", "other"):  # two clients, one registry
        plugins, place = [fake_web()], tmp_path / folder
        async with leadline.Client(plugins=plugins, folder=place, cache=tmp_path / "cache", set=WEB) as runs:
            result = await runs.research(QUESTION)
    assert ended() == before + 2
    page = prometheus_client.generate_latest().decode()
    ours = [line for line in page.splitlines() if line.startswith("leadline_")]
    labels = {"kind": "search", "provider": "fakeweb", "outcome": "reply", "origin": "live"}
    assert prometheus_client.REGISTRY.get_sample_value("leadline_calls_total", labels)
    assert not any(word in line for line in ours for word in (result.metadata.run_id, "harbour", str(tmp_path)))


async def test_the_metrics_are_served_on_a_port_if_the_settings_name_one(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    values = WEB | {"plugins.prometheus.port": port}
    async with leadline.Client(plugins=[fake_web()], folder=tmp_path, cache=tmp_path / "cache", set=values) as runs:
        await runs.research(QUESTION)
        async with httpx.AsyncClient() as http:
            page = await http.get(f"http://127.0.0.1:{port}/metrics")
    assert "leadline_runs_total" in page.text
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=60)


async def test_a_port_that_is_taken_refuses_the_run(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        values: dict[str, Any] = WEB | {"plugins.prometheus.port": taken.getsockname()[1]}
        with pytest.raises(PluginError, match="plugins.prometheus.port"):
            async with leadline.Client(plugins=[fake_web()], folder=tmp_path, set=values) as runs:
                await runs.research(QUESTION)


def test_a_process_has_one_set_of_metrics() -> None:
    assert metrics() is metrics()
