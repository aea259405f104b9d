"""What parsers keep of files of all kinds: the share of the words and of the numbers of the text they were made from.

    python tests/benchmarks/quality/documents.py [--out FOLDER] [--only KIND] [--show]
    python tests/benchmarks/quality/documents.py --real FOLDER

The first makes 60 files with Pandoc, LibreOffice, Typst, reportlab, openpyxl and python-pptx (`apt-get install
libreoffice poppler-utils`, `pip install reportlab`) from four reports of $EVAL_DATA/reports and from texts below. The
second reads HTML pages and PDFs of unpacked Debian packages; the truth is the main element, or what pdftotext reads
without lines that recur.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import re
import subprocess
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pypandoc  # type: ignore[import-untyped]

from leadline.errors import Unsupported
from leadline.records import Blob
from leadline.testing.context import FakeCall
from leadline_plugins.parse.html import HtmlParser
from leadline_plugins.parse.media import media_type
from leadline_plugins.parse.office import OfficeParser
from leadline_plugins.parse.pdf import PdfParser
from leadline_plugins.parse.word import WordParser

PARSERS = (HtmlParser(), PdfParser(), WordParser(), OfficeParser())
OWN = {
    "de": """# Der Kai von Ostrov

Der Kai trug 1931 rund 4,5 · 10^6^ kg Fracht; die Fläche misst 14 m^2^, der CO~2~-Gehalt 0,04 %.[^a]

[^a]: Gezählt am 3. Mai 1932, ohne die 12 Boote der Lotsen.

| Jahr | Heringe | Dorsche |
|------|--------:|--------:|
| 2022 |   1.310 |     125 |
| 2023 |         |      88 |
| 2024 |   1.402 |         |

Die Gebühr betrug ~~90~~ 75 Kronen. Zweimal im Jahr, je am 1. März und 1. Oktober, prüft das Amt:

1. die Poller (24 Stück),
2. die Leitern, nämlich
    - 7 am Nordkai und
    - 5 am Südkai.

> „Wer über 3 t lädt, zahlt 1/2 mehr“, steht in § 12.
""",
    "ja": """# オストロフの橋

橋は1931年に開通し、修理費は4500万クローネ（2.5×10^6^ユーロ）であった。[^1]

[^1]: 1999年の洪水の後に閉鎖された。

## 通行料

| 車種 | 夏 | 冬 |
|------|---:|---:|
| 荷車 | 4 | 6 |
| 貨物車 | | 19 |

