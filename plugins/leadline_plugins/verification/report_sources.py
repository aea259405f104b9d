"""The sources of a report: as a run stored them, from files in a folder, or from the web."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leadline.citations import number
from leadline.contracts import StageRun
from leadline.errors import UsageError
from leadline.records import Blob, Document, FetchRequest, Report
from leadline_plugins.verification.external_reports import CitedSource
from leadline_plugins.verification.reports.source_files import matches

AT_ONCE = 5
# Characters after which no further source of the web is read: all are in memory at once.
_MOST = 20_000_000
_WEB = ("https://", "http://")


@dataclass
class Found:
    """Documents, and the problems of others, by the keys of their sources."""

    documents: dict[str, Document] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def from_run(report: Report, wanted: Iterable[CitedSource]) -> Found:
    """Return the sources that a run stored, by address or else by their number in its report."""
    numbered = number(report)
    stored = {str(key): source for key, source in (*numbered.cited, *numbered.additional)}
    named = {source.hit.url: source for source in stored.values()}
    found = Found()
    for source in wanted:
        kept = next((named[url] for url in source.urls if url in named), None)
        kept = kept or (None if source.urls else stored.get(source.key))
        if kept is None:
            found.problems[source.key] = "the run has no source with this address or number"
        else:
            found.documents[source.key] = kept.document
    return found


async def from_folder(
    parse: Callable[[Blob], Awaitable[Document]], folder: Path, wanted: Sequence[CitedSource]
) -> Found:
    """Read the sources whose files are named by their address, number or words of their titles."""
    matched = matches(wanted, _files(folder), folder)
    found = Found(problems=matched.problems)
    for key, path in matched.files.items():
        kind = "text/markdown" if path.suffix == ".md" else mimetypes.guess_type(path.name)[0] or "text/plain"
        blob = Blob(name=path.name, media_type=kind, data=path.read_bytes())
        await _add(found, key, parse(blob))
    return found


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UsageError(f"--sources {folder}: no such folder")
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


async def from_web(run: StageRun, wanted: Sequence[CitedSource]) -> Found:
    """Read the sources that have an address of the web, a few at a time, within the limits of a run."""
    found, limits, gate = Found(), run.settings.research, asyncio.Semaphore(AT_ONCE)
    pages = limits.max_queries * limits.pages_per_query

    async def fetch(source: CitedSource) -> None:
        async with gate:
            if sum(len(document.text) for document in found.documents.values()) > _MOST:
                found.problems[source.key] = f"the other sources have more than {_MOST:,} characters"
            else:
                await _add(found, source.key, run.fetch(FetchRequest(url=source.urls[0])))

    readable = [source for source in wanted if source.urls and source.urls[0].lower().startswith(_WEB)]
    async with asyncio.TaskGroup() as group:
        for source in readable[:pages]:
            group.create_task(fetch(source))
    limit = f"a run reads {pages} pages: research.max_queries times research.pages_per_query"
    found.problems |= {source.key: limit for source in readable[pages:]}
    return Found(
        found.documents,
        {
            one.key: found.problems.get(one.key, "the report has no web address for it")
            for one in wanted
            if one.key not in found.documents
        },
    )


async def _add(found: Found, key: str, reading: Any) -> None:
    try:
        found.documents[key] = await reading
    except Exception as error:  # noqa: BLE001 - any error of a fetcher or parser explains why the source was not read
        found.problems[key] = str(error) or type(error).__name__
