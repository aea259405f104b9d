"""Ten follow-ups to one finished run: which of them needed a search, and what they cite.

    python tests/benchmarks/quality/follow_ups.py [FOLDER]

The documents are the sections of the Debian Reference (package debian-reference-en; FOLDER has its pages). The model is
the emulator's, in this process: it makes a follow-up stand alone by a table, plans one section, finds earlier sources
sufficient by a rule about words, and writes sentences of the passages. `expected` says whether the first run had read
the section that answers the follow-up; only for the others is a search needed.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from emulator_says import say

import leadline
from leadline.citations import cited
from leadline.contracts import Call
from leadline.plugin import ai_provider
from leadline.records import ChatReply, ChatRequest, Message, ModelTraits, Report
from leadline.runs import Result
from leadline.testing.plugins import plugin

PAGES = Path("/usr/share/debian-reference")
FIRST = "How are packages installed, removed and upgraded on Debian?"
# The follow-up, what a good model makes of it, and the section that answers it.
FOLLOW_UPS = (
    ("What does it say about apt vs. aptitude?", "How do apt and aptitude differ as commands?", "2.2"),
    ("Where are those activities logged?", "Where are package management activities logged?", "2.2"),
    ("And how is a system wide upgrade done with it?", "How is a system wide upgrade done with aptitude?", "2.3"),
    ("How do I purge what was removed?", "How are removed packages purged for good with aptitude?", "2.3"),
    ("What if the installation fails?", "What if an installation failed due to missing dependencies?", "2.6"),
    ("Can its installed files be verified?", "Can installed package files be verified with debsums?", "2.4"),
    ("How are its archives authenticated?", "How is the Release file of the archive authenticated?", "2.5"),
    ("And how do I schedule that regularly?", "How are tasks scheduled regularly with cron?", "9.4"),
    ("What about the network, is there a GUI?", "Which GUI tools configure the network on the desktop?", "5.2"),
    ("Which filter protects the host meanwhile?", "What is the netfilter infrastructure of the kernel?", "5.6"),
)
_SCHEMA = re.compile(r"schema(?: and nothing else)?:\n(\{.*\})", re.DOTALL)
_DATA = re.compile(r"<data>\n(.*)\n</data>", re.DOTALL)
_HEADING = re.compile(r'(?=<h2 class="title")')
_NUMBER = re.compile(r"(\d+\.\d+)\.")


class Model:
    """The emulator's model, with a table for follow-ups."""

    def __init__(self) -> None:
        self.chats = 0

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits()

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        self.chats += 1
        system, user = request.messages[0].text, request.messages[1].text
        schema, data = _SCHEMA.search(system), _DATA.search(user)
        text = say(json.loads(schema[1]) if schema else {}, data[1] if data else "")[1]
        if call.task == "plan":
            asked = re.search(r"^Question: (.*)", user, re.MULTILINE)
            text = json.dumps(one_section(asked[1] if asked else FIRST))
        if call.task == "follow_up":
            text = json.dumps({"question": next(whole for asked, whole, _ in FOLLOW_UPS if f"\n{asked}\n" in user)})
        return ChatReply(message=Message(role="assistant", text=text), finish_reason="stop")


def one_section(question: str) -> dict[str, Any]:
    """Return a plan that asks the question itself, and no other."""
    section = {"id": "1", "title": question, "goal": question, "questions": [question], "domain": ""}
    return {"title": question, "sections": [section], "queries": []}


def sections(pages: Path, folder: Path) -> int:
    """Write each section of the pages as a document, `2.4.html`; return their number."""
    count = 0
    for page in sorted(pages.glob("ch??.en.html")):
        for part in _HEADING.split(page.read_text("utf-8"))[1:]:
            number = _NUMBER.search(re.sub("<[^>]+>", "", part[:600]))
            if number:
                (folder / f"{number[1]}.html").write_text(f"<html><body><main>{part}</main></body></html>", "utf-8")
                count += 1
    return count


def names(report: Report | None, *, only_cited: bool) -> set[str]:
    """Return the sections among the sources of a report."""
    if report is None:
        return set()
    ids = {name for section in report.sections for name in cited(section.text or "")}
    used = {item.source_id for item in report.evidence if item.id in ids}
    return {Path(source.hit.url).stem for source in report.sources if source.id in used or not only_cited}


def passages(report: Report | None, of: Report | None = None) -> set[str]:
    """Return the ids of the passages that a report cites, or of those from the sources of another one."""
    if report is None:
        return set()
    ids = {name for section in report.sections for name in cited(section.text or "")}
    known = {source.id for source in of.sources} if of else set()
    return {item.id for item in report.evidence if item.id in ids and (of is None or item.source_id in known)}


def searches(result: Result) -> int:
    return sum(count for kind, count in result.metadata.calls.items() if kind.startswith("search/"))


async def main(pages: Path) -> dict[str, Any]:
    """Return the first run and a row for each follow-up."""
    model = Model()
    offer = ai_provider("The emulator's model")(lambda: model)
    with tempfile.TemporaryDirectory() as work:
        docs = Path(work) / "docs"
        docs.mkdir()
        count = sections(pages, docs)
        client = leadline.Client(
            docs=docs,
            folder=Path(work) / "runs",
            cache=Path(work) / "cache",
            set={
                "ai.providers": ["emulated"],
                "verify.judges": ["exact"],
                "charts.runner": "",
                "report.formats": ["json"],
                "research.first_queries": 3,
                "research.followup_queries": 1,
                "report.length": 200,
            },
            plugins=[plugin("emulated", offer)],
        )
        async with client as runs:
            first = await runs.research(FIRST)
            chats = model.chats
            rows: list[dict[str, Any]] = []
            for asked, _, section in FOLLOW_UPS:
                begun, before = time.perf_counter(), model.chats
                then = await runs.research(asked, follows=first.metadata.run_id)
                rows.append(
                    {
                        "question": asked,
                        "status": then.status,
                        "answer in": section,
                        "expected": "no search" if section in names(first.report, only_cited=False) else "search",
                        "searches": searches(then),
                        "chats": model.chats - before,
                        "cites": sorted(names(then.report, only_cited=True)),
                        "passages cited": len(passages(then.report)),
                        "of earlier sources": len(passages(then.report, of=first.report)),
                        "seconds": round(time.perf_counter() - begun, 1),
                    }
                )
    right = sum((row["expected"] == "search") == bool(row["searches"]) for row in rows)
    return {
        "documents": count,
        "first": {"searches": searches(first), "chats": chats, "read": sorted(names(first.report, only_cited=False))},
        "follow-ups": rows,
        "without a search": sum(not row["searches"] for row in rows),
        "as expected": f"{right} of {len(rows)}",
        "cite the section": f"{sum(row['answer in'] in row['cites'] for row in rows)} of {len(rows)}",
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGES
    if not list(folder.glob("ch??.en.html")):
        sys.exit(f"{folder} has no pages ch??.en.html: install debian-reference-en, or name their folder")
    json.dump(asyncio.run(main(folder)), sys.stdout, indent=1)
