"""Files that are made to cost time or memory: each is read in part, with a notice, or refused with name and limit."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from io import BytesIO
from itertools import cycle, islice
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from leadline import parsing, workers
from leadline.errors import Unsupported
from leadline.parsing import parse_in_worker
from leadline.records import Blob, Document

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = {
    "feed": "application/rss+xml",
    "html": "text/html",
    "markdown": "text/markdown",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "pdf": "application/pdf",
    "rtf": "application/rtf",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "text": "text/plain",
    "word": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
PARSERS = {"markdown": "text", "ods": "office", "rtf": "office", "xlsx": "office"}


# --- the bytes -------------------------------------------------------------------------------------------------------


def word(body: str) -> bytes:
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>')
    return data.getvalue()


def sheet(rows: str) -> bytes:
    from openpyxl import Workbook  # type: ignore[import-untyped]

    made, data = BytesIO(), BytesIO()
    Workbook().save(made)
    with ZipFile(made) as before, ZipFile(data, "w", ZIP_DEFLATED) as after:
        for name in before.namelist():
            content = before.read(name)
            after.writestr(name, content.replace(b"<sheetData></sheetData>", f"<sheetData>{rows}</sheetData>".encode()))
    return data.getvalue()


def ods(rows: str) -> bytes:
    uri, data = "urn:oasis:names:tc:opendocument:xmlns:", BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        spaces = " ".join(f'xmlns:{name}="{uri}{name}:1.0"' for name in ("office", "table", "text"))
        body = f"<office:body><office:spreadsheet><table:table>{rows}</table:table></office:spreadsheet></office:body>"
        archive.writestr("content.xml", f"<office:document-content {spaces}>{body}</office:document-content>")
    return data.getvalue()


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def cell(text: str, span: int = 1) -> str:
    return f'<w:tc><w:tcPr><w:gridSpan w:val="{span}"/></w:tcPr>{paragraph(text)}</w:tc>'


def row(cells: str) -> str:
    return f"<w:tr>{cells}</w:tr>"


def table(rows: str) -> str:
    return f"<w:tbl>{rows}</w:tbl>"


def pdf(content: bytes, *more: bytes, pages: int = 1, filters: bytes = b"", resources: bytes = b"") -> bytes:
    """Return a PDF whose pages are one object with this content; `more` objects are numbered from 6."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b"4 0 R " * pages, pages),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> %s >> "
        b"/Contents 5 0 R >>" % resources,
        b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), filters, content),
        *more,
    ]
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(data))
    return data + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


SHOWN = b"BT /F1 12 Tf 72 720 Td (The harbour is deep.) Tj ET"


def packed_pdf() -> bytes:
    """Return a PDF of 5 KB whose page is 300 MB of operators, compressed twice."""
    packer = zlib.compressobj(9)
    once = b"".join(packer.compress(b"q " * 500_000) for _ in range(300)) + packer.flush()
    return pdf(zlib.compress(once, 9), filters=b"/Filter [/FlateDecode /FlateDecode]")


def forms_in_forms() -> bytes:
    """Return a PDF whose forms draw the next one ten times each: ten billion in all."""

    def form(number: int) -> bytes:
        content = b"/X Do " * 10 if number < 10 else SHOWN
        uses = b"/XObject << /X %d 0 R >>" % (7 + number) if number < 10 else b"/Font << /F1 3 0 R >>"
        about = b"/Type /XObject /Subtype /Form /BBox [0 0 600 700] /Resources << %s >> /Length %d" % (
            uses,
            len(content),
        )
        return b"<< %s >>\nstream\n%s\nendstream" % (about, content)

    return pdf(b"/X Do ", *(form(number) for number in range(11)), resources=b"/XObject << /X 6 0 R >>")


def attributes(count: int, value: str = "1") -> str:
    return " ".join(f"a{number}='{value}'" for number in range(count))


def feed(items: str) -> bytes:
    return f"<rss><channel><title>News</title>{items}</channel></rss>".encode()


def nested_entries() -> bytes:
    inside = "<entry><description>" * 100 + "deep " * 400_000 + "</description></entry>" * 100
    return feed(f"<item><description>{inside}</description></item>")


