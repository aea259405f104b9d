"""Typst: the tree in Typst's terms, its compiler as a separate program, and characters without a glyph."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from leadline.contracts import Call, Context
from leadline.records import Blob
from leadline_plugins.formats.blocks import LINE, ems
from leadline_plugins.formats.pandoc import run
from leadline_plugins.formats.tree import Node, text

# Lines of a row that is kept whole, which leaves at most a third of a page empty; tables of more columns than `_SMALL`
# have small text.
_LONGEST, _LONGEST_SMALL, _SMALL = 20, 27, 6
# The last source and the statistics, which are kept on one page.
_ENDING = ["Div", "Header", "BulletList"]
# Characters of a paragraph that moves to the next page with its table.
_LEAD = 400
_FONTS = ("manimgx_fonts", "manimgx_fonts_cjk")
# Run by its path, because as a module it would import the whole package.
_COMMAND = (sys.executable, "-P", str(Path(__file__).with_name("typesetter.py")))
# Bytes of the content of a page.
_LONGEST_PAGE = 10_000_000
_STREAM = re.compile(rb"stream\r?\n(.*?)\r?\nendstream", re.DOTALL)
_TEXT = re.compile(rb"BT\b.*?\bET\b", re.DOTALL)
_STRING = re.compile(rb"\(((?:\\.|[^()\\])*)\)", re.DOTALL)
_ESCAPE = re.compile(rb"\\(\d{3}|\d{1,2}(?!\d)|.)", re.DOTALL)
# Two zero bytes as Typst writes them: glyph 0, or the end of one glyph and the beginning of the next.
_ZEROS = rb"\000\000"
_NAMED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_INVISIBLE = {"Cf", "Zs", "Zl", "Zp"}
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")


# The inlines that Pandoc writes as calls of functions, such as `#strong[sources]`.
_CALLS = frozenset({"Strong", "Emph", "Strikeout", "Superscript", "Subscript", "Link", "Image"})


def with_ended_calls(node: Any) -> Any:
    """Return nodes in which no text continues a call: `#strong[sources].list` would be a field of the call."""
    if isinstance(node, dict):
        return {name: with_ended_calls(value) for name, value in node.items()}
    if not isinstance(node, list):
        return node
    ended: list[Any] = []
    for item in node:
        last = ended[-1] if ended else None
        if _ends_call(last) and isinstance(item, dict) and item.get("t") == "Str" and str(item["c"])[:1] in ".([":
            ended.append({"t": "RawInline", "c": ["typst", ";"]})
        ended.append(with_ended_calls(item))
    return ended


def _ends_call(node: Any) -> bool:
    match node:
        case {"t": "Span", "c": [[name, *_], inside]}:  # with a name it ends with a label
            return not name and _ends_call(inside[-1:] and inside[-1])
        case {"t": kind}:
            return kind in _CALLS
    return False


def with_unbreakable_rows(node: Any) -> Any:
    """Return a tree in which pages end between the rows of tables, unless a row is long."""
    match node:
        case list():
            return [with_unbreakable_rows(item) for item in node]
        case {"t": "Table", "c": [attr, caption, columns, head, bodies, foot]}:
            shares = [width.get("c", 0.0) for _, width in columns]
            unbreakable = [[own, heads, top, [_row(row, shares) for row in rows]] for own, heads, top, rows in bodies]
            return {"t": "Table", "c": [attr, caption, columns, head, unbreakable, foot]}
        case {"t": "BulletList" | "BlockQuote" | "OrderedList" | "Div" as kind, "c": content}:
            return {"t": kind, "c": with_unbreakable_rows(content)}
    return node


def _row(row: list[Any], shares: list[float]) -> list[Any]:
    """Return a row with its first cell unbreakable, which is enough for the row."""
    attr, cells = row
    longest = _LONGEST if len(cells) <= _SMALL else _LONGEST_SMALL
    if not cells or max(map(_lines, cells, shares)) > longest:
        return row
    (name, classes, values), *rest = cells[0]
    return [attr, [[[name, classes, [*values, ["typst:breakable", "false"]]], *rest], *cells[1:]]]


def _lines(cell: list[Any], share: float) -> int:
    """Estimate the lines of a cell; words that do not fill their line add 15 %."""
    blocks: list[Node] = cell[-1]
    return ceil(1.15 * ems(text(blocks)) / (share * LINE)) if share else 1


def typst_blocks(blocks: list[Node], contents: int | None = None) -> Iterator[Node]:
    """Yield the blocks of a document, in terms of the template's functions. Nothing of the text becomes code.

    The contents, and a new page, follow as many blocks as `contents`.
    """
    prepared = list(with_unbreakable_rows(with_ended_calls(blocks)))
    ending = len(prepared) - len(_ENDING) if [block["t"] for block in prepared[-len(_ENDING) :]] == _ENDING else -1
    for index, block in enumerate(prepared):
        if index == contents:
            yield _raw("#contents")
        if index == ending:
            yield _raw("#kept(above: 1.6em)[" if "quote" in block["c"][0][1] else "#kept[")
        match block:
            case {"t": "Figure"}:
                yield from _figure(block)
            case {"t": "Div", "c": [[_, classes, _], _]} if "reference" in classes:
                yield from _call("further" if "additional" in classes else "entry", block)
            case {"t": "Div", "c": [[_, classes, _], [line, *quoted]]} if "quote" in classes:
                yield from (_raw("#passage["), *_call("leading", line), *quoted, _raw("]"))
            case {"t": "Div", "c": [[_, classes, _], _]} if "about" in classes:
                yield from _call("notice", block)
            case {"t": "Para"} if _leads(block, prepared[index + 1 : index + 2]):
                yield from _call("leading", block)
            case {"t": "Para" | "BulletList" | "OrderedList"} if _shows_address(block["c"]):
                yield from _call("ragged", block)
            case _:
                yield block
    if ending >= 0:
        yield _raw("]")


def _leads(block: Node, following: list[Node]) -> bool:
    """Return whether a paragraph introduces the table after it, and is short enough to stay on one page."""
    return [node["t"] for node in following] == ["Table"] and len(text(block)) <= _LEAD


def _figure(block: Node) -> list[Node]:
    """Return a figure with its alternative text."""
    (name, _, _), (_, caption), body = block["c"]
    picture = next((node for node in body[0]["c"] if node["t"] == "Image"), None)
    if picture is None:
        return [block]
    (_, _, values), _, (address, _) = picture["c"]
    picture_code = f"image({_string(address)}, alt: {_string(dict(values).get('alt', ''))})"
    opening, closing = f"#figure({picture_code}, kind: image, caption: [", f"]) <{name}>"
    return [_raw(opening), *caption, _raw(closing)]


def _call(function: str, block: Node) -> list[Node]:
    return [_raw(f"#{function}["), block, _raw("]")]


def _shows_address(node: Any) -> bool:
    """Return whether a text has an address, a word that is too long for justified lines."""
    match node:
        case list():
            return any(map(_shows_address, node))
        case {"t": "Link", "c": [_, inside, _]}:
            return text(inside).startswith(("http://", "https://"))
        case {"c": content}:
            return _shows_address(content)
    return False


def _string(value: str) -> str:
    """Return a text as a string of Typst, which escapes like JSON but not other characters."""
    return json.dumps(value, ensure_ascii=False)


def _raw(code: str) -> Node:
    return {"t": "RawBlock", "c": ["typst", code]}


async def compile_typst(
    body: bytes, pictures: Sequence[Blob], inputs: Mapping[str, str], context: Context, call: Call
) -> bytes:
    """Return the PDF of Typst source under our template. Raises `Unsupported` if Typst fails.

    The prelude of the inputs is a path; Typst can read the folder of the file, as `house`.
    """
    fonts, prelude = _fonts(), Path(inputs["prelude"])
    with TemporaryDirectory(prefix="leadline-pdf-") as folder:
        await context.in_thread(_write_sources, Path(folder), body, pictures)
        if inputs["prelude"]:
            (Path(folder) / "house").symlink_to(prelude.parent.absolute())
            fonts = [*fonts, *map(str, prelude.parent.glob("fonts/"))]
            inputs = {**inputs, "prelude": f"house/{prelude.name}"}
        request = json.dumps({"root": folder, "fonts": fonts, "inputs": inputs}).encode()
        return await run(_COMMAND, request, "typst could not set the report", call)


def _write_sources(root: Path, body: bytes, pictures: Sequence[Blob]) -> None:
    source = Blob(name="main.typ", media_type="text/plain", data=_template() + body)
    for file in (source, *pictures):
        (root / file.name).parent.mkdir(exist_ok=True)
        (root / file.name).write_bytes(file.data)


@cache
def _fonts() -> list[str]:
    """Return the folders of the extra's fonts."""
    specs = [spec for name in _FONTS if (spec := find_spec(name))]
    return [folder for spec in specs for folder in spec.submodule_search_locations or ()]


