"""The search engine over folders, and the fetcher of their files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leadline.contracts import Call, Context
from leadline.errors import Denied, Unsupported
from leadline.records import Blob, FetchRequest, Hit, SearchPage, SearchRequest
from leadline_plugins.documents.text_index import Match
from leadline_plugins.parse.media import media_type
from leadline_plugins.passages.cutting import as_passage
from leadline_plugins.search.filters import place
from leadline_plugins.search.local.addresses import Addresses
from leadline_plugins.search.local.folders import LocalSettings, read, resolve, walk_of
from leadline_plugins.search.local.index import LocalIndex

# Passages that are ranked, at least.
_PASSAGES = 50


class LocalSearch:
    """Ranks the documents of the folders; the first search builds the index."""

    def __init__(self, settings: LocalSettings, context: Context) -> None:
        self._index = LocalIndex(settings, context)
        self._addresses = Addresses(context.name, resolve(settings.folders))

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return documents with the passages that rank highest, verbatim; the snippet is the best of them."""
        start = place(request.cursor, first=0)
        end = start + request.limit
        matches, suggestion = await self._index.search(request.query, max(_PASSAGES, 5 * end), call)
        by_path: dict[str, list[Match]] = {}
        for path, match in matches:
            by_path.setdefault(path, []).append(match)
        hits = [self._hit(*pair) for pair in list(by_path.items())[start:end]]
        more = str(end) if len(by_path) > end else None
        return SearchPage(hits=tuple(hits), cursor=more, suggestion=suggestion)

    async def problems(self, call: Call) -> list[tuple[str, str]]:
        """Return the paths of the files that could not be read, with the reasons."""
        return await self._index.problems(call)

    def _hit(self, path: str, matches: Sequence[Match]) -> Hit:
        best = matches[0]
        return Hit(
            url=self._addresses.of(path),
            title=best.passage.title,
            snippet=best.passage.evidence.quote,
            score=best.score,
            passages=tuple(as_passage(match.passage.evidence, match.score) for match in matches),
        )


class LocalFetcher:
    """Reads the files that the search finds and refuses all others: any engine may name an address."""

    def __init__(self, settings: LocalSettings, context: Context) -> None:
        self._addresses = Addresses(context.name, resolve(settings.folders))
        self._walk = walk_of(settings, context)
        self._context = context

    def accepts(self, url: str, /) -> bool:
        """Accept addresses of files in the folders; another instance may have other folders."""
        try:
            self._path(url)
        except Denied:
            return False
        return True

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        """Return the bytes. Raises `Denied` outside the folders, `Unsupported` if the file does not exist."""
        return await self._context.in_thread(self._read, request.url)

    def _path(self, url: str) -> Path:
        path = self._addresses.path(url)
        if not self._walk.accepts(path):
            left_out = "by include or exclude, as Leadline's own, or as of a type that no parser reads"
            raise Denied(f"{url} is left out of plugins.{self._context.name}: {left_out}")
        return path

    def _read(self, url: str) -> Blob:
        path = self._path(url)
        try:
            data = read(str(path.resolve()), self._walk.max_bytes)
        except OSError as error:
            raise Unsupported(f"{url}: {error.strerror or error}") from error
        return Blob(name=path.name, media_type=media_type(path.name), data=data)
