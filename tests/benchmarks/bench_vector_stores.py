"""How fast vector stores are: seconds to add, milliseconds to query, memory, disk, start.

    python tests/benchmarks/bench_vector_stores.py [--store flat|qdrant] [--count N] [--size N]

The vectors are random and of length 1. A document has ten passages. Each store runs in a process of its own, so that
its peak memory is its own; what is mapped from files counts as memory of the process, too, and is shared by all.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leadline.records import DocumentVectors, VectorBatch, VectorListing, VectorQuery
from leadline.testing.context import FakeCall, fake_context
from leadline_plugins.vectors.flat import FlatSettings, FlatStore
from leadline_plugins.vectors.qdrant import QdrantSettings, QdrantStore

PASSAGES, BATCH, QUERIES = 10, 50, 50


def store(name: str, folder: Path) -> Any:
    """Return a store in a folder."""
    context = fake_context(folder / "cache")
    if name == "flat":
        return FlatStore(FlatSettings(folder=folder / "flat"), context), context
    return QdrantStore(QdrantSettings(folder=folder / "qdrant"), context), context


def batches(count: int, size: int) -> Iterator[VectorBatch]:
    """Yield batches of documents."""
    chosen = random.Random(7)
    # A thousand vectors, repeated with another first number: to make them all would take longer than to store them.
    drawn = [tuple(chosen.gauss(0, size**-0.5) for _ in range(size)) for _ in range(1_000)]
    for start in range(0, count // PASSAGES, BATCH):
        documents = (
            DocumentVectors(
                document=f"document {number}",
                vectors=tuple(
                    (number / count, *drawn[(number * PASSAGES + place) % len(drawn)][1:]) for place in range(PASSAGES)
                ),
            )
            for number in range(start, min(start + BATCH, count // PASSAGES))
        )
        yield VectorBatch(collection="bench", documents=tuple(documents))


def memory() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def measure(name: str, count: int, size: int, folder: Path) -> None:
    """Print the figures of a store."""
    made, context = store(name, folder)
    wall, cpu = time.perf_counter(), time.process_time()
    for batch in batches(count, size):
        await made.put(batch, FakeCall())
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if hasattr(made, "__aexit__"):
        await made.__aexit__()
    await context.close()
    disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    print(f"{name}: {count:,} x {size}: added in {wall:.1f} s ({cpu:.1f} s of CPU), {disk:.0f} MB on disk", flush=True)


async def query(name: str, size: int, folder: Path) -> None:
    """Print the figures of a store that has its vectors, in a new process."""
    start = time.process_time()
    made, context = store(name, folder)
    chosen = random.Random(8)
    asked = [tuple(chosen.gauss(0, 1) for _ in range(size)) for _ in range(QUERIES)]
    await made.search(VectorQuery(collections=("bench",), vector=asked[0], limit=50), FakeCall())
    first = time.process_time() - start
    walls, cpus = [], []
    for vector in asked:
        wall, cpu = time.perf_counter(), time.process_time()
        await made.search(VectorQuery(collections=("bench",), vector=vector, limit=50), FakeCall())
        walls.append((time.perf_counter() - wall) * 1e3)
        cpus.append((time.process_time() - cpu) * 1e3)
    listed = await made.describe(VectorListing(collection="bench"), FakeCall())
    if hasattr(made, "__aexit__"):
        await made.__aexit__()
    await context.close()
    walls.sort()
    cpus.sort()
    print(
        f"{name}: {sum(listed.documents.values()):,} passages: first query {first:.2f} s of CPU, then p50"
        f" {walls[QUERIES // 2]:.0f} ms ({cpus[QUERIES // 2]:.0f} ms of CPU), p95 {walls[-3]:.0f} ms;"
        f" peak memory {memory():.0f} MB",
        flush=True,
    )


def main() -> None:
    """Measure each store in processes of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", action="append", choices=("flat", "qdrant"))
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=1_024)
    parser.add_argument("--step", choices=("add", "query"))
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    if args.step == "add":
        asyncio.run(measure(args.store[0], args.count, args.size, args.folder))
    elif args.step == "query":
        asyncio.run(query(args.store[0], args.size, args.folder))
    else:
        for name in args.store or ("flat", "qdrant"):
            with tempfile.TemporaryDirectory() as folder:
                for step in ("add", "query"):
                    given = ["--store", name, "--step", step, "--folder", folder]
                    given += ["--count", str(args.count), "--size", str(args.size)]
                    subprocess.run([sys.executable, __file__, *given], check=True)


if __name__ == "__main__":
    main()
