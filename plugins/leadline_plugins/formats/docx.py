"""The plugin `docx`: the report as a Word file, in styles that a team can change."""

from __future__ import annotations

from html import escape
from importlib.resources import as_file, files

from leadline.contracts import Call, Context
from leadline.records import Blob, Files
from leadline_plugins.formats.document import Document, Medium
from leadline_plugins.formats.pandoc import meta, write
from leadline_plugins.formats.pandoc_format import PandocFormat, pandoc_format
from leadline_plugins.formats.tree import Node
from leadline_plugins.wording.phrases import phrase, right_to_left

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MEDIUM = Medium(columns=10, pictures=("image/png", "image/jpeg"))


async def write_docx(tree: Document, context: Context, call: Call) -> Files:
    """Return `report.docx`: Pandoc writes the text in the styles of our file, python-docx adapts them to the report."""
    about = tree.about(call.run.now())
    metadata = {"title": meta(tree.title), "subtitle": meta(about), "lang": meta(tree.language or "en")}
    if right_to_left(tree.language):
        metadata["dir"] = meta("rtl")
    blocks = list(tree.blocks)
    if tree.is_long:
        blocks.insert(tree.answer, contents_field(phrase("contents", tree.language), tree.depth))
    with as_file(files("leadline_plugins.formats").joinpath("assets", "report.docx")) as styles:
        data = await write(blocks, metadata, "docx", call, f"--reference-doc={styles}")
    data = await context.in_thread(_styled, data, tree)
    return Files(files=(Blob(name="report.docx", media_type=MEDIA_TYPE, data=data),))


def contents_field(title: str, depth: int) -> Node:
    """Return a field with the contents of the file, which `fill_contents` fills in."""
    begin, separate, end = (f'<w:fldChar w:fldCharType="{kind}"/>' for kind in ("begin", "separate", "end"))
    code = f'<w:instrText xml:space="preserve">TOC \\o "1-{depth}" \\h \\z \\u</w:instrText>'
    heading = f'<w:p><w:pPr><w:pStyle w:val="TOCHeading"/></w:pPr><w:r><w:t>{escape(title)}</w:t></w:r></w:p>'
    field = f"{heading}<w:p><w:r>{begin}{code}{separate}{end}</w:r></w:p>"
    return {"t": "RawBlock", "c": ["openxml", field]}


def _styled(data: bytes, tree: Document) -> bytes:
    # Imported here, because python-docx takes .2 s.
    from leadline_plugins.formats.docx_style import styled

    return styled(data, tree.title, tree.language, tree.depth)


@pandoc_format("docx", "A Word file, with styles, figures and linked references", "docx")
def _format(context: Context) -> PandocFormat:
    return PandocFormat(MEDIUM, write_docx, context)
