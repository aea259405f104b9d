"""The look of a Word file: fonts, headings, tables, page numbers; by named styles, so that a team can restyle it."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from leadline_plugins.formats.docx import tables
from leadline_plugins.formats.docx.direction import turn
from leadline_plugins.formats.docx.fonts import Faces, set_bold, set_font
from leadline_plugins.formats.docx.tables import INK, RULE
from leadline_plugins.wording import right_to_left

_BODY, _HEAD, _MONO = "Cambria", "Calibri", "Consolas"
_FAINT, _ACCENT, _GROUND = "6A665E", "0B4F6C", "F6F3EC"
_BAD, _PART = "A3261B", "8A6100"
_CHECK = "check-"
"""How the names of the places begin to which marks at claims lead."""
_FIRST = ("w:pStyle", "w:keepNext", "w:keepLines", "w:pageBreakBefore", "w:widowControl", "w:numPr")
"""What stands before borders and grounds in the properties of a paragraph."""
_HEADINGS = {"Heading 1": (16, 24, 8), "Heading 2": (13, 16, 6), "Heading 3": (11.5, 12, 4), "Heading 4": (11, 10, 4)}
"""Size, space above and below, in points."""
_TEXTS = {"Normal": 10.5, "Body Text": 10.5, "First Paragraph": 10.5, "Compact": 10.5, "Block Text": 10.5}
_SMALL = {"Image Caption": 9, "Table Caption": 9, "Footnote Text": 9, "Caption": 9}
_EDGES = {"Header": 8.5, "Footer": 8.5}
_HEADER = 90
"""Characters of the title above the pages: what one line holds."""
_OFFICE_RULE = "{urn:schemas-microsoft-com:vml}rect"


def styled(data: bytes, title: str, language: str) -> bytes:
    """Return a Word file that Pandoc wrote, in the look of a report."""
    import docx
    from docx.shared import Mm

    word = docx.Document(BytesIO(data))
    faces = Faces.of(language)
    _texts(word.styles, faces)
    _headings(word.styles, faces)
    tables.add_styles(word, lambda style, size: set_font(style, _HEAD, faces, size))
    for table in word.tables:
        tables.set_table(table)
    _rules(word)
    _boxes(word.styles)
    _warn(word)
    if right_to_left(language):
        turn(word)
    for section in word.sections:
        section.page_width, section.page_height = Mm(210), Mm(297)
        section.left_margin = section.right_margin = Mm(26)
        section.top_margin = section.bottom_margin = Mm(25)
        _header(section, title)
        for footer in (section.footer, section.first_page_footer):
            _number(footer)
        _limit_pictures(word, section.page_width - section.left_margin - section.right_margin)
    word.core_properties.title = title[:255]
    word.core_properties.author = word.core_properties.last_modified_by = "Leadline"
    word.core_properties.language = language
    out = BytesIO()
    word.save(out)
    return out.getvalue()


def _texts(styles: Any, faces: Faces) -> None:
    from docx.enum.style import WD_STYLE_TYPE
    from docx.shared import Pt, RGBColor

    for name, size in (_TEXTS | _SMALL).items():
        if name in styles:
            set_font(styles[name], _BODY if name in _TEXTS else _HEAD, faces, size)
    for name in ("Body Text", "First Paragraph", "Normal"):
        form = styles[name].paragraph_format
        form.line_spacing, form.space_before, form.space_after = 1.25, Pt(0), Pt(8)
    for name, size in _EDGES.items():
        if name not in styles:
            styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH).base_style = styles["Normal"]
        set_font(styles[name], _HEAD, faces, size)
    for name in ("Image Caption", "Caption", *_EDGES):
        if name in styles:
            styles[name].font.color.rgb = RGBColor.from_string(_FAINT)
    if "Verbatim Char" in styles:
        set_font(styles["Verbatim Char"], _MONO, faces, 9)
    if "Hyperlink" in styles:
        styles["Hyperlink"].font.color.rgb = RGBColor.from_string(_ACCENT)


def _headings(styles: Any, faces: Faces) -> None:
    from docx.oxml.ns import qn
    from docx.shared import Pt, RGBColor

    for name, (size, above, below) in _HEADINGS.items():
        style = styles[name]
        set_font(style, _HEAD, faces, size)
        set_bold(style)
        style.font.italic = False
        style.font.color.rgb = RGBColor.from_string(INK)
        form = style.paragraph_format
        form.space_before, form.space_after, form.keep_with_next = Pt(above), Pt(below), True
    set_font(styles["Title"], _HEAD, faces, 24)
    set_bold(styles["Title"])
    styles["Title"].font.color.rgb = RGBColor.from_string(INK)
    styles["Title"].paragraph_format.alignment = 0
    set_font(styles["Subtitle"], _HEAD, faces, 10)
    styles["Subtitle"].font.color.rgb = RGBColor.from_string(_FAINT)
    styles["Subtitle"].paragraph_format.alignment = 0
    set_bold(styles["Subtitle"], bold=False)
    for spacing in styles["Subtitle"].element.rPr.findall(qn("w:spacing")):
        styles["Subtitle"].element.rPr.remove(spacing)
    styles["Compact"].paragraph_format.space_before = styles["Compact"].paragraph_format.space_after = Pt(1)


def _boxes(styles: Any) -> None:
    """Give quotations a line at their left, and code a ground."""
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls, qn

    line = f'<w:left w:val="single" w:sz="12" w:space="8" w:color="{RULE}"/>'
    marks = {
        "Block Text": f"<w:pBdr {nsdecls('w')}>{line}</w:pBdr>",
        "Source Code": f'<w:shd {nsdecls("w")} w:val="clear" w:color="auto" w:fill="{_GROUND}"/>',
    }
    for name, mark in marks.items():
        if name in styles:
            form = styles[name].element.get_or_add_pPr()
            before = sum(child.tag in map(qn, _FIRST) for child in form)  # Word wants them in its order
            form.insert(before, parse_xml(mark))


def _rules(word: Any) -> None:
    """Make Pandoc's thematic breaks, thick bars, the thin line that they are elsewhere."""
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls, qn
    from docx.shared import Mm
    from docx.text.paragraph import Paragraph

    line = f'<w:pBdr {nsdecls("w")}><w:bottom w:val="single" w:sz="4" w:space="1" w:color="{RULE}"/></w:pBdr>'
    for bar in list(word.element.body.iter(_OFFICE_RULE)):
        run = bar.getparent().getparent()
        paragraph = run.getparent()
        if run.tag == qn("w:r") and paragraph.tag == qn("w:p"):
            paragraph.remove(run)
            paragraph.get_or_add_pPr().append(parse_xml(line))
            form = Paragraph(paragraph, word).paragraph_format
            form.left_indent = form.right_indent = Mm(55)


