"""Middleware sees the outside requests of a run and no others, and the run ends honestly if it refuses them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline import hookspecs
from leadline.contracts import Call
from leadline.errors import Refused
from leadline.plugin import ai_provider
from leadline.records import ChatReply, ChatRequest, FetchRequest, Message, ModelTraits
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
CLOSED = "refused by middleware 'cost_centre': cost centre 4711 is closed"
REPLY = '{"title": "Depths", "sections": [{"id": "1", "title": "S", "questions": ["How deep was it?"]}]}'


class CostCentre:
    """Refuses some requests, as a cost centre without money does, and counts all that it sees."""

    live = True

    def __init__(self, refuses: Callable[[Any, Call], bool]) -> None:
        self.refuses = refuses
        self.seen: Counter[str] = Counter()

    async def around(self, request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
        self.seen[type(request).__name__] += 1
        if self.refuses(request, call):
            raise Refused("cost centre 4711 is closed")
        return await proceed(request)


class Model:
    """A model that plans; none of its other replies is of use."""

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits(model="m")

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        return ChatReply(message=Message(role="assistant", text=REPLY))


async def research(tmp_path: Path, middleware: CostCentre, **values: Any) -> tuple[leadline.Result, leadline.Result]:
    """Return a run and its replay."""
    plugins = [
        fake_web(),
        plugin("cost_centre", hookspecs.middleware("x")(lambda: middleware)),
        plugin("chat", ai_provider("x")(lambda: Model())),
    ]
    given = {
        "search.engines": ["fakeweb"],
        "read.fetchers": ["fakeweb"],
        "ai.providers": ["embedded"],
        "report.formats": ["markdown"],
        "middleware": ["cost_centre"],
        **values,
    }
    async with leadline.Client(plugins=plugins, set=given, folder=tmp_path / "r", cache=tmp_path / "c") as client:
        result = await client.research(QUESTION)
        return result, await client.replay(result.folder)


def kind(*names: str) -> Callable[[Any, Call], bool]:
    return lambda request, call: type(request).__name__ in names


def task(name: str) -> Callable[[Any, Call], bool]:
    return lambda request, call: call.task == name


async def test_middleware_sees_searches_and_downloads_and_nothing_that_contacts_nobody(tmp_path: Path) -> None:
    middleware = CostCentre(kind())
    result, _ = await research(tmp_path, middleware)
    assert result.status == "complete", result.reason
    assert set(middleware.seen) == {"SearchRequest", "FetchRequest"}


async def test_middleware_does_not_see_the_users_own_documents(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "harbour.md").write_text("The harbour was measured at seven fathoms at each sounding.")
    middleware = CostCentre(lambda request, call: True)
    values = {
        "search.engines": ["local"],
        "plugins.local.folders": [str(tmp_path / "docs")],
        "read.fetchers": ["local"],
    }
    result, _ = await research(tmp_path, middleware, **values)
    assert result.status == "complete", result.reason
    assert middleware.seen == {}


@pytest.mark.parametrize(
    ("providers", "refuses"),
    [
        (["embedded"], kind("SearchRequest")),
        (["embedded"], kind("FetchRequest")),
        (["embedded"], lambda request, call: True),
        (["chat"], kind("SearchRequest")),
        (["chat"], lambda request, call: True),
        (["chat", "embedded"], lambda request, call: True),
    ],
    ids=["searches", "pages", "all", "searches of a model", "all of a model", "all of a chain"],
)
async def test_a_run_whose_refused_calls_leave_nothing_fails_with_the_reason(
    providers: list[str], refuses: Callable[[Any, Call], bool], tmp_path: Path
) -> None:
    result, replay = await research(tmp_path, CostCentre(refuses), **{"ai.providers": providers})
    assert (result.status, result.exit_code) == ("failed", 1)
    assert CLOSED in result.reason
    assert (replay.status, replay.reason) == (result.status, result.reason)


@pytest.mark.parametrize("refuses", [task("plan"), kind("ChatRequest")], ids=["the plan", "all chats"])
async def test_a_run_that_a_refusal_left_with_something_to_report_is_partial_with_the_reason(
    refuses: Callable[[Any, Call], bool], tmp_path: Path
) -> None:
    result, replay = await research(tmp_path, CostCentre(refuses), **{"ai.providers": ["chat"]})
    assert (result.status, result.exit_code) == ("partial", 4)
    assert CLOSED in result.reason
    assert "fathoms" in result.text
    assert (replay.status, replay.reason) == (result.status, result.reason)


async def no_reply(request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
    await proceed(request)


async def misspelt(request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
    return (await proceed(request)).mesage


@pytest.mark.parametrize(
    ("around", "fault"),
    [(misspelt, "AttributeError: "), (no_reply, "it returned NoneType, not SearchPage")],
)
async def test_a_bug_in_a_middleware_is_its_own_fault_and_not_the_providers(
    around: Any, fault: str, tmp_path: Path
) -> None:
    middleware = CostCentre(kind())
    middleware.around = around  # type: ignore[method-assign]
    result, _ = await research(tmp_path, middleware)
    assert result.status == "failed"
    assert fault in result.reason
    assert "this is a fault of middleware 'cost_centre'" in result.reason
    assert "plugin 'fakeweb'" not in result.reason
    traces = [error.traceback for error in result.metadata.errors if fault in error.message]
    assert any("in misspelt" in trace for trace in traces) == (around is misspelt), "the line, for its author"


async def test_a_refused_page_is_skipped_and_named_in_the_method(tmp_path: Path) -> None:
    refused: list[str] = []

    def first(request: Any, call: Call) -> bool:
        if isinstance(request, FetchRequest) and (not refused or request.url in refused):
            refused.append(request.url)
            return True
        return False

    result, _ = await research(tmp_path, CostCentre(first))
    assert (result.status, result.exit_code) == ("partial", 4)
    assert CLOSED in result.reason
    report = (result.folder / "report.md").read_text()
    assert f"{refused[0]} (read by read: fetch by fakeweb: {CLOSED})" in report


async def test_a_run_that_finds_nothing_without_a_refusal_has_no_evidence(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "salt.md").write_text("Salt was the first trade.")
    values = {"search.engines": ["local"], "plugins.local.folders": [str(tmp_path / "docs")]}
    result, _ = await research(tmp_path, CostCentre(kind()), **values)
    assert (result.status, result.exit_code) == ("no_evidence", 5)
