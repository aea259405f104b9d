"""Charts: seconds a form, and a cold sandbox beside a warm one.

python tests/benchmarks/bench_charts.py [REPEATS]
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from leadline.records import Chart, Code
from leadline.testing.context import FakeCall, fake_context
from leadline_plugins.charts.forms import CHAIN
from leadline_plugins.charts.matplotlib import draw
from leadline_plugins.sandboxes.docker import Docker, DockerSettings, ready

CODE = Code(
    language="python", text="import matplotlib.pyplot as plt\nplt.bar([1, 2, 3], [4, 5, 6])\nplt.savefig('c.png')"
)


def drawn(repeats: int) -> None:
    """Print the seconds of one form, the first time and later."""
    years = range(2000, 2020)
    rows = tuple({"label": str(year), "value": year % 17, "series": name} for year in years for name in "ab")
    for form in ("line", "stacked", "heatmap"):
        times = []
        for _ in range(repeats):
            began = time.perf_counter()
            draw(Chart(id="1", title="T", chart_type=form, rows=rows, unit="%"), CHAIN)
            times.append(time.perf_counter() - began)
        print(f"matplotlib {form}: first {times[0]:.2f} s, then median {statistics.median(times[1:]):.2f} s")


async def sandboxed(repeats: int) -> None:
    """Print the seconds of a chart in a fresh container and in a warm one."""
    if reason := ready(DockerSettings()):
        print(f"docker: {reason}")
        return
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            async with Docker(DockerSettings(), fake_context(Path(folder))) as sandbox:
                for times in (cold, warm):
                    began = time.perf_counter()
                    done = await sandbox.execute(CODE, FakeCall())
                    assert done.files, done.stderr
                    times.append(time.perf_counter() - began)
    slow, fast = statistics.median(cold), statistics.median(warm)
    print(f"docker: cold {slow:.2f} s, second {fast:.2f} s, {slow / fast:.1f} times faster (medians of {repeats})")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    asyncio.run(sandboxed(count))
    drawn(count)