MEMORY = (
    "needs more than 256 MB of memory to parse|too large|too many|which may use 256 MB of memory"
    r"|was not parsed within \d+ s of processor time"  # on a slow machine that comes first
)
REFUSED: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "forms.pdf": ("pdf", forms_in_forms, MEMORY),
    "packed.pdf": ("pdf", packed_pdf, MEMORY),
    "no-file.pdf": ("pdf", lambda: pdf(SHOWN)[:300], "not a readable PDF"),
    "loop.pdf": ("pdf", lambda: pdf(SHOWN).replace(b"[4 0 R ]", b"[2 0 R ]"), "not a readable PDF"),
    "paragraphs.docx": ("word", lambda: word(paragraph("a") * 101_000), "over 100,000 paragraphs"),
    "unpacked.ods": ("ods", lambda: ods(" " * 60_000_000), "unpacks to over 40,000,000 bytes"),
    "deep.ods": ("ods", lambda: ods("<table:table-row>" * 5_000), "not a readable file"),
    "strings.xlsx": (
        "xlsx",
        lambda: sheet(f"<row><c t='inlineStr'><is><t>{'a' * 90_000_000}</t></is></c></row>"),
        MEMORY,
    ),
    "unpacked.docx": ("word", lambda: word(" " * 60_000_000), "unpacks to over 40,000,000 bytes"),
    "cells.docx": (
        "word",
        lambda: word(table(row(cell("a", 40)) * 600)),
        "a table of over 20,000 cells",
    ),
    "wide.docx": (
        "word",
        lambda: word(table(row(cell("a")) * 15_000 + row(cell("a", 50) * 39))),
        "a table of over 20,000 cells",
    ),
    "deep.docx": ("word", lambda: word("<w:p>" * 5_000 + "a" + "</w:p>" * 5_000), "not a readable Word file"),
    "runs.docx": ("word", lambda: word(f"<w:p>{'<w:r><w:t>a</w:t></w:r>' * 1_500_000}</w:p>"), MEMORY),
    "elements.html": ("html", lambda: b"<p>a" * 1_250_000, MEMORY),
    "pictures.html": ("html", lambda: b"<img src=a alt=b>" * 100_000, "no text"),
    "attributes.docx": (
        "word",
        lambda: word(f"<w:p {attributes(400_000)}></w:p>"),
        f"no text|{MEMORY}",
    ),
    "empty.xml": ("feed", lambda: feed("<item><a/></item>" * 800_000), "no text"),
    "tags.xml": ("feed", lambda: b"<rss><channel><item>" + b"<a>" * 1_000_000, "no text"),
    "entities.xml": (
        "feed",
        lambda: (
            b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">'
            + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(10))
            + b"]>"
            + feed("<item><title>&k;</title></item>")
        ),
        "no text|not a feed",
    ),
    "stars.md": ("markdown", lambda: b"* " * 4_000_000 + b"a", MEMORY),
    "rows.md": ("markdown", lambda: b"|" * 9_000 + b"\n" + b"|-" * 9_000 + b"\n" + b"|\n" * 400_000, MEMORY),
    "packed.txt; charset=zlib": ("text", lambda: zlib.compress(b"a" * 50_000_000), "binary, not text"),
}
READ: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "span.docx": ("word", lambda: word(table(row(cell("a", 2_000_000_000) * 2))), ""),
    "rows.xlsx": (
        "xlsx",
        lambda: sheet("<row><c><v>1</v></c><c><v>2</v></c></row>" * 60_000),
        "only the first 100,000",
    ),
    "wide.ods": (
        "ods",
        lambda: ods(
            '<table:table-row table:number-rows-repeated="999999999"><table:table-cell'
            ' table:number-columns-repeated="999999999"><text:p>a</text:p></table:table-cell></table:table-row>'
        ),
        "",
    ),
    "notes.rtf": ("rtf", lambda: b"{\\rtf1 a" + b"{\\footnote " * 200_000, ""),
    "code.docx": ("word", lambda: word(paragraph("a" * 300) * 20_000), "only the first 4,000,000 of"),
    "attributes.html": ("html", lambda: f"<p>a lead <b {attributes(400_000)}>line".encode(), ""),
    "quoted.html": ("html", lambda: f"<p>a lead <b t='>' {attributes(400_000, '<')}>line".encode(), ""),
    "open.html": ("html", lambda: f"<p>a lead line<b {attributes(400_000)}".encode(), ""),
    "lists.html": ("html", lambda: f"<ul>{f'<li {attributes(1_000)}>a lead line</li>' * 400}".encode(), ""),
    "selectors.html": ("html", lambda: b"<style>" + b".a," * 100_000 + b"{}</style><p>a lead line", ""),
    "divs.html": ("html", lambda: b"<div>" * 100_000 + b"a lead line", ""),
    "tables.html": ("html", lambda: b"<table>" + b"<td colspan=1000 rowspan=65000>a" * 10_000, ""),
    "long.html": ("html", lambda: b"<p>" + b"word " * 2_000_000, "too many elements or characters"),
    "large.xml": (
        "feed",
        lambda: feed("".join(f"<item><title>{n}</title>{'<a>word </a>' * 80}</item>" for n in range(13_000))),
        "only the first",
    ),
    "nested.xml": ("feed", nested_entries, ""),
    "attributes.xml": ("feed", lambda: feed(f"<item {attributes(200_000)}><title>a lead line</title></item>"), ""),
    "spaces.md": ("markdown", lambda: b"# a" + b" " * 400_000 + b"b", ""),
    "signs.md": ("markdown", lambda: b"# a" + b" #" * 400_000 + b"b", ""),
    "comments.md": ("markdown", lambda: b"<!-- " * 700_000, ""),
    "quotes.md": ("markdown", lambda: b"> " * 2_000_000 + b"a", "only the first 4,000,000 of"),
    "options.txt": ("text", lambda: b"a lead line\n\n    " + b":a:\n    " * 100_000 + b"x\n", ""),
    "terms.md": ("markdown", lambda: b"a\n: b\n" * 60_000, "only the first 50,000 blocks"),
    "lines.txt": ("text", lambda: b"a\n\n" * 60_000, "only the first 50,000 blocks"),
    "ruby.txt": ("text", lambda: b"<ruby>" * 1_500_000, "only the first 4,000,000 of"),
    "puny.txt; charset=punycode": ("text", lambda: b"abc-" + b"a" * 300_000, ""),
    "puny.txt; charset*=punycode''aaaa": ("text", lambda: b"abc-" + b"a" * 300_000, ""),
    "idna.txt; charset=idna": ("text", lambda: b"abc." * 300_000, ""),
    "escape.txt; charset=unicode_escape": ("text", lambda: b"\\u0041" * 300_000, ""),
}


