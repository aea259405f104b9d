"""Twin runs: what a request holds of its surroundings is found, and named."""

import time
from pathlib import Path
from typing import Any

import pytest
from tests.call_paths import FakeSearch, open_call_path

from leadline._runtime.calls.job import Kind, ProviderIdentity
from leadline.records import SearchPage, SearchRequest
from leadline.testing.runs import assert_same_calls


async def run(folder: Path, *queries: str) -> Path:
    async with open_call_path(folder) as opened:
        for query in queries:
            request = SearchRequest(query=query)
            await opened.calls.call(
                Kind("search", SearchPage), request, FakeSearch().search, provider=ProviderIdentity("fake")
            )
    return folder / "journal.sqlite"


async def test_runs_that_ask_the_same_are_twins(tmp_path: Path) -> None:
    await assert_same_calls(await run(tmp_path / "one", "a", "b"), await run(tmp_path / "two", "b", "a"))


@pytest.mark.parametrize("impure", [lambda: time.time_ns(), lambda: id(object())])
async def test_a_request_that_holds_its_surroundings_is_named(tmp_path: Path, impure: Any) -> None:
    one, two = [await run(tmp_path / name, "a", f"news of {name} {impure()}") for name in ("one", "two")]
    with pytest.raises(AssertionError, match=r"only in .*one.*search by fake; request\.query: 'news of two "):
        await assert_same_calls(one, two)


async def test_a_call_that_the_other_run_did_not_make_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"only in .*two.*no similar call"):
        await assert_same_calls(await run(tmp_path / "one"), await run(tmp_path / "two", "a"))
