"""What tells the code of a plugin from that before an upgrade or an edit, for replies that other runs may use."""

from __future__ import annotations

import sys
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from leadline._hosting.loading import Plugin


def revision(plugin: Plugin) -> str:
    """Return the version of a plugin's distribution; a digest of its files if these change without a new version."""
    if plugin.distribution and not _is_from_a_folder(plugin.distribution):
        return f"{plugin.distribution} {plugin.version}"
    return " ".join(sorted({_digest(_root(offer.make.__module__)) for offer in plugin.offers.values()}))


@cache
def _is_from_a_folder(name: str) -> bool:
    """Return whether a distribution was installed from a folder or an address (PEP 610), and not from an index."""
    try:
        return distribution(name).read_text("direct_url.json") is not None
    except PackageNotFoundError:
        return True


def _root(module: str) -> Path | None:
    """Return the folder of the top package of a module, or the file of a module alone."""
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):  # a namespace package has no file
        if file := getattr(sys.modules.get(".".join(parts[:depth])), "__file__", None):
            return Path(file).parent if Path(file).stem == "__init__" else Path(file)
    return None


@cache
def _digest(root: Path | None) -> str:
    """Return a digest of a file, or of all files of a package; computed once, as modules are imported once."""
    content = blake2b(digest_size=16)
    for path in sorted(root.rglob("*") if root and root.is_dir() else filter(None, [root])):
        if path.is_file() and path.suffix != ".pyc":
            content.update(f"{path}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return content.hexdigest()
