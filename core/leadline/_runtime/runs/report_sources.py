"""The sources of a report: as a run stored them, from files in a folder, or from the web."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from leadline._runtime.plugins import PluginRuntime
from leadline.citations import number
from leadline.contracts import Call, Run
from leadline.errors import Unsupported, UsageError
from leadline.records import Blob, Document, FetchRequest, Report, Usage

AT_ONCE = 5
_TIMEOUT = 60.0


@dataclass
class Found:
    """Documents, and the problems of others, by the keys of their sources."""

    documents: dict[str, Document] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


class StandaloneCall:
    """A call outside any run, without journal and events."""

    run = cast("Run", None)
    task = "verify"
    key = "verify"
    traceparent = ""
    followed = False

    def remaining(self) -> float:
        """Return the timeout in seconds."""
        return _TIMEOUT

    def emit(self, kind: Literal["text", "reasoning"], delta: str) -> None:
        """Discard the piece."""

    def spend(self, usage: Usage) -> None:
        """Discard the usage: fetchers and parsers are free."""


def from_run(report: Report, wanted: Iterable[Any]) -> Found:
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


async def from_folder(plugins: PluginRuntime, folder: Path, wanted: Sequence[Any], match: Callable[..., Any]) -> Found:
    """Read the sources whose files `match` finds: by address, number or the words of their names."""
    matched = match(wanted, _files(folder), folder)
    found = Found(problems=matched.problems)
    for key, path in matched.files.items():
        kind = "text/markdown" if path.suffix == ".md" else mimetypes.guess_type(path.name)[0] or "text/plain"
        blob = Blob(name=path.name, media_type=kind, data=path.read_bytes())
        await _add(found, key, plugins.parse(blob, StandaloneCall()))
    return found


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UsageError(f"--sources {folder}: no such folder")
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


async def from_web(plugins: PluginRuntime, wanted: Iterable[Any]) -> Found:
    """Fetch the sources that have an address, a few at a time, each with the first fetcher that accepts it."""
    found = Found()
    gate = asyncio.Semaphore(AT_ONCE)

    async def fetch(source: Any) -> None:
        async with gate:
            await _add(found, source.key, _fetched(plugins, source.urls))

    async with asyncio.TaskGroup() as group:
        for source in wanted:
            group.create_task(fetch(source))
    return found


async def _fetched(plugins: PluginRuntime, urls: Sequence[str]) -> Document:
    if not urls:
        raise Unsupported("the report has no address for it")
    call: Call = StandaloneCall()
    for name in plugins.chosen["read.fetchers"]:
        fetcher = await plugins.instance("fetchers", name).get()
        if fetcher.accepts(urls[0]):
            return await plugins.parse(await fetcher.fetch(FetchRequest(url=urls[0]), call), call)
    raise Unsupported(f"no fetcher in read.fetchers accepts {urls[0]}")


async def _add(found: Found, key: str, reading: Any) -> None:
    try:
        found.documents[key] = await asyncio.wait_for(reading, _TIMEOUT)
    except Exception as error:  # noqa: BLE001 - any error of a fetcher or parser explains why the source was not read
        found.problems[key] = str(error) or type(error).__name__
