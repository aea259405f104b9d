"""How fast the knowledge base is: seconds to add, milliseconds to ask for passages, memory, disk.

    python tests/benchmarks/bench_knowledge.py [--passages N] [--store NAME] [--embedder NAME]

The documents are those of bench_local_index.py: real text that every Python installation has. Adding and asking run in
processes of their own, so that the peak memory is that of the step.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_local_index import documents, write
from bench_vector_stores import memory

from leadline import Client

# Passages of a document of 2,000 characters, about.
_PER_DOCUMENT = 2.2
QUERIES = 50


def client(work: Path, store: str, embedder: str) -> Client:
    """Return a client whose base is in a folder."""
    settings = {
        "knowledge.store": store,
        "knowledge.embedder": embedder,
        "plugins.knowledge.folder": str(work / "knowledge"),
        f"plugins.{store}.folder": str(work / "vectors"),
    }
    return Client(set=settings, cache=work / "cache", folder=work / "runs")


async def add(work: Path, store: str, embedder: str) -> None:
    """Print the figures of adding everything."""
    wall, cpu = time.perf_counter(), time.process_time()
    async with client(work, store, embedder) as made:
        added = await made.knowledge.add(work / "docs")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    passages = sum(document.passages for document in added.documents)
    sizes = [
        sum(path.stat().st_size for path in (work / name).rglob("*") if path.is_file()) / 1e6
        for name in ("knowledge", "vectors")
    ]
    print(
        f"{store} {embedder}: {added.added:,} documents, {passages:,} passages: added in {wall:.0f} s"
        f" ({cpu:.0f} s of CPU), peak memory {memory():.0f} MB, base {sizes[0]:.0f} MB, vectors {sizes[1]:.0f} MB",
        flush=True,
    )


async def ask(work: Path, store: str, embedder: str) -> None:
    """Print the figures of asking, in a new process."""
    queries = (work / "queries.txt").read_text(encoding="utf-8").splitlines()[:QUERIES]
    async with client(work, store, embedder) as made:
        cpu = time.process_time()
        await made.knowledge.search("warm up")
        first = time.process_time() - cpu
        walls, cpus = [], []
        for query in filter(str.strip, queries):
            wall, cpu = time.perf_counter(), time.process_time()
            await made.knowledge.search(query)
            walls.append((time.perf_counter() - wall) * 1e3)
            cpus.append((time.process_time() - cpu) * 1e3)
    walls.sort()
    cpus.sort()
    middle = len(walls) // 2
    print(
        f"{store} {embedder}: first question {first:.1f} s of CPU, then p50 {walls[middle]:.0f} ms"
        f" ({cpus[middle]:.0f} ms of CPU), p95 {walls[-3]:.0f} ms; peak memory {memory():.0f} MB",
        flush=True,
    )


def main() -> None:
    """Write the documents, then measure each step in a process of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--store", default="flat")
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--step", choices=("add", "ask"))
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    if args.step:
        asyncio.run((add if args.step == "add" else ask)(args.folder, args.store, args.embedder))
        return
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "docs").mkdir()
        count = int(args.passages / _PER_DOCUMENT)
        assert count <= sum(1 for _ in documents()), "this Python has too few packages for so many documents"
        queries = write(work / "docs", count)
        (work / "queries.txt").write_text("\n".join(" ".join(query.split()) for query in queries), encoding="utf-8")
        for step in ("add", "ask"):
            given = ["--store", args.store, "--embedder", args.embedder, "--step", step, "--folder", folder]
            subprocess.run([sys.executable, __file__, *given], check=True)


if __name__ == "__main__":
    main()
