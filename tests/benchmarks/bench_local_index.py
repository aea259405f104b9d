"""How fast the engine `local` indexes and answers: documents a second, query latency, disk, memory, re-index.

    python tests/benchmarks/bench_local_index.py [COUNT …]

The documents are real text that every Python installation has: the language reference, and the sources, READMEs and
metadata of the standard library and the installed packages, cut at blank lines into documents of some 2,000 characters.
Each count runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from pydoc_data.topics import topics

from leadline.records import SearchRequest
from leadline.testing.context import FakeCall, fake_context
from leadline_plugins.parse.text import TextParser
from leadline_plugins.search.local import LocalSettings
from leadline_plugins.search.local.provider import LocalSearch
from leadline_plugins.text import sentences

COUNTS = (2_000, 20_000)
SIZE = 2_000
"""Characters of a document, about."""
QUERIES = 300
TOUCHED = 10
SEED = 7


def texts() -> Iterator[tuple[str, str]]:
    """Yield name and text of everything there is, the language reference first, then by path."""
    yield from sorted(topics.items())
    for folder in dict.fromkeys(sysconfig.get_paths()[key] for key in ("stdlib", "purelib")):
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix in (".py", ".rst", ".md", ".txt") or path.name == "METADATA":
                yield path.stem, path.read_text(encoding="utf-8", errors="ignore")


def documents() -> Iterator[tuple[str, str]]:
    """Yield title and text of documents."""
    for name, text in texts():
        part, held = 0, ""
        for paragraph in text.split("\n\n"):
            held += paragraph + "\n\n"
            if len(held) >= SIZE:
                part += 1
                yield f"{name} {part}", held
                held = ""


def write(folder: Path, count: int) -> list[str]:
    """Write the documents, a hundred a folder, and return queries: sentences that stand in some of them."""
    chosen = random.Random(SEED)
    queries = []
    for number, (title, text) in enumerate(islice(documents(), count)):
        below = folder / f"{number // 100:04d}"
        below.mkdir(exist_ok=True)
        (below / f"{number:06d}.txt").write_text(f"{title}\n\n{text}", encoding="utf-8")
        spans = sentences(text) if chosen.random() < 2 * QUERIES / count else []
        queries += [text[start:end][:150] for start, end in spans[:1]]
    return queries[:QUERIES]


async def timed(engine: LocalSearch, query: str, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of one search."""
    start = clock()
    await engine.search(SearchRequest(query=query), FakeCall())
    return clock() - start


def spread(times: Sequence[float]) -> str:
    """Return median and 95th percentile of seconds, in milliseconds."""
    ordered = sorted(times)
    return f"p50 {ordered[len(times) // 2] * 1e3:.1f} p95 {ordered[len(times) * 95 // 100] * 1e3:.1f} ms"


async def measure(count: int, work: Path) -> None:
    """Print the figures for this many documents."""
    docs = work / "docs"
    docs.mkdir()
    queries = write(docs, count)
    settings = LocalSettings(folders=[docs], refresh=3600)
    context = fake_context(work, lambda _: TextParser())
    cpu = time.process_time()
    build = await timed(LocalSearch(settings, context), "warm up")
    cpu = time.process_time() - cpu
    built = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    engine = LocalSearch(settings, context)
    unchanged = await timed(engine, "warm up")
    walls = [await timed(engine, query) for query in queries]
    cpus = [await timed(engine, query, time.process_time) for query in queries]
    for path in sorted(docs.rglob("*.txt"))[:: count // TOUCHED][:TOUCHED]:
        path.write_text(path.read_text(encoding="utf-8") + "\nand a line more", encoding="utf-8")
    touched = await timed(LocalSearch(settings, context), "warm up")
    await context.close()
    size = [sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6 for folder in (docs, work)]
    print(
        f"{count} documents of {size[0]:.0f} MB: indexed in {build:.1f} s ({count / build:.0f}/s; {cpu:.1f} s of CPU),"
        f" {len(queries)} queries {spread(walls)} (of CPU: {spread(cpus)}),"
        f" unchanged folders {unchanged:.2f} s, {TOUCHED} files touched {touched:.2f} s,"
        f" index {size[1] - size[0]:.0f} MB, peak memory {built:.0f} MB"
    )


def main(arguments: list[str]) -> None:
    """Measure each count in a process of its own."""
    if len(arguments) == 1:
        with tempfile.TemporaryDirectory() as work:
            asyncio.run(measure(int(arguments[0]), Path(work)))
        return
    for count in arguments or [str(count) for count in COUNTS]:
        subprocess.run([sys.executable, __file__, count], check=True, env=dict(os.environ))


if __name__ == "__main__":
    main(sys.argv[1:])
