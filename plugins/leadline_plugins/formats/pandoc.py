"""Pandoc, which writes the tree as Word, EPUB, LaTeX and Typst: a program shut off from files and network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from leadline.contracts import Call
from leadline.errors import BadReply
from leadline_plugins.formats.tree import API, Node, words


async def write(blocks: list[Node], metadata: Mapping[str, Node], to: str, call: Call, *options: str) -> bytes:
    """Return a document in one of Pandoc's formats; `metadata` are nodes, as `meta` makes them.

    The program is stopped when the call is cancelled or its time is up.
    Raises `BadReply` where Pandoc cannot write it.
    """
    pypandoc: Any = import_module("pypandoc")
    tree = {"pandoc-api-version": API, "meta": dict(metadata), "blocks": blocks}
    data = json.dumps(tree).encode()
    command = (pypandoc.get_pandoc_path(), "--sandbox", "-f", "json", "-t", to, "-o", "-", *options)
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(call.remaining()):
            made, said = await process.communicate(data)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise BadReply(f"pandoc could not write {to}: {said.decode('utf-8', 'replace').strip()[:500]}")
    return made


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
