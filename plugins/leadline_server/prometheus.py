"""Metrics in the text format of Prometheus: their names, what counts the events of runs, and the observer `prometheus`.

Labels have few values: names of plugins and stages of the settings, and words of Leadline; never a run, a user or a
question. Calls that the journal, the cache or an identical call answers cost nothing and are counted as such.

The observer counts in the default registry of prometheus-client, which is imported with the first `Metrics`: whoever
serves that registry serves these metrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from leadline.contracts import Context
from leadline.errors import PluginError
from leadline.plugin import PluginSettings, observer
from leadline.records import Event

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

# Label values of one metric; further ones are counted as `OTHER`: a plugin might invent names without end.
SERIES = 1000
OTHER = "(other)"
# Upper limits in seconds of the buckets of histograms.
_BUCKETS = (0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)
_TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
# The classes of failures with which providers limit the rate.
_LIMITED = ("RateLimited", "QuotaSpent")


@dataclass(frozen=True)
class Metric:
    """A metric: its name, what it counts, and its labels. A counter is exported as NAME_total."""

    name: str
    form: Literal["Counter", "Gauge", "Histogram"]
    about: str
    labels: tuple[str, ...] = ()

    @property
    def exported(self) -> str:
        """The name in the text format."""
        return f"{self.name}_total" if self.form == "Counter" else self.name


_OF_RUNS = ("pipeline", "status")
RUNS = Metric("leadline_runs", "Counter", "Sessions of runs that ended, by pipeline and final status.", _OF_RUNS)
RUN_SECONDS = Metric("leadline_run_seconds", "Histogram", "Wall time of sessions of runs.", _OF_RUNS)
STAGE_SECONDS = Metric("leadline_stage_seconds", "Histogram", "Wall time of stages.", ("stage", "status"))
CALLS = Metric("leadline_calls", "Counter", "Calls that ended.", ("kind", "provider", "outcome", "origin"))
CALL_SECONDS = Metric("leadline_call_seconds", "Histogram", "Wall time of live calls.", ("kind", "provider"))
CALL_RETRIES = Metric(
    "leadline_call_retries", "Counter", "Attempts that failed and were repeated.", ("kind", "provider", "error")
)
RATE_LIMITED = Metric(
    "leadline_rate_limited", "Counter", "Replies that refused a request for its rate or quota.", ("provider",)
)
LAST_SUCCESS = Metric(
    "leadline_last_success_timestamp_seconds", "Gauge", "When a provider answered last.", ("kind", "provider")
)
TOKENS = Metric("leadline_tokens", "Counter", "Tokens of live calls.", ("provider", "type"))
COST = Metric("leadline_cost_usd", "Counter", "Known cost of live calls in USD.", ("provider",))
CLAIMS = Metric("leadline_claims", "Counter", "Checked claims of runs that ended, by verdict.", ("verdict",))
# Of what runs do: `Metrics.count`.
RUN_METRICS = (
    *(RUNS, RUN_SECONDS, STAGE_SECONDS, CALLS, CALL_SECONDS),
    *(CALL_RETRIES, RATE_LIMITED, LAST_SUCCESS, TOKENS, COST, CLAIMS),
)

HTTP_REQUESTS = Metric(
    "leadline_http_requests", "Counter", "Requests by route and status.", ("method", "route", "status")
)
HTTP_SECONDS = Metric(
    "leadline_http_request_seconds", "Histogram", "Time until a reply begins, by route.", ("method", "route")
)
STREAMS_OPEN = Metric("leadline_streams_open", "Gauge", "Open streams of events.")
RUNS_ACTIVE = Metric("leadline_runs_active", "Gauge", "Runs that a worker has begun.")
QUEUE_DEPTH = Metric("leadline_queue_depth", "Gauge", "Runs that wait for a worker.")
QUEUE_AGE = Metric("leadline_queue_oldest_seconds", "Gauge", "Age of the run that has waited longest for a worker.")
QUEUE_UP = Metric("leadline_queue_up", "Gauge", "1 if the queue answers, or else 0.")
WORKERS = Metric("leadline_workers", "Gauge", "Workers that are alive.")
DISK_BYTES = Metric("leadline_disk_bytes", "Gauge", "Size of the disk of the runs.")
DISK_FREE = Metric("leadline_disk_free_bytes", "Gauge", "Free bytes on the disk of the runs.")
BUILD = Metric("leadline_build_info", "Gauge", "1, with the version of the server.", ("version",))
NOTIFICATIONS = Metric(
    "leadline_notifications", "Counter", "Webhooks and mail that were sent or given up.", ("outcome",)
)
# Of a server, beside those of its runs.
SERVER_METRICS = (
    *(HTTP_REQUESTS, HTTP_SECONDS, STREAMS_OPEN, RUNS_ACTIVE, QUEUE_DEPTH, QUEUE_AGE, QUEUE_UP, WORKERS),
    *(DISK_BYTES, DISK_FREE, BUILD, NOTIFICATIONS),
)


class Metrics:
    """Metrics in a registry. A registry takes each name once."""

    def __init__(self, registry: CollectorRegistry, table: tuple[Metric, ...] = RUN_METRICS) -> None:
        import prometheus_client

        self._metrics: dict[str, Any] = {}
        self._seen: dict[str, set[tuple[str, ...]]] = {metric.name: set() for metric in table}
        # The start of each run and of its stages, in seconds, and its pipeline.
        self._began: dict[str, float] = {}
        self._pipelines: dict[str, str] = {}
        self._stages: dict[tuple[str, str], float] = {}
        self._answered: dict[tuple[object, object], float] = {}
        for metric in table:
            buckets: dict[str, Any] = {"buckets": _BUCKETS} if metric.form == "Histogram" else {}
            make = getattr(prometheus_client, metric.form)
            self._metrics[metric.name] = make(metric.name, metric.about, metric.labels, registry=registry, **buckets)

    def series(self, metric: Metric, *labels: object) -> Any:
        """Return the counter, gauge or histogram with these label values, or that for all others."""
        collector, key = self._metrics[metric.name], tuple(str(label) for label in labels)
        if not key:
            return collector
        seen = self._seen[metric.name]
        if key not in seen and len(seen) >= SERIES:
            key = (OTHER,) * len(key)
        seen.add(key)
        return collector.labels(*key)

    def count(self, event: Event) -> None:
        """Count an event of a run. The events of one run must come in order."""
        data, now = event.data, event.time.timestamp()
        match event.kind:
            case "run.started":
                self._forget(event.run_id)
                self._began[event.run_id] = now
                self._pipelines[event.run_id] = str(data.get("pipeline", ""))
            case "route":
                self._pipelines[event.run_id] = str(data.get("pipeline", ""))
            case "run.finished":
                labels = self._pipelines.get(event.run_id, ""), str(data.get("status"))
                self.series(RUNS, *labels).inc()
                if (began := self._began.get(event.run_id)) is not None:
                    self.series(RUN_SECONDS, *labels).observe(max(0.0, now - began))
                for verdict, count in _table(data.get("claims")).items():
                    self.series(CLAIMS, verdict).inc(int(count))
                self._forget(event.run_id)
            case "progress":
                self._stage(event, now)
            case "call.retried":
                self.series(CALL_RETRIES, data.get("kind"), data.get("provider"), data.get("type")).inc()
                self._limit(data)
            case "error" if "key" in data and not data.get("replayed"):
                self._limit(data)
            case "call.finished":
                self._call(data, now)

    def _stage(self, event: Event, now: float) -> None:
        name, status = str(event.data.get("step")), event.data.get("status")
        began = self._stages.pop((event.run_id, name), None)
        if status == "started":
            self._stages[event.run_id, name] = now
        elif began is not None:
            self.series(STAGE_SECONDS, name, status).observe(max(0.0, now - began))

    def _call(self, data: Mapping[str, Any], now: float) -> None:
        kind, provider = data.get("kind"), data.get("provider")
        self.series(CALLS, kind, provider, data.get("outcome"), data.get("from")).inc()
        if data.get("from") != "live":
            return
        self.series(CALL_SECONDS, kind, provider).observe(float(data.get("seconds") or 0))
        if data.get("outcome") == "reply":  # events of another run may be older
            last = self._answered[kind, provider] = max(now, self._answered.get((kind, provider), 0.0))
            self.series(LAST_SUCCESS, kind, provider).set(last)
        usage = _table(data.get("usage"))
        for name in _TOKENS:
            if tokens := int(usage.get(name) or 0):
                self.series(TOKENS, provider, name.removesuffix("_tokens")).inc(tokens)
        if cost := float(usage.get("cost") or 0):
            self.series(COST, provider).inc(cost)

    def _limit(self, data: Mapping[str, Any]) -> None:
        if data.get("type") in _LIMITED:
            self.series(RATE_LIMITED, data.get("provider")).inc()

    def _forget(self, run_id: str) -> None:
        self._began.pop(run_id, None)
        self._pipelines.pop(run_id, None)
        for key in [key for key in self._stages if key[0] == run_id]:
            del self._stages[key]


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# --- the observer -----------------------------------------------------------------------------------------------------


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
                address = f"plugins.prometheus.port = {port}, plugins.prometheus.host = {host!r}"
                raise PluginError(f"cannot serve metrics there ({address}): {error.strerror or error}") from error
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    async def observe(self, event: Event, /) -> None:
        """Count an event."""
        self._counted.count(event)


@observer(
    "Counts runs, calls, tokens and claims for Prometheus",
    settings=PrometheusSettings,
    requires=("prometheus_client=leadline[telemetry]",),
)
def _make(settings: PrometheusSettings, context: Context) -> Prometheus:
    return Prometheus(metrics(), settings)
