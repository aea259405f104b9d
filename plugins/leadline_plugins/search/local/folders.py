"""Which files lie in the folders: a walk that neither follows links nor opens anything.

Symbolic links are passed over, so that there are no loops and nothing outside the folders is ever read; a folder that
is itself a link is resolved first.

What the house wrote itself is no document: a run that found the plan or the report of another, or its own, would quote
itself as evidence.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path

from leadline.runs.folder import is_run
from leadline_plugins.parse.media import media_type


@dataclass(frozen=True)
class File:
    """A regular file as the walk found it; `problem` says why it cannot be read."""

    path: str
    size: int
    """In bytes."""
    mtime_ns: int
    problem: str = ""


@dataclass(frozen=True)
class Walk:
    """What to look for. `wanted` is asked for each media type; `own` are folders of the house, resolved."""

    roots: Sequence[Path]
    include: Sequence[str]
    exclude: Sequence[str]
    max_bytes: int
    wanted: Callable[[str], bool]
    own: Sequence[Path] = ()

    def files(self) -> dict[str, File]:
        """Return the files by path, in the order of their paths."""
        found = {file.path: file for root in self.roots for file in self._under(root)}
        return dict(sorted(found.items()))

    def _under(self, root: Path) -> Iterator[File]:
        if not root.is_dir():
            yield from self._file(str(root), root.name)
            return
        included, excluded = _pattern(self.include), _pattern(self.exclude)
        own = {str(folder) for folder in self.own}
        folders = [str(root)]
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(folder) as entries:
                    inside = list(entries)
            except OSError as error:
                yield File(folder, 0, 0, f"cannot be listed: {error.strerror}")
                continue
            if folder != str(root) and is_run({entry.name for entry in inside}):  # the root is searched as it was asked
                continue
            for entry in inside:
                below = entry.path[len(str(root)) + 1 :]
                if excluded(entry.name) or excluded(below):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders += [entry.path] if entry.path not in own else []
                elif entry.is_file(follow_symlinks=False) and (included(entry.name) or included(below)):
                    yield from self._file(entry.path, entry.name)

    def _file(self, path: str, name: str) -> Iterator[File]:
        if not self.wanted(media_type(name)):
            return
        try:
            status = os.lstat(path)
        except FileNotFoundError:  # gone since the folder was listed
            return
        if stat.S_ISREG(status.st_mode):
            yield File(path, status.st_size, status.st_mtime_ns, self._problem(status.st_size))

    def _problem(self, size: int) -> str:
        large = f"is larger than max_file_mb: {size / 1e6:.0f} MB of {self.max_bytes / 1e6:.0f} MB"
        return large if size > self.max_bytes else ""


def _pattern(globs: Sequence[str]) -> Callable[[str], object]:
    return re.compile("|".join(translate(glob) for glob in globs) or r"(?!)").match


def resolve(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders as absolute paths without links, each once, in order."""
    return tuple(sorted({folder.expanduser().resolve() for folder in folders}))


def within(path: Path, roots: Sequence[Path]) -> bool:
    """Return whether a path, its links resolved, lies in one of the resolved folders."""
    real = path.resolve()
    return any(real == root or root in real.parents for root in roots)


def read(path: str, max_bytes: int) -> bytes:
    """Read a regular file of at most so many bytes; raises `OSError`, as for whatever else has come into its place."""
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(opened, "rb") as file:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is no regular file")
        if status.st_size > max_bytes:
            raise OSError(errno.EFBIG, f"is larger than {max_bytes / 1e6:.0f} MB")
        return file.read(max_bytes)
