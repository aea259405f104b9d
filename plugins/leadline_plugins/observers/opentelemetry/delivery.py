"""Delivery of spans in batches by OTLP over HTTP.

Neither a run nor the end of the process waits for a receiver that is slow: the queue of the SDK's batch processor is
limited, and its flush, which waits without a limit, is in a daemon thread.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util import BoundedList
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

import leadline
from leadline_plugins.observers.opentelemetry import conventions as names
from leadline_plugins.observers.opentelemetry.spans import LIMIT, Span

# Spans that wait for a receiver; more drop the oldest.
QUEUE = 4096
# Spans in one request.
BATCH = 512
# Seconds for which spans are collected; a kill loses those of this time.
GATHERED = 1.0

_SCOPE = InstrumentationScope("leadline", leadline.__version__, names.SCHEMA_URL)


class Delivery:
    """Sends spans in the order in which they ended; `lost` counts those that were refused, for the `reason`."""

    def __init__(self, exporter: SpanExporter, resource: Resource, address: str) -> None:
        self.address = address
        self._resource = resource
        self._exporter = _Counting(exporter)
        self._processor = BatchSpanProcessor(self._exporter, QUEUE, GATHERED * 1000, BATCH)

    def put(self, span: Span) -> None:
        """Queue a span; never waits."""
        self._processor.on_end(self._readable(span))

    async def flush(self, seconds: float) -> bool:
        """Wait until the queued spans were sent or lost; return False if that takes longer than `seconds`."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def flush() -> None:
            self._processor.force_flush()  # ignores a limit of time
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(done.set_result, None)

        _in_thread(flush)
        await asyncio.wait({done}, timeout=seconds)
        return done.done()

    def take_lost(self) -> tuple[int, str]:
        """Return how many spans were lost since the last time, and why."""
        lost, self._exporter.lost = self._exporter.lost, 0
        return lost, self._exporter.reason

    def close(self) -> None:
        """End the thread; a request in flight is not awaited."""
        self._exporter.shutdown()
        _in_thread(self._processor.shutdown)

    def _readable(self, span: Span) -> ReadableSpan:
        events: BoundedList[Event] = BoundedList(LIMIT)
        events.extend([Event(name, attributes, time) for name, time, attributes in span.events])
        events.dropped = span.dropped
        attributes = {**span.attributes, **({names.ERROR_TYPE: span.error} if span.error else {})}
        return ReadableSpan(
            span.name,
            context=_context(span.trace_id, span.span_id),
            parent=_context(span.trace_id, span.parent_id) if span.parent_id else None,
            resource=self._resource,
            attributes=attributes,
            events=events,
            links=[Link(_context(span.trace_id, other)) for other in span.links],
            kind=SpanKind.CLIENT if span.remote else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR if span.error else StatusCode.UNSET),
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=_SCOPE,
        )


class _Counting(SpanExporter):
    """Counts the spans that an exporter did not deliver, and keeps why instead of printing it."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.lost = 0
        self.reason = ""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export spans; whatever the exporter raises counts as a loss."""
        trace_exporter._logger.addFilter(reasons := _Reasons(self))
        try:
            sent = self._exporter.export(spans)
        except Exception as error:  # noqa: BLE001 - whatever an exporter raises, the thread goes on
            sent, self.reason = SpanExportResult.FAILURE, str(error)
        finally:
            trace_exporter._logger.removeFilter(reasons)
        self.lost += len(spans) if sent is not SpanExportResult.SUCCESS else 0
        return sent

    def shutdown(self) -> None:
        """Send nothing more."""
        self._exporter.shutdown()


class _Reasons(logging.Filter):
    """Keeps why the exporter failed in this thread, instead of printing it; other users of the exporter still log."""

    def __init__(self, counting: _Counting) -> None:
        super().__init__()
        self._counting, self._thread = counting, threading.get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.thread != self._thread:
            return True
        if record.levelno >= logging.WARNING:
            self._counting.reason = record.getMessage()
        return False


def _in_thread(do: Callable[[], object]) -> None:
    """Run what may wait for a receiver in a thread that keeps no process alive."""
    threading.Thread(target=do, name="leadline spans", daemon=True).start()


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=TraceFlags(1))


def otlp_exporter(endpoint: str, headers: dict[str, str]) -> SpanExporter:
    """Return the exporter of the SDK. What is empty is read from the variables OTEL_EXPORTER_OTLP_*."""
    return trace_exporter.OTLPSpanExporter(endpoint=endpoint or None, headers=headers or None)