def blob(name: str, kind: str, data: bytes) -> Blob:
    name, _, parameter = name.partition("; ")
    return Blob(name=name, media_type=f"{TYPES[kind]}; {parameter}" if parameter else TYPES[kind], data=data)


async def parsed(name: str, kind: str, data: bytes) -> Document:
    function: Callable[[Blob], Document] = import_module(f"leadline_plugins.parse.{PARSERS.get(kind, kind)}").parse
    return await parse_in_worker(function, blob(name, kind, data))


# Of several files that meet the same limit, `make test` reads the fastest.
SLOW = {
    *("paragraphs.docx", "strings.xlsx", "empty.xml", "rows.md", "packed.pdf", "runs.docx", "attributes.docx"),
    *("rows.xlsx", "code.docx", "terms.md", "large.xml"),
}


def cases(files: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in files]


# --- what becomes of them --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", cases(REFUSED))
async def test_a_file_beyond_the_limits_is_refused_with_its_name_and_the_reason(name: str) -> None:
    kind, make, reason = REFUSED[name]
    with pytest.raises(Unsupported, match=f"^{name.partition(';')[0]}: .*({reason})"):
        await parsed(name, kind, make())


@pytest.mark.parametrize("name", cases(READ))
async def test_a_file_that_tries_to_cost_much_is_read_and_says_what_is_missing(name: str) -> None:
    kind, make, missing = READ[name]
    document = await parsed(name, kind, make())
    assert 0 < len(document.text) <= parsing.MOST_CHARACTERS
    assert len(document.blocks) <= parsing.MOST_BLOCKS
    assert all(0 <= block.start <= block.end <= len(document.text) for block in document.blocks)
    assert document.incomplete.startswith(missing) if missing.startswith("only") else missing in document.incomplete
    assert bool(document.incomplete) == bool(missing)


@pytest.mark.parametrize("filler", ["", " a='b'" * 50_000, " a='<'" * 50_000])
async def test_a_long_tag_keeps_its_first_attributes(filler: str) -> None:
    page = f"<p>seen</p><p hidden class='x'{filler}>SECRET</p><p>after</p>"
    document = await parsed("page.html", "html", page.encode())
    assert document.text == "seen\n\nafter"


async def test_pages_beyond_the_limit_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from leadline_plugins.parse.pdf import parse

    monkeypatch.setattr("leadline_plugins.parse.pdf_lines._PAGES", 3)
    document = parse(blob("book.pdf", "pdf", pdf(SHOWN, pages=5)))
    assert len(document.pages) == 3
    assert document.incomplete == "only the first 3 of 5 pages were read"


BAD_PARSERS = """
from leadline.records import Document

def endless(blob):
    while True:
        pass

def nested(blob):
    return nested(blob)

def large(blob):
    return Document(text="a" * 2**30)

def crashing(blob):
    import os
    os.abort()

def long(blob):
    return Document(text="a" * 5_000_000, pages=(0, 4_500_000))
"""


