"""What of a real report survives each format: headings, words, addresses, cells of tables, Chinese text.

    python tests/benchmarks/quality/rendering.py [html] [docx] [pdf] [--only ID] [--out FOLDER] [--show]

The data lies in $EVAL_DATA, the scorers in $EVAL_SCORE. Each report becomes a section a heading of the second level.

A PDF is read as it is laid out (`pdftotext -layout`), by the blocks that `pdftotext` sees (it takes off every hyphen at
the end of a line), and in the order it is written in (`-raw`). In the first, neighbouring cells of several lines are
mixed line by line, so that such cells are found in no PDF.

The scorer takes every `_`, `~` and `*` of a cell or heading for a mark of Markdown and looks for the text without it,
so that `~10` and `read_committed` are lost to it wherever they stand; `exact` looks for what a Markdown parser says the
reader sees.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from leadline._hosting.catalog import PluginCatalog
from leadline.records import Report, Section
from leadline.settings import Settings
from leadline.testing.context import FakeCall, fake_context
from leadline_plugins.verification.reports.blocks import parse_blocks

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("EVAL_DATA", ROOT.parent / "shared" / "data"))
SCORE = Path(os.environ.get("EVAL_SCORE", DATA.parent / "eval" / "score"))
SHARES = ("heads", "urls", "cells", "words", "cjk")


class Run:
    """What a formatter asks of its run; keeps what it told."""

    settings = Settings.model_validate({"report": {}})

    def __init__(self) -> None:
        self.told: list[str] = []

    def now(self) -> datetime:
        return datetime(2026, 11, 21, tzinfo=UTC)

    async def emit(self, kind: str, data: Mapping[str, Any]) -> None:
        self.told.append(str(data.get("message", "")))


def report(row: Mapping[str, Any]) -> Report:
    """Return a report of another tool as one of ours: its first title, then its sections."""
    from markdown_it import MarkdownIt

    lines = row["markdown"].splitlines()
    tokens = MarkdownIt("commonmark").parse(row["markdown"])
    heads = [(token.tag, token.map[0]) for token in tokens if token.type == "heading_open" and token.map]
    title = next((place for tag, place in heads if tag == "h1"), None)
    cuts = [0, *(place for tag, place in heads if tag == "h2"), len(lines)]
    parts = [lines[start:end] for start, end in pairwise(cuts)]
    if title is not None:
        parts[bisect(cuts, title) - 1].remove(lines[title])
    said = [(seen(part[0]), part[1:]) if part and part[0].startswith("## ") else ("Preface", part) for part in parts]
    sections = tuple(Section(id=f"s{n}", title=head, text="\n".join(text)) for n, (head, text) in enumerate(said))
    named = row["query"][:100] if title is None else seen(lines[title])
    return Report(title=named, language=row["lang"], sections=sections, sources=(), evidence=())


def seen(markdown: str) -> str:
    """Return Markdown as its reader sees it: a cell, a heading, or a whole report."""
    return "\n".join(block.flat.text for block in parse_blocks(markdown.strip().replace("\\|", "|"))[0])


def formatter(name: str) -> Any:
    """Return a format's renderer."""
    made = PluginCatalog.discover().offer("report_formatters", name)
    return made.create(made.settings(), fake_context(Path(tempfile.mkdtemp())))


def readings(scorer: Any, markdown: str, file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what is left of a report in a file, by each way of reading it."""
    text, targets = scorer.read(str(file))
    texts = {file.suffix: text}
    if file.suffix == ".pdf":
        for way, option in ((".pdf by blocks", "-q"), (".pdf as written", "-raw")):
            said = subprocess.run(["pdftotext", option, str(file), "-"], capture_output=True, check=True)
            texts[way] = said.stdout.decode()
    for way, text in texts.items():
        with replaced(scorer, "read", lambda path, text=text: (text, targets)):
            yield way, scorer.score(markdown, str(file))
            with replaced(scorer, "plain", seen):
                yield f"{way} exact", scorer.score(markdown, str(file))


@contextmanager
def replaced(scorer: Any, name: str, by: Callable[..., Any]) -> Iterator[None]:
    """Put another function in the place of one of the scorer's."""
    before = getattr(scorer, name)
    setattr(scorer, name, by)
    try:
        yield
    finally:
        setattr(scorer, name, before)


def lost(scorer: Any, markdown: str, file: Path) -> Iterator[str]:
    """Yield the cells and headings that are not found, as the reader would see them, however the file is read."""
    said = scorer.flat(scorer.read(str(file))[0])
    for block in parse_blocks(markdown)[0]:
        cells = block.flat.text.split(" | ") if block.kind == "row" else [block.flat.text]
        for cell in cells if block.kind in ("row", "heading") else ():
            if scorer.flat(cell) not in said:
                yield f"{block.kind}: {cell}"


async def rendered(name: str, row: Mapping[str, Any], folder: Path) -> Path:
    """Render a report into a folder; what the formatter tells is printed."""
    call = FakeCall(600)
    call.run = Run()
    made = (await formatter(name).format(report(row), call)).files[0]
    file = folder / f"{row['id']}{Path(made.name).suffix}"
    file.write_bytes(made.data)
    for said in call.run.told:
        print(f"{row['id']}: {said}")
    return file


def main() -> None:
    """Render, score, and print the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", default=["html", "docx", "pdf"])
    parser.add_argument("--only", help="a part of the ids to take")
    parser.add_argument("--out", type=Path, help="where the files stay")
    parser.add_argument("--show", action="store_true", help="say which headings and cells are not found")
    args = parser.parse_args()
    sys.path.insert(0, str(SCORE))
    scorer = importlib.import_module("render")
    folder = args.out or Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    rows = [json.loads(line) for line in (DATA / "reports" / "reports.jsonl").open()]
    rows = [row for row in rows if not args.only or args.only in row["id"]]
    for name in args.formats:
        found: dict[str, list[dict[str, Any]]] = {}
        start = time.perf_counter()
        for row in rows:
            file = asyncio.run(rendered(name, row, folder))
            for way, shares in readings(scorer, row["markdown"], file):
                found.setdefault(way, []).append(shares)
            for piece in lost(scorer, row["markdown"], file) if args.show else ():
                print(f"{row['id']} {file.suffix}: {piece}")
        for way, scores in found.items():
            said = {key: [score[key] for score in scores if score[key] is not None] for key in SHARES}
            means = "  ".join(f"{key} {sum(values) / len(values):.4f}" for key, values in said.items() if values)
            print(f"{way:22} {len(scores)} reports  {means}  lost signs {sum(score['tofu'] for score in scores)}")
        print(f"{name}: {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
