"""The routes of runs: order, list, watch, control, read, delete."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from leadline.comparison import Comparison
from leadline.records import Answer, Json
from leadline.runs import Metadata
from leadline_server.evidence import evidence_view
from leadline_server.problems import Problem, no_such_run
from leadline_server.requests import NewAnswer, NewRun, Reason, Resume, overrides, read
from leadline_server.service import Service, principal_of
from leadline_server.store import Taken
from leadline_server.streams import EventStream
from leadline_server.views import Accepted, Done, EvidenceView, Links, RunItem, RunPage, RunView

_PAGE, _MOST = 50, 500
_CONTEXT, _MOST_CONTEXT = 1_000, 100_000
_MAX_KEY = 255
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
        self._service = service
        self._board, self._client, self._limits = service.board, service.client, service.limits

    async def order(self, request: Request) -> tuple[int, Accepted]:
        """Accept a question. The same `Idempotency-Key` returns the same run, however often it is sent."""
        body = await read(request, NewRun, self._limits.body)
        key = request.headers.get("idempotency-key")
        if key is not None and not 0 < len(key) <= _MAX_KEY:
            raise Problem(422, "invalid_request", f"Idempotency-Key: 1 to {_MAX_KEY} characters")
        return 202, await self.start(body, principal_of(request), key)

    async def start(self, body: NewRun, principal: str | None, key: str | None = None) -> Accepted:
        """Start the run of a request. Raises `Problem` and the errors of `Client.order`."""
        changed = overrides(body, self._client.plugins.settings)
        order = self._client.order(body.question, set=changed, tags=body.tags, principal=principal)
        digest = hashlib.sha256(body.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()
        try:
            await self._board.submit(order, principal, key, digest)
        except Taken as taken:
            if not taken.same:
                raise Problem(
                    422, "key_reused", "the Idempotency-Key was used for another request", "use a new key"
                ) from None
            return Accepted(id=taken.run_id, links=Links.of(taken.run_id))
        return Accepted(id=order.run_id, links=Links.of(order.run_id))

    async def list_(self, request: Request) -> RunPage:
        """List the runs of the principal."""
        query, principal = request.query_params, principal_of(request)
        text, status, tag = query.get("q", ""), query.get("status"), query.get("tag", "")
        limit = number(query, "limit", _PAGE, 1, _MOST)
        found = await asyncio.to_thread(self._client.runs, text=text, principal=principal)
        items = [RunItem.of(run) for run in found]
        if not text.strip():
            known = {item.id for item in items if item.status != "unreadable"}  # one that begins has no metadata yet
            begun = (RunItem.of_entry(entry) for entry in self._board.entries(principal) if entry.run_id not in known)
            upcoming = {item.id: item for item in begun if item}
            items = [*upcoming.values(), *(item for item in items if item.id not in upcoming)]
        key, _, value = tag.partition("=")
        chosen = [
            item
            for item in items
            if (not status or item.status == status)
            and (not tag or (key in item.tags and (not value or item.tags[key] == value)))
        ]
        ids, after = [item.id for item in chosen], query.get("after")
        if after and after not in ids:
            raise Problem(422, "invalid_request", "after: no run of this list has this id")
        first = ids.index(after) + 1 if after else 0
        page = chosen[first : first + limit]
        return RunPage(runs=tuple(page), next=page[-1].id if first + limit < len(chosen) else None)

    async def show(self, request: Request) -> RunView:
        """Return a run as of now."""
        return await self._service.view(*self._service.run(request))

    async def delete(self, request: Request) -> Done:
        """Delete a run with all its files."""
        run_id, principal = self._service.run(request)
        await self._service.view(run_id, principal)
        if self._board.entry(run_id, principal):
            raise Problem(409, "busy", "the run is active", "stop or cancel it first")
        folder = self._board.folder(run_id, principal)
        if await asyncio.to_thread(folder.is_dir):
            await asyncio.to_thread(self._client.delete, folder, principal=principal)
        await asyncio.to_thread(self._service.store.forget, run_id)
        return Done()

    # --- watch and control -------------------------------------------------------------------------------------------

    async def events(self, request: Request) -> Response:
        """Stream the events above the number in `Last-Event-ID` or `after`."""
        run_id, principal = self._service.run(request)
        await self._service.view(run_id, principal)
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        lasts = request.headers.get("last-event-id") or request.query_params.get("after") or "-1"
        after = number({"after": lasts}, "after", -1, -1, 2**53)
        return _Streamed(self._service, run_id, principal, after)

    async def answer(self, request: Request) -> Done:
        """Answer a question of a run; returns when the answer is stored."""
        run_id, principal = self._service.run(request)
        body = await read(request, NewAnswer, self._limits.body)
        await self._must_be_active(run_id, principal)
        answer = Answer(action=body.action, content=body.content)
        folder = self._board.folder(run_id, principal)
        await self._client.answer(folder, body.question_id, answer, principal=principal)
        return Done()

    async def stop(self, request: Request) -> Done:
        """End the search of a run and have it write up what was found."""
        folder, principal, reason = await self._ending(request)
        await self._client.stop(folder, reason or "stopped", principal=principal)
        return Done()

    async def cancel(self, request: Request) -> Done:
        """End a run at once."""
        folder, principal, reason = await self._ending(request)
        await self._client.cancel(folder, reason or "cancelled", principal=principal)
        return Done()

    async def _ending(self, request: Request) -> tuple[Path, str | None, str]:
        run_id, principal = self._service.run(request)
        body = await read(request, Reason, self._limits.body, optional=True)
        await self._must_be_active(run_id, principal)
        return self._board.folder(run_id, principal), principal, body.reason

    async def _must_be_active(self, run_id: str, principal: str | None) -> None:
        """Wait for a run that is about to start. Raises `Problem` if it is not active."""
        view = await self._service.view(run_id, principal)
        if entry := self._board.entry(run_id, principal):
            await entry.started.wait()
        elif view.status not in ("pending", "running", "waiting"):
            raise Problem(409, "not_active", f"the run is not active: it is {view.status}")

    async def resume(self, request: Request) -> tuple[int, Accepted]:
        """Continue a run that has ended; completed calls are not repeated."""
        run_id, principal = self._service.run(request)
        body = await read(request, Resume, self._limits.body, optional=True)
        await self._service.view(run_id, principal)
        await self._board.resume(run_id, principal, retry_failed=body.retry_failed)
        return 202, Accepted(id=run_id, links=Links.of(run_id))

    # --- read --------------------------------------------------------------------------------------------------------

    async def file(self, request: Request) -> Response:
        """Send a file of a run: one of those that its `files` lists."""
        run_id, principal = self._service.run(request)
        known = await self._service.metadata(run_id, principal)
        if known is None:
            await self._service.view(run_id, principal)  # raises if there is no such run
        name = request.path_params["name"]
        return self.send(
            self._path(known[0] if known else None, run_id, principal, name),
            download="download" in request.query_params,
        )

    def _path(self, metadata: Metadata | None, run_id: str, principal: str | None, name: str) -> Path:
        """Return the path of a file that the metadata lists; a link out of the folder is none. Raises `Problem`."""
        folder = self._board.folder(run_id, principal)
        if metadata and name in metadata.files:
            path = (folder / name).resolve()
            if path.is_relative_to(folder.resolve()) and path.is_file():
                return path
        raise Problem(404, "not_found", "the run has no such file", "its `files` lists them")

    async def report_file(self, run_id: str, principal: str | None, ending: str) -> tuple[Path, Metadata]:
        """Return the report in the format with this ending. Raises `Problem`."""
        known = await self._service.metadata(run_id, principal)
        if known is None:
            raise no_such_run()
        return self._path(known[0], run_id, principal, f"report.{ending}"), known[0]

    @staticmethod
    def send(path: Path, *, name: str = "", download: bool = False) -> FileResponse:
        """Return the reply with a file."""
        media = _MEDIA.get(path.suffix.lower(), "application/octet-stream")
        inline = path.suffix.lower() in _MEDIA and not download
        return FileResponse(
            path,
            media_type=media,
            filename=name or path.name,
            content_disposition_type="inline" if inline else "attachment",
            headers={"Content-Security-Policy": FILE_POLICY},
        )

    async def evidence(self, request: Request) -> EvidenceView:
        """Return a passage in its stored source, with the verdicts on the claims that cite it."""
        run_id, principal = self._service.run(request)
        context = number(request.query_params, "context", _CONTEXT, 0, _MOST_CONTEXT)
        report = await self._service.report(run_id, principal)
        return evidence_view(report, request.path_params["evidence_id"], context)

    async def compare(self, request: Request) -> Comparison:
        """Compare the reports of two runs: claims, verdicts, sources."""
        query, principal = request.query_params, principal_of(request)
        ids = [self._service.run_id(query.get(name, "")) for name in ("a", "b")]
        for run_id in ids:
            await self._service.report(run_id, principal)  # the clearer error
        folders = (self._board.folder(run_id, principal) for run_id in ids)
        return await self._client.compare(*folders, principal=principal)


class _Streamed(Response):
    """The stream of the events of a run, which takes one of the principal's places while it is open."""

    def __init__(self, service: Service, run_id: str, principal: str | None, after: int) -> None:
        self._service, self._principal = service, principal

        async def outcome() -> Json:
            view = await service.view(run_id, principal)
            return {"status": view.status, "reason": view.reason}

        self._stream = EventStream(service.board, run_id, principal, after, outcome)
        self.background = None
        self.status_code = 200

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._service.streams.taken(self._principal):
                await self._stream(scope, receive, send)
        except Problem as problem:
            await problem.response()(scope, receive, send)


def number(values: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    """Return a whole number of a query. Raises `Problem`."""
    text = values.get(name)
    if text is None:
        return default
    if len(text) < 20 and text.removeprefix("-").isascii() and text.removeprefix("-").isdigit():
        value = int(text)
        if least <= value <= most:
            return value
    raise Problem(422, "invalid_request", f"{name}: a whole number from {least} to {most:,}")
