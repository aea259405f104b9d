"""Observer `opentelemetry`: sends the spans of runs to a receiver of OpenTelemetry, by OTLP over HTTP.

The SDK is an extra and is imported when the observer is created. A receiver that is down, slow or refusing costs spans,
which a warning in the log counts, and at most `FLUSH` seconds at its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from logging import Logger
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from leadline.contracts import Context
from leadline.plugin import PluginSettings, observer
from leadline.records import Event
from leadline_plugins.observers.opentelemetry.spans import RunSpans

if TYPE_CHECKING:
    from leadline_plugins.observers.opentelemetry.delivery import Delivery

# Seconds that the end of a run waits for its last spans; an observer has 5 in all.
FLUSH = 3.0
_PATH = "/v1/traces"


class OpentelemetrySettings(PluginSettings):
    """Where traces go, and what is in them. What is empty is read from OpenTelemetry's own variables."""

    unstored = ("endpoint", "service")

    endpoint: str = Field(
        "", description="the address of the receiver, as http://localhost:4318; empty: OTEL_EXPORTER_OTLP_ENDPOINT"
    )
    headers: dict[str, SecretStr] = Field(
        {}, description="headers of every request, such as Authorization; empty: OTEL_EXPORTER_OTLP_HEADERS"
    )
    service: str = Field("leadline", min_length=1, description="the name of the service in traces")
    content: bool = Field(False, description="send the question and the replies of models, too")

    @field_validator("endpoint")
    @classmethod
    def _an_address(cls, endpoint: str) -> str:
        parts = urlsplit(endpoint)
        if endpoint and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError("must be an address with http:// or https://, such as http://localhost:4318")
        if parts.username or parts.password:
            raise ValueError("must not contain a password: put it into `headers`")
        return endpoint

    @property
    def url(self) -> str:
        """The address of traces; empty to use the variables of the environment."""
        address = self.endpoint.rstrip("/")
        return address if not address or address.endswith(_PATH) else address + _PATH


class Tracer:
    """Turns the events of several runs into spans and has them delivered."""

    def __init__(self, delivery: Delivery, log: Logger, *, content: bool, flush: float) -> None:
        self.deltas = content
        self._delivery, self._log, self._flush = delivery, log, flush
        self._runs: dict[str, RunSpans] = {}

    async def __aenter__(self) -> Tracer:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._delivery.close()

    async def observe(self, event: Event, /) -> None:
        """Record an event; the end of a run sends what waits."""
        if event.kind == "run.started":
            self._runs[event.run_id] = RunSpans(event, content=self.deltas)
        run = self._runs.get(event.run_id)
        if run is None:
            return
        for span in run.observe(event):
            self._delivery.put(span)
        if event.kind == "run.finished":
            del self._runs[event.run_id]
            await self._end()

    async def _end(self) -> None:
        delivered = await self._delivery.flush(self._flush)
        lost, reason = self._delivery.take_lost()
        # An event would come after `run.finished`, where nobody expects one.
        if lost:
            self._log.warning("opentelemetry: %d spans were not delivered: %s", lost, reason)
        if not delivered:
            address = self._delivery.address
            self._log.warning("opentelemetry: %s did not take the spans within %g s", address, self._flush)


@observer(
    "Sends a trace of every run by OTLP: OpenTelemetry, Jaeger, Grafana Tempo …",
    settings=OpentelemetrySettings,
    env={"service": "OTEL_SERVICE_NAME"},
    requires=(
        "opentelemetry.sdk=leadline[telemetry]",
        "opentelemetry.exporter.otlp.proto.http=leadline[telemetry]",
    ),
)
def _make(settings: OpentelemetrySettings, context: Context) -> Tracer:
    from opentelemetry.sdk.resources import Resource

    from leadline_plugins.observers.opentelemetry.delivery import Delivery, otlp_exporter

    headers = plain(settings.headers)
    resource = Resource.create({"service.name": settings.service})
    delivery = Delivery(otlp_exporter(settings.url, headers), resource, settings.url or "the receiver")
    return Tracer(delivery, context.log, content=settings.content, flush=FLUSH)


def plain(headers: Mapping[str, SecretStr]) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in headers.items()}
