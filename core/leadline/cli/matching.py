"""Which file of a folder is which source of a report: by its address, its number, or the words of its name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

_ENOUGH = 0.6
"""Share of the words of a file's name that must stand in the entry of a source."""
_NUMBER = re.compile(r"\W*0*(\d+)(?!\d)")
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
    called = Counter(map(_last, {place for own in places.values() for place in own}))
    found = Matches(files=_addressed(places, called, files))
    left = [path for path in files if path not in found.files.values()]
    worded = [path for path in left if max(called[path.name], called[path.stem]) < 2]
    for source in (source for source in sources if source.key not in found.files):
        fits = _numbered(source, left) or _worded(source, worded)
        if len(fits) == 1:
            found.files[source.key] = fits[0]
        elif fits:
            names = ", ".join(path.name for path in fits)
            found.problems[source.key] = f"{len(fits)} files in {folder} fit: {names}; name one {_name(source)}"
        else:
            found.problems[source.key] = f"no file in {folder} is named as its number, title or address"
    return found


def _name(source: Listed) -> str:
    number = source.key.lstrip("^#")
    return f"as its number, {number}" if number.isdigit() else "as its address ends"


def _addressed(
    places: Mapping[str, Sequence[str]], called: Mapping[str, int], files: Sequence[Path]
) -> dict[str, Path]:
    """Return the files that an entry names, by path or by name; `called`: how many addresses end with a name."""
    by_path = {str(path.resolve()): path for path in files}
    named = {path.stem: path for path in reversed(files)} | {path.name: path for path in files}
    found: dict[str, Path] = {}
    for key, own in places.items():
        at = [by_path[place] for place in own if place in by_path]
        at += [named[name] for place in own if (name := _last(place)) in named and _tells(name) and called[name] == 1]
        if at:
            found[key] = at[0]
    return found


def _places(source: Listed) -> Iterator[str]:
    """Yield the addresses of a source, and what else of its entry may be one: with a slash or the end of a name."""
    said = (word for word in source.text.split() if "/" in word or "." in word)
    for place in (*source.urls, *said):
        bare = place.strip(_AROUND).partition("#")[0].partition("?")[0]
        yield unquote(bare.removeprefix("file://")).rstrip("/.")


def _last(place: str) -> str:
    return place.rpartition("/")[2]


def _tells(name: str) -> bool:
    """Return whether a name is more than a number, which counts something else than the sources."""
    return bool(re.search(r"[^\W\d_]", name.partition(".")[0]))


def _numbered(source: Listed, files: Sequence[Path]) -> list[Path]:
    """Return the file that begins with the number of a source: `7.pdf`, `[7] Title.html`, `07-title.md`."""
    key = source.key.lstrip("^#")
    return [path for path in files if (number := _NUMBER.match(path.stem)) and number[1] == key][:1]


def _worded(source: Listed, files: Sequence[Path]) -> list[Path]:
    """Return the files whose names share most words with an entry: more than one where nothing tells them apart.

    Numbers tell apart what words do not: of the years and volumes of an entry, a file that has some must have one.
    """
    words, numbers = _parted(" ".join([source.text, *source.urls]))
    ranked: list[tuple[tuple[float, int, int], Path]] = []
    for path in files:
        own, counted = _parted(path.stem)
        shared, same = own & words, counted & numbers
        if own and len(shared) / len(own) >= _ENOUGH and (same or not counted or not numbers):
            ranked.append(((len(shared) / len(own), len(same), len(shared)), path))
    best = max((rank for rank, _ in ranked), default=None)
    fits = {path.stem: path for rank, path in reversed(ranked) if rank == best}
    return sorted(fits.values())


def _parted(text: str) -> tuple[set[str], set[str]]:
    """Return the words of a text, and the numbers in it."""
    found = set(re.findall(r"\w{2,}", text.casefold().replace("_", " ")))
    numbers = {word for word in found if word.isdigit()}
    return found - numbers, numbers
