"""A Word file that is read from right to left. Pandoc marks paragraphs and runs; here are styles, tables, pages."""

from __future__ import annotations

from typing import Any

_CODE = ("Source Code", "Verbatim Char")
_SPACING = (
    "adjustRightInd",
    "snapToGrid",
    "spacing",
    "ind",
    "contextualSpacing",
    "mirrorIndents",
    "suppressOverlap",
    "jc",
)
_LAST = ("textDirection", "textAlignment", "textboxTightWrap", "outlineLvl", "divId", "cnfStyle", "rPr", "sectPr")
_BEHIND = tuple(f"w:{name}" for name in (*_SPACING, *_LAST, "pPrChange"))
"""What stands behind the direction in the properties of a paragraph: Word wants them in its order."""


def turn(word: Any) -> None:
    """Set styles and pages from right to left; code stays as it is written."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    styles = word.styles
    _paragraph(styles["Normal"], on=True)
    styles["Normal"].font.rtl = True
    for name in _CODE:
        if name in styles:
            styles[name].font.rtl = False
    if "Source Code" in styles:
        _paragraph(styles["Source Code"], on=False)
        code = styles["Source Code"].style_id
        for paragraph in word.element.body.iter(qn("w:p")):
            if paragraph.style == code:
                _as_its_style(paragraph)
    if "Verbatim Char" in styles:
        code = styles["Verbatim Char"].style_id
        for run in word.element.body.iter(qn("w:r")):
            if run.style == code:
                _as_its_style(run)
    for form in word.element.body.iter(qn("w:tblPr")):
        before = sum(child.tag in (qn("w:tblStyle"), qn("w:tblpPr"), qn("w:tblOverlap")) for child in form)
        form.insert(before, OxmlElement("w:bidiVisual"))
    for section in word.sections:
        grid = section._sectPr.find(qn("w:docGrid"))
        mark = OxmlElement("w:bidi")
        section._sectPr.append(mark) if grid is None else grid.addprevious(mark)


def _paragraph(style: Any, *, on: bool) -> None:
    """Set the direction of the paragraphs of a style."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    mark = OxmlElement("w:bidi")
    if not on:
        mark.set(qn("w:val"), "0")
    form = style.element.get_or_add_pPr()
    form.insert_element_before(mark, *_BEHIND)


def _as_its_style(part: Any) -> None:
    """Take out the marks by which Pandoc turns a paragraph or a run."""
    from docx.oxml.ns import qn

    for mark in [*part.iter(qn("w:bidi"), qn("w:rtl"))]:
        mark.getparent().remove(mark)
