"""How well the engine `local` finds what answers a question: recall over open question sets.

    python tests/benchmarks/quality/local_recall.py [SET …]

Sets: mhqa (English, several documents a question), zh, ja. Each document becomes a file: title, blank line, text. The
data lies in $EVAL_DATA (a folder with mhqa/ and cjkqa/); without it the sets are skipped, and it says so.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from leadline.records import SearchRequest
from leadline.testing.context import FakeCall, fake_context
from leadline_plugins.parse.text import TextParser
from leadline_plugins.search.local import LocalSettings
from leadline_plugins.search.local.provider import LocalSearch

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("EVAL_DATA", ROOT.parent / "shared" / "data"))
SCORE = Path(os.environ.get("EVAL_SCORE", DATA.parent / "eval" / "score"))
SETS = {"mhqa": ("mhqa", ""), "zh": ("cjkqa", "_zh"), "ja": ("cjkqa", "_ja")}
DEPTH = 20


def read(name: str, what: str) -> list[dict[str, Any]]:
    """Return the rows of a set: `docs` or `questions`."""
    folder, suffix = SETS[name]
    with (DATA / folder / f"{what}{suffix}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write(docs: Sequence[dict[str, Any]], folder: Path) -> None:
    """Write each document as a file."""
    for doc in docs:
        (folder / f"{doc['doc_id']}.txt").write_text(f"{doc['title']}\n\n{doc['text']}\n", encoding="utf-8")


async def retrieve(name: str, questions: Sequence[dict[str, Any]], work: Path) -> list[dict[str, Any]]:
    """Return what the engine retrieves for each question, as the scorer reads it."""
    docs = work / "docs"
    docs.mkdir()
    write(read(name, "docs"), docs)
    context = fake_context(work, lambda _: TextParser())
    engine, found = LocalSearch(LocalSettings(folders=[docs]), context), []
    for question in questions:
        page = await engine.search(SearchRequest(query=question["question"], limit=DEPTH), FakeCall())
        found.append({"qid": question["qid"], "retrieved": [PurePosixPath(hit.url).stem for hit in page.hits]})
    await context.close()
    return found


def scorer() -> ModuleType:
    """Import the scorer whose definitions these figures follow."""
    sys.path.insert(0, str(SCORE))
    return importlib.import_module("answers")


def measure(name: str) -> dict[str, float]:
    """Return recall and chain figures of a set."""
    questions = read(name, "questions")
    with tempfile.TemporaryDirectory() as work:
        found = asyncio.run(retrieve(name, questions, Path(work)))
    scores: dict[str, float] = scorer().score(questions, read(name, "docs"), found, ks=(5, 10, DEPTH))
    return scores


def main(names: Sequence[str]) -> None:
    """Print a line a set."""
    for name in names or SETS:
        if not (DATA / SETS[name][0]).is_dir() or not SCORE.is_dir():
            print(f"{name}: skipped, for {DATA / SETS[name][0]} or {SCORE} is not there (set EVAL_DATA)")
            continue
        print(name, " ".join(f"{key}={value:.3f}" for key, value in measure(name).items()))


if __name__ == "__main__":
    main(sys.argv[1:])
