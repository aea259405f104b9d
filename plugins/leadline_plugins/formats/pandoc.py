"""Pandoc, which writes the tree as Word, EPUB, LaTeX and Typst: a program shut off from files and network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from leadline.contracts import Call
from leadline_plugins.formats.program import run
from leadline_plugins.formats.tree import API, Node, words


async def write(blocks: list[Node], metadata: Mapping[str, Node], to: str, call: Call, *options: str) -> bytes:
    """Return a document in one of Pandoc's formats; `metadata` are nodes, as `meta` makes them.

    Raises `BadReply` where Pandoc cannot write it.
    """
    pypandoc: Any = import_module("pypandoc")
    tree = {"pandoc-api-version": API, "meta": dict(metadata), "blocks": blocks}
    data = json.dumps(tree).encode()
    command = (pypandoc.get_pandoc_path(), "--sandbox", "-f", "json", "-t", to, "-o", "-", *options)
    return await run(command, data, f"pandoc could not write {to}", call)


def meta(value: Any) -> Node:
    """Return a value as metadata of the tree: text is never read as markup."""
    match value:
        case bool():
            return {"t": "MetaBool", "c": value}
        case Mapping():
            return {"t": "MetaMap", "c": {key: meta(inner) for key, inner in value.items()}}
        case list() | tuple():
            return {"t": "MetaList", "c": [meta(inner) for inner in value]}
    return {"t": "MetaInlines", "c": words(str(value))}
