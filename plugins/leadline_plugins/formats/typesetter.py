"""Typst as a program: reads a request in JSON from its input, and writes a PDF.

In the process of a run Typst would keep 160 MB for each long report, and could not be stopped.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typst


def main() -> None:
    """Set `main.typ` of a folder; Typst reads only this folder and fonts."""
    request = json.loads(sys.stdin.buffer.read())
    root, fonts = Path(request["root"]), typst.Fonts(font_paths=request["fonts"])
    try:
        pdf = typst.compile(root / "main.typ", root=root, font_paths=fonts, sys_inputs=request["inputs"])
    except RuntimeError as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(pdf)


if __name__ == "__main__":
    main()
