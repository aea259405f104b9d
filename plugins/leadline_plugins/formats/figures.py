"""Drawings that only draw: an SVG can hold scripts, load from elsewhere, and be broken, which a whole PDF fails of."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadline.records import Blob, Figure, Report
from leadline_plugins.formats.tree import Node, address_nodes, joined, words
from leadline_plugins.parse.media import MOST_PIXELS, declared_pixels
from leadline_plugins.wording.phrases import phrase

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# What an SVG may consist of: elements that draw or describe, and functions of styles beside `url(#…)`.
_ELEMENTS = frozenset({
    "circle", "clipPath", "defs", "desc", "ellipse", "g", "image", "line", "linearGradient", "marker", "mask",
    "metadata", "path", "pattern", "polygon", "polyline", "radialGradient", "rect", "stop", "style", "svg", "symbol",
    "text", "textPath", "title", "tspan", "use",
})  # fmt: skip
_FUNCTIONS = frozenset({"hsl", "hsla", "matrix", "rgb", "rgba", "rotate", "scale", "skewX", "skewY", "translate"})
_SVG = "{http://www.w3.org/2000/svg}"
_METADATA = ("{http://www.w3.org/1999/02/22-rdf-", "{http://purl.org/dc/", "{http://creativecommons.org/ns#}")
_HREF = ("href", "{http://www.w3.org/1999/xlink}href")
_WORDS = ("id", "class", "role", "lang", "{http://www.w3.org/XML/1998/namespace}space")
_NO_NAME = re.compile(r"[^\w-]")
ENDINGS = {"image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpg"}
_BEGINS = {"image/png": b"\x89PNG\r\n", "image/jpeg": b"\xff\xd8", "image/svg+xml": b"<"}


def is_harmless_svg(svg: bytes) -> bool:
    """Return whether an SVG is well-formed, and only draws. A broken one fails a whole PDF."""
    from xml.etree.ElementTree import ParseError, fromstring

    try:
        text = svg.decode("utf-8")
        # Entities may grow, instructions load style sheets.
        if "<!ENTITY" in text or "<?" in text.lstrip().removeprefix("<?xml "):
            return False
        root = fromstring(text)  # noqa: S314 - without entities
        return root.tag == f"{_SVG}svg" and all(map(_only_draws, root.iter()))
    except (UnicodeDecodeError, ParseError, ValueError):  # the last for a declared encoding, and for broken Base64
        return False


def _only_draws(element: Element) -> bool:
    tag = element.tag
    if tag.startswith(_METADATA):
        return True
    if not (tag.startswith(_SVG) and tag.removeprefix(_SVG) in _ELEMENTS):
        return False
    style = "".join(element.itertext()) if tag == f"{_SVG}style" else ""
    return _loads_nothing(style) and all(_is_allowed(name, value) for name, value in element.attrib.items())


def _is_allowed(name: str, value: str) -> bool:
    if name in _HREF:
        kind, _, data = value.partition(";base64,")
        is_picture = kind in ("data:image/png", "data:image/jpeg")
        return value.startswith("#") or (is_picture and declared_pixels(b64decode(data)) <= MOST_PIXELS)
    return name in _WORDS or name.startswith("aria-") or (name[:2] != "on" and name[0] != "{" and _loads_nothing(value))


def _loads_nothing(style: str) -> bool:
    """Return whether a style has only known functions, no rules such as `@import`, and no escapes."""
    before, *calls = style.split("(")
    for call in calls:
        name = _NO_NAME.split(before[-20:])[-1]
        if name not in _FUNCTIONS and not (name == "url" and call.lstrip(" \"'").startswith("#")):
            return False
        before = call
    return "@" not in style and "\\" not in style


@dataclass(frozen=True)
class Numbered:
    """A figure with its number and its picture, if it has one that can be shown."""

    number: int
    figure: Figure
    file: Blob | None


def numbered(report: Report, kinds: Sequence[str]) -> Mapping[str, Numbered]:
    """Return the figures by id, each with the first picture it has of these media types."""
    return {
        item.id: Numbered(number, item, _file(item, number, kinds))
        for number, item in enumerate(report.figures, start=1)
    }


def _file(figure: Figure, number: int, kinds: Sequence[str]) -> Blob | None:
    for kind in kinds:
        data = figure.media.get(kind, b"")
        is_safe = is_harmless_svg(data) if kind == "image/svg+xml" else declared_pixels(data) <= MOST_PIXELS
        if data.lstrip().startswith(_BEGINS[kind]) and is_safe:
            return Blob(name=f"figures/figure-{number}.{ENDINGS[kind]}", media_type=kind, data=data)
    return None


def with_credit(caption: list[Node], figure: Figure, language: str) -> list[Node]:
    """Return a caption with a link to the origin of the picture, unless it was drawn for the report."""
    if not figure.credit:
        return caption
    credit = [caption, words(f"· {phrase('credit', language)}:"), address_nodes(figure.credit)]
    return joined([*credit, *([words(f"({figure.rights})")] if figure.rights else [])])


def data_url(file: Blob) -> str:
    return f"data:{file.media_type};base64,{b64encode(file.data).decode()}"