@pytest.fixture
def bad_parsers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Yield a module of somebody else's parsers, which the workers can import."""
    (tmp_path / "bad_parsers.py").write_text(BAD_PARSERS)
    monkeypatch.syspath_prepend(tmp_path)
    workers.close()
    yield import_module("bad_parsers")
    sys.modules.pop("bad_parsers")
    workers.close()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("endless", r"was not parsed within 1 s of processor time"),
        ("nested", "nests too deeply to parse"),
        ("large", "needs more than 256 MB of memory to parse"),
        ("crashing", r"crashed the parser \(SIGABRT\), which may use 256 MB of memory"),
    ],
)
async def test_limits_hold_for_any_parser(
    name: str, reason: str, bad_parsers: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsing, "_SECONDS", 1.0)
    with pytest.raises(Unsupported, match=f"^a: {reason}$"):
        await parse_in_worker(getattr(bad_parsers, name), Blob(name="a", media_type="text/plain", data=b""))


async def test_a_document_of_any_parser_is_cut(bad_parsers: ModuleType) -> None:
    document = await parse_in_worker(bad_parsers.long, Blob(name="a", media_type="text/plain", data=b""))
    assert (len(document.text), document.pages) == (4_000_000, (0,))
    assert document.incomplete == "only the first 4,000,000 of 5,000,000 characters were kept"


async def test_a_parser_that_no_worker_can_import_is_told_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"cannot run in a worker process .* or await `context\.in_thread"):
        await parse_in_worker(lambda file: Document(text=file.name), Blob(name="a", media_type="a/b", data=b""))


# --- many at once ----------------------------------------------------------------------------------------------------

CROWD = """
import asyncio, json, os, pathlib, pickle, sys, threading, time
from importlib import import_module
from leadline.parsing import parse_in_worker
from leadline.records import Blob

files = pickle.loads(sys.stdin.buffer.read())
peak, done = 0, threading.Event()


def statuses(pid):
    yield pathlib.Path(f"/proc/{pid}/status").read_text()
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from statuses(child)


def watch():
    global peak
    while not done.wait(0.02):
        try:
            texts = list(statuses(os.getpid()))
        except OSError:  # one of them has just ended
            continue
        peak = max(peak, sum(int(text.partition("VmRSS:")[2].split()[0]) for text in texts if "VmRSS:" in text))


async def read(module, name, media_type, data):
    function = import_module(f"leadline_plugins.parse.{module}").parse
    try:
        return (await parse_in_worker(function, Blob(name=name, media_type=media_type, data=data))).text[:200]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


async def main():
    return await asyncio.gather(*(read(*file) for file in files))


threading.Thread(target=watch).start()
results = asyncio.run(main())
done.set()
print(json.dumps({"peak": peak, "results": results}))
"""
GOOD: dict[str, tuple[str, Callable[[], bytes]]] = {
    "good.pdf": ("pdf", lambda: pdf(SHOWN)),
    "good.docx": ("word", lambda: word(paragraph("The harbour is deep."))),
    "good.html": ("html", lambda: b"<p>The harbour is deep."),
    "good.xml": ("feed", lambda: feed("<item><title>The harbour is deep.</title></item>")),
    "good.txt": ("text", lambda: b"The harbour is deep."),
}


@pytest.mark.slow
@pytest.mark.timeout(1_300)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of processes is read from /proc")
def test_sixty_hostile_files_at_once_harm_no_good_one() -> None:
    made = [(name, kind, make()) for name, (kind, make, _) in REFUSED.items()]
    hostile = [*islice(cycle(made), 60)]
    good = [(name, kind, make()) for name, (kind, make) in GOOD.items()]
    files = [file for number in range(20) for file in (*hostile[3 * number : 3 * number + 3], good[number % 5])]
    blobs = [(PARSERS.get(kind, kind), blob(name, kind, data)) for name, kind, data in files]
    sent = pickle.dumps([(module, one.name, one.media_type, one.data) for module, one in blobs])
    command = [sys.executable, "-P", "-c", CROWD]
    done = subprocess.run(command, input=sent, stdout=subprocess.PIPE, timeout=1_200, check=True)
    told = json.loads(done.stdout)
    for (name, _, _), result in zip(files, told["results"], strict=True):
        if name.startswith("good."):
            assert "The harbour is deep." in result
        else:
            assert result.startswith(f"Unsupported: {name.partition(';')[0]}: ")
    assert told["peak"] < 1_500_000
