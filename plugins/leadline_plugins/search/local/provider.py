"""The search engine over folders, and the fetcher of their files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote, quote_from_bytes, unquote_to_bytes, urlsplit

from leadline.contracts import Call, Context
from leadline.errors import Denied, Unsupported
from leadline.records import Blob, FetchRequest, Hit, SearchPage, SearchRequest
from leadline_plugins.documents.text_index import Match
from leadline_plugins.parse.media import media_type
from leadline_plugins.passages.cutting import as_passage
from leadline_plugins.search.filters import page_start
from leadline_plugins.search.local.folders import LocalSettings, read, resolve, walk_of, within
from leadline_plugins.search.local.index import LocalIndex

SCHEME = "local"


class Addresses:
    """The addresses of one instance; `roots` are its folders and single files, resolved."""

    def __init__(self, instance: str, roots: Sequence[Path]) -> None:
        self._host = quote(instance, safe="")
        self._roots = dict(zip(_labels(roots), roots, strict=True))

    def of(self, path: str) -> str:
        """Return the address of a file in one of the folders, whose name may have any bytes."""
        label, root = next(
            pair for pair in self._roots.items() if pair[1] == Path(path) or pair[1] in Path(path).parents
        )
        inside = os.path.relpath(path, root) if path != str(root) else ""
        return f"{SCHEME}://{self._host}/{quote_from_bytes(os.fsencode('/'.join(filter(None, (label, inside)))))}"

    def path(self, url: str) -> Path:
        """Return the path of an address or a file URL. Raises `Denied` for what is, or leads, out of the folders."""
        try:
            parts = urlsplit(url)
            path = unquote_to_bytes(parts.path)
        except ValueError as error:
            raise Denied(f"{url} is not a URL ({error})") from None
        if b"\0" in path:
            raise Denied(f"{url} is not the name of a file")
        if parts.scheme == SCHEME and parts.netloc == self._host:
            file = self._in_folder(os.fsdecode(path).lstrip("/"))
        elif parts.scheme == "file" and parts.netloc in ("", "localhost"):
            file = Path(os.fsdecode(path))
        else:
            raise Denied(f"{url} is not a document of this machine")
        if file is None or not within(file, list(self._roots.values())):
            raise Denied(f"{url} is in no folder of plugins.{self._host}.folders")
        return Path(os.path.normpath(file))

    def _in_folder(self, name: str) -> Path | None:
        for label, root in self._roots.items():
            if name == label:
                return root
            if name.startswith(f"{label}/"):
                return root / name.removeprefix(f"{label}/")
        return None


def _labels(roots: Sequence[Path]) -> list[str]:
    """Return a name for each folder: its own, preceded by as many folders above it as tell all of them apart."""
    for depth in range(1, max((len(root.parts) for root in roots), default=1) + 1):
        labels = ["/".join(root.parts[1:][-depth:]) or "files" for root in roots]
        if len(set(labels)) == len(labels):
            break
    return labels


# Passages that are ranked, at least.
_PASSAGES = 50


class LocalSearch:
    """Ranks the documents of the folders; the first search builds the index."""

    def __init__(self, settings: LocalSettings, context: Context) -> None:
        self._index = LocalIndex(settings, context)
        self._addresses = Addresses(context.name, resolve(settings.folders))

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return documents with the passages that rank highest, verbatim; the snippet is the best of them."""
        start = page_start(request.cursor, first=0)
        end = start + request.limit
        matches, suggestion = await self._index.search(request.query, max(_PASSAGES, 5 * end), call)
        by_path: dict[str, list[Match]] = {}
        for path, match in matches:
            by_path.setdefault(path, []).append(match)
        hits = [self._hit(*pair) for pair in list(by_path.items())[start:end]]
        more = str(end) if len(by_path) > end else None
        return SearchPage(hits=tuple(hits), cursor=more, suggestion=suggestion)

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
