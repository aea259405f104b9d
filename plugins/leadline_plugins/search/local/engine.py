"""The offers of the plugin `local`: a search engine over folders, and the fetcher of their files."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

from leadline.contracts import Call, Context
from leadline.errors import BadReply, Denied, Unsupported
from leadline.records import Blob, FetchRequest, Hit, SearchPage, SearchRequest
from leadline_plugins.parse.media import media_type
from leadline_plugins.search.local.folders import read, resolve, within
from leadline_plugins.search.local.index import LocalIndex
from leadline_plugins.search.local.manifest import Problem
from leadline_plugins.search.local.settings import LocalSettings
from leadline_plugins.search.local.store import Match


class LocalSearch:
    """Ranks the documents of the folders; the first search builds the index."""

    def __init__(self, settings: LocalSettings, context: Context) -> None:
        self._index = LocalIndex(settings, context)

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return documents with their best passage as snippet, verbatim."""
        start = _offset(request.cursor)
        end = start + request.limit
        matches = await self._index.search(request.query, end + 1, call)
        more = str(end) if len(matches) > end else None
        return SearchPage(hits=tuple(_hit(match) for match in matches[start:end]), cursor=more)

    async def problems(self, call: Call) -> tuple[Problem, ...]:
        """Return the files that could not be read, and why."""
        return await self._index.problems(call)


class LocalFetcher:
    """Reads files of the folders, and refuses all others."""

    def __init__(self, settings: LocalSettings, context: Context) -> None:
        self._roots = resolve(settings.folders)
        self._max_bytes = int(settings.max_file_mb * 1e6)
        self._context = context

    def accepts(self, url: str, /) -> bool:
        """Accept the URLs of files in the folders; another instance may have other folders."""
        try:
            return within(path_of(url), self._roots)
        except Denied:
            return False

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        """Return the bytes; raises `Denied` outside the folders, `Unsupported` where there is no such file."""
        return await self._context.in_thread(self._read, path_of(request.url))

    def _read(self, path: Path) -> Blob:
        if not within(path, self._roots):
            folders = ", ".join(str(root) for root in self._roots) or "none"
            raise Denied(f"{path}: lies outside the folders that may be read ({folders}); see plugins.local.folders")
        try:
            data = read(str(path.resolve()), self._max_bytes)
        except OSError as error:
            raise Unsupported(f"{path}: {error.strerror or error}") from error
        return Blob(name=path.name, media_type=media_type(path.name), data=data)


def url_of(path: str) -> str:
    """Return the file URL of an absolute path, whatever bytes its name is made of."""
    return "file://" + quote_from_bytes(os.fsencode(path))


def path_of(url: str) -> Path:
    """Return the path of a file URL on this machine. Raises `Denied` for any other, and for what is no URL."""
    try:
        parts = urlsplit(url)
        path = unquote_to_bytes(parts.path)
    except ValueError as error:
        raise Denied(f"{url}: is no address ({error})") from None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or b"\0" in path:
        raise Denied(f"{url}: is no file of this machine")
    return Path(os.fsdecode(path))


def _hit(match: Match) -> Hit:
    passage = match.passage
    return Hit(url=url_of(passage.path), title=passage.title, snippet=passage.text, score=match.score)


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal():
        raise BadReply(f"{cursor!r} is no cursor of this engine")
    return int(cursor)
