"""The search engine over folders, and the fetcher of their files."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

from leadline.contracts import Call, Context
from leadline.errors import BadReply, Denied, Unsupported
from leadline.records import Blob, FetchRequest, Hit, SearchPage, SearchRequest
from leadline_plugins.parse.media import media_type
from leadline_plugins.search.local.folders import LocalSettings, read, resolve, within
from leadline_plugins.search.local.index import LocalIndex
from leadline_plugins.search.local.ranking import Match
from leadline_plugins.search.local.update import Problem


class LocalSearch:
    """Ranks the documents of the folders; the first search builds the index."""

    def __init__(self, settings: LocalSettings, context: Context) -> None:
        self._index = LocalIndex(settings, context)

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return documents; the snippet is their best passage, verbatim."""
        start = _offset(request.cursor)
        end = start + request.limit
        matches = await self._index.search(request.query, end + 1, call)
        more = str(end) if len(matches) > end else None
        return SearchPage(hits=tuple(_hit(match) for match in matches[start:end]), cursor=more)

    async def problems(self, call: Call) -> tuple[Problem, ...]:
        """Return the files that could not be read, with the reasons."""
        return await self._index.problems(call)


class LocalFetcher:
    """Reads the files of the folders and refuses all others."""

    def __init__(self, settings: LocalSettings, context: Context) -> None:
        self._roots = resolve(settings.folders)
        self._max_bytes = int(settings.max_file_mb * 1e6)
        self._context = context

    def accepts(self, url: str, /) -> bool:
        """Accept file URLs in the folders; another instance may have other folders."""
        try:
            return within(path_of(url), self._roots)
        except Denied:
            return False

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        """Return the bytes. Raises `Denied` outside the folders, `Unsupported` if the file does not exist."""
        return await self._context.in_thread(self._read, path_of(request.url))

    def _read(self, path: Path) -> Blob:
        if not within(path, self._roots):
            folders = ", ".join(str(root) for root in self._roots) or "none"
            raise Denied(f"{path}: is not in the folders of plugins.local.folders ({folders})")
        try:
            data = read(str(path.resolve()), self._max_bytes)
        except OSError as error:
            raise Unsupported(f"{path}: {error.strerror or error}") from error
        return Blob(name=path.name, media_type=media_type(path.name), data=data)


def url_of(path: str) -> str:
    """Return the file URL of an absolute path, whose name may have any bytes."""
    return "file://" + quote_from_bytes(os.fsencode(path))


def path_of(url: str) -> Path:
    """Return the path of a file URL on this machine. Raises `Denied` for anything else."""
    try:
        parts = urlsplit(url)
        path = unquote_to_bytes(parts.path)
    except ValueError as error:
        raise Denied(f"{url}: is not a URL ({error})") from None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or b"\0" in path:
        raise Denied(f"{url} is not a file on this machine")
    return Path(os.fsdecode(path))


def _hit(match: Match) -> Hit:
    passage = match.passage
    return Hit(url=url_of(passage.path), title=passage.title, snippet=passage.text, score=match.score)


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal():
        raise BadReply(f"{cursor!r} is not a cursor of this engine")
    return int(cursor)
