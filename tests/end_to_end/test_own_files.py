"""A folder of documents in which the runs are kept too: no run rests on what a run wrote."""

from __future__ import annotations

from pathlib import Path
from pydoc_data.topics import topics

import pytest

import leadline
from leadline.runs import Result

QUESTION = "When are default parameter values of a function evaluated?"


def ask(docs: Path, cache: Path) -> Result:
    return leadline.research_sync(QUESTION, docs=docs, cache=cache, set={"ai.providers": ["embedded"]})


def test_no_run_cites_a_plan_or_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "function.rst").write_text(topics["function"], encoding="utf-8")
    monkeypatch.chdir(docs)  # where runs are kept in `runs`
    for result in (ask(docs, tmp_path / "cache"), ask(docs, docs / "cache")):
        assert result.status == "complete"
        assert result.folder.is_relative_to(docs)
        assert result.report
        assert [source.hit.url for source in result.report.sources] == ["local://local/docs/function.rst"]
