"""How good the embedded reports are: the whole pipeline over open question sets, a document a file.

    python tests/benchmarks/quality/reports.py [mhqa] [zh] [ja] [scholar] [abstain] [--limit N] [--out FOLDER]

The data lies in $EVAL_DATA, the scorers in $EVAL_SCORE. What is scored is the body of the report, without
titles and citation numbers. `retrieved` is ranked: what the report cites, then what else was read, by the score of its
best evidence, then what was only found.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from leadline import Client, Result
from leadline.citations import cited, uncited
from leadline.records import Report

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("EVAL_DATA", ROOT.parent / "shared" / "data"))
SCORE = Path(os.environ.get("EVAL_SCORE", DATA.parent / "eval" / "score"))
SHOWN = (
    "answer",
    "cite_prec",
    "cite_recall",
    "recall@5",
    "chain@10",
    "balanced_acc",
    "answered",
    "rouge_l",
    "gold_sent",
)


@dataclass(frozen=True)
class Set:
    """Questions over documents, and how long a report may be (words, of CJK characters; 0: free)."""

    docs: Path
    questions: Path
    length: int
    scorer: str


SETS = {
    "mhqa": Set(DATA / "mhqa/docs.jsonl", DATA / "mhqa/questions.jsonl", 200, "answers"),
    "zh": Set(DATA / "cjkqa/docs_zh.jsonl", DATA / "cjkqa/questions_zh.jsonl", 300, "answers"),
    "ja": Set(DATA / "cjkqa/docs_ja.jsonl", DATA / "cjkqa/questions_ja.jsonl", 300, "answers"),
    "scholar": Set(DATA / "scholar/docs.jsonl", DATA / "scholar/questions.jsonl", 0, "answers"),
    "abstain": Set(DATA / "abstain/docs.jsonl", DATA / "abstain/questions.jsonl", 0, "abstain"),
}


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def lay_out(docs: Sequence[dict[str, Any]], folder: Path) -> None:
    """Write each document as a file: title, blank line, text."""
    folder.mkdir()
    for doc in docs:
        (folder / f"{doc['doc_id']}.txt").write_text(f"{doc['title']}\n\n{doc['text']}\n", encoding="utf-8")


def doc_id(url: str) -> str:
    """Return the id of a document by the URL of its file."""
    return Path(unquote(url)).stem


def prediction(qid: str, result: Result) -> dict[str, Any]:
    """Return what the scorers read of a run."""
    file = result.folder / "search_results.json"
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    hits = [doc_id(hit["url"]) for search in found for hit in search["hits"]]
    if result.report is None:
        return {"qid": qid, "abstained": result.status == "no_evidence", "report": "", "cited": [], "retrieved": hits}
    body = "\n\n".join(section.text or "" for section in result.report.sections)
    own = cited_documents(result.report, body)
    ranked = [*own, *read_documents(result.report), *hits]
    return {
        "qid": qid,
        "abstained": False,
        "report": uncited(body),
        "cited": own,
        "retrieved": list(dict.fromkeys(ranked)),
        "verbatim": all(holds(result.report, name) for name in cited(body)),
    }


def cited_documents(report: Report, body: str) -> list[str]:
    """Return the ids of the documents that a report cites, in order."""
    urls = {source.id: source.hit.url for source in report.sources}
    evidence = {item.id: item.source_id for item in report.evidence}
    return list(dict.fromkeys(doc_id(urls[evidence[name]]) for name in cited(body)))


def read_documents(report: Report) -> list[str]:
    """Return the ids of the documents that were read, by the score of their best evidence."""
    urls = {source.id: source.hit.url for source in report.sources}
    ranked = sorted(report.evidence, key=lambda item: -item.score)
    return [doc_id(urls[item.source_id]) for item in ranked]


def holds(report: Report, name: str) -> bool:
    """Return whether a cited quote stands in its source, word for word."""
    item = next(item for item in report.evidence if item.id == name)
    source = next(source for source in report.sources if source.id == item.source_id)
    return source.document.text[item.span[0] : item.span[1]] == item.quote


async def predict(chosen: Set, limit: int | None, work: Path) -> list[dict[str, Any]]:
    """Run the questions of a set one after the other."""
    lay_out(rows(chosen.docs), work / "docs")
    options = {"report.length": chosen.length, "clarify.mode": "off", "observers": []}
    async with Client(docs=work / "docs", set=options, folder=work / "runs", cache=work / "cache") as client:
        asked = rows(chosen.questions)
        asked = asked[:: max(1, len(asked) // (limit or len(asked)))]
        return [prediction(row["qid"], await client.research(row["question"])) for row in asked]


def scores(chosen: Set, predictions: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the figures of the set's scorer that are shown."""
    sys.path.insert(0, str(SCORE))
    module = importlib.import_module(chosen.scorer)
    known = {row["qid"] for row in predictions}
    questions = [row for row in rows(chosen.questions) if row["qid"] in known]
    answers = chosen.scorer == "answers"
    figures = (
        module.score(questions, rows(chosen.docs), predictions) if answers else module.score(questions, predictions)
    )
    return {name: round(figures[name], 3) for name in SHOWN if name in figures}


def main() -> None:
    """Print a line a set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    for name in args.sets:
        began = time.process_time()
        with tempfile.TemporaryDirectory() as work:
            predictions = asyncio.run(predict(SETS[name], args.limit, Path(work)))
        seconds = (time.process_time() - began) / len(predictions)
        if args.out:
            args.out.mkdir(parents=True, exist_ok=True)
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in predictions)
            (args.out / f"{name}.jsonl").write_text(text, encoding="utf-8")
        verbatim = sum(row.get("verbatim", True) for row in predictions)
        longest = max(len(row["report"].split()) for row in predictions)
        print(
            name,
            len(predictions),
            scores(SETS[name], predictions),
            f"{verbatim} verbatim, {longest} words at most, {seconds:.2f} s CPU each",
        )


if __name__ == "__main__":
    main()
