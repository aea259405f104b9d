"""Time and memory of each format on a report of 30,000 words, 60 tables and 10 charts, and on a quarter, half and twice
of it, so that growth shows.

    python tests/benchmarks/bench_formats.py [FORMAT ...]

Each format runs in a process of its own; memory is the peak of the process, or of the largest program it starts, in MB.
Processor time counts both, and is what to compare on a machine with others on it.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from leadline._hosting.catalog import PluginCatalog
from leadline.records import Chart, Document, Evidence, Figure, Files, Hit, Report, Section, Source
from leadline.settings import Settings
from leadline.testing.context import FakeCall, fake_context

FORMATS = ("markdown", "json", "html", "pdf", "docx", "epub", "latex")
WHOLE = 60
"""Sections of the whole report, each with a table."""
SCALES = (1 / 4, 1 / 2, 1, 2)
EMPTY = Document(text="")
SYLLABLES = tuple(
    re.findall(r"\w+", "ba co di fu ga he ki lo mu na or pe qui ra su te un ve wi ya ter ment ing sion al")
)


class Run:
    """What a formatter asks of its run."""

    settings = Settings.model_validate({"report": {}})

    def now(self) -> datetime:
        return datetime(2026, 11, 21, tzinfo=UTC)

    async def emit(self, kind: str, data: object) -> None:
        print(data)


def report(scale: float, charts: Path) -> Report:
    """Return a report of 30,000 words, 60 tables and 10 charts times `scale`; the charts are files in a folder."""
    chance = random.Random(7)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(4000)]
    parts = int(WHOLE * scale)
    sources = tuple(
        Source(id=f"s{n}", hit=Hit(url=f"https://example.org/{n}", title=_said(words, chance, 6)), document=EMPTY)
        for n in range(3 * parts)
    )
    evidence = tuple(
        Evidence(id=f"e{n}", source_id=f"s{n % len(sources)}", quote=_said(words, chance, 20), span=(0, 1))
        for n in range(10 * parts)
    )
    figures = tuple(
        Figure(id=f"f{n}", caption=_said(words, chance, 8), alt=_said(words, chance, 15), media=_media(charts, n % 10))
        for n in range(parts // 6)
    )
    sections = tuple(
        Section(id=str(n), title=_said(words, chance, 4), text=_part(n, words, chance)) for n in range(parts)
    )
    return Report(
        title="A long report", language="en", sections=sections, sources=sources, evidence=evidence, figures=figures
    )


def _part(number: int, words: list[str], chance: random.Random) -> str:
    """Return 500 words: seven paragraphs of cited sentences, a table of 15 rows, every sixth time a figure."""
    sentences = [f"{_said(words, chance, 20)} [@e{number * 10 + n % 10}]." for n in range(14)]
    rows = (
        f"| {_said(words, chance, 1)} | {chance.randint(1, 9999) / 10} | {_said(words, chance, 6)} | {number} |"
        for _ in range(15)
    )
    table = "\n".join(["| Station | Depth | Bottom | Part |", "|---|--:|---|---|", *rows])
    figure = f"Figure {number // 6 + 1} shows it." if number % 6 == 0 else ""
    return "\n\n".join([*(" ".join(sentences[n : n + 2]) for n in range(0, 14, 2)), figure, table])


def _said(words: list[str], chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(words, k=count)).capitalize()


def _media(charts: Path, number: int) -> dict[str, bytes]:
    kinds = {"image/svg+xml": "svg", "image/png": "png"}
    return {kind: (charts / f"{number}.{ending}").read_bytes() for kind, ending in kinds.items()}


def draw_charts(folder: Path) -> None:
    """Draw ten charts as a run does, as PNG and SVG."""
    from leadline_plugins.charts.matplotlib import draw

    for number, form in enumerate(("line", "bar", "stacked", "scatter", "histogram") * 2):
        rows = tuple({"x": n, "value": (n * 7 + number) % 13, "series": f"s{n % 2}"} for n in range(24))
        chart = Chart(id="c", chart_type=form, title="Depths", rows=rows, unit="m")
        media = draw(chart, ("DejaVu Sans",))
        (folder / f"{number}.png").write_bytes(media["image/png"])
        (folder / f"{number}.svg").write_bytes(media["image/svg+xml"])


def formatter(name: str) -> Any:
    """Return a format's renderer."""
    context = fake_context(Path(tempfile.mkdtemp()))
    made = PluginCatalog.discover().offer("report_formatters", name)
    return made.create(made.settings(), context)


def measure(name: str, scale: float, charts: Path) -> dict[str, float]:
    """Render once cold and once warm."""
    given, call = report(scale, charts), FakeCall(600)
    call.run = Run()
    made, before = formatter(name), _cpu()
    seconds: list[float] = []
    files = Files(files=())
    for _ in range(2):
        start = time.perf_counter()
        files = asyncio.run(made.format(given, call))
        seconds.append(time.perf_counter() - start)
    cpu = (_cpu() - before) / 2
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    words = sum(len((section.text or "").split()) for section in given.sections)
    return {
        "words": words,
        "cold_s": seconds[0],
        "cpu_s": cpu,
        "warm_s": seconds[1],
        "MB": peak,
        "KB": len(files.files[0].data) / 1024,
    }


def _cpu() -> float:
    """Return the processor's seconds so far, those of finished children with them."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def main(names: list[str]) -> None:
    """Measure the formats, each in its own process."""
    if names[:1] == ["--one"]:
        print(json.dumps(measure(names[1], float(names[2]), Path(names[3]))))
        return
    if names[:1] == ["--draw"]:
        draw_charts(Path(names[1]))
        return
    print(f"{'format':10}{'words':>8}{'cold s':>8}{'warm s':>8}{'CPU s':>8}{'MB':>7}{'file KB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        # Drawn elsewhere: a process starts with the peak of the one that started it.
        subprocess.run([sys.executable, __file__, "--draw", folder], check=True)
        for name, scale in product(names or FORMATS, SCALES):
            command = [sys.executable, __file__, "--one", name, str(scale), folder]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            told = json.loads(done.stdout.splitlines()[-1])
            times = "".join(f"{told[key]:8.2f}" for key in ("cold_s", "warm_s", "cpu_s"))
            print(f"{name:10}{told['words']:8.0f}{times}{told['MB']:7.0f}{told['KB']:9.0f}")


if __name__ == "__main__":
    main(sys.argv[1:])
