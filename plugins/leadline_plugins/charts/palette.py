"""How charts look: colours that the colour-blind tell apart, shapes beside them, quiet axes.

The colours are those of Okabe and Ito (2008), the dark ones first; marks, dashes and hatches repeat what they say, so
that a chart in black and white says it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B8A800")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (4, 1.5, 1, 1.5)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))
HATCHES = ("", "//", "..", "\\\\", "xx", "--", "oo", "++")
INK, QUIET, GRID = "#222222", "#5f6368", "#d9dce0"
SHADES = "cividis"


def colour(place: int) -> str:
    """Return the colour of a series by its place."""
    return COLOURS[place % len(COLOURS)]


def style(fonts: Sequence[str]) -> Any:
    """Return the settings of matplotlib for one drawing."""
    return {
        "font.family": list(fonts),
        "font.size": 10,
        "text.parse_math": False,  # a $ in a title is a dollar
        "text.usetex": False,
        "axes.unicode_minus": False,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": QUIET,
        "axes.labelcolor": QUIET,
        "axes.titlesize": 10,
        "axes.titlecolor": QUIET,
        "axes.axisbelow": True,
        "axes.grid": False,
        "text.color": INK,
        "xtick.color": QUIET,
        "ytick.color": QUIET,
        "grid.color": GRID,
        "hatch.linewidth": 0.6,
        "hatch.color": "white",
        "legend.frameon": False,
        "svg.fonttype": "path",  # it looks the same where the fonts are missing
        "svg.hashsalt": "leadline",  # the same chart is the same file
        "figure.facecolor": "white",
    }
