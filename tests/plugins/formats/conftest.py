"""A report with everything in it, and a call to render it with."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leadline.citations import cited
from leadline.contracts import Context
from leadline.records import Claim, Document, Evidence, Figure, Hit, Json, Report, Section, Source, Verdict
from leadline.settings import Settings
from leadline.testing.context import FakeCall, fake_context

TEXT = r"""The bay is 40 m deep [@e1], and *shallower* inland [@e2][@e3].
Prices rose from $5 to $10, while $E = mc^2$.[^1]

Figure 2 shows it; see https://example.org/a_b(c).

### Soundings

| Station | Depth (m) |
|:--|--:|
| North | 12.5 |
| South 南 | 7 [@e4] |

1. First
   - nested

> Quoted.

```python
depth = 40
```

Scripts: 中文 日本語 한국어 Привет Ελλάδα مرحبا 😀

[^1]: A note with *emphasis*.
"""
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><path d="M0 0L40 20" stroke="#000"/></svg>'


class FormatRun:
    """What a formatter asks of its run; keeps what it told."""

    def __init__(self, **report: Any) -> None:
        self.settings = Settings.model_validate({"report": report})
        self.told: list[str] = []

    def now(self) -> datetime:
        return datetime(2026, 11, 21, tzinfo=UTC)

    async def emit(self, kind: str, data: Json) -> None:
        self.told.append(str(data["message"]))


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return fake_context(tmp_path, name="html")


@pytest.fixture
def make_call() -> Callable[..., FakeCall]:
    def make(**report: Any) -> FakeCall:
        call = FakeCall()
        call.run = FormatRun(**report)
        return call

    return make


@pytest.fixture
def make_report() -> Callable[..., Report]:
    return rich_report


@pytest.fixture
def judge() -> Callable[..., Verdict]:
    return judged


def png(width: int = 4, height: int = 2) -> bytes:
    """Return a white picture."""
    rows = (b"\0" + b"\xff" * 3 * width) * height
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    chunks = (struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def judged(text: str, said: str, kind: Any, reason: str = "", quote: str = "", section: str = "1") -> Verdict:
    """Return a verdict of a model on some words of a text, on the passage that they cite last."""
    start = text.index(said)
    names = tuple(cited(said))
    claim = Claim(
        id=f"{section}.{start}", section_id=section, text=said, span=(start, start + len(said)), evidence_ids=names
    )
    at = names[-1] if quote else ""
    return Verdict(claim=claim, verdict=kind, quote=quote, evidence_id=at, reason=reason, judge="model")


def rich_report(text: str = TEXT, **changes: Any) -> Report:
    sources = tuple(
        Source(
            id=f"s{n}",
            hit=Hit(url=f"https://example.org/{n}", title=f"Source {n}", published="2024-05-01"),
            document=Document(text="x"),
        )
        for n in range(1, 7)
    )
    evidence = tuple(Evidence(id=f"e{n}", source_id=f"s{n}", quote=f"Passage {n}.", span=(0, 1)) for n in range(1, 6))
    figures = (
        Figure(id="f1", caption="A line.", alt="Falls", media={"image/svg+xml": SVG, "image/png": png()}),
        Figure(id="f2", caption="A plane.", alt='White "all" over', evidence_ids=("e5",), media={"image/png": png()}),
    )
    known = (("e1", "supported", "", "Passage 1."), ("e4", "contradicted", "70 there", ""))
    verdicts = tuple(
        judged(text, line.partition(f"[@{name}]")[0] + f"[@{name}]", kind, reason, quote)
        for name, kind, reason, quote in known
        for line in text.splitlines()
        if f"[@{name}]" in line
    )
    report = Report(
        title="How deep?",
        language="en",
        sections=(Section(id="1", title="Depth", text=text), Section(id="2", title="Width", text="Wide. Figure 1.")),
        sources=sources,
        evidence=evidence,
        figures=figures,
        verdicts=verdicts,
    )
    return report.model_copy(update=changes)
