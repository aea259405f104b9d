"""Time and memory of each format on long reports: 10,000 and 30,000 words, so that growth shows.

    python tests/benchmarks/bench_formats.py [FORMAT ...]

Each format runs in a process of its own; memory is the peak of the process and of the programs it starts, in MB.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from leadline.records import Document, Evidence, Figure, Files, Hit, Report, Section, Source
from leadline.settings_model import Settings
from leadline.testing.context import FakeCall, fake_context

FORMATS = ("markdown", "json", "html", "pdf", "docx", "epub", "latex")
LINE = "the,depth,of,a,bay,was,sounded,with,lead,and,line,by,hands,that,knew,each,bank,and,shoal,along,the,coast"
WORDS = LINE.split(",")
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="200">{}</svg>'
DOT = '<circle cx="{}" cy="{}" r="2"/>'


class Run:
    """What a formatter asks of its run."""

    settings = Settings.model_validate({"report": {}})

    def now(self) -> datetime:
        return datetime(2026, 11, 21, tzinfo=UTC)

    async def emit(self, kind: str, data: object) -> None:
        print(data)


def report(scale: int) -> Report:
    """Return a report of 10,000 words, 20 tables and 3 figures times `scale`."""
    sources = tuple(
        Source(id=f"s{n}", hit=Hit(url=f"https://example.org/{n}", title=f"Source {n}"), document=Document(text="x"))
        for n in range(60 * scale)
    )
    evidence = tuple(
        Evidence(id=f"e{n}", source_id=f"s{n % len(sources)}", quote="The bay is deep.", span=(0, 1), claim="x")
        for n in range(200 * scale)
    )
    picture = SVG.format("".join(DOT.format(n * 7 % 400, n * 13 % 200) for n in range(500))).encode()
    figures = tuple(
        Figure(id=f"f{n}", caption="Depths", alt="Dots", media={"image/svg+xml": picture})
        for n in range(10 * scale // 3)
    )
    sections = tuple(Section(id=str(n), title=f"Part {n}", text=_part(n)) for n in range(20 * scale))
    return Report(
        title="A long report", language="en", sections=sections, sources=sources, evidence=evidence, figures=figures
    )


def _part(number: int) -> str:
    sentences = [
        " ".join(WORDS[(number + n) % 21 :] + WORDS).capitalize() + f" [@e{number * 10 + n % 10}]." for n in range(12)
    ]
    rows = "\n".join(f"| Station {n} | {n * 7 % 40} | where the lead found sand and shells | calm |" for n in range(15))
    table = f"| Station | Depth | Bottom | Weather |\n|---|--:|---|---|\n{rows}"
    figure = f"Figure {number // 6 + 1} shows it." if number % 6 == 0 else ""
    return "\n\n".join(["\n\n".join(" ".join(sentences[n : n + 2]) for n in range(0, 8, 2)), figure, table])


def formatter(name: str) -> Any:
    """Return a format's renderer."""
    module: Any = import_module(f"leadline_plugins.formats.{name}")
    context = fake_context(Path(tempfile.mkdtemp()))
    made: Any = next(iter(module.leadline_report_formatters()))
    return made.make(made.settings(), context)


def measure(name: str, scale: int) -> dict[str, float]:
    """Render once cold and once warm."""
    given, call = report(scale), FakeCall(600)
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
        print(json.dumps(measure(names[1], int(names[2]))))
        return
    print(f"{'format':10}{'words':>8}{'cold s':>8}{'warm s':>8}{'CPU s':>8}{'MB':>7}{'file KB':>9}")
    for name in names or FORMATS:
        for scale in (1, 3):
            command = [sys.executable, __file__, "--one", name, str(scale)]
            told = json.loads(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
            )
            print(
                f"{name:10}{told['words']:8.0f}{told['cold_s']:8.2f}{told['warm_s']:8.2f}{told['cpu_s']:8.2f}{told['MB']:7.0f}{told['KB']:9.0f}"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
