"""The form of a response of OpenAI's newer API: its items, and the events that tell of them.

The id of a response is that of its run after `resp_`. Its first item has the progress as the summary of a reasoning,
each search and each page is a call of `web_search`, and the last item is the message with the report.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

from leadline.errors import LeadlineError
from leadline.records import Event, Report
from leadline.rendering import plain_title, safe_url
from leadline_server.openai.answers import Exchange, Step, tokens_of
from leadline_server.openai.requests import BACKGROUND, MODEL_PREFIX, ResponseRequest
from leadline_server.openai.turns import TAGS
from leadline_server.problems import Problem, problem_of
from leadline_server.requests import RUN_ID
from leadline_server.streams import encoded
from leadline_server.views import RunView

_PREFIX = "resp_"
# The states of runs in OpenAI's words; a run that asks has completed the response with its question.
_STATES = {
    "pending": "queued",
    "running": "in_progress",
    "waiting": "in_progress",
    "complete": "completed",
    "partial": "completed",
    "no_evidence": "completed",
    "cancelled": "cancelled",
}
Told = tuple[str, dict[str, Any]]


def run_of(response_id: str) -> str:
    """Return the run of a response. Raises `Problem`."""
    run_id = response_id.removeprefix(_PREFIX)
    if run_id == response_id or not RUN_ID.fullmatch(run_id):
        message = f"there is no response {response_id!r:.80}"
        raise Problem(404, "not_found", message, "the id is in the reply of POST /v1/responses")
    return run_id


def frame(event: Mapping[str, Any]) -> bytes:
    """Return an event in the form of SSE."""
    return f"event: {event['type']}\n".encode() + encoded(event)


def response_of(
    view: RunView, output: Sequence[Any] = (), *, body: ResponseRequest | None = None, status: str = ""
) -> dict[str, Any]:
    """Return the response of a run as of now. Without the request, it says what the run knows of it."""
    status = status or _STATES.get(view.status, "failed")
    failed = {"code": "server_error", "message": f"the run is {view.status}: {view.reason or 'no reason is known'}"}
    return {
        "id": f"{_PREFIX}{view.id}",
        "object": "response",
        "created_at": view.began.timestamp(),
        "completed_at": view.ended.timestamp() if view.ended and status == "completed" else None,
        "status": status,
        "background": body.background if body else BACKGROUND in view.tags,
        "error": failed if status == "failed" else None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": body.max_output_tokens if body else None,
        "max_tool_calls": body.max_tool_calls if body else None,
        "metadata": {name: text for name, text in view.tags.items() if name not in TAGS},
        "model": body.model if body else f"{MODEL_PREFIX}{view.pipeline}",
        "output": [*output],
        "parallel_tool_calls": True,
        "previous_response_id": f"{_PREFIX}{view.follows}" if view.follows else None,
        "store": True,
        "temperature": None,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": body.tools if body else [],
        "top_p": None,
        "truncation": "disabled",
        "usage": _usage(view) if view.ended else None,
    }


def _usage(view: RunView) -> dict[str, Any]:
    read, written, cached, reasoning = tokens_of(view)
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": read + written,
    }


async def events_of(
    exchange: Exchange, body: ResponseRequest | None, *, deltas: bool
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the events of a response to its end, with numbers; without `deltas`, a repetition yields the same.

    Raises `Problem` if the server shuts down.
    """
    output = Output(exchange.turn.run_id, tells_progress=body is None or body.leadline.reasoning == "fields")
    told = 0

    def event(kind: str, **data: Any) -> dict[str, Any]:
        nonlocal told
        told += 1
        return {"type": kind, "sequence_number": told - 1, **data}

    for kind in ("response.created", "response.in_progress"):
        yield event(kind, response=response_of(await exchange.view(), body=body, status="in_progress"))
    try:
        async with aclosing(exchange.steps(deltas=deltas)) as steps:
            async for step in steps:
                for kind, data in output.add(step):
                    yield event(kind, **data)
    except (Problem, LeadlineError) as error:
        problem = error if isinstance(error, Problem) else problem_of(error)
        if problem.body.code == "closing":
            raise problem from error
        status = "cancelled" if problem.body.code == "run_cancelled" else "failed"
    else:
        status = "completed"
    view = await exchange.view()
    has_report = status == "completed" and view.status in ("complete", "partial")
    cited = citations_of(await exchange.report(), output.text, exchange.url) if has_report else []
    for kind, data in output.close(cited):
        yield event(kind, **data)
    end = "response.completed" if status == "completed" else "response.failed"
    yield event(end, response=response_of(view, output.items, body=body, status=status))


