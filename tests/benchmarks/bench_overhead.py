"""What the framework itself costs: whole runs over fakes that answer at once.

8 queries, 3 pages each, 5 sections, one round; CPU and wall time of one run, then 200 such runs at once in one
process: failures, wall time, memory a run, the longest stall of the event loop. `python bench_overhead.py [RUNS]`.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import leadline
from leadline.contracts import Call
from leadline.plugin import ai_provider, synthesizer
from leadline.records import Section, Synthesis, SynthesisRequest
from leadline.research_findings import Plan, PlannedSection, Query
from leadline.tasks import Task
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_plugins.prompting.research_tasks import DigestReply, Queries

QUERIES, SECTIONS, PAGES = 8, 5, 3
QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"


class Scripted:
    """Does each task at once: the overhead is then the framework's alone."""

    async def perform(self, task: Task[Any], call: Call, /) -> Any:
        return getattr(self, task.name)(task.inputs)

    def plan(self, asked: Any) -> Plan:
        sections = tuple(PlannedSection(id=str(n), title=f"Part {n}") for n in range(SECTIONS))
        return Plan(title=asked.question.text, sections=sections)

    def query(self, asked: Any) -> Queries:
        return Queries(queries=tuple(Query(query=f"{asked.question.text} {n}") for n in range(QUERIES)))

    def digest(self, asked: Any) -> DigestReply:
        return DigestReply(is_sufficient=True, synthesis="done")


class Joined:
    """Writes a section by joining the first sentences of its passages."""

    async def synthesize(self, request: SynthesisRequest, call: Call, /) -> Synthesis:
        return Synthesis(sections=tuple(self._written(request, section) for section in request.wanted))

    def _written(self, request: SynthesisRequest, section: Section) -> Section:
        passages = request.book.passages(section)
        text = "\n\n".join(f"{item.quote.partition('. ')[0]}. [@{item.id}]" for item in passages)
        return section.model_copy(update={"text": text})


def client(folder: Path) -> leadline.Client:
    scripted = plugin("scripted", ai_provider("Scripted")(lambda: Scripted()))
    joined = plugin("joined", synthesizer("Joined")(lambda: Joined()))
    return leadline.Client(
        plugins=[fake_web(), scripted, joined],
        folder=folder / "runs",
        cache=folder / "cache",
        set={
            "ai.providers": ["scripted"],
            "research.synthesizer": "joined",
            "search.engines": ["fakeweb"],
            "read.fetchers": ["fakeweb"],
            "research.pages_per_query": PAGES,
        },
    )


async def stalls(longest: list[float]) -> None:
    """Note the longest time in which the event loop did nothing else."""
    while True:
        before = time.perf_counter()
        await asyncio.sleep(0.005)
        longest[0] = max(longest[0], time.perf_counter() - before - 0.005)


def megabytes() -> float:
    """Return the resident memory of this process and of its workers."""
    pages = sum(int((folder / "statm").read_text().split()[1]) for folder in [Path("/proc/self"), *workers()])
    return pages * resource.getpagesize() / 1e6


def workers() -> list[Path]:
    """Return the folders in /proc of the worker processes of this one."""
    tasks = Path("/proc/self/task").iterdir()
    children = [Path("/proc", child) for task in tasks for child in (task / "children").read_text().split()]
    return [child for child in children if b"leadline.workers" in (child / "cmdline").read_bytes()]


async def main(count: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        async with client(Path(folder)) as runs:
            first = await runs.research(QUESTION)
            assert first.status == "complete", first.reason
            singles = []
            for _ in range(10):
                cpu, wall = time.process_time(), time.perf_counter()
                await runs.research(QUESTION)
                singles.append((time.process_time() - cpu, time.perf_counter() - wall))
            before, longest = megabytes(), [0.0]
            watch = asyncio.create_task(stalls(longest))
            cpu, wall = time.process_time(), time.perf_counter()
            results = await asyncio.gather(*(runs.research(f"{QUESTION} {n}") for n in range(count)))
            spent, lasted = time.process_time() - cpu, time.perf_counter() - wall
            watch.cancel()
            return {
                "calls a run": sum(first.metadata.calls.values()),
                "pages a run": first.metadata.calls["read/read"],
                "one run, CPU ms (median of 10)": round(1000 * sorted(cpu for cpu, _ in singles)[5], 1),
                "one run, wall ms (median of 10)": round(1000 * sorted(wall for _, wall in singles)[5], 1),
                "runs at once": count,
                "not complete": sum(result.status != "complete" for result in results),
                "wall s": round(lasted, 2),
                "CPU ms a run": round(1000 * spent / count, 1),
                "longest stall ms": round(1000 * longest[0], 1),
                "memory MB a run": round((megabytes() - before) / count, 2),
                "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, 1),
            }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(int(sys.argv[1]) if sys.argv[1:] else 200)), indent=1))
