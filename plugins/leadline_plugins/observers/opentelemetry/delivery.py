"""Delivery of spans: a thread that sends them in batches by OTLP over HTTP.

Neither a run nor the end of the process waits for a receiver that is slow: the queue is limited, and the thread is a
daemon. The SDK's own batch processor waits without a limit when it is flushed.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
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


class Exporter(Protocol):
    """The part of an exporter that is used."""

    def export(self, spans: Sequence[ReadableSpan], /) -> SpanExportResult: ...
    def shutdown(self) -> None: ...


class Delivery:
    """Sends spans in the order in which they ended; `lost` counts those that were dropped or refused."""

    def __init__(self, exporter: Exporter, resource: Resource, address: str, gathered: float = GATHERED) -> None:
        self.address = address
        self._exporter, self._resource, self._gathered = exporter, resource, gathered
        self._queue: deque[Span] = deque()
        self._marks: list[Callable[[], None]] = []
        self._changed = threading.Condition()
        self._closed = False
        self.lost = 0
        self.reason = ""
        self._log = _Reasons(self)
        self._thread = threading.Thread(target=self._work, name="leadline spans", daemon=True)
        self._thread.start()

    def put(self, span: Span) -> None:
        """Queue a span; never waits."""
        with self._changed:
            if len(self._queue) >= QUEUE:
                self._queue.popleft()
                self.lost += 1
                self.reason = self.reason or "the receiver is too slow"
            self._queue.append(span)
            if len(self._queue) == 1 or len(self._queue) >= BATCH:
                self._changed.notify()

    async def flush(self, seconds: float) -> bool:
        """Wait until the queued spans were sent or lost; return False if that takes longer than `seconds`."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def mark() -> None:
            if not done.done():
                done.set_result(None)

        with self._changed:
            self._marks.append(lambda: _call_soon(loop, mark))
            self._changed.notify()
        await asyncio.wait({done}, timeout=seconds)
        return done.done()

    def close(self) -> None:
        """End the thread; a request in flight is not awaited."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._exporter.shutdown()

    def _work(self) -> None:
        trace_exporter._logger.addFilter(self._log)
        try:
            while self._gather():
                self._send()
        finally:
            trace_exporter._logger.removeFilter(self._log)

    def _gather(self) -> bool:
        """Wait until something is to be sent; return False at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._marks or self._closed)
            self._changed.wait_for(
                lambda: len(self._queue) >= BATCH or self._marks or self._closed, timeout=self._gathered
            )
            return not self._closed

    def _send(self) -> None:
        with self._changed:
            marks, self._marks = self._marks, []
            waiting = len(self._queue)
        while waiting > 0 and not self._closed:
            with self._changed:
                batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
            waiting -= len(batch) or waiting
            self._export(batch)
        for mark in marks:
            mark()

    def _export(self, batch: Sequence[Span]) -> None:
        if not batch:
            return
        try:
            sent = self._exporter.export([self._readable(span) for span in batch])
        except Exception as error:  # noqa: BLE001 - whatever an exporter raises, the thread goes on
            sent, self.reason = SpanExportResult.FAILURE, str(error)
        if sent is not SpanExportResult.SUCCESS:
            with self._changed:
                self.lost += len(batch)

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


class _Reasons(logging.Filter):
    """Keeps why the exporter failed in this thread, instead of printing it; other users of the exporter still log."""

    def __init__(self, delivery: Delivery) -> None:
        super().__init__()
        self._delivery = delivery

    def filter(self, record: logging.LogRecord) -> bool:
        if record.thread != self._delivery._thread.ident:
            return True
        if record.levelno >= logging.WARNING:
            self._delivery.reason = record.getMessage()
        return False


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=TraceFlags(1))


def _call_soon(loop: asyncio.AbstractEventLoop, do: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(do)
    except RuntimeError:  # the loop is closed: nobody waits any more
        return


def otlp_exporter(endpoint: str, headers: dict[str, str]) -> SpanExporter:
    """Return the exporter of the SDK. What is empty is read from the variables OTEL_EXPORTER_OTLP_*."""
    return trace_exporter.OTLPSpanExporter(endpoint=endpoint or None, headers=headers or None)
