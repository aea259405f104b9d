"""Fonts of a Word file: a style names one for Latin letters, one for Chinese, one for the complex scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leadline_plugins.wording import fitting

_EAST = {"zh": "Microsoft YaHei", "zh-hant": "Microsoft JhengHei", "ja": "Yu Gothic", "ko": "Malgun Gothic"}
_INDIA = ("as", "bn", "gu", "hi", "kn", "ml", "mr", "ne", "or", "pa", "sa", "si", "ta", "te")
_COMPLEX = dict.fromkeys(_INDIA, "Nirmala UI") | dict.fromkeys(("th", "lo", "km"), "Leelawadee UI")


@dataclass(frozen=True)
class Faces:
    """The fonts beside the Latin one. Word asks for the complex one where a letter or the direction of a run does."""

    east: str
    complex: str

    @classmethod
    def of(cls, language: str) -> Faces:
        """Return the fonts of a language: such as Word and its systems have."""
        return cls(fitting(_EAST, language, _EAST["zh"]), fitting(_COMPLEX, language, "Arial"))


def set_font(style: Any, name: str, faces: Faces, size: float) -> None:
    """Give a style its fonts, and their size in points."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn
    from docx.shared import Pt

    style.font.name, style.font.size = name, Pt(size)
    form = style.element.get_or_add_rPr()
    fonts = form.get_or_add_rFonts()
    for theme in ("asciiTheme", "hAnsiTheme", "eastAsiaTheme", "cstheme"):
        fonts.attrib.pop(qn(f"w:{theme}"), None)
    fonts.set(qn("w:eastAsia"), faces.east)
    fonts.set(qn("w:cs"), faces.complex)
    points = form.find(qn("w:szCs"))
    if points is None:
        points = OxmlElement("w:szCs")
        form.sz.addnext(points)
    points.set(qn("w:val"), form.sz.get(qn("w:val")))


def set_bold(style: Any, bold: bool = True) -> None:
    """Make a style bold, or not: Word keeps it apart for the complex scripts."""
    style.font.bold = style.font.cs_bold = bold
