"""Pandoc writes the tree as Word, EPUB, LaTeX and Typst, in a sandbox without files and network."""

from __future__ import annotations

import asyncio
import json
import resource
import signal
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline_plugins.formats.tree import API, Node, words

# Seconds of processor time of a program: a hundred pages take two.
_SECONDS = 30


async def run(command: tuple[str, ...], data: bytes, failure: str, call: Call) -> bytes:
    """Return the output of a program for this input. The program is killed when the call ends.

    Raises `Unsupported` with its error output, or with the limit of processor time, if it fails: another attempt would
    end alike. `failure` begins the message.
    """
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    try:
        if hasattr(resource, "prlimit"):  # Linux
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (_SECONDS, _SECONDS + 1))
        async with asyncio.timeout(call.remaining()):
            output, errors = await process.communicate(data)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        reason = errors.decode("utf-8", "replace").strip()[:500] or f"exit code {process.returncode}"
        if process.returncode == -signal.SIGXCPU:
            reason = f"it did not end within {_SECONDS} s of processor time"
        raise Unsupported(f"{failure}: {reason}")
    return output


async def write(blocks: list[Node], metadata: Mapping[str, Node], to: str, call: Call, *options: str) -> bytes:
    """Return a document in a format of Pandoc; `metadata` are nodes, made by `meta`. Raises `Unsupported`."""
    pypandoc: Any = import_module("pypandoc")
    tree = {"pandoc-api-version": API, "meta": dict(metadata), "blocks": blocks}
    data = json.dumps(tree).encode()
    command = (pypandoc.get_pandoc_path(), "--sandbox", "-f", "json", "-t", to, "-o", "-", *options)
    return await run(command, data, f"pandoc could not write {to}", call)


def meta(value: Any) -> Node:
    """Return a value as metadata; text is never markup."""
    match value:
        case bool():
            return {"t": "MetaBool", "c": value}
        case Mapping():
            return {"t": "MetaMap", "c": {key: meta(inner) for key, inner in value.items()}}
        case list() | tuple():
            return {"t": "MetaList", "c": [meta(inner) for inner in value]}
    return {"t": "MetaInlines", "c": words(str(value))}
