"""Sources of a report that is to be verified: from files in a folder, or from the web by the configured fetchers."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from leadline.assemble import House
from leadline.citations import number
from leadline.cli.matching import matches
from leadline.contracts import Call, Run
from leadline.errors import Unsupported, UsageError
from leadline.records import Blob, Document, FetchRequest, Report, Usage

AT_ONCE = 5
_TIMEOUT = 60.0


@dataclass
class Found:
    """Documents, and why others could not be read, by the keys of their sources."""

    documents: dict[str, Document] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


class Alone:
    """A call outside any run: nothing is journalled, nobody listens."""

    run = cast("Run", None)
    task = "verify"
    key = "verify"
    traceparent = ""
    followed = False

    def remaining(self) -> float:
        """Return the seconds it may take."""
        return _TIMEOUT

    def emit(self, kind: Literal["text", "reasoning"], delta: str) -> None:
        """Let the piece go."""

    def spend(self, usage: Usage) -> None:
        """Let the usage go: nothing here is paid for."""


def from_run(report: Report, wanted: Iterable[Any]) -> Found:
    """Take the sources from those that a run stored: by their address, else by their number in its report."""
    numbered = number(report)
    stored = {str(key): source for key, source in (*numbered.cited, *numbered.additional)}
    named = {source.hit.url: source for source in stored.values()}
    found = Found()
    for source in wanted:
        kept = next((named[url] for url in source.urls if url in named), None)
        kept = kept or (None if source.urls else stored.get(source.key))
        if kept is None:
            found.problems[source.key] = "the run stored no source of this address or number"
        else:
            found.documents[source.key] = kept.document
    return found


async def from_folder(house: House, folder: Path, wanted: Sequence[Any]) -> Found:
    """Read the sources whose files are found: see `matches`."""
    matched = matches(wanted, _files(folder), folder)
    found = Found(problems=matched.problems)
    for key, path in matched.files.items():
        kind = "text/markdown" if path.suffix == ".md" else mimetypes.guess_type(path.name)[0] or "text/plain"
        blob = Blob(name=path.name, media_type=kind, data=path.read_bytes())
        await _kept(found, key, house.parse(blob, Alone()))
    return found


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UsageError(f"--sources {folder}: there is no such folder")
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


async def from_web(house: House, wanted: Iterable[Any]) -> Found:
    """Fetch the sources that have an address, a few at once, by the first fetcher that accepts it."""
    found = Found()
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(source: Any) -> None:
        async with gate:
            await _kept(found, source.key, _fetched(house, source.urls))

    async with asyncio.TaskGroup() as group:
        for source in wanted:
            group.create_task(one(source))
    return found


async def _fetched(house: House, urls: Sequence[str]) -> Document:
    if not urls:
        raise Unsupported("the report gives no address for it")
    call: Call = Alone()
    for name in house.loaded.chosen["read.fetchers"]:
        fetcher = await house.member("fetchers", name).get()
        if fetcher.accepts(urls[0]):
            return await house.parse(await fetcher.fetch(FetchRequest(url=urls[0]), call), call)
    raise Unsupported(f"no fetcher of read.fetchers reads {urls[0]}")


async def _kept(found: Found, key: str, reading: Any) -> None:
    try:
        found.documents[key] = await asyncio.wait_for(reading, _TIMEOUT)
    except Exception as error:  # noqa: BLE001 - whatever a fetcher or parser raises is why the source was not read
        found.problems[key] = str(error) or type(error).__name__
