"""Events as the bus sends them, and a receiver of spans."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

import pytest

from leadline.records import Event

Make = Callable[..., Event]


@pytest.fixture
def event() -> Make:
    """Make the next event, a second after the last."""
    numbers = count()

    def make(kind: str, /, run: str = "run", **data: Any) -> Event:
        seq = next(numbers)
        time = datetime(2026, 1, 31, tzinfo=UTC) + timedelta(seconds=seq)
        return Event(seq=seq, time=time, run_id=run, kind=kind, data=data)

    return make


class Receiver:
    """An OTLP/HTTP receiver on loopback; answers with `status` once `proceed` is set."""

    def __init__(self) -> None:
        self.status = 200
        self.proceed = threading.Event()
        self.proceed.set()
        self.arrived = threading.Event()
        self.headers: list[dict[str, str]] = []
        self._bodies: list[bytes] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
                receiver.arrived.set()
                receiver.proceed.wait()
                if receiver.status == 200:
                    receiver._bodies.append(body)
                with contextlib.suppress(OSError):  # the client did not wait
                    self.send_response(receiver.status)
                    self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def spans(self) -> list[Any]:
        """Return the spans that were accepted, decoded by the package's own classes."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        requests = [ExportTraceServiceRequest.FromString(body) for body in self._bodies]
        return [span for one in requests for of in one.resource_spans for sc in of.scope_spans for span in sc.spans]

    def services(self) -> set[str]:
        """Return the names of the services that sent spans."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        requests = [ExportTraceServiceRequest.FromString(body) for body in self._bodies]
        attributes = [pair for one in requests for of in one.resource_spans for pair in of.resource.attributes]
        return {pair.value.string_value for pair in attributes if pair.key == "service.name"}

    def text(self) -> bytes:
        """Return everything that was received."""
        return b"".join(self._bodies)

    def close(self) -> None:
        self.proceed.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Serve a receiver of spans; skipped where the extra is not installed."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs leadline[telemetry]")
    receiver = Receiver()
    yield receiver
    receiver.close()
