"""The page of the documents of the knowledge base: list, search, add, remove, ask."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from leadline.errors import LeadlineError
from leadline.records import DocumentList, Passages
from leadline_server.knowledge_routes import KnowledgeRoutes
from leadline_server.page import forms
from leadline_server.page.templating import Templates
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
        """Remove a document."""
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
        titles = {one.id: one for one in passages.sources}
        return self._templates.page(
            request,
            "documents.html",
            problems[0].status if problems else 200,
            problems=[one.body for one in problems],
            documents=listed.documents,
            unfinished=listed.unfinished,
            wanted=wanted,
            found=[(one, titles[one.source_id]) for one in passages.evidence],
            limit=self._service.limits.upload,
            pipeline=PIPELINE,
        )
