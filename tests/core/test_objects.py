"""Engines and models that are objects or functions of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadline.client import Client
from leadline.errors import ConfigError, UsageError
from leadline.plugin import Call, Hit, SearchRequest

TIDES = "Tides follow the moon, twice a day."


class Retriever:
    """An engine that belongs to the program: nobody else closes it."""

    def __init__(self) -> None:
        self.asked = 0

    async def search(self, request: SearchRequest, call: Call, /) -> list[Hit]:
        self.asked += 1
        return [Hit(url="kb://tides", title="Tides", text=TIDES)]

    async def __aexit__(self, *_: object) -> None:
        raise AssertionError("closed")

    async def __aenter__(self) -> None:
        raise AssertionError("entered")


def knowledge(query: str) -> list[object]:
    return [TIDES, {"url": "kb://moon", "title": "The moon", "text": "When do tides come? The moon makes tides."}]


async def later(query: str) -> list[str]:
    return [TIDES]


@pytest.mark.parametrize("engine", [Retriever(), knowledge, later], ids=["object", "function", "coroutine"])
async def test_an_object_or_a_function_is_an_engine(own_folders: Path, engine: object) -> None:
    async with Client(engines={"kb": engine}) as client:
        result = await client.research("When do tides come?")
    assert result.status == "complete"
    assert "Tides follow the moon" in result.text


async def test_a_function_is_a_model(own_folders: Path) -> None:
    asked = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return '{"text": "Twice a day."}'

    async with Client(models={"house": model}, pipeline="chat") as client:
        result = await client.research("When do tides come?")
    assert "Twice a day." in result.text
    assert "When do tides come?" in asked[0]


async def test_a_resume_needs_the_same_names_and_repeats_no_call(own_folders: Path) -> None:
    retriever = Retriever()
    async with Client(engines={"kb": retriever}) as client:
        run = await client.research("When do tides come?")
    asked = retriever.asked
    async with Client() as client:
        with pytest.raises(ConfigError) as caught:
            await client.resume(run.folder)
    assert "'kb' was an object of a program: resume the run by Client(engines={'kb': …})" in str(caught.value)
    async with Client(engines={"kb": retriever}) as client:
        assert (await (await client.resume(run.folder)).result()).status == "complete"
        assert retriever.asked == asked
        await client.research("When do tides come?")
    assert retriever.asked > asked


def test_what_is_no_engine_is_refused() -> None:
    with pytest.raises(UsageError, match=r"engines: 'kb' has no method `search` and is no function"):
        Client(engines={"kb": 3})
