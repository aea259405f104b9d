"""The addresses of the page."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from leadline.errors import LeadlineError
from leadline.records import DocumentList, Evidence, Passages
from leadline_server.access import SHARED
from leadline_server.documents import in_collections
from leadline_server.downloads import Downloads
from leadline_server.knowledge_routes import KnowledgeRoutes, is_own
from leadline_server.page import forms, languages
from leadline_server.page.run_pages import ACTIONS, RunPages
from leadline_server.page.shared_pages import SharedPages
from leadline_server.page.site_pages import SitePages
from leadline_server.page.templating import Templates
from leadline_server.page.watching import Trails
from leadline_server.problems import Problem, problem_of
from leadline_server.requests import ChangedDocuments, checked
from leadline_server.run_routes import number
from leadline_server.service import Service, principal_of
from leadline_server.sign_in import CALLBACK

# Characters of a document that its page shows.
_SHOWN = 400_000
# How long a removed document can be restored.
_KEPT = timedelta(days=1)


# A page of a document: its number, and its text in pieces, of which passages have their ids.
TextPage = tuple[int, list[tuple[str, str]]]


class DocumentPages:
    """The handlers of `/documents`."""

    def __init__(self, service: Service, templates: Templates, knowledge: KnowledgeRoutes) -> None:
        self._service, self._templates, self._knowledge = service, templates, knowledge

    async def show(self, request: Request) -> Response:
        """Show the documents, and the passages that a search finds."""
        return await self._page(request)

    async def open(self, request: Request) -> Response:
        """Show the text of a document, by pages and passages."""
        try:
            listed = await self._knowledge.open(request)
        except Problem:
            wanted = request.path_params["document_id"]
            removed = await self._knowledge.listed(principal_of(request), removed=True)
            if wanted not in {document.id for document in removed.documents}:
                raise
            return RedirectResponse("/documents?" + urlencode({"undo": wanted}), 303)
        opened = listed.opened or Passages()
        text = "".join(source.document.text for source in opened.sources)
        starts = [start for source in opened.sources for start in source.document.pages]
        cited = await self._cited(request, text, starts)
        shown = max(_SHOWN, cited[0].span[1] if cited else 0)
        return self._templates.page(
            request,
            "document.html",
            document=listed.documents[0],
            pages=text_pages(text[:shown], starts, cited or opened.evidence),
            is_cut=len(text) > shown,
        )

    async def _cited(self, request: Request, text: str, starts: Sequence[int]) -> list[Evidence]:
        """Return where the passage of a report that the address names stands in the text; empty if nowhere."""
        run_id, name = (request.query_params.get(field, "") for field in ("run", "passage"))
        if not run_id:
            return []
        try:
            cited = await self._service.evidence(run_id, name, principal_of(request), 0)
        except Problem:
            return []
        start = text.find(cited.quote, ([0, *starts][: (cited.page or 0) + 1])[-1])
        end = start + len(cited.quote)
        return [Evidence(id="passage", source_id="", quote=cited.quote, span=(start, end))] if start >= 0 else []

    async def add(self, request: Request) -> Response:
        """Add the files of a form; those that cannot be read are named."""
        principal, added = principal_of(request), 0
        with self._knowledge.adding.taken(principal):
            files = await forms.read_files(request, self._service.limits.upload)
            problems = [] if files else [Problem(422, "invalid_request", "choose a file")]
            for file in files:
                try:
                    await self._knowledge.store(principal, file)
                    added += 1
                except Problem as problem:
                    problems.append(problem)
        if problems:
            return await self._page(request, problems, added)
        return RedirectResponse(f"/documents?added={added}", 303)

    async def change(self, request: Request) -> Response:
        """Remove, restore, share or delete the selected documents, or ask about them."""
        form = await forms.read_form(request, self._service.limits.body)
        to, names, principal = forms.first(form, "to"), form.get("document", []), principal_of(request)
        if not names:
            return await self._page(request, [Problem(422, "invalid_request", "select one or more documents first")])
        if to == "ask":
            return RedirectResponse("/?" + urlencode({"documents": "some", "document": names}, doseq=True), 303)
        try:
            if to == "deleted":
                await self._knowledge.purge(principal, names)
            else:
                wanted = checked(ChangedDocuments, names=names, to=to)
                changed = await self._knowledge.move(principal, wanted.names, wanted.to)
                if to == "removed":
                    undo = [document.id for document in changed.documents]
                    return RedirectResponse("/documents?" + urlencode({"undo": undo}, doseq=True), 303)
        except Problem as problem:
            if problem.status == 404:
                problem = Problem(404, "not_found", "only documents that you added can be changed")
            return await self._page(request, [problem])
        return RedirectResponse("/documents", 303)

    async def _page(self, request: Request, problems: list[Problem] | None = None, added: int = 0) -> Response:
        problems, listed, removed, passages = problems or [], DocumentList(), DocumentList(), Passages()
        wanted, base, principal = request.query_params.get("q", "").strip(), self._knowledge, principal_of(request)
        try:
            listed, removed = await base.listed(principal), await base.listed(principal, removed=True)
            passages = await base.search(request) if wanted and listed.documents else passages
        except Problem as problem:
            problems.append(problem)
        except LeadlineError as error:
            problems.append(problem_of(error))
        sources, undo = {source.id: source for source in passages.sources}, request.query_params.getlist("undo")
        return self._templates.page(
            request,
            "documents.html",
            problems[0].status if problems else 200,
            problems=problems,
            collections=in_collections(listed.documents),
            count=len(listed.documents),
            own={document.id for document in listed.documents if is_own(document, principal)},
            removed=removed.documents,
            undo=[document for document in removed.documents if document.id in undo],
            kept=_KEPT,
            added=added or number(request.query_params, "added", 0, 0, 9_999),
            unread=listed.unread,
            unfinished=listed.unfinished,
            is_reading=self._service.documents.is_reading,
            wanted=wanted,
            passages=[
                (passage, source, document_of(source.hit.url))
                for passage in passages.evidence
                if (source := sources[passage.source_id])
            ],
            limit=self._service.limits.upload,
        )


def text_pages(text: str, starts: Sequence[int], passages: Sequence[Evidence]) -> list[TextPage]:
    """Return a text by its pages, which begin at `starts`; without pages, it is page 0."""
    bounds = [*starts, len(text)] if starts else [0, len(text)]
    pages, upcoming = list[TextPage](), deque(sorted(passages, key=lambda passage: passage.span))
    for page, (start, end) in enumerate(pairwise(bounds), start=1 if starts else 0):
        pieces, at = list[tuple[str, str]](), start
        while upcoming and upcoming[0].span[0] < end:
            passage = upcoming.popleft()
            first, last = passage.span[0], min(passage.span[1], end)
            if at <= first:
                pieces += [("", text[at:first]), (passage.id, text[first:last])]
                at = last
        pages.append((page, [piece for piece in (*pieces, ("", text[at:end])) if piece[1]]))
    return [known for known in pages if known[1]]


def document_of(url: str) -> str:
    """Return the id of the document that an address names."""
    return urlsplit(url).path.strip("/").partition("/")[0]


Handler = Callable[[Request], Awaitable[Response]]
# Addresses for programs, which get errors as JSON, as whoever does not ask for HTML.
_PROGRAMS = ("/v1/", "/api/", "/mcp", "/metrics", "/healthz", "/readyz", "/openapi.json")


class Pages:
    """The page of a server: `routes` for its application; `problem` shows errors of other layers as pages."""

    def __init__(
        self, service: Service, knowledge: KnowledgeRoutes, downloads: Downloads, api: Callable[[], dict[str, Any]]
    ) -> None:
        self._service, self._templates = service, Templates()
        self._trails = Trails(service)
        site = SitePages(service, self._templates, downloads, api)
        runs = RunPages(service, self._templates, self._trails, downloads)
        documents = DocumentPages(service, self._templates, knowledge)
        shared = SharedPages(service, self._templates, downloads, runs)
        run, link = "/runs/{run_id}", SHARED + "{secret}"
        handlers: list[tuple[str, str, Handler]] = [
            ("GET", "/", site.home),
            ("POST", "/runs", site.ask),
            ("GET", "/runs", site.runs),
            ("GET", "/compare", site.compare),
            ("GET", "/documents", documents.show),
            ("POST", "/documents", documents.add),
            ("POST", "/documents/change", documents.change),
            ("GET", "/documents/{document_id}", documents.open),
            ("GET", "/settings", site.settings),
            ("GET", "/admin", site.admin),
            ("GET", "/docs", site.docs),
            ("GET", "/login", site.log_in_form),
            ("POST", "/login", site.log_in),
            ("GET", "/login/start", site.begin_sign_in),
            ("GET", CALLBACK, site.end_sign_in),
            ("POST", "/logout", site.log_out),
            ("GET", "/static/{name}", site.static),
            ("GET", run, runs.show),
            ("GET", f"{run}/trail", runs.trail),
            ("GET", f"{run}/checks", runs.checks),
            ("GET", f"{run}/details", runs.details),
            ("GET", f"{run}/evidence/{{names}}", runs.evidence),
            ("GET", f"{run}/download/{{format}}", runs.download),
            ("GET", f"{run}/figures/{{name}}", runs.figure),
            ("POST", f"{run}/answer", runs.answer),
            ("GET", f"{run}/edit", runs.edit),
            ("POST", f"{run}/edit", runs.edit),
            ("GET", f"{run}/share", runs.share),
            ("POST", f"{run}/share", runs.share),
            ("GET", link, shared.show),
            ("GET", f"{link}/figures/{{name}}", shared.figure),
            ("GET", f"{link}/download/{{format}}", shared.download),
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
            if reply := languages.switched(request):
                return reply
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