def _warn(word: Any) -> None:
    """Colour the marks at claims: otherwise they look like notes."""
    from docx.oxml.ns import qn
    from docx.shared import RGBColor
    from docx.text.run import Run

    for link in word.element.body.iter(qn("w:hyperlink")):
        for element in link.iter(qn("w:r")) if link.get(qn("w:anchor"), "").startswith(_CHECK) else ():
            run = Run(element, word)
            if run.font.superscript:
                run.font.superscript, run.font.bold = None, True
                run.font.color.rgb = RGBColor.from_string(_PART if run.text in "≈†○" else _BAD)


def _header(section: Any, title: str) -> None:
    """Set the title above all pages but the first, where it stands large."""
    section.different_first_page_header_footer = True
    paragraph = section.header.paragraphs[0]
    paragraph.text = title if len(title) <= _HEADER else f"{title[:_HEADER].rstrip()}…"


def _number(footer: Any) -> None:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    paragraph = footer.paragraphs[0]
    paragraph.alignment = 1
    for kind, content in (("begin", ""), ("", "PAGE"), ("end", "")):
        run = paragraph.add_run()._r
        element = OxmlElement("w:fldChar" if kind else "w:instrText")
        if kind:
            element.set(qn("w:fldCharType"), kind)
        else:
            element.text = content
        run.append(element)


def _limit_pictures(word: Any, width: int) -> None:
    """Make pictures as wide as the text at most."""
    for shape in word.inline_shapes:
        if shape.width > width:
            shape.height = int(shape.height * width / shape.width)
            shape.width = width
