"""The plugin `docx`: the report as a Word file, in styles that a team can change."""

from __future__ import annotations

from functools import partial
from html import escape
from importlib.resources import as_file, files
from pathlib import Path
from zipfile import ZipFile, is_zipfile

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.errors import ConfigError
from leadline.plugin import PluginSettings
from leadline.records import Blob, Files
from leadline_plugins.formats.document import Document, Medium
from leadline_plugins.formats.house_style import file_fault, report_name
from leadline_plugins.formats.pandoc import meta, write
from leadline_plugins.formats.pandoc_format import PandocFormat, pandoc_format
from leadline_plugins.formats.tree import Node
from leadline_plugins.wording.phrases import phrase, right_to_left

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MEDIUM = Medium(columns=10, pictures=("image/png", "image/jpeg"))


class DocxSettings(PluginSettings):
    """Settings of the Word file."""

    authority = {"reference": "a Word file"}

    reference: Path | None = Field(
        None, description="a Word file with the styles, headers, footers and page of reports, such as a changed report"
    )


async def write_docx(reference: Path | None, tree: Document, context: Context, call: Call) -> Files:
    """Return `report.docx`: Pandoc writes the text in the styles of a file, python-docx adapts them to the report.

    What `reference` lacks is taken from our file.
    """
    about = tree.about(call.run.now())
    metadata = {"title": meta(tree.title), "subtitle": meta(about), "lang": meta(tree.language or "en")}
    if right_to_left(tree.language):
        metadata["dir"] = meta("rtl")
    blocks = list(tree.blocks)
    if tree.is_long:
        blocks.insert(tree.answer, contents_field(phrase("contents", tree.language), tree.depth))
    with as_file(files("leadline_plugins.formats").joinpath("assets", "report.docx")) as own:
        data = await write(blocks, metadata, "docx", call, f"--reference-doc={reference or own}")
        data = await context.in_thread(_styled, data, tree, own, reference)
    return Files(files=(Blob(name=report_name(context, "docx"), media_type=MEDIA_TYPE, data=data),))


def contents_field(title: str, depth: int) -> Node:
    """Return a field with the contents of the file, which `fill_contents` fills in."""
    begin, separate, end = (f'<w:fldChar w:fldCharType="{kind}"/>' for kind in ("begin", "separate", "end"))
    code = f'<w:instrText xml:space="preserve">TOC \\o "1-{depth}" \\h \\z \\u</w:instrText>'
    heading = f'<w:p><w:pPr><w:pStyle w:val="TOCHeading"/></w:pPr><w:r><w:t>{escape(title)}</w:t></w:r></w:p>'
    field = f"{heading}<w:p><w:r>{begin}{code}{separate}{end}</w:r></w:p>"
    return {"t": "RawBlock", "c": ["openxml", field]}


def _check(reference: Path) -> None:
    if not is_zipfile(reference) or "word/document.xml" not in ZipFile(reference).namelist():
        what = "is no Word file: save it in Word as .docx, or begin with a report.docx"
        raise ConfigError(f"plugins.docx.reference: {reference} {what}")


def _styled(data: bytes, tree: Document, own: Path, reference: Path | None) -> bytes:
    # Imported here, because python-docx takes .2 s.
    from leadline_plugins.formats.docx_style import styled

    return styled(data, tree.title, tree.language, tree.depth, own, reference or own)


@pandoc_format(
    "docx",
    "A Word file, with styles, figures and linked references",
    "docx",
    settings=DocxSettings,
    ready=lambda settings: file_fault("docx.reference", settings.reference, ".docx", _check),
)
def _format(settings: DocxSettings, context: Context) -> PandocFormat:
    reference = settings.reference and settings.reference.expanduser()
    return PandocFormat(MEDIUM, partial(write_docx, reference), context)
