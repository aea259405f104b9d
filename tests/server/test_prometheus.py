"""`prometheus` counts what the runs of a process do, and serves the figures if it is asked to."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import httpx
import pytest

import leadline
from leadline.errors import PluginError
from leadline.testing.fakes import fake_web
from leadline_server.prometheus import metrics

prometheus_client = pytest.importorskip("prometheus_client", reason="needs leadline[telemetry]")
QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "observers": ["prometheus"]}


async def test_a_run_is_counted_and_no_label_names_it(tmp_path: Path) -> None:
    def ended() -> float:
        labels = {"pipeline": "research", "status": "complete"}
        return prometheus_client.REGISTRY.get_sample_value("leadline_runs_total", labels) or 0

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
