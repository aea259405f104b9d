"""The public names of the package: complete, lazy and typed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, assert_type

import pytest

import leadline
from leadline.comparison import Comparison
from leadline.estimates import Explanation
from leadline.events import Subscription
from leadline.records import Report
from leadline.run_summary import RunSummary
from leadline.runs import Metadata, RunInfo, Status
from leadline.testing.fakes import fake_web

WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"]}


@pytest.mark.parametrize("name", leadline.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(leadline, name) is not None


def test_an_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'leadline' has no attribute 'reserch'"):
        leadline.reserch  # noqa: B018
    assert set(leadline.__all__) <= set(dir(leadline))


def test_importing_leadline_imports_nothing_heavy() -> None:
    code = "import sys, leadline; print(*(m for m in ('pydantic', 'asyncio', 'pluggy', 'httpx') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


async def test_the_methods_of_a_client_return_their_declared_types(tmp_path: Path) -> None:
    question = "How deep was the harbour measured at each sounding, in fathoms?"
    async with leadline.Client(plugins=[fake_web()], folder=tmp_path / "r", cache=tmp_path / "c", set=WEB) as client:
        assert_type(client.explain(), Explanation)
        handle = assert_type(await client.start(question), leadline.RunHandle)
        assert_type(handle.events(), Subscription)
        result = assert_type(await handle.result(), leadline.Result)
        assert_type(result.status, Status)
        assert_type(result.report, Report | None)
        assert_type(result.metadata, Metadata)
        (run,) = assert_type(client.runs(), list[RunSummary])
        assert run.status == result.status == "complete"
        found = assert_type(client.find(run.id[:6]), RunInfo)
        assert (found.id, found.folder, found.status) == (run.id, run.folder, run.status)
        assert [one.id for one in client.runs(text="fathoms sounding", status="complete", limit=1)] == [run.id]
        assert client.runs(text="somewhere else") == []
        report = assert_type(await client.report(run.id), Report)
        assert result.report is not None
        assert report.sections == result.report.sections
        assert assert_type(await client.compare(run.id, run.id), Comparison).only_first == ()
        client.delete(run.id)
        assert client.runs() == []
    assert assert_type(result.files, tuple[Path, ...])


async def test_an_unknown_argument_is_an_error_with_the_nearest_one() -> None:
    options: Any = {"dcos": "docs"}
    told = r"got an unexpected keyword argument 'dcos': did you mean 'docs'\? \(choose from: "
    with pytest.raises(TypeError, match=rf"^research\(\) {told}"):
        await leadline.research("How deep is it?", **options)
    with pytest.raises(TypeError, match=rf"^research_sync\(\) {told}"):
        leadline.research_sync("How deep is it?", **options)
