"""Runs whose judges and models are scripted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from leadline.contracts import StageRun
from leadline.records import Claim, Document, Evidence, Hit, Judgements, JudgeRequest, Report, Section, Source
from leadline.tasks import Task

Reply = Callable[[Any], Any]


class ScriptedRun:
    """Judges by the given judges and answers tasks by the given functions, by name."""

    def __init__(self, judges: Mapping[str, Any], replies: Mapping[str, Reply], **settings: Any) -> None:
        self._judges, self._replies = judges, replies
        usual = {"unsupported": "flag", "require_support": False, "claims_per_call": 16}
        verify = {"judges": tuple(judges)} | usual | settings
        self.settings = SimpleNamespace(verify=SimpleNamespace(**verify))
        self.asked: list[tuple[str, Any]] = []
        self.notices: list[str] = []
        self.files: dict[str, bytes] = {}

    async def each(self, items: Sequence[Any], do: Callable[[Any], Awaitable[Any]]) -> list[Any]:
        return [await do(item) for item in items]

    async def emit(self, kind: str, data: Mapping[str, Any]) -> None:
        self.notices.append(data["message"])

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return task in self._replies

    async def judge(self, request: JudgeRequest, name: str) -> Judgements:
        self.asked.append((name, request))
        made: Judgements = await self._judges[name].judge(request, SimpleNamespace(run=self))
        return made

    async def perform(self, task: Task[Any]) -> Any:
        self.asked.append((task.name, task.inputs))
        return self._replies[task.name](task.inputs)

    async def save(self, file: Any) -> None:
        self.files[file.name] = file.data


@pytest.fixture
def new_run() -> Callable[..., StageRun]:
    """Return a run: `new_run({"exact": judge}, {"verify_claim": reply}, unsupported="drop")`."""

    def made(judges: Mapping[str, Any], replies: Mapping[str, Reply] | None = None, **settings: Any) -> StageRun:
        return cast("StageRun", ScriptedRun(judges, replies or {}, **settings))

    return made


@pytest.fixture
def new_report() -> Callable[..., Report]:
    """Return a report with one section, citing passages `[@a]`, `[@b]` … that are whole documents or parts of them."""

    def made(text: str, *passages: str, source: str = "") -> Report:
        documents = [source or passage for passage in passages]
        sources = [
            Source(id=f"s{n}", hit=Hit(url=f"https://{n}.example", title=f"Page {n}"), document=Document(text=document))
            for n, document in enumerate(documents)
        ]
        evidence = []
        for place, (passage, document) in enumerate(zip(passages, documents, strict=True)):
            start = document.index(passage)
            fields = {"id": "abcdefgh"[place], "source_id": f"s{place}", "quote": passage, "claim": ""}
            evidence.append(Evidence.model_validate(fields | {"span": (start, start + len(passage))}))
        return Report(
            title="Bay",
            language="en",
            sections=(Section(id="s1", title="The bay", text=text),),
            sources=tuple(sources),
            evidence=tuple(evidence),
        )

    return made


@pytest.fixture
def new_request(new_report: Callable[..., Report]) -> Callable[..., JudgeRequest]:
    """Return a request about one claim that cites all passages."""

    def made(claim: str, *passages: str, source: str = "") -> JudgeRequest:
        report = new_report("", *passages, source=source)
        ids = tuple(one.id for one in report.evidence)
        claims = (Claim(id="s1.1", section_id="s1", text=claim, span=(0, 0), evidence_ids=ids),)
        return JudgeRequest(claims=claims, passages=report.evidence, sources=report.sources)

    return made
