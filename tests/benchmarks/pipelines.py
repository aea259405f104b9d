"""Every pipeline with `embedded`, with the emulator and with the small local model: calls, tokens, seconds, end state.

    python tests/benchmarks/pipelines.py [--peers embedded,emulator,small] [--pipelines chat,search] [--screens DIR]
                                         [--seconds 360] [--instant]

Each run is a process of its own, as a user starts it. What the terminal shows is saved to DIR as text and as a picture
(SVG). The emulator has the latencies of a good vendor (`emulator_manners.REALISTIC`), unless `--instant` is given.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulator_manners import REALISTIC
from emulator_use import emulator
from small_model import NAME, missing, small_model

import leadline

PEERS = ("embedded", "emulator", "small")
USUAL = "How do European ports pay for shore power, and what does it bring them?"
QUESTIONS = {
    "chat": "Why is the sky blue?",
    "auto": "Who invented the shore power of European ports?",
    "code": "Calculate the sum of the squares of the numbers from 1 to 100",
    "thinking": "Should a small town buy its own power grid?",
    "requirements": "We want a bot that answers the visitors of our museum on their phones, day and night.",
    "knowledge": "What does shore power cost a port?",
    "audited": "Which grants and fees pay for shore power in European container ports?",
}
PAGES = {
    "power.md": "# Shore power in ports\n\nA port pays for shore power with grants and with a fee per kilowatt-hour. "
    "Building a connection for one berth costs a port 4 million euros on average, of which grants pay half.\n",
    "benefits.md": "# What shore power brings\n\nShore power saves a ferry 60 tonnes of fuel a year at the berth. "
    "European ports that offer it reported less noise and 30 per cent fewer complaints of residents.\n",
    "rules.md": "# Rules\n\nFrom 2030, container ships and passenger ships must use shore power in large European "
    "ports when they stay longer than two hours.\n",
}
SECONDS = 360
_GRACE = 120
"""Seconds of the limit that a run has to end by itself after its own budget of time."""
_REPLY = 400
"""Tokens of a reply of the small model, which otherwise goes on until its context is full."""
_WIDE = 110


@dataclass(frozen=True)
class Peer:
    """What answers the runs: options of the command line."""

    name: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A run."""

    pipeline: str
    peer: str
    state: str
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    reason: str = ""


def sets(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return options of the command line for settings."""
    return tuple(word for key, value in values.items() for word in ("--set", f"{key}={value}"))


@contextmanager
def peer(name: str, docs: Path, *, instant: bool, seconds: int) -> Iterator[Peer]:
    """Serve a model, and engines where the peer has any; the small one gets a budget of time."""
    documents = ("--docs", str(docs))
    if name == "embedded":
        yield Peer(name, (*documents, *sets({"ai.providers": "embedded"})))
    elif name == "emulator":
        with emulator(**({} if instant else REALISTIC)) as world:
            engine = {"search.engines": "searxng", "searxng.base_url": f"http://127.0.0.1:{world.port}/search"}
            pages = {"read.fetchers": "web", "web.allow": "127.0.0.0/8", "web.ports": f"[{world.port}]"}
            chat = {"ai.providers": "openai", "openai.base_url": world.base_url, "openai.model": "emulated"}
            yield Peer(name, sets(chat | engine | pages | {"web.per_host": 100}))
    else:
        with small_model() as address:
            chat = {"ai.providers": "openai", "openai.base_url": address, "openai.model": NAME}
            short = {"openai.extra_body": f"{{max_tokens = {_REPLY}}}", "budget.seconds": seconds - _GRACE}
            yield Peer(name, (*documents, *sets(chat | short)))


def run(pipeline: str, peer: Peer, folder: Path, screens: Path, limit: int) -> Row:
    """Run a pipeline in a process of its own, and save what the terminal shows."""
    runs = folder / f"{pipeline}-{peer.name}"
    command = [sys.executable, "-m", "leadline", "research", QUESTIONS.get(pipeline, USUAL), "--pipeline", pipeline]
    command += [*peer.options, "--folder", str(runs)]
    began = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | {"COLUMNS": str(_WIDE), "XDG_CACHE_HOME": str(folder / "cache")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit,
            check=False,
        )
        shown, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as error:
        shown, code = (error.stdout or b"").decode() if isinstance(error.stdout, bytes) else "", -1
    seconds = time.monotonic() - began
    save(screens / f"{pipeline}-{peer.name}", f"$ leadline research --pipeline {pipeline} …\n{shown}")
    found = next(runs.glob("*/metadata.json"), None)
    if found is None:
        state = "refused" if code == 78 else f"no run (exit code {code})"
        return Row(pipeline, peer.name, state, seconds=seconds, reason=" ".join(shown.split())[:90])
    known = json.loads(found.read_text())
    calls = sum(count for name, count in known["calls"].items() if name.startswith("chat/"))
    state = f"{known['status']} ({known['pipeline']})" if known["pipeline"] != pipeline else known["status"]
    return Row(pipeline, peer.name, state, calls, known["usage"].get("tokens", 0), known["seconds"], known["reason"])


def save(path: Path, text: str) -> None:
    """Save what a terminal shows, as text and as a picture."""
    from rich.console import Console
    from rich.text import Text

    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".txt").write_text(text, "utf-8")
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=_WIDE, file=nowhere)
        console.print(Text.from_ansi(text))
        console.save_svg(str(path.with_suffix(".svg")), title=path.name)


def fill_knowledge(docs: Path, peer: Peer, folder: Path) -> None:
    """Put the documents into the knowledge base of these runs."""
    model = [word for word in peer.options if word not in ("--docs", str(docs))]
    command = [sys.executable, "-m", "leadline", "knowledge", "add", str(docs), *model]
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False
    )


def table(rows: Sequence[Row]) -> str:
    """Return the runs as a table."""
    lines = [f"{'pipeline':<13}{'with':<10}{'calls':>6}{'tokens':>9}{'seconds':>9}  end state"]
    for row in rows:
        why = f": {row.reason}" if row.reason else ""
        lines.append(
            f"{row.pipeline:<13}{row.peer:<10}{row.calls:>6}{row.tokens:>9,}{row.seconds:>9.1f}  {row.state}{why}"
        )
    return "\n".join(lines)


def main() -> None:
    """Run all, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default=",".join(PEERS), help="what answers, separated by commas")
    parser.add_argument("--pipelines", default="", help="pipelines to run, separated by commas (default: all)")
    parser.add_argument("--screens", type=Path, default=Path(tempfile.gettempdir()) / "screens", metavar="DIR")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="limit of one run")
    parser.add_argument("--instant", action="store_true", help="an emulator without latencies")
    args = parser.parse_args()
    known = sorted(leadline.Client().load(complete=False).settings.pipelines)
    chosen = [name for name in args.pipelines.split(",") if name] or known
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        docs = folder / "docs"
        docs.mkdir()
        for name, text in PAGES.items():
            (docs / name).write_text(text, "utf-8")
        for name in args.peers.split(","):
            if name == "small" and (lacking := missing()):
                print(f"small: left out: {lacking}")
                continue
            with peer(name, docs, instant=args.instant, seconds=args.seconds) as answering:
                if "knowledge" in chosen:
                    fill_knowledge(docs, answering, folder)
                for pipeline in chosen:
                    rows.append(run(pipeline, answering, folder, args.screens, args.seconds))
                    print(table(rows[-1:]).splitlines()[1], flush=True)
    print(f"\n{table(rows)}\n\nscreens in {args.screens}")


if __name__ == "__main__":
    main()
