"""The addresses of the page."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from leadline.errors import LeadlineError
from leadline.records import DocumentList, Passages
from leadline_server.downloads import Downloads
from leadline_server.knowledge_routes import KnowledgeRoutes
from leadline_server.page import forms
from leadline_server.page.run_pages import ACTIONS, RunPages
from leadline_server.page.site_pages import SitePages
from leadline_server.page.templating import Templates
from leadline_server.page.watching import Trails
from leadline_server.problems import Problem, problem_of
from leadline_server.service import Service, principal_of

# The pipeline that answers from the documents.
PIPELINE = "knowledge"


class DocumentPages:
    """The handlers of `/documents`."""

    def __init__(self, service: Service, templates: Templates, knowledge: KnowledgeRoutes) -> None:
        self._service, self._templates, self._knowledge = service, templates, knowledge

    async def show(self, request: Request) -> Response:
        """Show the documents, and the passages that a search finds."""
        return await self._page(request)

    async def add(self, request: Request) -> Response:
        """Add the files of a form; those that cannot be read are named."""
        principal = principal_of(request)
        with self._knowledge.adding.taken(principal):
            files = await forms.read_files(request, self._service.limits.upload)
            problems = [] if files else [Problem(422, "invalid_request", "choose a file")]
            for file in files:
                try:
                    await self._knowledge.store(principal, file)
                except Problem as problem:
                    problems.append(problem)
        return await self._page(request, problems) if problems else RedirectResponse("/documents", 303)

    async def remove(self, request: Request) -> Response:
        form = await forms.read_form(request, self._service.limits.body)
        await self._knowledge.delete(principal_of(request), forms.first(form, "document"))
        return RedirectResponse("/documents", 303)

    async def _page(self, request: Request, problems: list[Problem] | None = None) -> Response:
        problems, listed, passages = problems or [], DocumentList(), Passages()
        wanted = request.query_params.get("q", "").strip()
        try:
            listed = await self._knowledge.list_(request)
            passages = await self._knowledge.search(request) if wanted and listed.documents else passages
        except Problem as problem:
            problems.append(problem)
        except LeadlineError as error:
            problems.append(problem_of(error))
        titles = {source.id: source for source in passages.sources}
        return self._templates.page(
            request,
            "documents.html",
            problems[0].status if problems else 200,
            problems=[problem.body for problem in problems],
            documents=listed.documents,
            unfinished=listed.unfinished,
            wanted=wanted,
            found=[(passage, titles[passage.source_id]) for passage in passages.evidence],
            limit=self._service.limits.upload,
            pipeline=PIPELINE,
        )


Handler = Callable[[Request], Awaitable[Response]]
# Addresses for programs, which get errors as JSON, as whoever does not ask for HTML.
_PROGRAMS = ("/v1/", "/api/", "/mcp", "/metrics", "/healthz", "/readyz", "/openapi.json")


class Pages:
    """The page of a server: `routes` for its application; `problem` shows errors of other layers as pages."""

    def __init__(self, service: Service, knowledge: KnowledgeRoutes, downloads: Downloads) -> None:
        self._service, self._templates = service, Templates()
        self._trails = Trails(service)
        site = SitePages(service, self._templates, downloads)
        runs = RunPages(service, self._templates, self._trails, downloads)
        documents = DocumentPages(service, self._templates, knowledge)
        run = "/runs/{run_id}"
        handlers: list[tuple[str, str, Handler]] = [
            ("GET", "/", site.home),
            ("POST", "/runs", site.ask),
            ("GET", "/runs", site.runs),
            ("GET", "/compare", site.compare),
            ("GET", "/documents", documents.show),
            ("POST", "/documents", documents.add),
            ("POST", "/documents/remove", documents.remove),
            ("GET", "/settings", site.settings),
            ("GET", "/login", site.log_in_form),
            ("POST", "/login", site.log_in),
            ("POST", "/logout", site.log_out),
            ("GET", "/static/{name}", site.static),
            ("GET", run, runs.show),
            ("GET", f"{run}/live", runs.live),
            ("GET", f"{run}/trail", runs.trail),
            ("GET", f"{run}/checks", runs.checks),
            ("GET", f"{run}/details", runs.details),
            ("GET", f"{run}/evidence/{{names}}", runs.evidence),
            ("GET", f"{run}/download/{{format}}", runs.download),
            ("GET", f"{run}/figures/{{name}}", runs.figure),
            ("POST", f"{run}/answer", runs.answer),
            *(("POST", f"{run}/{action}", _with(runs.act, action)) for action in (*ACTIONS, "resume")),
            *(("GET", f"{run}/{action}", _with(runs.confirm, action)) for action in ACTIONS),
        ]
        self.routes = [self._route(*handler) for handler in handlers]

    async def close(self) -> None:
        """Stop following runs."""
        await self._trails.close()

    def problem(self, request: Request, problem: Problem) -> Response | None:
        """Return an error as a page, or as the way to the login; None for a program, which gets JSON."""
        path = request.url.path
        if path.startswith(_PROGRAMS) or "text/html" not in request.headers.get("accept", ""):
            return None
        if problem.status == 401 and request.method in ("GET", "HEAD"):
            target = path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"/login?next={quote(target)}", 303)
        return self._templates.problem(request, problem)

    def _route(self, method: str, path: str, handler: Handler) -> Route:
        async def handle(request: Request) -> Response:
            began = time.monotonic()
            try:
                reply = await handler(request)
            except Problem as problem:
                reply = self._templates.problem(request, problem)
            except LeadlineError as error:
                reply = self._templates.problem(request, problem_of(error))
            self._service.metrics.add_request(method, path, reply.status_code, time.monotonic() - began)
            return reply

        return Route(path, handle, methods=[method])


def _with(handler: Handler, action: str) -> Handler:
    async def handle(request: Request) -> Response:
        request.path_params["action"] = action
        return await handler(request)

    return handle
