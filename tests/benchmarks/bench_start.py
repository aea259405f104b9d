"""Start `leadline serve` several times: seconds until it accepts requests, and until it is ready.

    python tests/benchmarks/bench_start.py [--times 10]

The first start, which writes bytecode, is not counted. Both wall and processor time are printed: the latter is what a
busy machine leaves comparable.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from urllib.error import URLError
from urllib.request import urlopen


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process on Linux."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(folder: str) -> tuple[float, float, float]:
    """Return the seconds until the server accepts, the processor time of that, and the seconds until it is ready."""
    command = [sys.executable, "-m", "leadline", "serve", "--port", "0", "--folder", folder]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.monotonic()
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert server.stderr
        url = re.search(r"http://\S+", server.stderr.readline())
        assert url
        accepts, processor = time.monotonic() - began, processor_seconds(server.pid)
        while True:
            try:
                with urlopen(f"{url[0]}/readyz", timeout=30):
                    return accepts, processor, time.monotonic() - began
            except URLError:
                time.sleep(0.01)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the start of the server.")
    parser.add_argument("--times", type=int, default=10)
    times = parser.parse_args().times
    with tempfile.TemporaryDirectory() as folder:
        start(folder)
        found = [start(folder) for _ in range(times)]
    for name, values in zip(
        ("accepts requests", "processor time of that", "ready"), zip(*found, strict=True), strict=True
    ):
        print(f"{name:24} median {median(values):.2f} s  least {min(values):.2f}  most {max(values):.2f}")


if __name__ == "__main__":
    main()
