"""Documents whose text changes, and offsets that do not fit it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.errors import Unsupported
from leadline.plugin import map_stage, parser
from leadline.records import Block, Document, Hit, Passage, Source
from leadline.research_findings import SOURCES
from leadline.testing.plugins import plugin
from leadline_plugins.passages.cutting import as_document, passages_of

NAMES = "# Register\n\n## Cable of Anna Miller\n\nA cable is a hundred fathoms and was measured by a rope.\n"
QUESTION = "How was a cable measured by a rope?"
SET = {"ai.providers": ["embedded"]}


def paragraph(start: int, end: int) -> Block:
    return Block(kind="paragraph", start=start, end=end)


def test_a_copy_with_another_text_has_no_offsets_of_the_old_one() -> None:
    document = Document(text="One. Two.", blocks=(paragraph(0, 4), paragraph(5, 9)), pages=(0, 5))
    changed = document.model_copy(update={"text": "One. Three."})
    assert (changed.blocks, changed.pages) == ((), ())
    assert document.model_copy(update={"title": "T"}).blocks == document.blocks
    own = (paragraph(0, 4), paragraph(5, 11))
    assert document.model_copy(update={"text": "One. Three.", "blocks": own}).blocks == own


@pytest.mark.parametrize(
    ("blocks", "pages", "fault"),
    [
        ((paragraph(0, 4), paragraph(4, 9)), (0, 5, 9), ""),
        ((paragraph(5, 9999),), (), "block 1 is from 5 to 9999"),
        ((paragraph(-1, 4),), (), "block 1 is from -1 to 4"),
        ((paragraph(4, 2),), (), "block 1 is from 4 to 2"),
        ((paragraph(0, 5), paragraph(4, 9)), (), "block 2 is from 4 to 9"),
        ((paragraph(5, 9), paragraph(0, 4)), (), "block 2 is from 0 to 4"),
        ((), (5, 0), "page offsets are not ascending"),
        ((), (10,), "page offsets are not ascending"),
    ],
)
def test_offsets_outside_the_text_or_out_of_order_are_named(
    blocks: tuple[Block, ...], pages: tuple[int, ...], fault: str
) -> None:
    assert Document(text="One. Two.", blocks=blocks, pages=pages).misfit().startswith(fault)
    assert bool(Document(text="One. Two.", blocks=blocks, pages=pages).misfit()) == bool(fault)


class Redact:
    """Takes the name from a text; with `stale`, it gives the passages of the old text."""

    def __init__(self, stale: bool) -> None:
        self._stale = stale

    async def map(self, item: Any, findings: Any, run: Any, /) -> Any:
        text = item.document.text.replace("Anna Miller", "A keeper whose name was taken out")
        old = {"passages": item.document.passages} if self._stale else {}
        return [item.model_copy(update={"document": item.document.model_copy(update={"text": text, **old})})]


async def redacted(tmp_path: Path, *, stale: bool) -> leadline.Result:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "g.md").write_text(NAMES)
    red = plugin("red", map_stage("r", over=SOURCES, gives=SOURCES)(lambda: Redact(stale)))
    pipeline = {"pipeline": "x", "pipelines.x.extends": "research", "pipelines.x.after": {"fetch": ["red"]}}
    async with leadline.Client(
        plugins=[red],
        set={**SET, **pipeline},
        folder=tmp_path / "r",
        cache=tmp_path / "c",
        docs=tmp_path / "docs",
    ) as client:
        return await client.research(QUESTION)


async def test_passages_of_a_redacted_text_are_whole_blocks_of_it(tmp_path: Path) -> None:
    result = await redacted(tmp_path, stale=False)
    assert result.report is not None
    quotes = [one.quote for one in result.report.evidence]
    assert "A cable is a hundred fathoms and was measured by a rope." in quotes


def test_words_of_headings_and_leads_are_removed_with_those_of_the_text() -> None:
    passage = Passage(text="- nine fathoms", path=("Depths", "Anna Miller"), lead="She measured, said Anna Miller:")
    document = as_document([passage, passage.model_copy(update={"start": 20, "text": "- ten"})], "T")
    assert document.misfit() == ""
    assert [document.text[one.start :][: len(one.text)] for one in document.passages] == ["- nine fathoms", "- ten"]
    removed = document.model_copy(update={"text": document.text.replace("Anna Miller", "X")})
    (cut,) = passages_of(Source(id="s", hit=Hit(url="u"), document=removed, engine="e", task_id="t"))
    assert (cut.path, "Miller" in f"{cut.lead} {cut.quote}") == (("Depths", "X"), False)
    kept = removed.model_copy(update={"passages": document.passages})
    assert "not in the text" in kept.misfit()


def test_a_hit_with_another_snippet_has_no_passages_of_the_old_one() -> None:
    hit = Hit(url="u", snippet="Anna", passages=(Passage(text="Anna Miller"),))
    assert hit.model_copy(update={"score": 1.0}).passages
    assert not hit.model_copy(update={"snippet": "Anna"}).passages
    assert not hit.model_copy(update={"text": "X"}).passages


async def test_a_stage_that_keeps_the_passages_of_the_old_text_is_refused_by_name(tmp_path: Path) -> None:
    result = await redacted(tmp_path, stale=True)
    assert result.status == "failed"
    said = f"{result.reason} {result.metadata.errors}"
    assert "stage 'red' returned" in said
    assert "is not in the text: give new passages" in said


class Zork:
    def __init__(self, how: str) -> None:
        self._how = how

    def accepts(self, media_type: str, /) -> bool:
        return media_type == "application/octet-stream"

    async def parse(self, blob: Any, call: Any, /) -> Any:
        if self._how == "unsupported":
            raise Unsupported(f"{blob.name}: broken zork")
        if self._how == "raise":
            raise KeyError("rune")
        return None if self._how == "none" else Document(text=blob.data.decode(), blocks=(paragraph(5, 9999),))


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("unsupported", "broken zork (parser 'zork')"),
        ("raise", "KeyError: 'rune'; this is a fault of plugin 'zork'"),
        ("none", "the reply is NoneType, not Document"),
        ("blocks", "block 1 is from 5 to 9999"),
    ],
)
async def test_a_local_file_that_was_not_read_is_told_in_every_run_with_its_path_and_parser(
    tmp_path: Path, how: str, reason: str
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "g.md").write_text(NAMES)
    (docs / "x.zork").write_text("A cable is long.")
    zork = plugin("zork", parser("z", work="local")(lambda: Zork(how)))
    where: dict[str, Any] = {"folder": tmp_path / "r", "cache": tmp_path / "c", "docs": docs}
    async with leadline.Client(plugins=[zork], set={**SET, "read.parsers": ["zork", "text"]}, **where) as client:
        result, again = await client.research(QUESTION), await client.research(QUESTION)
    (notice,) = [one for one in result.metadata.notices if "x.zork" in one]
    assert notice in again.metadata.notices
    assert notice.startswith("1 file was not read: docs/x.zork (")
    assert reason in notice
    assert "zork" in notice.partition("(")[2]
    assert str(tmp_path) not in notice
    assert "docs/x.zork" in (result.folder / "report.md").read_text()
