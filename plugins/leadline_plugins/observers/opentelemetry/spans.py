"""The spans of a run, made from its events: sessions, stages and calls.

Calls that the journal, the cache or an identical call in flight answers are no spans: they are an event of the span
around them, and an identical call is a link to the call that answers it. Texts are recorded only if `content` is set.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from leadline.records import Event
from leadline_plugins.observers.opentelemetry import conventions as names

Attribute = str | int | float | tuple[str, ...]
# Events and links that a span keeps; OpenTelemetry's own limit.
LIMIT = 128
# The status of the root for runs that ended without doing their work.
_FAILED = ("failed", "cancelled")
# The operations of calls that the conventions name, by kind of call.
_OPERATIONS = {"chat": names.CHAT, "search": names.RETRIEVAL, "embed": names.EMBEDDINGS}
# Calls to another process or machine.
_REMOTE = ("chat", "search", "embed", "fetch")
_TOKENS = {
    "input_tokens": names.INPUT_TOKENS,
    "output_tokens": names.OUTPUT_TOKENS,
    "cached_tokens": names.CACHED_TOKENS,
    "reasoning_tokens": names.REASONING_TOKENS,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Span:
    """One span; times are in nanoseconds since 1970, ids in hexadecimal. `error` is its `error.type`."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start: int
    remote: bool = False
    attributes: dict[str, Attribute] = field(default_factory=dict)
    events: list[tuple[str, int, dict[str, Attribute]]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    error: str = ""
    end: int = 0
    # Events beyond the limit.
    dropped: int = 0

    def note(self, name: str, time: int, attributes: Mapping[str, Attribute]) -> None:
        """Add an event; beyond the limit it is only counted."""
        if len(self.events) < LIMIT:
            self.events.append((name, time, dict(attributes)))
        else:
            self.dropped += 1

    def link(self, span_id: str) -> None:
        """Add a link to a span of the same trace, once."""
        if span_id not in self.links and len(self.links) < LIMIT:
            self.links.append(span_id)


class RunSpans:
    """The open spans of one session of a run; `observe` yields the spans that an event ends."""

    def __init__(self, started: Event, *, content: bool = False) -> None:
        self._content = content
        self._trace_id = started.trace_id
        pipeline = str(started.data.get("pipeline", ""))
        self._root = self._new_root(started.span_id, nanoseconds(started.time), pipeline, started.run_id)
        # Stages and calls that have begun, in this order.
        self._open: dict[str, Span] = {}
        self._stages: dict[str, str] = {}
        # The spans of the calls that were made, by key.
        self._calls: dict[str, str] = {}
        self._texts: dict[str, list[str]] = {}
        self._killed = self._previous(_table(started.data.get("previous")), pipeline, started)
        if content:
            self._root.attributes[names.INPUT_MESSAGES] = _messages("user", str(started.data.get("question", "")))

    def observe(self, event: Event) -> Iterator[Span]:
        """Record an event and yield the spans that end with it."""
        match event.kind:
            case "run.started" if self._killed:
                yield self._killed
            case "run.finished":
                yield from self._finish(event)
            case "progress":
                yield from self._progress(event)
            case "question":
                self._root.note(names.ASKED, nanoseconds(event.time), {})
            case "error":
                self._error(event)
            case "call.started":
                self._start_call(event)
            case "call.retried":
                self._retry(event)
            case "call.delta" if self._content and event.data.get("kind") == "text":
                self._texts.setdefault(event.span_id, []).append(str(event.data.get("text", "")))
            case "call.restart":
                self._texts.pop(event.span_id, None)
            case "call.finished" if event.data.get("from") == "live":
                yield self._end_call(event)
            case "call.finished":
                self._answered(event)

    # --- sessions and stages -----------------------------------------------------------------------------------------

    def _new_root(self, span_id: str, start: int, pipeline: str, run_id: str) -> Span:
        attributes: dict[str, Attribute] = {
            names.OPERATION: names.INVOKE_WORKFLOW,
            names.WORKFLOW: pipeline,
            names.RUN_ID: run_id,
        }
        name = f"{names.INVOKE_WORKFLOW} {pipeline}"
        return Span(name, self._trace_id, span_id, "", start, attributes=attributes)

    def _previous(self, previous: Mapping[str, Any], pipeline: str, started: Event) -> Span | None:
        """Link the session before this one; return its span if it was killed and could not send it."""
        if not previous:
            return None
        self._root.link(str(previous["span_id"]))
        if previous.get("ended") is not None:
            return None
        began = nanoseconds(datetime.fromisoformat(str(previous["began"])))
        killed = self._new_root(str(previous["span_id"]), began, pipeline, started.run_id)
        # Nobody knows when it was killed: at the latest now.
        killed.end, killed.error = self._root.start, "interrupted"
        return killed

    def _progress(self, event: Event) -> Iterator[Span]:
        step, data = str(event.data.get("step", "")), _table(event.data.get("data"))
        status = event.data.get("status")
        # A run that repeats itself after an error starts a stage that has not ended.
        if stage := self._open.pop(self._stages.pop(step, ""), None):
            yield _ended(stage, event, "" if status == "finished" else "failed")
        if status == "started" and event.span_id:
            about: dict[str, Attribute] = {names.STAGE: step}
            if isinstance(number := data.get("round"), int):
                about[names.ROUND] = number
            self._stages[step] = event.span_id
            self._open[event.span_id] = self._child(event, step, about)

    def _finish(self, event: Event) -> Iterator[Span]:
        status, root = str(event.data.get("status", "")), self._root
        for span in reversed(list(self._open.values())):  # the inner ones first
            yield _ended(span, event, "interrupted")
        self._open.clear()
        root.attributes[names.STATUS] = status
        for verdict, count in _table(event.data.get("claims")).items():
            root.attributes[f"{names.CLAIMS}{verdict}"] = int(count)
        yield _ended(root, event, status if status in _FAILED else "")

    # --- calls -------------------------------------------------------------------------------------------------------

    def _start_call(self, event: Event) -> None:
        self._open[event.span_id] = self._new_call(event)
        self._calls[str(event.data.get("key", ""))] = event.span_id

    def _new_call(self, event: Event) -> Span:
        data, kind = event.data, str(event.data.get("kind", ""))
        provider, operation = str(data.get("provider", "")), _OPERATIONS.get(kind)
        about: dict[str, Attribute] = {
            names.CALL_KIND: kind,
            names.CALL_PROVIDER: provider,
            names.CALL_TASK: str(data.get("task", "")),
        }
        if operation is None:
            return self._child(event, f"{kind} {provider}", about)
        about |= {names.OPERATION: operation, names.PROVIDER: provider}
        if operation == names.RETRIEVAL:
            about[names.DATA_SOURCE] = provider
        model = str(data.get("model", "")) if operation == names.CHAT else ""
        if model:
            about[names.REQUEST_MODEL] = model
        return self._child(event, f"{operation} {model or provider}", about)

    def _end_call(self, event: Event) -> Span:
        # A call that was refused at once has not begun.
        span, data = self._open.pop(event.span_id, None) or self._new_call(event), event.data
        if isinstance(attempts := data.get("attempts"), int):
            span.attributes[names.ATTEMPTS] = attempts
        if span.attributes.get(names.OPERATION) == names.CHAT and data.get("model"):
            span.attributes[names.RESPONSE_MODEL] = str(data["model"])
        if reason := data.get("finish_reason"):
            span.attributes[names.FINISH_REASONS] = (str(reason),)
        usage = _table(data.get("usage"))
        span.attributes |= {_TOKENS[key]: int(usage[key]) for key in _TOKENS if key in usage}
        if usage.get("cost") is not None:
            span.attributes[names.COST] = float(usage["cost"])
        if texts := self._texts.pop(event.span_id, None):
            span.attributes[names.OUTPUT_MESSAGES] = _messages("assistant", "".join(texts))
        outcome = str(data.get("outcome", ""))
        return _ended(span, event, "" if outcome == "reply" else span.error or outcome)

    def _retry(self, event: Event) -> None:
        if span := self._open.get(event.span_id):
            attempt = int(str(event.data.get("attempt", 0)))
            about: dict[str, Attribute] = {names.ERROR_TYPE: str(event.data.get("type")), names.ATTEMPTS: attempt}
            span.note(names.RETRIED, nanoseconds(event.time), about)

    def _error(self, event: Event) -> None:
        kind = str(event.data.get("type") or event.data.get("category") or "")
        if span := self._open.get(event.span_id):
            span.error = kind
        elif "key" not in event.data:
            self._root.note(names.FAULT, nanoseconds(event.time), {names.ERROR_TYPE: kind})

    def _answered(self, event: Event) -> None:
        around, data = self._around(event), event.data
        made = self._calls.get(str(data.get("key", "")))
        if data.get("from") == "shared" and made:
            around.link(made)
            return
        about: dict[str, Attribute] = {
            names.CALL_KIND: str(data.get("kind", "")),
            names.CALL_PROVIDER: str(data.get("provider", "")),
            names.ORIGIN: str(data.get("from", "")),
        }
        around.note(names.ANSWERED, nanoseconds(event.time), about)

    def _around(self, event: Event) -> Span:
        return self._open.get(event.parent_id or "") or self._root

    def _child(self, event: Event, name: str, attributes: dict[str, Attribute]) -> Span:
        remote = attributes.get(names.CALL_KIND) in _REMOTE
        parent, start = event.parent_id or self._root.span_id, nanoseconds(event.time)
        return Span(name, self._trace_id, event.span_id, parent, start, remote, attributes)


def _ended(span: Span, event: Event, error: str) -> Span:
    span.end, span.error = nanoseconds(event.time), error
    return span


def nanoseconds(time: datetime) -> int:
    """Return nanoseconds since 1970."""
    return (time - _EPOCH) // timedelta(microseconds=1) * 1000


def _messages(role: str, text: str) -> str:
    """Return one message in the JSON form of the conventions."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}], ensure_ascii=False)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
