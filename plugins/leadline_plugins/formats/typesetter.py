"""Typst as a program: reads a request in JSON from its input, and writes a PDF.

In the process of a run Typst would keep 160 MB for each long report, and could not be stopped.
"""

from __future__ import annotations

import json
import sys
from difflib import get_close_matches
from pathlib import Path

import typst

# Typst sets the text in another font, and warns.
_NO_FONT = "unknown font family: "


def main() -> None:
    """Set `main.typ` of a folder; Typst reads only this folder, what it links to, and fonts."""
    request = json.loads(sys.stdin.buffer.read())
    root, fonts = Path(request["root"]), typst.Fonts(font_paths=request["fonts"])
    try:
        pdf, warnings = typst.compile_with_warnings(
            root / "main.typ", root=root, font_paths=fonts, sys_inputs=request["inputs"]
        )
    except typst.TypstError as error:
        sys.exit("; ".join([error.message, *error.hints]))
    for warning in warnings:
        if warning.message.startswith(_NO_FONT):
            sys.exit(_without_font(warning.message.removeprefix(_NO_FONT), fonts.families()))
    sys.stdout.buffer.write(pdf)


def _without_font(name: str, known: list[str]) -> str:
    by_name = {family.lower(): family for family in known}
    near = [by_name[match] for match in get_close_matches(name, by_name, n=5, cutoff=0.4)] or known[:20]
    return (
        f"there is no font {name!r}; similar ones: {', '.join(near)} (`fc-list : family` lists the installed ones; "
        "font files in the folder `fonts` beside the prelude count, too)"
    )


if __name__ == "__main__":
    main()
