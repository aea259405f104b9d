"""The metrics of a server: its requests and queue, and what the events on disk of its ended runs tell.

The server runs no research, so it counts a run when it has ended, whichever process worked on it.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from leadline import Client, __version__
from leadline.errors import LeadlineError
from leadline.events import utc_now
from leadline.records import Event
from leadline.runs import Metadata, RunInfo
from leadline_server.prometheus import (
    BUILD,
    CALLS,
    HTTP_REQUESTS,
    HTTP_SECONDS,
    LAST_SUCCESS,
    NOTIFICATIONS,
    RUN_METRICS,
    SERVER_METRICS,
    Metric,
    Metrics,
)

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

log = logging.getLogger("leadline.server")
# Runs whose last counted event is kept, because a run may be continued.
_KEPT = 10_000


class ServerMetrics:
    """What happened since the server started. prometheus-client is imported with the first use, after the start."""

    def __init__(self) -> None:
        self._began = utc_now()
        self._counted: OrderedDict[str, int] = OrderedDict()

    @cached_property
    def _registry(self) -> CollectorRegistry:
        from prometheus_client import CollectorRegistry, ProcessCollector, disable_created_metrics

        disable_created_metrics()  # type: ignore[no-untyped-call] # a series for every counter, of no use to queries
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        return registry

    @cached_property
    def _metrics(self) -> Metrics:
        metrics = Metrics(self._registry, RUN_METRICS + SERVER_METRICS)
        metrics.series(BUILD, __version__).set(1)
        return metrics

    def add_request(self, method: str, route: str, status: int, seconds: float | None = None) -> None:
        """Count a request, and the time until its reply began, where that is known."""
        self._metrics.series(HTTP_REQUESTS, method, route, status).inc()
        if seconds is not None:
            self._metrics.series(HTTP_SECONDS, method, route).observe(seconds)

    def add_notification(self, outcome: str) -> None:
        """Count a notification that was `sent`, or `failed` for good."""
        self._metrics.series(NOTIFICATIONS, outcome).inc()

    async def add_run(self, client: Client, info: RunInfo, principal: str | None) -> None:
        """Count a run that has ended, without what was counted when it ended before."""
        run = info.metadata
        assert run is not None
        last = self._counted.pop(run.run_id, -1)
        session: list[Event] = []
        try:
            async for event in client.events(info.folder, after=last, deltas=False, principal=principal):
                session.append(event)
                if event.kind == "run.finished":
                    self._count(session)
                    last, session = event.seq, []
        except LeadlineError:  # the run is not harmed by it
            log.exception("the events of run %s cannot be read and are not counted", run.run_id)
        if last < 0:  # no events were written
            self._count([_end(run)])
        self._counted[run.run_id] = last
        while len(self._counted) > _KEPT:
            self._counted.popitem(last=False)

    def _count(self, session: list[Event]) -> None:
        if session[-1].time >= self._began:  # otherwise a server before this one has counted it
            for event in session:
                self._metrics.count(event)

    def failures(self) -> list[dict[str, Any]]:
        """Return the providers that failed: failed calls, all calls, and the time of the last success in seconds."""
        known: dict[tuple[str, str], dict[str, Any]] = {}
        for sample in (sample for metric in self._registry.collect() for sample in metric.samples):
            if sample.name not in (CALLS.exported, LAST_SUCCESS.name):
                continue
            key = kind, provider = sample.labels["kind"], sample.labels["provider"]
            none = {"kind": kind, "provider": provider, "failed": 0, "calls": 0, "last_success": None}
            counts = known.setdefault(key, none)
            if sample.name == LAST_SUCCESS.name:
                counts["last_success"] = sample.value
            elif sample.labels["origin"] == "live":
                counts["calls"] += int(sample.value)
                counts["failed"] += int(sample.value) if sample.labels["outcome"] == "failure" else 0
        return [counts for counts in known.values() if counts["failed"]]

    def page(self, gauges: Mapping[Metric, float]) -> tuple[bytes, str]:
        """Return the text and its media type."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        for metric, value in gauges.items():
            self._metrics.series(metric).set(value)
        return generate_latest(self._registry), CONTENT_TYPE_LATEST


def _end(run: Metadata) -> Event:
    """Return the last event of a run that wrote none."""
    claims: Any = run.verification.get("claims")
    data = {"status": run.status, "reason": run.reason, "claims": claims if isinstance(claims, dict) else {}}
    return Event(seq=0, time=run.ended or utc_now(), run_id=run.run_id, kind="run.finished", data=data)
