"""Observer `prometheus`: counts what runs do, in the default registry of prometheus-client.

Whoever serves that registry serves these metrics; `leadline.metrics` has their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import Field

from leadline.contracts import Context
from leadline.errors import PluginError
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.metrics import Metrics
from leadline.records import Event


class PrometheusSettings(PluginSettings):
    """Where the metrics are served, if the program does not serve the registry itself."""

    unstored = ("host", "port")
    authority = {"host": "a socket", "port": "a socket"}

    port: int | None = Field(None, ge=1, le=65535, description="serve the metrics on this port")
    host: str = Field("127.0.0.1", min_length=1, description="the address of that port")


@cache
def metrics() -> Metrics:
    """Return the metrics of this process: a registry takes each name once, and several clients may observe."""
    from prometheus_client import REGISTRY

    return Metrics(REGISTRY)


class Prometheus:
    """Counts the events of several runs. A resumed run counts nothing twice but itself."""

    deltas = False

    def __init__(self, counted: Metrics, settings: PrometheusSettings | None = None) -> None:
        self._counted, self._settings = counted, settings or PrometheusSettings()
        self._server: Any = None

    async def __aenter__(self) -> Prometheus:
        if self._settings.port is not None:
            from prometheus_client import start_http_server

            host, port = self._settings.host, self._settings.port
            try:
                self._server, _ = start_http_server(port, host)
            except OSError as error:
                place = f"plugins.prometheus.port = {port}, plugins.prometheus.host = {host!r}"
                raise PluginError(f"cannot serve metrics there ({place}): {error.strerror or error}") from error
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    async def observe(self, event: Event, /) -> None:
        """Count an event."""
        self._counted.count(event)


def _make(settings: PrometheusSettings, context: Context) -> Prometheus:
    return Prometheus(metrics(), settings)


@hookimpl
def leadline_observers() -> Iterator[Offer[PrometheusSettings, Prometheus]]:
    """Offer the observer."""
    yield Offer(
        _make,
        PrometheusSettings,
        "Counts runs, calls, tokens and claims for Prometheus",
        requires=("prometheus_client=leadline[telemetry]",),
    )
