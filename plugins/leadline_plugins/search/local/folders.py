"""The folders of the plugin `local`: its settings, and the walk over the files.

The walk follows no symbolic links, so that it has no loops and never leaves a folder; a folder of the settings that is
a link itself is resolved first. It skips the folders of runs and of the cache: a run must not quote its own output.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from leadline.display import missing_path
from leadline.hookspecs import PluginSettings
from leadline_plugins.parse.media import media_type

_Matcher = Callable[[str], object]
# A folder with both files is the folder of a run; one with the other file, of the knowledge base.
_RUN_FILES = {"journal.sqlite", "metadata.json"}
_KNOWLEDGE_FILE = "documents.sqlite"
# Extensions that a message names.
_EXTENSIONS = 5


class LocalSettings(PluginSettings):
    """Folders of documents as a search engine. Patterns are those of the shell; with a slash they match paths."""

    folders: list[Path] = Field([], description="folders or single files to search, with all folders below")
    include: list[str] = Field(["*"], description="files to read, if a parser accepts their type")
    exclude: list[str] = Field(
        [".*", "~*", "*~", "node_modules", "__pycache__", "*.lock"], description="files and folders to skip"
    )
    max_file_mb: float = Field(50, gt=0, description="largest file to read, in MB; larger ones are listed as problems")
    refresh: float = Field(30, ge=0, description="seconds between two checks of the folders for changes")


def ready(settings: LocalSettings) -> str | None:
    """Return the fault of the settings: no folder, one that does not exist, or nothing to read in any."""
    if not settings.folders:
        return "no folder is set: plugins.local.folders, or --docs DIR"
    missing = [folder for folder in settings.folders if not folder.expanduser().exists()]
    if missing:
        return f"no such folder: {', '.join(map(missing_path, missing))}"
    faults = [_fault(settings, root) for root in resolve(settings.folders)]
    return "; ".join(faults) if all(faults) else None


def _fault(settings: LocalSettings, root: Path) -> str:
    """Return why nothing in a folder can be read; empty as soon as a file is found."""
    refused = ""
    for file in Walk([root], settings.include, settings.exclude, sys.maxsize, lambda _: True):
        if not file.problem and os.access(file.path, os.R_OK):
            return ""
        refused = refused or f"{file.path} {file.problem or 'cannot be read: permission denied'}"
    return refused or f"{root} has no files to search"


class File(NamedTuple):
    """A regular file with its size in bytes; `problem` is the reason why it cannot be read."""

    path: str
    size: int
    mtime_ns: int
    problem: str = ""


@dataclass(frozen=True)
class Walk:
    """The files to find. `wanted` accepts media types; `own` are folders of Leadline itself, resolved."""

    roots: Sequence[Path]
    include: Sequence[str]
    exclude: Sequence[str]
    max_bytes: int
    wanted: Callable[[str], bool]
    own: Sequence[Path] = ()

    def files(self) -> dict[str, File]:
        """Return the files by path."""
        return {file.path: file for file in self}

    def __iter__(self) -> Iterator[File]:
        for root in self.roots:
            if root.is_dir():
                yield from self._walk(str(root))
            elif self.wanted(media_type(root.name)):
                yield from self._file(str(root), os.lstat(root))

    def _walk(self, root: str) -> Iterator[File]:
        included, included_path = _matchers(self.include)
        excluded, excluded_path = _matchers(self.exclude)
        own = {str(folder) for folder in self.own}
        # Whether files with an extension are wanted: asking for every file would take as long as the walk itself.
        wanted: dict[str, bool] = {}
        folders = [root]
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(folder) as listing:
                    entries = list(listing)
            except OSError as error:
                yield File(folder, 0, 0, f"cannot be listed: {error.strerror}")
                continue
            names = {entry.name for entry in entries}
            if folder != root and (names >= _RUN_FILES or _KNOWLEDGE_FILE in names):
                continue
            for entry in entries:
                name, path = entry.name, entry.path
                if excluded(name) or (excluded_path and excluded_path(path[len(root) + 1 :])):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if path not in own:
                        folders.append(path)
                    continue
                extension = name[name.rfind(".", 1) :] if "." in name[1:] else ""
                if extension not in wanted:
                    wanted[extension] = self.wanted(media_type(f"name{extension}"))
                if wanted[extension] and (included(name) or (included_path and included_path(path[len(root) + 1 :]))):
                    try:
                        yield from self._file(path, entry.stat(follow_symlinks=False))
                    except FileNotFoundError:  # deleted since the folder was listed
                        continue

    def _file(self, path: str, status: os.stat_result) -> Iterator[File]:
        if not stat.S_ISREG(status.st_mode):
            return
        problem = ""
        if status.st_size > self.max_bytes:
            sizes = f"{status.st_size / 1e6:.0f} MB of {self.max_bytes / 1e6:.0f} MB"
            problem = f"is larger than max_file_mb: {sizes}"
        yield File(path, status.st_size, status.st_mtime_ns, problem)


def without_documents(walk: Walk) -> str:
    """Return that no document of a walk can be read, with the number of files refused by extension."""
    names = ", ".join(root.name or str(root) for root in walk.roots)
    refused = Counter(Path(path).suffix or "without extension" for path in replace(walk, wanted=lambda _: True).files())
    counted = ", ".join(f"{count} {extension}" for extension, count in refused.most_common(_EXTENSIONS))
    more = f", {left} others" if (left := refused.total() - sum(n for _, n in refused.most_common(_EXTENSIONS))) else ""
    files = f"{refused.total()} refused: {counted}{more}" if refused else "no files"
    return f"no documents that can be read are in {names} ({files})"


def _matchers(patterns: Sequence[str]) -> tuple[_Matcher, _Matcher | None]:
    """Return the matcher of names, and the matcher of paths if some patterns have a slash."""
    paths = [pattern for pattern in patterns if "/" in pattern]
    names = [pattern for pattern in patterns if "/" not in pattern]
    return _matcher(names), _matcher(paths) if paths else None


def _matcher(patterns: Sequence[str]) -> _Matcher:
    if not patterns or "*" in patterns:
        return lambda text: bool(patterns)
    return re.compile("|".join(map(translate, patterns))).match


def resolve(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders as absolute paths without links, each once, sorted."""
    return tuple(sorted({folder.expanduser().resolve() for folder in folders}))


def within(path: Path, roots: Sequence[Path]) -> bool:
    """Return whether a path, its links resolved, is in one of the resolved folders."""
    real = path.resolve()
    return any(real == root or root in real.parents for root in roots)


def read(path: str, max_bytes: int) -> bytes:
    """Return the bytes of a regular file. Raises `OSError` if it is too large or was replaced by anything else."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is not a regular file")
        if status.st_size > max_bytes:
            raise OSError(errno.EFBIG, f"is larger than {max_bytes / 1e6:.0f} MB")
        return file.read(max_bytes)
