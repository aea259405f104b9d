"""The contracts of writing: sections from evidence, files from a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from leadline.door.secrets import Secrets
from leadline.records import Document, Evidence, Files, Hit, Report, Section, SectionRequest, Source
from leadline.runs.folder import EVENTS, JOURNAL, LOCK, METADATA
from leadline.testing.context import FakeCall
from leadline.testing.contracts.base import PluginContract
from leadline.testing.contracts.conduct import must

_CITED = re.compile(r"\[@([^\]\s]+)\]")
_TAKEN = {JOURNAL, LOCK, EVENTS, METADATA}
_QUOTES = (
    "The harbour of Port Ellery is nine fathoms deep at the mole.",
    "A cable further out the lead brought up sand from twelve fathoms.",
    "Ships of more than seven fathoms were built there from 1871 on.",
)


def sources() -> tuple[Source, ...]:
    """Return a source for each passage."""
    made = []
    for place, quote in enumerate(_QUOTES):
        hit = Hit(url=f"https://example.org/{place}", title=f"The pilot & <chart> {place}", published="2024-05-01")
        made.append(Source(id=f"s{place}", hit=hit, document=Document(text=quote)))
    return tuple(made)


def evidence() -> tuple[Evidence, ...]:
    """Return the passages as evidence."""
    return tuple(
        Evidence(id=f"e{place}", source_id=f"s{place}", quote=quote, span=(0, len(quote)))
        for place, quote in enumerate(_QUOTES)
    )


class SynthesizerContract(PluginContract[SectionRequest, Section]):
    """What every synthesizer does. Fixture: `offer`; `new_call`, where it asks its run for more than settings."""

    kind = "synthesizers"
    record = Section
    verb = "synthesize"

    @pytest.fixture
    def requests(self) -> Sequence[SectionRequest]:
        """Return three sections to be written."""
        given = evidence()
        ids = tuple(item.id for item in given)
        sections = (Section(id=f"part-{place}", title=f"Depths, {place}", evidence_ids=ids) for place in range(3))
        told: dict[str, Any] = {"evidence": given, "sources": sources(), "language": "en"}
        question = "How deep is the harbour of Port Ellery?"
        return [SectionRequest(section=section, question=question, **told) for section in sections]

    def check(self, request: SectionRequest, reply: Section, call: FakeCall) -> None:
        """Check that it is the section that was asked for, and cites what it was given."""
        must(reply.id == request.section.id, f"gives section {reply.id!r} where {request.section.id!r} was asked for")
        known = {item.id for item in request.evidence}
        cited = {*_CITED.findall(reply.text or "")}
        must(cited <= known, f"cites evidence that it was not given: {sorted(cited - known)}")
        must({*reply.evidence_ids} <= known, f"names evidence that it was not given: {reply.evidence_ids}")
        must(
            not (reply.text or "").strip() or bool(cited), "writes text without a citation: no sentence of it can stand"
        )

    async def test_without_evidence_it_says_nothing(
        self, plugin: Any, requests: Sequence[SectionRequest], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        bare = requests[0].section.model_copy(update={"evidence_ids": ()})
        request = requests[0].model_copy(update={"section": bare, "evidence": (), "sources": ()})
        await self.failure_or_reply(plugin, request, new_call(), secrets)


class ReportFormatterContract(PluginContract[Report, Files]):
    """What every format does. Fixture: `offer`."""

    kind = "report_formatters"
    record = Files
    verb = "format"

    @pytest.fixture
    def requests(self) -> Sequence[Report]:
        """Return reports of one, two and three sections."""
        parts = [
            Section(id=f"p{n}", title=f"Depth & <place> {n}", text=f"{quote} [@e{n}]", evidence_ids=(f"e{n}",))
            for n, quote in enumerate(_QUOTES)
        ]
        told: dict[str, Any] = {"language": "en", "sources": sources(), "evidence": evidence()}
        return [Report(title=f"Depths {n}", sections=tuple(parts[:n]), **told) for n in range(1, 4)]

    def check(self, request: Report, reply: Files, call: FakeCall) -> None:
        """Check that there are files, whose names stay in the folder of the run and take none of the house's."""
        must(bool(reply.files), "gives no file")
        names = [file.name for file in reply.files]
        must(len({*names}) == len(names), f"gives a name twice: {names}")
        for name in names:
            path = PurePosixPath(name.replace("\\", "/"))
            must(
                bool(path.name) and not path.is_absolute() and ".." not in path.parts, f"leads out of the run: {name!r}"
            )
            must(name not in _TAKEN, f"writes over a file of the house: {name}")

    async def test_it_writes_nothing_itself(
        self,
        plugin: Any,
        requests: Sequence[Report],
        new_call: Callable[[], FakeCall],
        secrets: Secrets,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        monkeypatch.chdir(folder)
        await self.reply(plugin, requests[0], new_call(), secrets)
        must(not list(folder.iterdir()), "writes files: it returns them, and the run writes them")
