"""The sources of a report: as a run stored them, from files in a folder, or from the web.

A file is that of the source whose address ends with its name, else of that with its number, else of that whose entry
has all words of its name.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from leadline.citations import number
from leadline.contracts import StageRun
from leadline.errors import UsageError
from leadline.records import Blob, Document, FetchRequest, Report
from leadline_plugins.parse.media import UNKNOWN, media_type
from leadline_plugins.verification.external_reports import CitedSource

AT_ONCE = 5
# Characters after which no further source of the web is read: all are in memory at once.
_MOST = 20_000_000
_WEB = ("https://", "http://")
# A number that a name begins with, by itself: not that of `3d-printing`, `1.5-degrees`, `10-K_2023`, `10.1000_182`.
_NUMBER = re.compile(r"\W*0*(\d+)(?![^\W_])(?!\.\d)(?![\W_][b-zB-Z\d](?![^\W_]))")
_LETTER = re.compile(r"[^\W\d_]")
_IDENTIFIER = re.compile(r"\d{6}|\d+\.\d")
_AROUND = "\"'<>()[]（）【】,;。，；"


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
    result = Found()
    for source in wanted:
        match = next((named[url] for url in source.urls if url in named), None)
        match = match or (None if source.urls else stored.get(source.key))
        if match is None:
            result.problems[source.key] = "the run has no source with this address or number"
        else:
            result.documents[source.key] = match.document
    return result


async def from_folder(
    parse: Callable[[Blob], Awaitable[Document]], folder: Path, wanted: Sequence[CitedSource]
) -> Found:
    """Read the sources whose files are named by their address, number or title."""
    paths, problems = match_files(wanted, _files(folder), folder)
    result = Found(problems=problems)
    for key, path in paths.items():
        kind = media_type(path.name)
        blob = Blob(name=path.name, media_type="text/plain" if kind == UNKNOWN else kind, data=path.read_bytes())
        await _add(result, key, parse(blob))
    return result


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UsageError(f"--sources {folder}: no such folder")
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


async def from_web(run: StageRun, wanted: Sequence[CitedSource]) -> Found:
    """Read the sources that have an address of the web, a few at a time, within the limits of a run."""
    result, limits, gate = Found(), run.settings.research, asyncio.Semaphore(AT_ONCE)
    pages = limits.max_queries * limits.pages_per_query

    async def fetch(source: CitedSource) -> None:
        async with gate:
            if sum(len(document.text) for document in result.documents.values()) > _MOST:
                result.problems[source.key] = f"the other sources have more than {_MOST:,} characters"
            else:
                await _add(result, source.key, run.fetch(FetchRequest(url=source.urls[0])))

    readable = [source for source in wanted if source.urls and source.urls[0].lower().startswith(_WEB)]
    async with asyncio.TaskGroup() as group:
        for source in readable[:pages]:
            group.create_task(fetch(source))
    limit = f"a run reads {pages} pages: research.max_queries times research.pages_per_query"
    result.problems |= {source.key: limit for source in readable[pages:]}
    for source in wanted:
        if source not in readable:
            result.problems.setdefault(source.key, "the report has no web address for it")
    return result


async def _add(result: Found, key: str, reading: Any) -> None:
    try:
        result.documents[key] = await reading
    except Exception as error:  # noqa: BLE001 - any error of a fetcher or parser explains why the source was not read
        result.problems[key] = str(error) or type(error).__name__


# --- which file is which source -----------------------------------------------------------------------------------


def match_files(
    sources: Sequence[CitedSource], files: Sequence[Path], folder: Path
) -> tuple[dict[str, Path], dict[str, str]]:
    """Return the files of sources by their keys, and why others have none.

    A file at the address of a source is no other's, whatever number it begins with; what the addresses of several end
    with, as `index.html`, is the name of none.
    """
    ends = {source.key: [name for address in _addresses(source) for name in _ends(address)] for source in sources}
    shared = Counter(name for names in ends.values() for name in set(names))
    named = {path.stem: path for path in reversed(files)} | {path.name: path for path in files}
    matched: dict[str, Path] = {}
    for key, names in ends.items():
        fits = [named[name] for name in names if name in named and _is_name(name) and shared[name] == 1]
        if fits:
            matched[key] = fits[0]
    left = [path for path in files if path not in matched.values()]
    problems: dict[str, str] = {}
    for source in (source for source in sources if source.key not in matched):
        number, words = source.key.lstrip("^#"), _words(f"{source.key} {source.text}")
        fits = _distinct([path for path in left if (own := _NUMBER.match(path.stem)) and own[1] == number])
        fits = fits or _distinct([path for path in left if shared[path.name] < 2 and _is_part(path.stem, words)])
        if len(fits) == 1:
            matched[source.key] = fits[0]
        elif fits:
            listed, way = ", ".join(path.name for path in fits), f"number, {number}" if number.isdigit() else "address"
            problems[source.key] = f"{len(fits)} files in {folder} fit: {listed}; name only one as its {way}"
        else:
            problems[source.key] = f"no file in {folder} is named as its number, title or address"
    return matched, problems


def _addresses(source: CitedSource) -> Iterator[str]:
    """Yield the addresses of a source, and what else of its entry may be one: with a slash or the end of a name."""
    words = (word for word in source.text.split() if "/" in word or "." in word)
    for address in (*source.urls, *words):
        path, mark, query = address.strip(_AROUND).partition("#")[0].partition("?")
        yield unquote(path.rstrip("/.") + mark + query)


def _ends(address: str) -> tuple[str, ...]:
    """Return how a file of an address may be called: with its query (`watch?v=1`), as downloaders write it, or not."""
    path, mark, query = address.partition("?")
    last = path.rpartition("/")[2]
    return (f"{last}{mark}{query}", last) if mark else (last,)


def _is_name(name: str) -> bool:
    """Return whether a name is more than a small number, which may count anything: `run_007`, `1706.03762`."""
    return bool(_LETTER.search(name.partition(".")[0]) or _IDENTIFIER.match(name))


def _is_part(name: str, words: set[str]) -> bool:
    """Return whether all words of a name are among those of an entry; a name of numbers alone has none."""
    own = _words(name)
    return own <= words and not all(map(str.isdigit, own))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{2,}", text.casefold().replace("_", " ")))


def _distinct(files: Sequence[Path]) -> list[Path]:
    """Return the first of the files of each name: one document in several forms."""
    return sorted({path.stem: path for path in reversed(files)}.values())
