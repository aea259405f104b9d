"""Typst source and pictures as a PDF, set by a program of its own in a folder of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from leadline.contracts import Call, Context
from leadline.records import Blob
from leadline_plugins.formats.program import run

_FONTS = ("manimgx_fonts", "manimgx_fonts_cjk")
_COMMAND = (sys.executable, "-P", str(Path(__file__).with_name("typesetter.py")))
"""Run by its path: as a module of this package it would import the whole plugin first."""


async def press(
    body: bytes, pictures: Sequence[Blob], inputs: Mapping[str, str], context: Context, call: Call
) -> bytes:
    """Return the PDF of a body of Typst under our template. Raises `BadReply` where it cannot be set."""
    with TemporaryDirectory(prefix="leadline-pdf-") as folder:
        await context.in_thread(_lay_out, Path(folder), body, pictures)
        given = json.dumps({"root": folder, "fonts": _fonts(), "inputs": inputs}).encode()
        return await run(_COMMAND, given, "typst could not set the report", call)


def _lay_out(root: Path, body: bytes, pictures: Sequence[Blob]) -> None:
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
    return files("leadline_plugins.formats.pdf").joinpath("template.typ").read_bytes()