@cache
def _template() -> bytes:
    return files("leadline_plugins.formats").joinpath("assets", "template.typ").read_bytes()


def lacks_glyphs(pdf: bytes) -> bool:
    """Return whether a PDF made by Typst has glyph 0, `.notdef`: a character that no font has."""
    return any(map(_lacks, _texts(pdf)))


def glyph_candidates(text: str) -> str:
    """Return the characters of a text that may lack a glyph, each once.

    A PDF often does not show which character has glyph 0, so each is set alone by the same fonts.
    """
    return "".join(sorted(c for c in set(text) if ord(c) > 0x2FF and unicodedata.category(c) not in _INVISIBLE))


def probe_source(characters: str) -> bytes:
    """Return Typst source that sets each character on a separate page."""
    pages = "".join(f'#page(header: none, footer: none)[#text("x \\u{{{ord(c):x}}}")]\n' for c in characters)
    return pages.encode()


def picture_source(name: str) -> bytes:
    return f"#image({_string(name)})\n".encode()


def missing_glyphs(characters: str, pdf: bytes) -> set[str]:
    """Return the characters whose page in the probe has glyph 0."""
    pages = list(_texts(pdf))[-len(characters) :]
    return {character for character, page in zip(characters, pages, strict=True) if _lacks(page)}


