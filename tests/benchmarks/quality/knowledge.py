"""How well the knowledge base finds what answers a question: recall@5 and answer contained, beside `local`.

    python tests/benchmarks/quality/knowledge.py [SET …] [--store NAME] [--embedder NAME] [--parts]

Sets: mhqa (English, several documents a question), zh, ja. Each document becomes a file: title, blank line, text.
Recall is the share of the gold documents among those of the five passages; an answer is contained if one of its
spellings stands in them. `--parts` also measures other weights of the vectors. Data as for local_recall.py.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from local_recall import SETS, read, write

from leadline import Client
from leadline.records import Evidence, SearchRequest
from leadline.testing.context import FakeCall, fake_context
from leadline_plugins.parse.text import TextParser
from leadline_plugins.search.local import LocalSettings
from leadline_plugins.search.local.provider import LocalSearch

PASSAGES = 5
# Weights of the ranking by vectors beside that by words; the first and the last are one ranking alone.
PARTS = (1e-9, 1 / 32, 1 / 8, 1 / 4, 1 / 2, 1, 1e9)


def plain(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return "".join(filter(str.isalnum, text.casefold()))


def scores(questions: Sequence[Mapping[str, Any]], found: Sequence[tuple[list[str], str]]) -> dict[str, float]:
    """Return the means over questions; `found` has document ids and text of the passages of each."""
    recall, every, contained = 0.0, 0, 0
    for question, (ids, text) in zip(questions, found, strict=True):
        gold = set(question["gold_docs"])
        recall += len(gold & {*ids}) / len(gold)
        every += gold <= {*ids}
        contained += any(plain(answer) in plain(text) for answer in question["answers"] if plain(answer))
    count = len(questions)
    return {"recall@5": recall / count, "all@5": every / count, "contained": contained / count}


async def by_local(name: str, docs: Path, work: Path) -> dict[str, float]:
    """Return the scores of the best five documents of `local`, each with its best passage."""
    context = fake_context(work, lambda _: TextParser())
    engine, questions, found = LocalSearch(LocalSettings(folders=[docs]), context), read(name, "questions"), []
    for question in questions:
        page = await engine.search(SearchRequest(query=question["question"], limit=PASSAGES), FakeCall())
        text = "\n".join(f"{hit.title}\n{hit.snippet}" for hit in page.hits)
        found.append(([PurePosixPath(hit.url).stem for hit in page.hits], text))
    await context.close()
    return scores(questions, found)


def shown(one: Evidence, titles: Mapping[str, str]) -> str:
    """Return a passage as a writer sees it."""
    return "\n".join((titles[one.source_id], *one.path, one.lead, one.quote))


async def by_knowledge(name: str, client: Client) -> dict[str, float]:
    """Return the scores of the five passages of the knowledge base."""
    questions, found = read(name, "questions"), []
    start = time.perf_counter()
    for question in questions:
        page = await client.knowledge.search(question["question"], limit=PASSAGES)
        urls = {source.id: source.hit.url for source in page.sources}
        titles = {source.id: source.hit.title for source in page.sources}
        ids = [PurePosixPath(urls[one.source_id]).stem for one in page.evidence]
        found.append((ids, "\n".join(shown(one, titles) for one in page.evidence)))
    milliseconds = (time.perf_counter() - start) / len(questions) * 1e3
    return {**scores(questions, found), "ms": milliseconds}


def line(name: str, what: str, figures: Mapping[str, float]) -> None:
    """Print one line."""
    print(f"{name:5} {what:40}", " ".join(f"{key}={value:.3f}" for key, value in figures.items()), flush=True)


async def measure(name: str, store: str, embedder: str, *, parts: bool) -> None:
    """Print the figures of one set."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        docs = work / "docs"
        docs.mkdir()
        write(read(name, "docs"), docs)
        line(name, "local", await by_local(name, docs, work / "local"))
        settings = {
            "knowledge.store": store,
            "knowledge.embedder": embedder,
            "plugins.knowledge.folder": str(work / "knowledge"),
            f"plugins.{store}.folder": str(work / "vectors"),
        }
        async with Client(set=settings, cache=work / "cache", folder=work / "runs") as client:
            start = time.perf_counter()
            added = await client.knowledge.add(docs)
            assert not added.problems
            seconds = time.perf_counter() - start
            what = f"knowledge {store} {embedder}"
            line(name, what, {**await by_knowledge(name, client), "seconds to add": seconds})
        for weight in PARTS if parts else ():
            weighted = {**settings, "plugins.knowledge.vector_weight": weight}
            async with Client(set=weighted, cache=work / "cache", folder=work / "runs") as client:
                line(name, f"{what}, weight {weight:g}", await by_knowledge(name, client))


def main() -> None:
    """Print some lines for each set."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--store", default="flat")
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--parts", action="store_true")
    args = parser.parse_args()
    os.environ.pop("LEADLINE_SETTINGS", None)
    for name in args.sets:
        asyncio.run(measure(name, args.store, args.embedder, parts=args.parts))


if __name__ == "__main__":
    main()
