"""The plugin `latex`: the report as LaTeX source with its pictures, for further editing."""

from __future__ import annotations

from leadline.contracts import Call, Context
from leadline.records import Blob, Files
from leadline_plugins.formats.document import Document, Medium
from leadline_plugins.formats.pandoc import meta, write
from leadline_plugins.formats.pandoc_format import PandocFormat, pandoc_format
from leadline_plugins.wording.phrases import for_language, right_to_left

MEDIUM = Medium(columns=10, pictures=("image/png", "image/jpeg"), inline=False)
_PAGE = {"geometry": ["margin=26mm"], "fontsize": "11pt", "colorlinks": True, "linkcolor": "black", "urlcolor": "teal"}
_EAST = {
    "zh": "Noto Serif CJK SC",
    "zh-hant": "Noto Serif CJK TC",
    "ja": "Noto Serif CJK JP",
    "ko": "Noto Serif CJK KR",
}


async def latex(tree: Document, context: Context, call: Call) -> Files:
    """Return `report.tex` for XeLaTeX or LuaLaTeX, which read Unicode, and its pictures."""
    day = f"{call.run.now():%Y-%m-%d}"
    page = _PAGE | {"title": tree.title, "date": day, "lang": tree.language or "en"}
    if font := for_language(_EAST, tree.language, ""):
        page["CJKmainfont"] = font
    if right_to_left(tree.language):
        page["dir"] = "rtl"
    metadata = {key: meta(value) for key, value in page.items()}
    data = await write(tree.blocks, metadata, "latex", call, "--standalone", "--wrap=none")
    return Files(files=(Blob(name="report.tex", media_type="application/x-tex", data=data), *tree.files))


@pandoc_format("latex", "LaTeX source, with its pictures beside it")
def _format(context: Context) -> PandocFormat:
    return PandocFormat(MEDIUM, latex, context)