- 歩行者は1クローネを払う。
- 子供12人までは無料である。
""",
}
SHEET = [
    ("Port", None, "Port"), (1234567, "#,##0", "1,234,567"), (0.125, "0.0%", "12.5%"),
    (date(2024, 3, 9), "yyyy-mm-dd", "2024-03-09"),
    ("Ostrov", None, "Ostrov"), (-42.5, "0.00", "-42.50"), (7, None, "7"), ("Größe 3", None, "Größe 3"),
]  # fmt: skip
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WORDS = re.compile(rf"\d+(?:[.,:]\d+)*|{_WIDE.pattern}|(?:(?!{_WIDE.pattern})[^\W\d_])+")


def words(text: str) -> Counter[str]:
    """Return the words and numbers of a text; each letter of Chinese and Japanese is a word."""
    text = unicodedata.normalize("NFKC", text.replace("\u00ad", "")).casefold()
    return Counter(_WORDS.findall(text))


def kept(truth: Counter[str], text: str) -> tuple[float, float, Counter[str]]:
    """Return the shares of words and of numbers that are kept, and what is lost."""
    lost = truth - words(text)
    shares = []
    for numbers in (False, True):
        whole = sum(count for word, count in truth.items() if word[0].isdigit() == numbers)
        gone = sum(count for word, count in lost.items() if word[0].isdigit() == numbers)
        shares.append(1 - gone / max(1, whole))
    return shares[0], shares[1], lost


async def read(path: Path) -> tuple[str, str]:
    """Return what is parsed of a file, and its notice."""
    data = path.read_bytes()
    name, data = (path.stem, gzip.decompress(data)) if path.suffix == ".gz" else (path.name, data)
    blob = Blob(name=name, media_type=media_type(name), data=data)
    parser = next(parser for parser in PARSERS if parser.accepts(blob.media_type))
    document = await parser.parse(blob, FakeCall())
    return f"{document.title}\n{document.text}", document.incomplete


def sources() -> dict[str, str]:
    """Return Markdown texts by their names: four reports of other systems, and two of all that is hard."""
    lines = (Path(os.environ["EVAL_DATA"]) / "reports" / "reports.jsonl").read_text(encoding="utf-8").splitlines()
    reports = [json.loads(line) for line in lines]
    tables = [row for row in reports if "|--" in row["markdown"].replace(" ", "") and len(row["markdown"]) < 30_000]
    chosen = [row for lang in ("en", "zh") for row in [row for row in tables if row["lang"] == lang][:2]]
    return {row["id"]: row["markdown"] for row in chosen} | OWN


def plain(markdown: str) -> str:
    """Return what a reader of a Markdown text sees, in the convention of the parsers."""
    # The marks of notes are no text, and a figure that is raised or lowered is no part of the number before it.
    markdown = re.sub(r"\[\^\w+\](: )?", "", markdown)
    apart = re.sub(r"\^(\w+)\^", r" \1 ", re.sub(r"~(\w+)~", r" \1 ", markdown.replace("~~", "")))
    return str(pypandoc.convert_text(apart, "plain", format=FORMAT, extra_args=["--wrap=none"]))


FORMAT = "markdown+autolink_bare_uris" + "".join(
    f"-{extension}"
    for extension in (
        *(
            "yaml_metadata_block",
            "tex_math_dollars",
            "raw_html",
            "raw_tex",
            "citations",
            "example_lists",
            "fancy_lists",
        ),
    )
)


def make(folder: Path) -> Iterator[tuple[str, Path, str]]:
    """Write the files, and yield kind, path and truth of each."""
    texts = sources()
    for name, markdown in texts.items():
        for ending in ("docx", "odt", "epub", "html", "rtf", "typ"):
            path = folder / f"{name}.{ending}"
            to = {"typ": "typst", "html": "html5"}.get(ending, ending)
            arguments = ["--standalone", f"--metadata=pagetitle={name}", f"--metadata=title={name}"]
            pypandoc.convert_text(markdown, to, format=FORMAT, outputfile=str(path), extra_args=arguments)
            if ending != "typ":
                yield f"pandoc {ending}", path, plain(markdown)
        yield "typst pdf", typst(folder / f"{name}.typ"), plain(markdown)
        yield "reportlab pdf", reportlab(folder / f"{name}-r.pdf", plain(markdown)), plain(markdown)
    office = folder / "office"
    convert(office, "docx", [folder / f"{name}.odt" for name in texts])
    convert(office, "pdf", [folder / f"{name}.docx" for name in texts])
    for name, markdown in texts.items():
        for ending in ("docx", "pdf"):
            yield f"libreoffice {ending}", office / f"{name}.{ending}", plain(markdown)
    shown = "\n".join(cell for *_, cell in SHEET)
    yield "openpyxl xlsx", sheet(folder / "a.xlsx", 4), shown
    yield "openpyxl xlsx", sheet(folder / "b.xlsx", 2), shown
    slides = [*texts.values()][-2:]
    for number, markdown in enumerate(slides):
        yield "python-pptx pptx", show(folder / f"{number}.pptx", plain(markdown)), plain(markdown)
    convert(office, "ods", [folder / "a.xlsx"])
    convert(office, "odp", [folder / "0.pptx"])
    yield "libreoffice ods", office / "a.ods", shown
    yield "libreoffice odp", office / "0.odp", plain(slides[0])


def convert(folder: Path, ending: str, files: list[Path]) -> None:
    """Convert files with LibreOffice."""
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{folder}-profile", "--convert-to", ending]
    subprocess.run([*command, "--outdir", str(folder), *map(str, files)], check=True, capture_output=True)


def typst(path: Path) -> Path:
    """Return the PDF that Typst makes of a file."""
    import typst as compiler

    made = path.with_suffix(".pdf")
    compiler.compile(str(path), output=str(made))
    return made


def reportlab(path: Path, text: str) -> Path:
    """Write paragraphs, texts without spaces in two columns, with running heads and page numbers."""
    from reportlab.lib.pagesizes import A4  # type: ignore[import-untyped]
    from reportlab.lib.styles import getSampleStyleSheet  # type: ignore[import-untyped]
    from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # type: ignore[import-untyped]
    from reportlab.pdfbase.ttfonts import TTFont  # type: ignore[import-untyped]
    from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph  # type: ignore[import-untyped]

    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    pdfmetrics.registerFont(TTFont("DejaVu", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"))
    style = getSampleStyleSheet()["BodyText"]
    wide = bool(_WIDE.search(text))
    style.fontName, style.splitLongWords = "STSong-Light" if wide else "DejaVu", 0

    def edge(canvas: Any, made: Any) -> None:
        canvas.drawString(60, 810, "Running head of the made document")
        canvas.drawString(290, 20, str(canvas.getPageNumber()))

    made = BaseDocTemplate(str(path), pagesize=A4, title="untitled")
    frames = [Frame(left, 50, 240, 740) for left in (50, 305)] if wide else [Frame(50, 50, 495, 740)]
    made.addPageTemplates(PageTemplate(frames=frames, onPage=edge))
    parts = [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
    made.build([Paragraph("<br/>".join(map(escape, broken(part))) if wide else escape(part), style) for part in parts])
    return path


def broken(text: str) -> list[str]:
    """Return the lines of a column of Chinese or Japanese, which breaks between letters, but not in other words."""
    lines = [""]
    for part in re.findall(rf"{_WIDE.pattern}|(?:(?!{_WIDE.pattern})\S)+\s?|\s", text):
        if len(lines[-1]) + len(part) > 40:
            lines.append("")
        lines[-1] += part
    return lines


def sheet(path: Path, columns: int) -> Path:
    """Write cells with their formats."""
    from openpyxl import Workbook  # type: ignore[import-untyped]

    book = Workbook()
    for number, (value, form, _) in enumerate(SHEET):
        cell = book.active.cell(1 + number // columns, 1 + number % columns, value)
        cell.number_format = form or "General"
    book.save(path)
    return path


def show(path: Path, text: str) -> Path:
    """Write a slide for each paragraph: half as its text, four words as a table, the rest as its notes."""
    from pptx import Presentation
    from pptx.util import Inches

    slides = Presentation()
    for part in filter(None, map(str.split, text.split("\n\n"))):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        body, cells, notes = (
            part[: len(part) // 2],
            part[len(part) // 2 : len(part) // 2 + 4],
            part[len(part) // 2 + 4 :],
        )
        slide.shapes.placeholders[1].text = " ".join(body)
        slide.notes_slide.notes_text_frame.text = " ".join(notes)
        table = slide.shapes.add_table(2, 2, Inches(1), Inches(4), Inches(5), Inches(1)).table
        for number, word in enumerate(cells):
            table.cell(number // 2, number % 2).text = word
    slides.save(str(path))
    return path


def real(folder: Path) -> Iterator[tuple[str, Path, str]]:
    """Yield files of Debian packages, and their body text."""
    from lxml import html  # type: ignore[import-untyped]

    pages = sorted(path for path in folder.rglob("*.html*") if 8_000 < path.stat().st_size < 60_000)
    by_package: dict[str, list[Path]] = {}
    for path in pages:
        by_package.setdefault(str(path.relative_to(folder).parent), []).append(path)
    for paths in sorted(by_package.values(), key=len, reverse=True)[:20]:
        path = paths[len(paths) // 2]
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        tree = html.fromstring(data)
        main = next(iter(tree.xpath(MAIN)), tree.find("body"))
        for node in main.xpath(AROUND):
            node.drop_tree()
        yield "html", path, "\n".join(main.itertext())
    for path in sorted(folder.rglob("*.pdf*"), key=lambda path: (-path.stat().st_size, path))[:10]:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = subprocess.run(["pdftotext", "-", "-"], input=data, capture_output=True, check=True).stdout.decode()
        yield "pdf", path, without_edges(text)


MAIN = (
    "//div[@class='body']|//main|//div[@id='content']|//div[@class='book' or @class='chapter' or @class='section' or "
    "@class='sect1' or @class='refentry' or @class='appendix']"
)
AROUND = (
    ".//script|.//style|.//*[contains(@class,'nav')]|.//*[@class='headerlink']|.//*[@class='toc']|.//*[@id='footer']|"
    ".//*[contains(@class,'toctree')]|.//comment()"
)


# Dots that lead to the number of a page; numbers alone, which pdftotext sets apart from their entries of a contents.
_LEADER, _ONLY_NUMBERS = re.compile(r"(?:\. ?){4,}"), re.compile(r"[\d\s.,ivxlc]+")
_PAGE_NUMBER = re.compile(r"(\d+)(?: / \d+)?")


def without_edges(text: str) -> str:
    """Return the text of a PDF without running heads, page numbers, and lines of a table of contents or an index."""
    pages = [[line.strip() for line in page.split("\n") if line.strip()] for page in text.split("\f")]
    same = Counter(alike(line) for page in pages for line in {*page[:3], *page[-3:]})
    printed = ((number, _PAGE_NUMBER.fullmatch(line)) for number, page in enumerate(pages) for line in page)
    first = Counter(int(match[1]) - number for number, match in printed if match).most_common(1)
    rows = []
    for number, page in enumerate(pages):
        is_contents = sum(bool(_LEADER.search(line)) for line in page) > len(page) / 4
        for at, line in enumerate(page):
            is_head = (at < 3 or at >= len(page) - 3) and same[alike(line)] >= 3
            match = _PAGE_NUMBER.fullmatch(line)
            is_number = match and first and int(match[1]) == number + first[0][0]
            is_entry = _LEADER.search(line) or (is_contents and _ONLY_NUMBERS.fullmatch(line))
            if not (is_head or is_number or is_entry):
                rows.append(line)
    return re.sub(r"(?<=\w)[-\u2010\u00ad]\n(?=[^\W\d_])", "", "\n".join(rows))


def alike(line: str) -> str:
    """Return a line with a sign in place of each number."""
    return re.sub(r"\d+|\b[ivxlc]+\b", "#", line)


async def main() -> None:
    """Print what is kept by file and by kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--show", action="store_true", help="what is lost")
    parser.add_argument("--real", type=Path, help="folder of unpacked packages")
    options = parser.parse_args()
    below = excused = count = 0
    with tempfile.TemporaryDirectory() as folder:
        out = options.out or Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        for kind, path, truth in real(options.real) if options.real else make(out):
            if options.only not in kind:
                continue
            try:
                text, notice = await read(path)
            except Unsupported as error:
                text, notice = "", str(error)
            share, numbers, lost = kept(words(truth), text)
            count, bad = count + 1, share < 0.99 or numbers < 1
            below, excused = below + bad, excused + (bad and bool(notice))
            print(f"{'BELOW' if bad else '     '} {share:.4f} {numbers:.4f} {kind:16} {path.name} {notice}")
            if options.show and bad:
                print("      lost:", " ".join(f"{word}:{times}" for word, times in lost.most_common(40)))
    print(f"{count} files; {below} below .99 of words or 1.00 of numbers, {excused} of them with a notice")


asyncio.run(main())
