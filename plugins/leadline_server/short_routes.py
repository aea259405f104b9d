"""Three short routes for front ends that start a task and poll it."""

from __future__ import annotations

from pydantic import Field, model_validator
from starlette.requests import Request
from starlette.responses import Response

from leadline_server.downloads import ENDINGS, Downloads
from leadline_server.endpoint import FILE, Endpoint
from leadline_server.requests import Long, Name, RequestBody, order, read
from leadline_server.run_routes import required
from leadline_server.service import Service, principal_of
from leadline_server.views import TaskStarted, TaskStatus

# Formats may be named by the endings of their files.
_FORMATS = {ending: name for name, ending in ENDINGS.items()}


class NewTask(RequestBody):
    """A question, or `query`, and the formats of its report."""

    question: Long = ""
    query: Long = ""
    formats: list[Name] = Field([], max_length=20)

    @model_validator(mode="after")
    def _one(self) -> NewTask:
        if bool(self.question) == bool(self.query):
            raise ValueError("give either question or query")
        return self


class ShortRoutes:
    """The handlers of `/api/research`."""

    def __init__(self, service: Service, downloads: Downloads) -> None:
        self._service, self._downloads = service, downloads

    def endpoints(self) -> list[Endpoint]:
        """Return the routes."""
        task, kinds = {"task_id": "what start returned"}, {"format": "pdf (the default), docx, markdown, …"}
        top = "/api/research"
        return [
            Endpoint("POST", f"{top}/start", self.start, TaskStarted, NewTask),
            Endpoint("GET", f"{top}/status", self.status, TaskStatus, query=task, errors=(404, 422)),
            Endpoint("GET", f"{top}/download/{{task_id}}", self.download, FILE, query=kinds, errors=(404, 409)),
        ]

    async def start(self, request: Request) -> TaskStarted:
        """Start a run; `task_id` is its id."""
        body = await read(request, NewTask, self._service.limits.body)
        new = order(question=body.question or body.query, formats=body.formats)
        return TaskStarted(task_id=await self._service.order(new, principal_of(request)), status="pending")

    async def status(self, request: Request) -> TaskStatus:
        """Return the state of a run."""
        example = "GET /api/research/status?task_id=ID, with the id that POST /api/research/start returned"
        run_id = required(request.query_params, "task_id", example)
        view = await self._service.view(run_id, principal_of(request))
        ended = [step for step in view.steps if step.status in ("finished", "failed")]
        return TaskStatus(
            task_id=run_id,
            status=view.status,
            step=view.current_step,
            progress=100 if view.ended else min(99, 100 * len(ended) // max(1, len(view.steps))),
            reason=view.reason,
            errors=tuple(error.message for error in view.errors),
        )

    async def download(self, request: Request) -> Response:
        """Send the report in a format as a file that is named by the time of its run."""
        wanted = request.query_params.get("format", "pdf").lower()
        run_id, name = request.path_params["task_id"], _FORMATS.get(wanted, wanted)
        return await self._downloads.send(run_id, principal_of(request), name)
