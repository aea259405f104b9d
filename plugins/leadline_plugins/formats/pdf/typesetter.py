"""Typst as a program: told in JSON on its input what to set, it writes a PDF.

Within a process Typst holds on to what it has set, 160 MB for each long report, and cannot be ended.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typst


def main() -> None:
    """Set `main.typ` in a folder, outside of which Typst reads nothing but fonts."""
    given = json.loads(sys.stdin.buffer.read())
    root, fonts = Path(given["root"]), typst.Fonts(font_paths=given["fonts"])
    try:
        made = typst.compile(root / "main.typ", root=root, font_paths=fonts, sys_inputs=given["inputs"])
    except RuntimeError as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(made)


if __name__ == "__main__":
    main()
