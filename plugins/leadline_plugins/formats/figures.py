"""Figures: their numbers, their files, and where they stand."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from leadline.records import Blob, Figure, Report
from leadline_plugins.formats.address import shown
from leadline_plugins.formats.drawings import harmless
from leadline_plugins.formats.tree import Node, spaced, text, words
from leadline_plugins.wording import everywhere, say

ENDINGS = {"image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpg"}
_BEGINS = {"image/png": b"\x89PNG\r\n", "image/jpeg": b"\xff\xd8", "image/svg+xml": b"<"}
_SHORT = ("Fig.", "Abb.", "Рис.", "рис.", "рисунке", "рисунок", "شكل")
"""How texts mention a figure besides by its label."""


@dataclass(frozen=True)
class Numbered:
    """A figure with its number and its picture; None where it has none that can be shown."""

    number: int
    figure: Figure
    file: Blob | None


def numbered(report: Report, kinds: Sequence[str]) -> Mapping[str, Numbered]:
    """Return the figures by id, each with the first picture it has of these media types."""
    return {
        item.id: Numbered(place, item, _file(item, place, kinds)) for place, item in enumerate(report.figures, start=1)
    }


def _file(figure: Figure, number: int, kinds: Sequence[str]) -> Blob | None:
    for kind in kinds:
        data = figure.media.get(kind, b"")
        if data.lstrip().startswith(_BEGINS[kind]) and (kind != "image/svg+xml" or harmless(data)):
            return Blob(name=f"figures/figure-{number}.{ENDINGS[kind]}", media_type=kind, data=data)
    return None


def mentioned(content: str) -> Iterator[int]:
    """Yield the numbers of the figures a text mentions."""
    return (int(number) for number in _mention().findall(content))


@cache
def _mention() -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(map(re.escape, (*everywhere('figure'), *_SHORT)))})\s*(\d{{1,9}})")


class Placing:
    """Puts each figure once: where the text shows it, else behind the block that first mentions it, else at the end."""

    def __init__(self, figures: Mapping[str, Numbered], shown: set[str]) -> None:
        self._waiting = {item.number: item for name, item in figures.items() if name not in shown}

    def after_mentions(self, blocks: list[Node], show: Callable[[Numbered], Node]) -> Iterator[Node]:
        """Yield blocks, each followed by the figures it is the first to mention."""
        for block in blocks:
            yield block
            if self._waiting:
                yield from (show(item) for item in self.take(text(block)))

    def take(self, content: str) -> list[Numbered]:
        """Return the figures a text is the first to mention."""
        numbers = dict.fromkeys(number for number in mentioned(content) if number in self._waiting)
        return [self._waiting.pop(number) for number in numbers]

    def rest(self) -> list[Numbered]:
        """Return the figures nobody mentions."""
        left, self._waiting = list(self._waiting.values()), {}
        return left


def credited(caption: list[Node], figure: Figure, language: str) -> list[Node]:
    """Return a caption with where the picture is from, linked; as it is for what was drawn for the report."""
    if not figure.credit:
        return caption
    return spaced([caption, words(f"· {say('credit', language)}:"), shown(figure.credit)])


def data_url(file: Blob) -> str:
    """Return a file as an address that holds it."""
    return f"data:{file.media_type};base64,{b64encode(file.data).decode()}"
