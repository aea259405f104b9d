"""Which file of a folder is which source of a report: by its address, its number, or the words of its name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

_ENOUGH = 0.6
"""Share of the words of a file's name that must stand in the entry of a source."""
_NUMBER = re.compile(r"\W*0*(\d+)(?![^\W_])(?!\.\d)(?![\W_][b-zB-Z\d](?![^\W_]))")
"""A number that a name begins with, by itself: not that of `3d-printing`, `1.5-degrees`, `10-K_2023`, `10.1000_182`."""
_LETTER = re.compile(r"[^\W\d_]")
_IDENTIFIER = re.compile(r"\d{6}|\d+\.\d")
_AROUND = "\"'<>()[]（）【】,;。，；"


class Listed(Protocol):
    """A source as a report lists it."""

    @property
    def key(self) -> str:
        """Its number in the list, or its address."""

    @property
    def text(self) -> str:
        """Its entry."""

    @property
    def urls(self) -> tuple[str, ...]:
        """Its addresses."""


@dataclass
class Matches:
    """The files of sources by their keys, and what is in the way of others."""

    files: dict[str, Path] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def matches(sources: Sequence[Listed], files: Sequence[Path], folder: Path) -> Matches:
    """Return the file of each source: that at its address, or named like it; else by number, or by words.

    A file at the address of a source is no other's, whatever number it begins with; what the addresses of several end
    with, as `index.html`, tells none of them.
    """
    places = {source.key: tuple(dict.fromkeys(_places(source))) for source in sources}
    called = Counter(name for name, _ in {pair for own in places.values() for pair in _ends(own)})
    found = Matches(files=_addressed(places, called, files))
    left = [path for path in files if path not in found.files.values()]
    worded = [path for path in left if max(called[path.name], called[path.stem]) < 2]
    for source in (source for source in sources if source.key not in found.files):
        numbered = _numbered(source, left)
        fits = _better(source, numbered, _worded(source, worded))
        if len(fits) == 1:
            found.files[source.key] = fits[0]
        elif fits:
            names, one = ", ".join(path.name for path in fits), "only one" if numbered else "one"
            found.problems[source.key] = f"{len(fits)} files in {folder} fit: {names}; name {one} {_name(source)}"
        else:
            found.problems[source.key] = f"no file in {folder} is named as its number, title or address"
    return found


def _name(source: Listed) -> str:
    number = source.key.lstrip("^#")
    return f"as its number, {number}" if number.isdigit() else "as its address ends"


@dataclass(frozen=True)
class _Place:
    """An address, or what may be one; the query tells apart what ends alike: `watch?v=1`, `watch?v=2`."""

    path: str
    query: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """How a file of it may be called: with its query, as downloaders write it, or without."""
        last = self.path.rpartition("/")[2]
        return (f"{last}?{self.query}", last) if self.query else (last,)


def _ends(places: Iterable[_Place]) -> Iterator[tuple[str, _Place]]:
    """Yield what the places of one source end with, each with the first of them: they are one document."""
    yield from {name: place for place in reversed([*places]) for name in place.names}.items()


def _addressed(
    places: Mapping[str, Sequence[_Place]], called: Mapping[str, int], files: Sequence[Path]
) -> dict[str, Path]:
    """Return the files that an entry names, by path or by name; `called`: how many addresses end with a name."""
    by_path = [(f"/{path.resolve()}", path) for path in files]
    named = {path.stem: path for path in reversed(files)} | {path.name: path for path in files}
    found: dict[str, Path] = {}
    for key, own in places.items():
        at = [path for place in own if "/" in place.path for whole, path in by_path if whole.endswith(f"/{place.path}")]
        names = [name for place in own for name in place.names]
        at += [named[name] for name in names if name in named and _tells(name) and called[name] == 1]
        if at:
            found[key] = at[0]
    return found


def _places(source: Listed) -> Iterator[_Place]:
    """Yield the addresses of a source, and what else of its entry may be one: with a slash or the end of a name."""
    said = (word for word in source.text.split() if "/" in word or "." in word)
    for place in (*source.urls, *said):
        bare, _, query = place.strip(_AROUND).partition("#")[0].partition("?")
        yield _Place(unquote(bare.removeprefix("file://")).rstrip("/."), unquote(query))


def _tells(name: str) -> bool:
    """Return whether a name is more than a number, which counts something else than the sources.

    A long number is the name of something, and so is one with a point: `1706.03762`.
    """
    return bool(_LETTER.search(name.partition(".")[0]) or _IDENTIFIER.match(name))


def _numbered(source: Listed, files: Sequence[Path]) -> list[Path]:
    """Return the files that begin with the number of a source: `7.pdf`, `[7] Title.html`, `07-title.md`."""
    key = source.key.lstrip("^#")
    fits = [path for path in files if (number := _NUMBER.match(path.stem)) and number[1] == key]
    return _once(fits)


def _better(source: Listed, numbered: list[Path], worded: list[Path]) -> list[Path]:
    """Return the files that fit by number, but by words where they tell which, or that the number counts others."""
    if both := [path for path in numbered if path in worded]:
        return both
    words = _parted(_said(source))[0]
    strange = worded and all((own := _parted(path.stem)[0]) and not own & words for path in numbered)
    return worded if strange else numbered


def _worded(source: Listed, files: Sequence[Path]) -> list[Path]:
    """Return the files whose names share most words with an entry: more than one where nothing tells them apart.

    Numbers tell apart what words do not: of the years and volumes of an entry, a file that has some must have one.
    """
    words, numbers = _parted(_said(source))
    ranked: list[tuple[tuple[float, int, int], Path]] = []
    for path in files:
        own, counted = _parted(path.stem)
        shared, same = own & words, counted & numbers
        if own and len(shared) / len(own) >= _ENOUGH and (same or not counted or not numbers):
            ranked.append(((len(shared) / len(own), len(same), len(shared)), path))
    best = max((rank for rank, _ in ranked), default=None)
    return _once([path for rank, path in ranked if rank == best])


def _once(files: Sequence[Path]) -> list[Path]:
    """Return the first of the files of each name: one document in several forms."""
    return sorted({path.stem: path for path in reversed(files)}.values())


def _said(source: Listed) -> str:
    return " ".join([source.text, *source.urls])


def _parted(text: str) -> tuple[set[str], set[str]]:
    """Return the words of a text, and the numbers in it."""
    found = set(re.findall(r"\w{2,}", text.casefold().replace("_", " ")))
    numbers = {word for word in found if word.isdigit()}
    return found - numbers, numbers