def _texts(pdf: bytes) -> Iterator[bytes]:
    """Yield the content of the pages, in their order."""
    for stream in _STREAM.finditer(pdf):
        try:
            content = zlib.decompressobj().decompress(stream[1], _LONGEST_PAGE)  # longer ones are pictures
        except zlib.error:
            continue  # pictures have another compression
        if _TEXT.search(content):
            yield content


def _lacks(content: bytes) -> bool:
    if _ZEROS not in content:
        return False
    strings = (string[1] for text in _TEXT.findall(content) for string in _STRING.finditer(text))
    return any(b"\0\0" in _pairs(string) for string in strings if _ZEROS in string)


def _pairs(escaped: bytes) -> Sequence[bytes]:
    """Return the glyphs of a string: two bytes each."""
    raw = _ESCAPE.sub(lambda mark: _NAMED.get(mark[1]) or _octal(mark[1]), escaped)
    return [raw[index : index + 2] for index in range(0, len(raw), 2)]


def _octal(digits: bytes) -> bytes:
    return bytes([int(digits, 8) & 0xFF]) if digits.isdigit() else digits


def private_use(text: str) -> set[str]:
    """Return the characters of private use, which every font shows differently."""
    return set(_PRIVATE.findall(text))


def with_code_points(node: Any, characters: Set[str]) -> Any:
    """Return a tree with the code points of these characters, `[U+1F600]`, in their place."""
    table = {ord(character): f"[U+{ord(character):04X}]" for character in characters}
    return _translated(node, table)


def _translated(node: Any, table: dict[int, str]) -> Any:
    match node:
        case str():
            return node.translate(table)
        case list():
            return [_translated(item, table) for item in node]
        case {"t": "Link" | "Image" as kind, "c": [attr, inside, target]}:
            return {"t": kind, "c": [attr, _translated(inside, table), target]}
        case dict():
            return {key: value if key == "t" else _translated(value, table) for key, value in node.items()}
    return node
