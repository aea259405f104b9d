"""The pages of `/shared/SECRET`: a report for whoever has its link."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from leadline_server.access import SHARED
from leadline_server.downloads import Downloads, file_stem
from leadline_server.page.run_pages import RunPages, figure_reply, formats
from leadline_server.page.templating import Templates
from leadline_server.service import Service
from leadline_server.sharing import open_shared, without_sources


class SharedPages:
    """The handlers; `runs` renders the reports."""

    def __init__(self, service: Service, templates: Templates, downloads: Downloads, runs: RunPages) -> None:
        self._service, self._templates, self._downloads, self._runs = service, templates, downloads, runs

    async def show(self, request: Request) -> Response:
        """Show a shared report."""
        base = SHARED + request.path_params["secret"]
        if request.headers.get("sec-fetch-site") == "cross-site":
            return self._templates.page(request, "lead_on.html", target=base, words="The report opens.")
        view, report = await open_shared(self._service, request)
        parts = await self._runs.fragment(report, figures=f"{base}/figures/{{id}}")
        about = {"run": view, "base": base, "parts": parts, "downloads": await formats(self._downloads, report)}
        return self._templates.page(request, "shared.html", report=report, **about)

    async def figure(self, request: Request) -> Response:
        """Send the picture of a figure."""
        _, report = await open_shared(self._service, request)
        return figure_reply(report, request.path_params["name"])

    async def download(self, request: Request) -> Response:
        """Send the report in a format, made from what its readers may see: never a file of the run."""
        view, report = await open_shared(self._service, request)
        return await self._downloads.make(
            without_sources(report), file_stem(view), request.path_params["format"], SHARED
        )
