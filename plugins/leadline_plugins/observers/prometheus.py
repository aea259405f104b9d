"""Observer `prometheus`: counts what runs do, in the default registry of prometheus-client.

Whoever serves that registry serves these metrics. Labels have few values: names of plugins and stages of the settings,
and words of Leadline; never a run, a user or a question. Calls that the journal, the cache or an identical call answers
cost nothing and are counted as such; a resumed run counts nothing twice but itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import Field

from leadline.contracts import Context
from leadline.errors import PluginError
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Event

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

# Label values of one metric; further ones are counted as `OTHER`: a plugin might invent names without end.
SERIES = 1000
OTHER = "(other)"
# Seconds of stages and runs.
_BUCKETS = (0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)
_TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
# The classes of failures with which providers limit the rate.
_LIMITED = ("RateLimited", "QuotaSpent")


class PrometheusSettings(PluginSettings):
    """Where the metrics are served, if the program does not serve the registry itself."""

    unstored = ("host", "port")

    port: int | None = Field(None, ge=1, le=65535, description="serve the metrics on this port")
    host: str = Field("127.0.0.1", min_length=1, description="the address of that port")


class Metrics:
    """The metrics of all runs in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Histogram

        def counter(name: str, about: str, *labels: str) -> Limited:
            return Limited(Counter(f"leadline_{name}", about, labels, registry=registry))

        def seconds(name: str, about: str, *labels: str) -> Limited:
            return Limited(Histogram(f"leadline_{name}_seconds", about, labels, buckets=_BUCKETS, registry=registry))

        self.runs = counter("runs", "Sessions of runs that ended, by final status.", "status")
        self.run_seconds = seconds("run", "Wall time of sessions of runs.", "status")
        self.stages = seconds("stage", "Wall time of stages.", "stage", "status")
        self.calls = counter("calls", "Calls that ended.", "kind", "provider", "outcome", "origin")
        self.call_seconds = seconds("call", "Wall time of live calls.", "kind", "provider")
        self.retries = counter("call_retries", "Attempts that failed and were repeated.", "kind", "provider", "error")
        self.limited = counter("rate_limited", "Replies that refused a request for its rate or quota.", "provider")
        self.tokens = counter("tokens", "Tokens of live calls.", "provider", "type")
        self.cost = counter("cost_usd", "Known cost of live calls in USD.", "provider")
        self.claims = counter("claims", "Checked claims of runs that ended, by verdict.", "verdict")


class Limited:
    """A metric with a limited number of label values."""

    def __init__(self, metric: Any) -> None:
        self._metric = metric
        self._seen: set[tuple[str, ...]] = set()

    def labels(self, *values: Any) -> Any:
        """Return the child for these label values, or that for all others."""
        key = tuple(str(value) for value in values)
        if key not in self._seen and len(self._seen) >= SERIES:
            key = (OTHER,) * len(key)
        self._seen.add(key)
        return self._metric.labels(*key)


@cache
def metrics() -> Metrics:
    """Return the metrics of this process: a registry takes each name once, and several clients may observe."""
    from prometheus_client import REGISTRY

    return Metrics(REGISTRY)


class Prometheus:
    """Counts the events of several runs."""

    deltas = False

    def __init__(self, counted: Metrics, settings: PrometheusSettings | None = None) -> None:
        self._counted, self._settings = counted, settings or PrometheusSettings()
        # The start of each run and of its stages, in seconds.
        self._began: dict[str, float] = {}
        self._stages: dict[tuple[str, str], float] = {}
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
        counted, data, now = self._counted, event.data, event.time.timestamp()
        match event.kind:
            case "run.started":
                self._forget(event.run_id)
                self._began[event.run_id] = now
            case "run.finished":
                status = str(data.get("status"))
                counted.runs.labels(status).inc()
                if (began := self._began.get(event.run_id)) is not None:
                    counted.run_seconds.labels(status).observe(max(0.0, now - began))
                for verdict, count in _table(data.get("claims")).items():
                    counted.claims.labels(verdict).inc(int(count))
                self._forget(event.run_id)
            case "progress":
                self._stage(event, now)
            case "call.retried":
                counted.retries.labels(data.get("kind"), data.get("provider"), data.get("type")).inc()
                self._limit(data)
            case "error" if "key" in data and not data.get("replayed"):
                self._limit(data)
            case "call.finished":
                self._call(data)

    def _stage(self, event: Event, now: float) -> None:
        name = str(event.data.get("step"))
        began = self._stages.pop((event.run_id, name), None)
        if event.data.get("status") == "started":
            self._stages[event.run_id, name] = now
        elif began is not None:
            self._counted.stages.labels(name, event.data.get("status")).observe(max(0.0, now - began))

    def _call(self, data: Mapping[str, Any]) -> None:
        counted, kind, provider = self._counted, data.get("kind"), data.get("provider")
        counted.calls.labels(kind, provider, data.get("outcome"), data.get("from")).inc()
        if data.get("from") != "live":
            return
        counted.call_seconds.labels(kind, provider).observe(float(data.get("seconds") or 0))
        usage = _table(data.get("usage"))
        for name in _TOKENS:
            if tokens := int(usage.get(name) or 0):
                counted.tokens.labels(provider, name.removesuffix("_tokens")).inc(tokens)
        if cost := float(usage.get("cost") or 0):
            counted.cost.labels(provider).inc(cost)

    def _limit(self, data: Mapping[str, Any]) -> None:
        if data.get("type") in _LIMITED:
            self._counted.limited.labels(data.get("provider")).inc()

    def _forget(self, run_id: str) -> None:
        self._began.pop(run_id, None)
        for key in [key for key in self._stages if key[0] == run_id]:
            del self._stages[key]


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


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
