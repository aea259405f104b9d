"""Reports as files to download, in every format that works here: those a run wrote, and others made on demand."""

from __future__ import annotations

import asyncio
import io
import re
import zipfile
from urllib.parse import quote

from starlette.responses import Response

from leadline.inventory import InstalledPlugin
from leadline.records import Files, Report
from leadline_server.limits import Slots
from leadline_server.problems import Problem
from leadline_server.run_routes import send
from leadline_server.service import Service
from leadline_server.views import RunView

# The endings of formats whose files are not named like the format.
ENDINGS = {"markdown": "md", "latex": "tex", "bibtex": "bib"}
# Characters of a question in the name of a file.
_STEM = 60


class Downloads:
    """The downloads of finished runs."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._plugins: list[InstalledPlugin] | None = None
        self._making = Slots(2, "two files are being made; wait for them")

    async def plugins(self) -> list[InstalledPlugin]:
        """Return the installed plugins, which are loaded at the first call. Raises `ConfigError`."""
        if self._plugins is None:
            self._plugins = await asyncio.to_thread(self._service.client.describe_plugins)
        return self._plugins

    async def formats(self) -> list[str]:
        """Return the names of the formats that work here."""
        return [
            plugin.name for plugin in await self.plugins() if "report_formatters" in plugin.kinds and not plugin.lacks
        ]

    async def send(self, run_id: str, principal: str | None, name: str, *, by_question: bool = False) -> Response:
        """Send a report in a format; the file is named by the question or the time of its run. Raises `Problem`."""
        view = await self._service.view(run_id, principal)
        stem, ending = f"research_report_{view.began:%Y%m%d_%H%M%S}", ENDINGS.get(name, name)
        stem = file_stem(view) if by_question else stem
        if f"report.{ending}" in view.files:
            path = await self._service.file(run_id, f"report.{ending}", principal)
            return send(path, name=f"{stem}.{ending}", download=True)
        return await self.make(await self._service.report(run_id, principal), stem, name, principal)

    async def make(self, report: Report, stem: str, name: str, key: str | None) -> Response:
        """Send a report in a format as a file; at most two are made at a time for each key. Raises `Problem`."""
        formats = await self.formats()
        if name not in formats:
            raise Problem(404, "no_such_format", "there is no such format", f"choose from {', '.join(formats)}")
        with self._making.taken(key):
            made = await self._service.client.format(report, name)
            return await asyncio.to_thread(_attachment, made, stem, name)


def file_stem(view: RunView) -> str:
    """Return the name of a file of a run, for people: the first words of its question, and its day."""
    words = re.sub(r"\W+", "-", view.question[:_STEM]).strip("-")
    return f"{words or 'report'}_{view.began:%Y-%m-%d}"


def _attachment(made: Files, stem: str, name: str) -> Response:
    """Return files as one: a single one as it is, several in a ZIP archive."""
    first = made.files[0]
    if len(made.files) == 1:
        content, media_type, file = first.data, first.media_type, f"{stem}.{first.name.rpartition('.')[2]}"
    else:
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as pack:
            for part in made.files:
                pack.writestr(part.name, part.data)
        content, media_type, file = archive.getvalue(), "application/zip", f"{stem}_{name}.zip"
    coded = quote(file)  # as Starlette does for files
    named = f'filename="{file}"' if coded == file else f"filename*=utf-8''{coded}"
    headers = {"Content-Disposition": f"attachment; {named}"}
    return Response(content, media_type=media_type, headers=headers)
