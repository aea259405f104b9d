"""Twin runs: what a request holds of its surroundings is found, and named."""

import time
from pathlib import Path
from typing import Any

import pytest

from leadline.door.kinds import Kind, Maker
from leadline.records import SearchPage, SearchRequest
from leadline.testing.fakes import FakeSearch, open_door
from leadline.testing.twins import assert_twins


async def run(folder: Path, *queries: str) -> Path:
    async with open_door(folder) as opened:
        for query in queries:
            request = SearchRequest(query=query)
            await opened.door.call(Kind("search", SearchPage), request, FakeSearch().search, maker=Maker("fake"))
    return folder / "journal.sqlite"


async def test_runs_that_ask_the_same_are_twins(tmp_path: Path) -> None:
    await assert_twins(await run(tmp_path / "one", "a", "b"), await run(tmp_path / "two", "b", "a"))


@pytest.mark.parametrize("impure", [lambda: time.time_ns(), lambda: id(object())])
async def test_a_request_that_holds_its_surroundings_is_named(tmp_path: Path, impure: Any) -> None:
    one, two = [await run(tmp_path / name, "a", f"news of {name} {impure()}") for name in ("one", "two")]
    with pytest.raises(AssertionError, match=r"only in .*one.*search by fake; request\.query: 'news of two "):
        await assert_twins(one, two)


async def test_a_call_that_the_other_run_did_not_make_is_named(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"only in .*two.*nothing like it"):
        await assert_twins(await run(tmp_path / "one"), await run(tmp_path / "two", "a"))
