"""Fonts for charts: a chain from Noto Sans CJK to DejaVu Sans.

Matplotlib draws a box for a missing glyph. Here a chart with a character that no font has is refused, and the error
names the package to install.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from leadline.errors import Unsupported

CHAIN = ("Noto Sans CJK JP", "Noto Sans CJK TC", "Noto Sans CJK SC", "DejaVu Sans")
_PACKAGES = ("noto_cjk_sans_otc", "manimgx_fonts")
"""Packages from PyPI that contain fonts."""
_CJK = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "IDEOGRAPHIC", "BOPOMOFO", "FULLWIDTH", "KANGXI")
_NAMED = 8
"""The most missing characters that an error names."""


def fonts_for(texts: Iterable[str], chain: Sequence[str]) -> list[str]:
    """Return the families that together have all characters of these texts. Raises `Unsupported` if there are none."""
    _register()
    needed = {ord(mark) for text in texts for mark in text if not _silent(mark)}
    families = [family for family in chain if _characters(family)]
    left = needed.difference(*map(_characters, families))
    for family in _others() if left else ():
        if left & _characters(family):
            families.append(family)
            left -= _characters(family)
    if left:
        raise Unsupported(_lacking(sorted(map(chr, left))))
    return families


def _lacking(missing: Sequence[str]) -> str:
    cjk = any(unicodedata.name(mark, "").startswith(_CJK) for mark in missing)
    package = "fonts-noto-cjk (or `pip install 'leadline[charts]'`)" if cjk else "fonts-noto-core"
    named = " ".join(f"{mark} (U+{ord(mark):04X})" for mark in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"no font at hand has {named}{more}: install {package} and draw again"


def _silent(mark: str) -> bool:
    """Return whether a character is invisible: white space, control, variation selector, joiner."""
    return mark.isspace() or unicodedata.category(mark) in ("Cc", "Cf", "Mn") or 0xFE00 <= ord(mark) <= 0xFE0F


@cache
def _register() -> None:
    """Register Noto fonts that matplotlib has not found: those of packages, and ones installed recently."""
    from matplotlib import font_manager

    known = {Path(font.fname).name for font in font_manager.fontManager.ttflist}
    for path in (*_packaged(), *map(Path, font_manager.findSystemFonts())):
        if path.name not in known and "Noto" in path.name:
            font_manager.fontManager.addfont(path)


def _packaged() -> Iterator[Path]:
    for spec in filter(None, map(find_spec, _PACKAGES)):
        for folder in spec.submodule_search_locations or ():
            yield from sorted(path for path in Path(folder).iterdir() if path.suffix in (".ttf", ".otf", ".ttc"))


@cache
def _characters(family: str) -> frozenset[int]:
    """Return the characters of a family; none if it is not installed."""
    from matplotlib import font_manager

    try:
        path = font_manager.fontManager.findfont(family, fallback_to_default=False)
    except ValueError:  # the font is not installed
        return frozenset()
    return frozenset(font_manager.get_font(path).get_charmap())


@cache
def _others() -> tuple[str, ...]:
    """Return all other families, those of Noto first, in alphabetical order."""
    from matplotlib import font_manager

    names = {font.name for font in font_manager.fontManager.ttflist if not font.name.startswith("Last")}
    return tuple(sorted(names, key=lambda name: (not name.startswith("Noto Sans"), name)))
