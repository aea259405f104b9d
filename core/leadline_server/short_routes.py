"""Three short routes for front ends that start a task and poll it."""

from __future__ import annotations

from pydantic import model_validator
from starlette.requests import Request
from starlette.responses import Response

from leadline_server.problems import Problem
from leadline_server.requests import Long, Name, NewRun, RequestBody, read
from leadline_server.run_routes import required, send
from leadline_server.service import Service, principal_of
from leadline_server.views import TaskStarted, TaskStatus

# Names of formats, and the endings of their files where these differ.
_ENDINGS = {"markdown": "md", "latex": "tex", "bibtex": "bib"}


class NewTask(RequestBody):
    """A question, or `query`, and the formats of its report."""

    question: Long = ""
    query: Long = ""
    formats: list[Name] = []

    @model_validator(mode="after")
    def _one(self) -> NewTask:
        if bool(self.question) == bool(self.query):
            raise ValueError("give either question or query")
        return self


class ShortRoutes:
    """The handlers of `/api/research`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def start(self, request: Request) -> TaskStarted:
        """Start a run; `task_id` is its id."""
        body = await read(request, NewTask, self._service.limits.body)
        order = NewRun(question=body.question or body.query, formats=body.formats)
        return TaskStarted(task_id=await self._service.order(order, principal_of(request)), status="pending")

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
        run_id = request.path_params["task_id"]
        wanted = request.query_params.get("format", "pdf").lower()
        ending = _ENDINGS.get(wanted, wanted)
        if not ending.isalnum():
            raise Problem(404, "not_found", "the run has no such file", "its `files` lists them")
        path = await self._service.file(run_id, f"report.{ending}", principal_of(request))
        began = (await self._service.view(run_id, principal_of(request))).began
        return send(path, name=f"research_report_{began:%Y%m%d_%H%M%S}.{ending}", download=True)
