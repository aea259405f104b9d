import random
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from leadline.errors import Unsupported
from leadline.records import Blob
from leadline_plugins.parse import word as module
from leadline_plugins.parse.media import DOCX
from leadline_plugins.parse.word import parse

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
Make = Callable[..., bytes]
Text = Callable[..., str]


def blob(data: bytes) -> Blob:
    return Blob(name="log.docx", media_type=DOCX, data=data)


def test_paragraphs_and_tables_are_in_their_order(word: Make) -> None:
    document = parse(blob(word("Soundings", ["Before.", "After."], [["fathoms", "place"], ["12", "bay | cove"]])))
    assert document.title == "Soundings"
    table = "| fathoms | place |\n| --- | --- |\n| 12 | bay \\| cove |"
    assert document.text == f"# Soundings\n\nBefore.\n\n{table}\n\nAfter."
    assert [block.kind for block in document.blocks] == ["heading", "paragraph", "table", "paragraph"]


def test_styles_and_numberings_make_headings_lists_code_and_definitions(word_file: Make, paragraph: Text) -> None:
    body = [
        paragraph("Soundings", "heading 1"),
        paragraph("Leads", "heading 2"),
        paragraph("deep", level=0),
        paragraph("first", level=1),
        paragraph("second", level=1),
        paragraph("shallow", level=0),
        paragraph("$ sound", "Source Code"),
        paragraph("12", "Source Code"),
        paragraph("fathom", "Definition Term"),
        paragraph("Six feet.", "Definition"),
        paragraph("Mark twain.", "Block Text"),
    ]
    document = parse(blob(word_file("".join(body))))
    assert document.text == (
        "# Soundings\n\n## Leads\n\n- deep\n  1. first\n  2. second\n- shallow\n\n```\n$ sound\n12\n```\n\n"
        "fathom\n:   Six feet.\n\n> Mark twain."
    )
    assert document.blocks[-1].path == ("Soundings", "Leads")


def run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>"


def place(name: str) -> str:
    return f'<w:vertAlign w:val="{name}"/>'


CHOICE = "<mc:Choice>{0}</mc:Choice><mc:Fallback>{0}</mc:Fallback>".format(
    f"<w:txbxContent><w:p>{run('BOX')}</w:p></w:txbxContent>"
)
FIELD = '<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{}</w:ffData></w:fldChar></w:r>'
FRACTION = (
    "<m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>"
)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (run("10") + run("−", place("superscript")) + run("6", place("superscript")) + run(" m"), "10^−6 m"),
        (run("10") + run("6", '<w:position w:val="6"/>') + run(" fish"), "10^6 fish"),
        (run("the 1") + run("st", place("superscript")) + run(" of May"), "the 1st of May"),
        (run("the harbour") + run("3", place("superscript")) + run(" and"), "the harbour[^3] and"),
        (run("CO") + run("2", place("subscript")) + run(" and V") + run("max", place("subscript")), "CO₂ and V_max"),
        (run("costs ") + run("90", "<w:strike/>") + run(" 60"), "costs ~~90~~ 60"),
        (f"<w:r><mc:AlternateContent>{CHOICE}</mc:AlternateContent></w:r>{run('anchor')}", "BOX\n\nanchor"),
        (f"<w:moveFrom>{run('MOVED')}</w:moveFrom><w:ins>{run('stays')}</w:ins>", "stays"),
        (
            f"<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{run('Click')}</w:sdtContent></w:sdt>{run('x')}",
            "x",
        ),
        (FIELD.format('<w:checkBox><w:default w:val="1"/></w:checkBox>') + run("agreed"), "☒ agreed"),
        (
            FIELD.format('<w:ddList><w:result w:val="1"/><w:listEntry w:val="a"/><w:listEntry w:val="b"/></w:ddList>'),
            "b",
        ),
        ('<w:r><w:sym w:font="Symbol" w:char="F0B1"/><w:t>5</w:t></w:r>', "±5"),
        (f"{run('so ')}{FRACTION}{run('.')}", "so (a+b)/2."),
    ],
)
def test_marks_boxes_fields_and_formulas_read_as_they_look(word_file: Make, body: str, text: str) -> None:
    assert parse(blob(word_file(f"<w:p>{body}</w:p>"))).text == text


