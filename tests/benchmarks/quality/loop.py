"""The embedded research loop over a list of documents, in memory: questions in, predictions out.

Stands in for the pipeline where only the algorithms are to be measured: no index on disk, no journal, no files.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leadline.findings import Digest, Question, SearchTask
from leadline.records import Document, Evidence, Hit, Source
from leadline_plugins.ai.embedded.digest import digest
from leadline_plugins.ai.embedded.extract import extract
from leadline_plugins.ai.embedded.plan import plan
from leadline_plugins.ai.embedded.query import query
from leadline_plugins.ai.embedded.review import review
from leadline_plugins.ai.embedded.sort import sort
from leadline_plugins.tasks.planning import PlanRequest, QueryRequest, Searched
from leadline_plugins.tasks.reading import DigestRequest, ExtractRequest, ReviewRequest
from leadline_plugins.tasks.sorting import SortRequest
from leadline_plugins.text import content_words, language


class Index:
    """BM25 over whole documents, the title counted with the text."""

    def __init__(self, docs: list[dict[str, str]], k1: float = 1.2, b: float = 0.75) -> None:
        self.docs, self.k1, self.b = docs, k1, b
        self.postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.sizes: list[int] = []
        for i, doc in enumerate(docs):
            counts = Counter(content_words((doc["title"] + " ") * 2 + doc["text"]))
            self.sizes.append(sum(counts.values()))
            for term, count in counts.items():
                self.postings[term].append((i, count))
        self.mean = sum(self.sizes) / len(docs)

    def search(self, text: str, limit: int = 10) -> list[int]:
        scores: dict[int, float] = defaultdict(float)
        for term in set(content_words(text)):
            found = self.postings.get(term, [])
            idf = math.log(1 + (len(self.docs) - len(found) + 0.5) / (len(found) + 0.5))
            for i, count in found:
                scores[i] += (
                    idf * count * (self.k1 + 1) / (count + self.k1 * (1 - self.b + self.b * self.sizes[i] / self.mean))
                )
        return sorted(scores, key=lambda i: (-scores[i], i))[:limit]


@dataclass
class State:
    past: list[Searched] = field(default_factory=list)
    sources: dict[int, Source] = field(default_factory=dict)
    evidence: dict[str, Evidence] = field(default_factory=dict)
    hits: list[int] = field(default_factory=list)


def research(index: Index, text: str, length: int, rounds: int = 3) -> dict[str, Any]:
    asked = Question(text=text, language=language(text))
    outline = plan(PlanRequest(question=asked, length=length))
    state = State()
    last: Digest | None = None
    gaps: tuple[str, ...] = ()
    for number in range(1, rounds + 1):
        best = tuple(sorted(state.evidence.values(), key=lambda e: (-e.score, e.id))[:40])
        asks = query(
            QueryRequest(
                question=asked,
                plan=outline,
                round=number,
                limit=8 if number == 1 else 5,
                past=tuple(state.past),
                gaps=gaps,
                evidence=best,
            )
        )
        fresh = [
            id_ for ask in asks.queries[: 20 - len(state.past)] for id_ in _follow(index, state, asked, ask, number)
        ]
        if not fresh and number > 1:
            break
        every = tuple(state.evidence.values())
        last = digest(
            DigestRequest(question=asked, plan=outline, round=number, evidence=every, fresh=tuple(fresh), last=last)
        )
        verdict = review(ReviewRequest(question=asked, plan=outline, round=number, digest=last, evidence=every))
        gaps = verdict.priority_gaps
        if verdict.is_sufficient:
            break
    every = tuple(state.evidence.values())
    chosen = sort(
        SortRequest(question=asked, plan=outline, evidence=every, sources=tuple(state.sources.values()), length=length)
    )
    return {"state": state, "sorted": chosen, "rounds": number}


def _follow(index: Index, state: State, asked: Question, ask: Any, number: int) -> list[str]:
    task = SearchTask(id=f"q{len(state.past)}", query=ask.query, section=ask.section, round=number)
    hits = index.search(ask.query)
    state.past.append(Searched(query=task.query))
    state.hits += [i for i in hits if i not in state.hits]
    fresh = []
    for i in [i for i in hits[:3] if i not in state.sources]:
        doc = index.docs[i]
        source = Source(
            id=doc["doc_id"],
            hit=Hit(url=doc["doc_id"], title=doc["title"]),
            document=Document(text=doc["text"], title=doc["title"]),
        )
        state.sources[i] = source
        for n, learning in enumerate(extract(ExtractRequest(question=asked, query=ask.query, source=source)).learnings):
            end = learning.start + len(learning.quote)
            item = Evidence(
                id=f"{source.id}.{n}",
                source_id=source.id,
                quote=learning.quote,
                span=(learning.start, end),
                score=learning.score,
            )
            assert doc["text"][learning.start : end] == item.quote
            state.evidence[item.id] = item
            fresh.append(item.id)
    return fresh


def predict(index: Index, qid: str, text: str, length: int, rounds: int = 3) -> dict[str, Any]:
    found = research(index, text, length, rounds)
    state, chosen = found["state"], found["sorted"]
    cited = [state.evidence[id_] for part in chosen.sections for id_ in part.evidence_ids] if chosen.answers else []
    docs = list(dict.fromkeys(e.source_id for e in cited))
    ranked = list(
        dict.fromkeys(
            [
                *docs,
                *(e.source_id for e in sorted(state.evidence.values(), key=lambda e: -e.score)),
                *(index.docs[i]["doc_id"] for i in state.hits),
            ]
        )
    )
    return {
        "qid": qid,
        "report": "\n\n".join(e.quote for e in cited),
        "cited": docs,
        "retrieved": ranked,
        "abstained": not chosen.answers,
        "rounds": found["rounds"],
        "queries": [p.query for p in state.past],
    }


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Write predictions for a set of questions over its documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("docs", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--length", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    index = Index(lines(args.docs))
    start = time.process_time()
    questions = lines(args.questions)
    with args.out.open("w", encoding="utf-8") as out:
        for q in questions:
            out.write(
                json.dumps(predict(index, q["qid"], q["question"], args.length, args.rounds), ensure_ascii=False) + "\n"
            )
    print(f"{(time.process_time() - start) / len(questions):.3f} s CPU a question")


if __name__ == "__main__":
    main()
