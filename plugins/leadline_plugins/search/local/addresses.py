"""Addresses of documents: `local://INSTANCE/FOLDER/PATH`, with the path relative to a folder of the settings.

Reports are shared, so no address tells where on the machine a folder is. The name of the instance keeps the documents
of two instances apart; folders of one instance with equal names are told apart by the folders above them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote, quote_from_bytes, unquote_to_bytes, urlsplit

from leadline.errors import Denied
from leadline_plugins.search.local.folders import within

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
            found = self._in_folder(os.fsdecode(path).lstrip("/"))
        elif parts.scheme == "file" and parts.netloc in ("", "localhost"):
            found = Path(os.fsdecode(path))
        else:
            raise Denied(f"{url} is not a document of this machine")
        if found is None or not within(found, list(self._roots.values())):
            raise Denied(f"{url} is in no folder of plugins.{self._host}.folders")
        return Path(os.path.normpath(found))

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