def test_a_note_follows_its_block_and_its_mark_is_no_figure(word_file: Make, paragraph: Text) -> None:
    mark = '<w:r><w:{0}noteReference w:id="7"/></w:r>'
    body = f"<w:p>{run('Built in 1950')}{mark.format('foot')}{run('.')}{mark.format('end')}</w:p>{paragraph('Next.')}"
    notes = {
        f"word/{kind}notes.xml": f"<w:{kind}notes {W}>{start}{paragraph(kind)}</w:{kind}note></w:{kind}notes>"
        for kind, start in (("foot", '<w:footnote w:id="7">'), ("end", '<w:endnote w:id="7">'))
    }
    assert parse(blob(word_file(body, notes))).text == "Built in 1950[^1].[^2]\n\n[^1] foot\n\n[^2] end\n\nNext."


def test_headings_keep_their_numbers(word_file: Make) -> None:
    numbered = '<w:pPr><w:outlineLvl w:val="{0}"/><w:numPr><w:ilvl w:val="{0}"/><w:numId w:val="2"/></w:numPr></w:pPr>'
    heads = [(0, "Leads"), (1, "Deep"), (1, "Shallow"), (0, "Ropes"), (1, "Long")]
    body = "".join(f"<w:p>{numbered.format(level)}{run(text)}</w:p>" for level, text in heads)
    found = parse(blob(word_file(body))).text.split("\n\n")
    assert found == ["# I. Leads", "## § 1 Deep", "## § 2 Shallow", "# II. Ropes", "## § 1 Long"]


def test_parts_are_found_by_their_relations_in_any_make(word_file: Make, paragraph: Text) -> None:
    with ZipFile(BytesIO(word_file(paragraph("Deep.", "heading 1")))) as made:
        parts = {name: made.read(name).decode() for name in made.namelist()}
    strict = {
        name: text.replace(
            "http://schemas.openxmlformats.org/wordprocessingml/2006", "http://purl.oclc.org/ooxml/wordprocessingml"
        )
        for name, text in parts.items()
    }
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    relation = f'<Relationships xmlns="{package}"><Relationship {{}}/></Relationships>'
    renamed = {
        "_rels/.rels": relation.format('Type="http://x/officeDocument" Target="/word/document2.xml"'),
        "word/_rels/document2.xml.rels": relation.format('Type="http://x/styles" Target="styles2.xml"'),
        "word/document2.xml": parts["word/document.xml"],
        "word/styles2.xml": parts["word/styles.xml"],
    }
    for files in (strict, renamed, {name.replace("/", "\\"): text for name, text in parts.items()}):
        data = BytesIO()
        with ZipFile(data, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        assert parse(blob(data.getvalue())).text == "# Deep."


@pytest.mark.parametrize("hidden", ["<w:vanish/>", '<w:vanish w:val="true"/>', '<w:sz w:val="2"/>'])
def test_hidden_and_tiny_text_is_not_read(word_file: Make, hidden: str) -> None:
    runs = "<w:r>{}<w:t>{}</w:t></w:r>"
    shown = runs.format('<w:rPr><w:vanish w:val="0"/><w:sz w:val="24"/></w:rPr>', "Seen.")
    body = f"<w:p>{shown}{runs.format(f'<w:rPr>{hidden}</w:rPr>', 'SECRET')}</w:p>"
    assert parse(Blob(name="a.docx", media_type=DOCX, data=word_file(body))).text == "Seen."


def test_a_span_is_bounded(word_file: Make, paragraph: Text) -> None:
    cell = '<w:tc><w:tcPr><w:gridSpan w:val="2000000000"/></w:tcPr>{}</w:tc>'
    rows = "".join(f"<w:tr>{cell.format(paragraph(text))}</w:tr>" for text in ("deep", "shallow"))
    assert len(parse(blob(word_file(f"<w:tbl>{rows}</w:tbl>"))).text) < 1000


def test_too_many_paragraphs_are_refused(word_file: Make, paragraph: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PARAGRAPHS", 10)
    with pytest.raises(Unsupported, match="over 10 paragraphs"):
        parse(blob(word_file(paragraph("x") * 11)))


@pytest.mark.parametrize("data", [b"", b"not a zip", b"PK\x03\x04 cut off"])
def test_a_broken_file_is_named(data: bytes) -> None:
    with pytest.raises(Unsupported, match=r"log\.docx: not a readable Word file"):
        parse(blob(data))


def test_damage_anywhere_is_an_answer_and_no_crash(word: Make) -> None:
    data, chance = word("Soundings", ["Before.", "After."]), random.Random(5)
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(20):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        with suppress(Unsupported):
            assert parse(blob(bytes(damaged))).text


def test_a_zip_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_UNPACKED", 10_000)
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * 1_000_000)
    with pytest.raises(Unsupported, match="unpacks to over 10,000 bytes"):
        parse(blob(data.getvalue()))
