"""Files of a team that style PDF, Word and HTML; what they must not change; and what is said about a wrong one."""

from __future__ import annotations

import re
import time
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.errors import ConfigError
from leadline.records import Report
from leadline.testing.context import FakeCall, fake_context
from leadline_plugins.formats.house_style import style_sheet

LOGO = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><circle cx="9" cy="9" r="9"/></svg>'
CSS = """/* ours:
url(nowhere.svg) */
#title:hover { color: #00695c } #title::before { content: url(logo.svg) } a::after { content: "#1 </style>" }
"""
PRELUDE = """
#import "colours.typ"
#let accent = colours.green
#let font = ("DejaVu Sans Mono", "Noto Sans CJK SC")
#let logo = image("logo.svg")
#let _own = 3
#let style(body) = { set page(footer: [Halden, internal]); body }
"""
CHINESE = "“水深”九英寻 [@e1]。潮差为一英寻半 [@e4]。"
SETTING = {"css": "html", "typ": "pdf", "docx": "docx"}
Styled = Callable[..., Any]


@pytest.fixture
def styled(tmp_path: Path, make_call: Callable[..., FakeCall]) -> Styled:
    """Return the file that a format makes of a report with a style, which it calls as its settings would."""
    (tmp_path / "logo.svg").write_text(LOGO)
    (tmp_path / "logo.png").symlink_to("/etc/hostname")
    (tmp_path / "colours.typ").write_text('#let green = rgb("#00695c")')

    async def styled(report: Report, ending: str, content: str | bytes, *, name: str = "") -> Any:
        path = tmp_path / f"house.{ending}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        format_ = SETTING[ending]
        offer = PluginCatalog.discover().offer("report_formatters", format_)
        key = {"css": "css", "typ": "prelude", "docx": "reference"}[ending]
        settings = offer.settings.model_validate({key: path})
        if fault := offer.obstacle(settings, make_call().run.settings):
            raise ConfigError(fault)
        made = offer.create(settings, fake_context(tmp_path, name=name or format_))
        return (await made.format(report, make_call())).files[0]

    return styled


async def test_a_page_holds_the_style_sheet_and_the_files_that_it_names(
    styled: Styled, make_report: Callable[..., Report]
) -> None:
    file = await styled(make_report(CHINESE, language="zh"), "css", CSS, name="board")
    assert file.name == "board.html"
    page = file.data.decode()
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert f'content: url("data:image/svg+xml;base64,{b64encode(LOGO.encode()).decode()}")' in style
    assert f"style-src 'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in page
    assert "nowhere" not in page
    assert 'class="citation' in page
    assert "≠" in page


async def test_a_pdf_has_the_prelude_and_keeps_marks_and_scripts(
    styled: Styled, make_report: Callable[..., Report]
) -> None:
    pytest.importorskip("typst", reason="needs pip install 'leadline[pdf]'")
    from tests.plugins.formats.test_paged_formats import pdf_text

    file = await styled(make_report(CHINESE, language="zh"), "typ", PRELUDE)
    text = pdf_text(file.data)
    assert file.name == "report.pdf"
    for word in ("Halden, internal", "“水深”九英寻", "[2]≠。"):
        assert word in text
    assert b"DejaVuSansMono" in file.data.replace(b"-", b"")
    assert b"NotoSansCJKsc" in file.data


async def test_a_word_file_has_styles_header_and_footer_of_the_reference_and_what_it_lacks_of_ours(
    styled: Styled, make_report: Callable[..., Report], tmp_path: Path
) -> None:
    docx = pytest.importorskip("docx", reason="needs pip install 'leadline[docx]'")
    from docx.shared import RGBColor

    plain = await styled(make_report(title="The first report"), "docx", reference())
    house = docx.Document(BytesIO(plain.data))
    house.styles["Heading 1"].font.color.rgb = RGBColor(0, 0x69, 0x5C)
    house.styles["Normal"].element.rPr.rFonts.set(docx.oxml.ns.qn("w:eastAsia"), "Source Han Serif")
    house.styles["Table Text"].element.getparent().remove(house.styles["Table Text"].element)
    house.sections[0].footer.paragraphs[0].text = "Halden, internal"
    house.save(tmp_path / "changed.docx")
    file = await styled(
        make_report(title="The second", language="ja"), "docx", (tmp_path / "changed.docx").read_bytes()
    )
    word = docx.Document(BytesIO(file.data))
    assert str(word.styles["Heading 1"].font.color.rgb) == "00695C"
    assert word.styles["Normal"].element.rPr.rFonts.get(docx.oxml.ns.qn("w:eastAsia")) == "Source Han Serif"
    assert word.sections[0].header.paragraphs[0].text == "The second"
    assert word.sections[0].footer.paragraphs[0].text == "Halden, internal"
    assert word.tables[-1]._tbl.xpath(".//w:pStyle[@w:val='TableText']")
    assert "Table Text" in word.styles


