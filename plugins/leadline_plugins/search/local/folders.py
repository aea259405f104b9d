"""The folders of the plugin `local`: its settings, and the walk over the files.

The walk follows symbolic links to files that it would not come to otherwise, inside the folder only; other links are
named. A folder of the settings that is a link itself is resolved first. It skips the folders of runs and of the cache:
a run must not quote its own output.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from fnmatch import translate
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from leadline.contracts import Context
from leadline.display import missing_path
from leadline.plugin import PluginSettings
from leadline_plugins.parse.media import media_type, missing

# A folder with the first two files is the folder of a run; one with the other file, of stored documents.
_OWN = {"journal.sqlite", "metadata.json", "documents.sqlite"}
# Extensions that a message names.
_EXTENSIONS = 8


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
    """A regular file with its size in bytes; `problem` is the reason why it cannot be read, `target` that of a link."""

    path: str
    size: int
    mtime_ns: int
    problem: str = ""
    target: str = ""


def walk_of(settings: LocalSettings, context: Context, *own: Path) -> Walk:
    """Return the walk of an instance, which leaves out the folders of Leadline itself and `own`."""
    max_bytes, parses = int(settings.max_file_mb * 1e6), context.parses
    roots, left_out = resolve(settings.folders), resolve((*context.own, *own))
    return Walk(roots, settings.include, settings.exclude, max_bytes, parses, left_out)


@dataclass(frozen=True)
class Walk:
    """The files to find. `wanted` accepts media types; `own` are folders of Leadline itself, resolved."""

    roots: Sequence[Path]
    include: Sequence[str]
    exclude: Sequence[str]
    max_bytes: int
    wanted: Callable[[str], bool]
    own: Sequence[Path] = ()
    # The files that were passed over because of their kind, by extension.
    passed: Counter[str] = field(default_factory=Counter)

    def files(self) -> dict[str, File]:
        """Return the files by path."""
        return {file.path: file for file in self}

    def __iter__(self) -> Iterator[File]:
        for root in self.roots:
            if root.is_dir():
                yield from self._walk(str(root))
            elif self.wanted(media_type(root.name)):
                yield from self._file(str(root), os.lstat(root))

    def accepts(self, path: Path) -> bool:
        """Return whether the walk comes to a file, if it exists; its path is resolved. Its size is not looked at."""
        return any(
            self.wanted(media_type(path.name)) if path == root else root in path.parents and self._reaches(root, path)
            for root in self.roots
        )

    def _reaches(self, root: Path, path: Path) -> bool:
        included, excluded = _matcher(str(root), self.include), _matcher(str(root), self.exclude)
        folders = [folder for folder in path.parents if root in folder.parents]
        return (
            bool(included(path.name, str(path)))
            and self.wanted(media_type(path.name))
            and not any(excluded(part.name, str(part)) for part in (path, *folders))
            and path.parent == path.parent.resolve()
            and not self._is_own(root, path.resolve())
        )

    def _is_own(self, root: Path, path: Path) -> bool:
        folders = [folder for folder in path.parents if root in folder.parents]
        return any(
            ancestor in self.own or _is_own({name for name in _OWN if (ancestor / name).exists()})
            for ancestor in folders
        )

    def _walk(self, root: str) -> Iterator[File]:
        included, excluded = _matcher(root, self.include), _matcher(root, self.exclude)
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
            if folder != root and _is_own({entry.name for entry in entries}):
                continue
            for entry in entries:
                name, path = entry.name, entry.path
                if excluded(name, path):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if path not in own:
                        folders.append(path)
                    continue
                extension = name[name.rfind(".", 1) :] if "." in name[1:] else ""
                if extension not in wanted:
                    wanted[extension] = self.wanted(media_type(f"name{extension}"))
                if not included(name, path):
                    continue
                if not wanted[extension]:
                    self.passed[extension] += 1
                    continue
                try:
                    if entry.is_symlink():
                        yield from self._link(Path(root), path)
                    else:
                        yield from self._file(path, entry.stat(follow_symlinks=False))
                except FileNotFoundError:  # deleted since the folder was listed
                    continue

    def _link(self, root: Path, path: str) -> Iterator[File]:
        """Yield the file that a link leads to, unless the walk comes to it anyway; other links with their problem."""
        try:
            target = Path(path).resolve(strict=True)
        except (OSError, RuntimeError):
            yield File(path, 0, 0, "is a link to nothing")
            return
        if root != target and root not in target.parents:
            yield File(path, 0, 0, "is a link that leads out of the folder, and is not followed")
        elif target.is_dir():
            excluded = _matcher(str(root), self.exclude)
            if any(excluded(part.name, str(part)) for part in (target, *target.parents) if root in part.parents):
                yield File(path, 0, 0, "is a link to a folder that `exclude` leaves out")
        elif not self._is_own(root, target) and not self._reaches(root, target):
            yield from (file._replace(target=str(target)) for file in self._file(path, target.stat()))

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
    refused = Counter(Path(path).suffix for path in replace(walk, wanted=lambda _: True).files())
    files = f"{refused.total()} refused: {counted(refused)}" if refused else "no files"
    types = sorted({media_type(f"name{extension}") for extension, _ in refused.most_common(_EXTENSIONS)})
    files += f"; no parser of read.parsers accepts {' or '.join(types)}" if types else ""
    return f"no documents that can be read are in {names} ({files})"


def counted(kinds: Counter[str]) -> str:
    """Return the numbers of files by extension, most first."""
    shown = kinds.most_common(_EXTENSIONS)
    hint = missing(*(media_type(f"name{extension}") for extension in kinds))
    more = f", {left} others" if (left := kinds.total() - sum(count for _, count in shown)) else ""
    return ", ".join(f"{count} {extension or 'without extension'}" for extension, count in shown) + more + hint


def passed_over(kinds: Counter[str]) -> str:
    """Return what a notice says of files that no parser reads; empty without any."""
    files = "1 file is of a kind" if kinds.total() == 1 else f"{kinds.total()} files are of kinds"
    return f"{files} that no parser of read.parsers reads: {counted(kinds)}" if kinds else ""


def _is_own(names: Set[str]) -> bool:
    return "documents.sqlite" in names or names >= _OWN - {"documents.sqlite"}


def _matcher(root: str, patterns: Sequence[str]) -> Callable[[str, str], object]:
    """Return the matcher of a name and its path below a root; patterns with a slash match the path in the root."""
    if not patterns or "*" in patterns:
        return lambda name, path: bool(patterns)
    begin = len(root.rstrip("/")) + 1
    name_of, path_of = (
        re.compile("|".join(translate(pattern) for pattern in patterns if ("/" in pattern) == is_path) or "(?!)").match
        for is_path in (False, True)
    )
    if not any("/" in pattern for pattern in patterns):
        return lambda name, path: name_of(name)
    return lambda name, path: name_of(name) or path_of(path[begin:])


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
