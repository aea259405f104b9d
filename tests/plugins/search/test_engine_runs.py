"""Whole runs over shipped engines before loopback servers: full text is cited, memory is not, keys leave no trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import leadline
from leadline.testing.servers import ScriptedServer, json_answer

QUESTION = "How deep was the harbour of Port Ellery measured, in fathoms?"
TEXT = "The harbour of Port Ellery was measured in 1871. It was nine fathoms deep at the mole of Port Ellery."
KEY = "tvly-a-secret-of-twenty-four"


def client(folder: Path, engines: list[str], **settings: Any) -> leadline.Client:
    values = {"search.engines": engines, "ai.providers": ["embedded"], "retry.base": 0}
    values |= {name.replace("__", "."): value for name, value in settings.items()}
    return leadline.Client(folder=folder / "runs", cache=folder / "cache", set=values)


def written(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_full_text_of_an_engine_is_read_quoted_and_cited(server: ScriptedServer, tmp_path: Path) -> None:
    found = {"url": "https://example.org/harbour", "title": "The <b>harbour</b>", "content": "…", "raw_content": TEXT}
    server.answers = [json_answer({"results": [found]})]
    settings = {
        "plugins__tavily__api_key": KEY,
        "plugins__tavily__base_url": server.url,
        "plugins__tavily__full_text": True,
    }
    async with client(tmp_path, ["tavily"], **settings) as runs:
        result = await runs.research(QUESTION)
    assert result.status == "complete"
    assert result.report is not None
    (source,) = result.report.sources
    assert (source.hit.url, source.hit.title, source.engine) == (found["url"], "The harbour", "tavily")
    assert any("nine fathoms" in one.quote for one in result.report.evidence)
    assert KEY.encode() not in written(tmp_path)


async def test_recalled_statements_are_never_cited(server: ScriptedServer, tmp_path: Path) -> None:
    told = json.dumps({"statements": [{"title": "Harbour", "text": TEXT}]})
    choice = {"message": {"role": "assistant", "content": told}, "finish_reason": "stop"}
    server.answers = [json_answer({"model": "m", "choices": [choice]})]
    settings = {"plugins__recall__base_url": server.url, "plugins__recall__model": "m"}
    async with client(tmp_path, ["recall"], **settings) as runs:
        result = await runs.research(QUESTION)
    assert (result.status, result.report) == ("no_evidence", None)
    assert result.reason.startswith("nothing that can be cited was found for: ")
    assert server.asked  # it was asked, and answered
