"""How much of what was found reaches a model that writes: a share of a lot, and all of a little."""

from __future__ import annotations

from pathlib import Path

import pytest

import leadline
from leadline.records import Document, Hit, Source
from leadline_plugins.stages.material import CJK_LEAST, LEAST, LETTERS, MOST_WORDS, SHARE, words


@pytest.mark.parametrize(
    ("characters", "language", "wanted"),
    [
        (40, "en", LEAST),
        (300_000, "en", int(300_000 * SHARE / LETTERS)),
        (3_000_000, "en", MOST_WORDS),
        (40, "zh", CJK_LEAST),
        (30_000, "zh", int(30_000 * SHARE)),
    ],
)
def test_the_share_has_a_least_and_a_most(characters: int, language: str, wanted: int) -> None:
    source = Source(id="a", hit=Hit(url="https://example.org/"), document=Document(text="x" * characters))
    assert words([source], language) == wanted


async def test_of_a_short_note_every_sentence_is_there_when_no_model_answers(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "varn.txt").write_text("The harbour of Varn is 12 fathoms deep.")
    values = {
        "ai.providers": ["openai"],
        "plugins.openai.base_url": "http://127.0.0.1:9/v1",
        "plugins.openai.model": "none",
        "retry.base": 0,
    }
    runs = leadline.Client(docs=[tmp_path / "docs"], folder=tmp_path / "runs", cache=tmp_path / "cache", set=values)
    async with runs:
        result = await runs.research("How deep is the harbour of Varn?")
    assert result.status == "partial"
    assert "never answered" in result.reason
    assert result.report is not None
    assert "12 fathoms deep" in (result.report.sections[0].text or "")