async def test_a_header_of_the_reference_stays_and_none_is_added(
    styled: Styled, make_report: Callable[..., Report], tmp_path: Path
) -> None:
    docx = pytest.importorskip("docx", reason="needs pip install 'leadline[docx]'")
    house = docx.Document(BytesIO(reference()))
    house.sections[0].header.paragraphs[0].text = "Halden"
    house.save(tmp_path / "changed.docx")
    file = await styled(make_report(), "docx", (tmp_path / "changed.docx").read_bytes())
    assert docx.Document(BytesIO(file.data)).sections[0].header.paragraphs[0].text == "Halden"
    foreign = docx.Document()
    for size in foreign.element.body.xpath(".//w:pgSz"):
        size.getparent().remove(size)
    foreign.save(tmp_path / "foreign.docx")
    file = await styled(make_report(), "docx", (tmp_path / "foreign.docx").read_bytes())
    assert docx.Document(BytesIO(file.data)).sections[0].header.is_linked_to_previous


async def test_word_loads_nothing_that_a_reference_names(
    styled: Styled, make_report: Callable[..., Report], tmp_path: Path
) -> None:
    docx = pytest.importorskip("docx", reason="needs pip install 'leadline[docx]'")
    from docx.opc.constants import RELATIONSHIP_TYPE as KIND

    house = docx.Document(BytesIO(reference()))
    template = docx.oxml.OxmlElement("w:attachedTemplate")
    kind = KIND.HYPERLINK.replace("hyperlink", "attachedTemplate")
    template.set(docx.oxml.ns.qn("r:id"), house.part._settings_part.relate_to("https://a.example/t.dotm", kind, True))
    house.settings.element.insert(0, template)
    house.save(tmp_path / "changed.docx")
    file = await styled(make_report(), "docx", (tmp_path / "changed.docx").read_bytes())
    word = docx.Document(BytesIO(file.data))
    assert not word.part._settings_part.rels
    assert not word.settings.element.xpath("w:attachedTemplate")
    house.sections[0].header.part.relate_to("https://a.example/logo.png", KIND.IMAGE, True)
    house.save(tmp_path / "changed.docx")
    with pytest.raises(ConfigError, match=r"house\.docx: /word/header1\.xml loads https://a\.example/logo\.png"):
        await styled(make_report(), "docx", (tmp_path / "changed.docx").read_bytes())


def test_a_style_sheet_is_read_in_one_pass(tmp_path: Path) -> None:
    for repeated in ("a", "a:", "/*", "url(", "url( ", 'url("', "{a:b", "a:url("):
        (tmp_path / "house.css").write_text(repeated * 50_000)
        began = time.process_time()
        style_sheet(tmp_path / "house.css")
        assert time.process_time() - began < 1, repeated


def reference() -> bytes:
    from importlib.resources import files

    return files("leadline_plugins.formats").joinpath("assets", "report.docx").read_bytes()


@pytest.mark.parametrize(
    ("ending", "content", "message"),
    [
        ("css", "\na { border: 1px solid #12g }", "line 2: #12g is no colour: write 3, 4, 6 or 8 digits"),
        ("css", "a { background: url('x.svg') }", "line 1: x.svg cannot be read: No such file"),
        ("css", "a { background: url(https://a.example/b.svg) }", "name a file relative to the style sheet"),
        ("css", "a { background: URL(/etc/hostname) }", "/etc/hostname is no picture or font"),
        ("css", "a { background: url(logo.png) }", "logo.png is no picture or font"),
        ("css", "@import 'other.css';", "@import 'other.css' would load a file"),
        ("css", b"\xff", "house.css cannot be read: 'utf-8' codec"),
        ("typ", '\n\n#let accent = rgb("#00695g")', r'line 3: rgb("#00695g") is no colour: write 3, 4, 6 or 8 digits'),
        ("typ", '#let font = "Dejavu Sarif"', "there is no font 'dejavu sarif'; similar ones: DejaVu Serif"),
        ("typ", "#let acent = red", "unknown name acent; the names are accent, font"),
        ("typ", '#let logo = image("/etc/hostname")', "file not found"),
        ("typ", "#let style(body) = { show heading: it => it.depht; body }", 'heading does not have field "depht"'),
        ("docx", b"no archive", "house.docx is no Word file: save it in Word as .docx, or begin with a report.docx"),
        ("docx", b"PK\5\6" + bytes(18), "house.docx is no Word file"),
    ],
)
async def test_a_fault_of_a_style_is_named_with_its_file_and_what_to_do(
    styled: Styled, make_report: Callable[..., Report], ending: str, content: str | bytes, message: str
) -> None:
    pytest.importorskip({"typ": "typst"}.get(ending, "docx" if ending == "docx" else "re"))
    with pytest.raises(ConfigError) as refused:
        await styled(make_report(), ending, content)
    assert str(refused.value).startswith(f"plugins.{SETTING[ending]}.")
    assert f"house.{ending}" in str(refused.value)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("key", "path", "message"),
    [
        ("html.css", "hose.css", r"there is no file /.*/hose\.css \(did you mean 'house\.css'\?\); `\./` begins"),
        ("pdf.prelude", "house.css", r"/.*/house\.css does not end with \.typ"),
    ],
)
def test_a_file_that_is_not_there_is_named_with_the_nearest(tmp_path: Path, key: str, path: str, message: str) -> None:
    (tmp_path / "house.css").touch()
    format_, _, field = key.partition(".")
    offer = PluginCatalog.discover().offer("report_formatters", format_)
    fault = offer.ready(offer.settings.model_validate({field: tmp_path / path}))
    assert re.search(rf"^plugins\.{re.escape(key)}: {message}", str(fault))
