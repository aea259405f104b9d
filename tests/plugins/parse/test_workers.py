"""Processes that parse: the same answers as here, and an end for whatever does not end by itself."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest

from leadline.errors import BadReply, Unsupported
from leadline.records import Blob
from leadline_plugins.parse.html import parse
from leadline_plugins.parse.workers import Workers

BODY = "<p>The lead line sounds the depth under the keel of a ship, 测深锤.</p>" * 9
PAGE = Blob(name="page.html", media_type="text/html", data=f"<html lang=en><title>T</title>{BODY}".encode())
MONSTER = Blob(name="monster.html", media_type="text/html", data=b"<p>word " * 300_000)


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    made = Workers(2)
    yield made
    await made.close()


async def test_they_answer_as_the_parser_does(workers: Workers) -> None:
    assert await asyncio.gather(*(workers.parse(PAGE) for _ in range(8))) == [parse(PAGE)] * 8
    assert len(workers._idle) <= 2


async def test_an_error_comes_back_as_itself_and_the_process_goes_on(workers: Workers) -> None:
    with pytest.raises(Unsupported, match=r"empty\.html: holds no"):
        await workers.parse(Blob(name="empty.html", media_type="text/html", data=b""))
    (process,) = workers._idle
    await workers.parse(PAGE)
    assert workers._idle == [process]


async def test_a_page_that_takes_too_long_is_given_up() -> None:
    workers = Workers(1, seconds=0.05)
    with pytest.raises(Unsupported, match=r"monster\.html: was not parsed within 0\.05 s"):
        await workers.parse(MONSTER)
    assert workers._idle == []


async def test_a_process_that_dies_of_a_page_is_told_and_replaced(workers: Workers) -> None:
    await workers.parse(PAGE)
    (process,) = workers._idle
    task = asyncio.create_task(workers.parse(MONSTER))
    await asyncio.sleep(0.2)
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(BadReply, match=r"monster\.html: the parser died of it \(-9\)"):
        await task
    assert (await workers.parse(PAGE)).title == "T"


async def test_a_process_that_died_while_nothing_was_to_be_done_is_replaced(workers: Workers) -> None:
    await workers.parse(PAGE)
    os.kill(workers._idle[0].pid, signal.SIGKILL)
    workers._idle[0].wait()
    assert (await workers.parse(PAGE)).title == "T"


async def test_many_pages_wait_for_few_processes_and_none_is_lost_by_one_that_is_cancelled(workers: Workers) -> None:
    tasks = [asyncio.create_task(workers.parse(PAGE)) for _ in range(40)]
    await asyncio.sleep(0)
    tasks[39].cancel()
    assert [page.title for page in await asyncio.gather(*tasks[:39])] == ["T"] * 39
    assert len(workers._idle) <= 2


async def test_cancelling_ends_the_process(workers: Workers) -> None:
    task = asyncio.create_task(workers.parse(MONSTER))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert workers._idle == []
    assert (await workers.parse(PAGE)).title == "T"
