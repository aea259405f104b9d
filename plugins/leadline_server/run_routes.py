"""The routes of runs: order, list, watch, control, read, delete."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from leadline.comparison import Comparison
from leadline.records import Answer
from leadline_server.endpoint import EVENTS, FILE, Endpoint
from leadline_server.problems import Problem
from leadline_server.requests import Labels, NewAnswer, NewRun, NewShare, Reason, Resume, read
from leadline_server.service import RunFilter, Service, principal_of
from leadline_server.sharing import ShareView, share, share_of
from leadline_server.streams import Stream, event_frames
from leadline_server.views import Accepted, Done, EvidenceView, Links, RunPage, RunView

_PAGE, _MOST = 50, 500
_CONTEXT, _MOST_CONTEXT = 1_000, 100_000
# Parameters, as the description of the routes tells them.
_ONCE = {"Idempotency-Key": "a text of your own: a request that is repeated with it starts no second run"}
_LIST = {
    "q": "words that must all occur in the question, the tags or the report; the best runs come first",
    "status": "only runs with this status",
    "tag": "only runs with this tag: KEY or KEY=VALUE",
    "conversation": "only the runs of this conversation",
    "after": "only runs after this id in the list",
    "limit": "at most so many runs: 1 to 500",
}
_EVENTS = {
    "after": "the number of the last event received",
    "deltas": "1: also the text that is being written, as events `call.delta` without an id",
}
_LAST = {"Last-Event-ID": "the same, as browsers send it"}
_SAVE = {"download": "present: save the file instead of showing it"}
_AROUND = {"context": "characters of the source on either side: 0 to 100,000"}
_BOTH = {"a": "the id of a run", "b": "the id of another run"}
# Media types that are sent; everything else is downloaded. Browsers show files in a sandbox without scripts and
# without an origin: a report quotes texts of third parties.
_MEDIA = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
FILE_POLICY = (
    "sandbox; default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; font-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)


class RunRoutes:
    """The handlers of `/v1/runs` and `/v1/compare`."""

    def __init__(self, service: Service) -> None:
        self._service, self._body = service, service.limits.body

    def endpoints(self) -> list[Endpoint]:
        """Return the routes."""
        run = "/v1/runs/{run_id}"
        return [
            Endpoint("POST", "/v1/runs", self.order, Accepted, NewRun, 202, headers=_ONCE, errors=(403,)),
            Endpoint("GET", "/v1/runs", self.list_, RunPage, query=_LIST, errors=(422,)),
            Endpoint("GET", "/v1/memory", self.memory, RunPage),
            Endpoint("DELETE", "/v1/memory", self.forget_all, Done),
            Endpoint("DELETE", "/v1/memory/{run_id}", self.forget, Done, errors=(404,)),
            Endpoint("GET", run, self.show, RunView, errors=(404,)),
            Endpoint("PATCH", run, self.label, RunView, Labels, errors=(404, 409)),
            Endpoint("DELETE", run, self.delete, Done, errors=(404, 409)),
            Endpoint("GET", f"{run}/events", self.events, EVENTS, query=_EVENTS, headers=_LAST, errors=(404, 422)),
            Endpoint("POST", f"{run}/answers", self.answer, Done, NewAnswer, errors=(404, 409)),
            Endpoint("POST", f"{run}/stop", self.stop, Done, Reason, errors=(404, 409)),
            Endpoint("POST", f"{run}/cancel", self.cancel, Done, Reason, errors=(404, 409)),
            Endpoint("POST", f"{run}/resume", self.resume, Accepted, Resume, 202, errors=(404, 409)),
            Endpoint("GET", f"{run}/files/{{name:path}}", self.file, FILE, query=_SAVE, errors=(404,)),
            Endpoint(
                *("GET", f"{run}/evidence/{{evidence_id}}", self.evidence, EvidenceView),
                query=_AROUND,
                errors=(404, 409, 422),
            ),
            Endpoint("GET", f"{run}/share", self.shared, ShareView, errors=(404,)),
            Endpoint("POST", f"{run}/share", self.share, ShareView, NewShare, 201, errors=(404, 409)),
            Endpoint("DELETE", f"{run}/share", self.end_share, Done, errors=(404,)),
            Endpoint("GET", "/v1/compare", self.compare, Comparison, query=_BOTH, errors=(404, 409, 422)),
        ]

    async def order(self, request: Request) -> Accepted:
        """Accept a question. The same `Idempotency-Key` returns the same run, however often it is sent."""
        body = await read(request, NewRun, self._body)
        key = request.headers.get("idempotency-key")
        run_id = await self._service.order(body, principal_of(request), key)
        accepted = await self._accepted(run_id, principal_of(request))
        secret = self._service.notifications.secret(principal_of(request)) if body.webhook else ""
        return accepted.model_copy(update={"webhook_secret": secret})

    async def _accepted(self, run_id: str, principal: str | None) -> Accepted:
        """Return what a client is told of a run that it ordered, now or before."""
        status = (await self._service.view(run_id, principal)).status
        place = self._service.active.before(run_id) if status == "pending" else None
        return Accepted(run_id=run_id, id=run_id, status=status, place=place, links=Links.of(run_id))

    async def list_(self, request: Request) -> RunPage:
        """List the runs of the principal."""
        query = request.query_params
        return await self._service.runs(
            principal_of(request),
            RunFilter(*(query.get(name, "") for name in ("q", "status", "tag", "conversation"))),
            after=query.get("after"),
            limit=number(query, "limit", _PAGE, 1, _MOST),
        )

    async def memory(self, request: Request) -> RunPage:
        """List the runs that new questions may remember, if the setting `memory` says so."""
        return await self._service.memory(principal_of(request))

    async def forget(self, request: Request) -> Done:
        """Keep a run out of the memory of new questions; the run itself stays."""
        run_id, principal = _run(request)
        await self._service.forget(principal, run_id)
        return Done()

    async def forget_all(self, request: Request) -> Done:
        """Keep all runs so far out of the memory of new questions."""
        await self._service.forget(principal_of(request))
        return Done()

    async def show(self, request: Request) -> RunView:
        """Return a run as of now."""
        return await self._service.view(*_run(request))

    async def label(self, request: Request) -> RunView:
        """Name a run that has ended, pin it in lists, or replace its tags."""
        await self._service.label(*_run(request), await read(request, Labels, self._body))
        return await self._service.view(*_run(request))

    async def delete(self, request: Request) -> Done:
        """Delete a run with all its files."""
        await self._service.delete(*_run(request))
        return Done()

    # --- watch and control -------------------------------------------------------------------------------------------

    async def events(self, request: Request) -> Response:
        """Stream the events above the number in `Last-Event-ID` or `after`.

        With `deltas=1`, the text that models are writing comes too: events `call.delta` without an id, whose data has
        `key` (of the call), `task`, `kind` (`text` or `reasoning`), `text` and, if the reply is JSON, `said`, the part
        that people read. Append them by `key`; `call.started` and `call.restart` with the key begin its text anew, and
        `call.finished` ends it. They are not sent again: a new connection begins with the replies in flight from their
        beginning, so a client that comes back first forgets what it has of them.
        """
        run_id, principal = _run(request)
        await self._service.view(run_id, principal)
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        lasts = request.headers.get("last-event-id") or request.query_params.get("after") or "-1"
        after = number({"after": lasts}, "after", -1, -1, 2**53)
        deltas = bool(number(request.query_params, "deltas", 0, 0, 1))
        frames = event_frames(self._service.events(run_id, principal, after, deltas=deltas))
        return Stream(frames, self._service.closing, self._service.streams, principal)

    async def answer(self, request: Request) -> Done:
        """Answer a question of a run; returns when the answer is stored."""
        body = await read(request, NewAnswer, self._body)
        answer = Answer(action=body.action, content=body.content)
        await self._service.answer(*_run(request), body.question_id, answer)
        return Done()

    async def stop(self, request: Request) -> Done:
        """End the search of a run and have it write up what was found."""
        body = await read(request, Reason, self._body, optional=True)
        await self._service.stop(*_run(request), body.reason)
        return Done()

    async def cancel(self, request: Request) -> Done:
        """End a run at once."""
        body = await read(request, Reason, self._body, optional=True)
        await self._service.cancel(*_run(request), body.reason)
        return Done()

    async def resume(self, request: Request) -> Accepted:
        """Continue a run that has ended; completed calls are not repeated."""
        run_id, principal = _run(request)
        body = await read(request, Resume, self._body, optional=True)
        await self._service.resume(run_id, principal, retry_failed=body.retry_failed)
        return await self._accepted(run_id, principal)

    # --- share -------------------------------------------------------------------------------------------------------

    async def shared(self, request: Request) -> ShareView:
        """Return who may read the report by its link; the link itself is told once."""
        return await share_of(self._service, *_run(request))

    async def share(self, request: Request) -> ShareView:
        """Make a link by which others read the report, without its sources, events and cost; it replaces the last."""
        return await share(self._service, request, await read(request, NewShare, self._body, optional=True))

    async def end_share(self, request: Request) -> Done:
        """End the link to the report."""
        await share_of(self._service, *_run(request))
        await asyncio.to_thread(self._service.store.end_share, *_run(request))
        return Done()

    # --- read --------------------------------------------------------------------------------------------------------

    async def file(self, request: Request) -> Response:
        """Send a file of a run: one of those that its `files` lists."""
        run_id, principal = _run(request)
        path = await self._service.file(run_id, request.path_params["name"], principal)
        return send(path, download="download" in request.query_params)

    async def evidence(self, request: Request) -> EvidenceView:
        """Return a passage in its stored source, with the verdicts on the claims that cite it."""
        run_id, principal = _run(request)
        context = number(request.query_params, "context", _CONTEXT, 0, _MOST_CONTEXT)
        return await self._service.evidence(run_id, request.path_params["evidence_id"], principal, context)

    async def compare(self, request: Request) -> Comparison:
        """Compare the reports of two runs: claims, verdicts, sources."""
        first, second = (required(request.query_params, name, "GET /v1/compare?a=ID&b=ID") for name in ("a", "b"))
        return await self._service.compare(first, second, principal_of(request))


def send(path: Path, *, name: str = "", download: bool = False) -> FileResponse:
    """Return the reply with a file of a run."""
    media = _MEDIA.get(path.suffix.lower(), "application/octet-stream")
    inline = path.suffix.lower() in _MEDIA and not download
    return FileResponse(
        path,
        media_type=media,
        filename=name or path.name,
        content_disposition_type="inline" if inline else "attachment",
        headers={"Content-Security-Policy": FILE_POLICY},
    )


def _run(request: Request) -> tuple[str, str | None]:
    return request.path_params["run_id"], principal_of(request)


def required(values: Mapping[str, str], name: str, example: str) -> str:
    """Return a parameter of a query. Raises `Problem`."""
    if value := values.get(name, ""):
        return value
    raise Problem(422, "invalid_request", f"{name}: field required", example)


def number(values: Mapping[str, str], name: str, default: int, least: int, highest: int) -> int:
    """Return a whole number of a query. Raises `Problem`."""
    text = values.get(name)
    if text is None:
        return default
    if len(text) < 20 and text.removeprefix("-").isascii() and text.removeprefix("-").isdigit():
        value = int(text)
        if least <= value <= highest:
            return value
    raise Problem(422, "invalid_request", f"{name}: a whole number from {least} to {highest:,}")