def citations_of(report: Report, text: str, url: str) -> list[dict[str, Any]]:
    """Return the citations of a text: where their marks stand, and the source of each.

    A document of one's own has no address on the web; its citation leads to the passage on the page of the run.
    """
    sources = {source.id: source.hit for source in report.sources}
    cited: list[dict[str, Any]] = []
    for item in report.evidence:
        passage = f"{url}/evidence/{quote(item.id)}"
        for link in re.finditer(re.escape(f"]({passage})"), text):
            hit = sources[item.source_id]
            cited.append(
                {
                    "type": "url_citation",
                    "start_index": text.rindex("[[", 0, link.start()),
                    "end_index": link.end(),
                    "url": safe_url(hit.url) or passage,
                    "title": plain_title(hit.title),
                }
            )
    return sorted(cited, key=lambda citation: int(citation["start_index"]))


class Output:
    """The items of a response as they grow. Its methods yield kinds and data of events."""

    def __init__(self, run_id: str, *, tells_progress: bool = True) -> None:
        self.items: list[dict[str, Any]] = []
        self.text = ""
        self._run_id, self._tells_progress = run_id, tells_progress
        # The index of the item of each search that has not ended, and of the items with texts.
        self._searches: dict[str, int] = {}
        self._reasoning = self._message = -1

    def add(self, step: Step) -> Iterator[Told]:
        """Add what a client is told."""
        if step.event:
            yield from self._call(step.event)
        elif step.text and step.is_answer:
            yield from self._answer(step.text)
        elif step.text and self._tells_progress:
            yield from self._progress(step.text)

    def close(self, cited: Sequence[dict[str, Any]]) -> Iterator[Told]:
        """End all items; the message gets its citations."""
        for index in self._searches.values():
            yield from self._end(index, status="incomplete")
        if self._reasoning >= 0:
            part = self.items[self._reasoning]["summary"][0]
            about = self._about(self._reasoning, summary_index=0)
            yield "response.reasoning_summary_text.done", {**about, "text": part["text"]}
            yield "response.reasoning_summary_part.done", {**about, "part": part}
            yield from self._end(self._reasoning)
        if self._message >= 0:
            part = self.items[self._message]["content"][0]
            about = self._about(self._message, content_index=0)
            part |= {"text": self.text, "annotations": [*cited]}
            for number, annotation in enumerate(cited):
                added = {**about, "annotation_index": number, "annotation": annotation}
                yield "response.output_text.annotation.added", added
            yield "response.output_text.done", {**about, "text": self.text, "logprobs": []}
            yield "response.content_part.done", {**about, "part": part}
            yield from self._end(self._message, status="completed")

    def _begin(self, kind: str, **fields: Any) -> Iterator[Told]:
        index = len(self.items)
        name = {"reasoning": "rs", "message": "msg"}.get(kind, f"ws_{index}")
        self.items.append({"id": f"{name}_{self._run_id}", "type": kind, **fields})
        yield "response.output_item.added", {"output_index": index, "item": dict(self.items[index])}

    def _end(self, index: int, **fields: Any) -> Iterator[Told]:
        self.items[index] |= fields
        yield "response.output_item.done", {"output_index": index, "item": dict(self.items[index])}

    def _about(self, index: int, **place: int) -> dict[str, Any]:
        return {"item_id": self.items[index]["id"], "output_index": index, **place}

    def _call(self, event: Event) -> Iterator[Told]:
        name, index = str(event.data["id"]), len(self.items)
        call = "response.web_search_call"
        if event.kind == "found":
            if (index := self._searches.pop(name, -1)) >= 0:
                yield f"{call}.completed", self._about(index)
                yield from self._end(index, status="failed" if event.data.get("failure") else "completed")
        elif event.kind == "query":
            self._searches[name] = index
            query = str(event.data["query"])
            yield from self._begin("web_search_call", status="in_progress", action={"type": "search", "query": query})
            yield f"{call}.in_progress", self._about(index)
            yield f"{call}.searching", self._about(index)
        else:
            action = {"type": "open_page", "url": str(event.data["url"])}
            yield from self._begin("web_search_call", status="in_progress", action=action)
            yield from self._end(index, status="completed")

    def _progress(self, text: str) -> Iterator[Told]:
        if self._reasoning < 0:
            self._reasoning = len(self.items)
            yield from self._begin("reasoning", summary=[])
            part = {"type": "summary_text", "text": ""}
            self.items[self._reasoning]["summary"] = [part]
            about = self._about(self._reasoning, summary_index=0)
            yield "response.reasoning_summary_part.added", {**about, "part": dict(part)}
        self.items[self._reasoning]["summary"][0]["text"] += text
        about = self._about(self._reasoning, summary_index=0)
        yield "response.reasoning_summary_text.delta", {**about, "delta": text}

    def _answer(self, text: str) -> Iterator[Told]:
        if self._message < 0:
            self._message = len(self.items)
            yield from self._begin("message", status="in_progress", role="assistant", content=[])
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            self.items[self._message]["content"] = [part]
            yield "response.content_part.added", {**self._about(self._message, content_index=0), "part": dict(part)}
        self.text += text
        about = self._about(self._message, content_index=0)
        yield "response.output_text.delta", {**about, "delta": text, "logprobs": []}
