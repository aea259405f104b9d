"""The life of a plugin that is a context manager: entered once, whoever waits is cancelled, and always left."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from leadline._hosting import lifecycle as module
from leadline._hosting.lifecycle import PluginLifecycle
from leadline.errors import PluginError

Step = Callable[[], Awaitable[Any]]


async def nothing() -> None:
    """Return at once."""


async def never() -> None:
    """Wait for ever."""
    await asyncio.Event().wait()


async def stubborn() -> None:
    """Ignore the first cancellations, which is one more than a closing client sends."""
    for _ in range(3):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


async def breaks() -> None:
    raise OSError("no such server")


async def exits() -> None:
    raise SystemExit(3)


async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


class Plugin:
    """A context manager with these steps, which notes what happens to it."""

    def __init__(self, log: list[str], enter: Step = nothing, leave: Step = nothing) -> None:
        self.log, self.enter, self.leave = log, enter, leave

    async def __aenter__(self) -> Plugin:
        self.log.append("enter")
        await self.enter()
        self.log.append("entered")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.log.append("leave")
        await self.leave()
        self.log.append("left")


class Made:
    """A lifecycle of such a plugin, what happened to it, and the warnings."""

    def __init__(self, enter: Step = nothing, leave: Step = nothing, seconds: float = 600) -> None:
        self.log: list[str] = []
        self.warnings: list[str] = []
        self.lifecycle = PluginLifecycle(
            "plugin 'mine'", lambda: Plugin(self.log, enter, leave), seconds=seconds, warn=self.warnings.append
        )


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait only a moment for plugins that never end."""
    monkeypatch.setattr(module, "EXIT_SECONDS", 0.05)
    monkeypatch.setattr(module, "GRACE", 0.05)


@pytest.fixture(autouse=True)
def unhandled(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Let nothing end in the log of asyncio, such as an exception that was never retrieved."""
    yield
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


async def started(made: Made) -> asyncio.Task[Any]:
    """Return a task that waits for the plugin, which is being entered."""
    task = asyncio.create_task(made.lifecycle.get())
    while "enter" not in made.log:
        await asyncio.sleep(0)
    return task


async def test_a_cancelled_caller_does_not_cancel_the_entry_and_the_next_gets_the_same_plugin() -> None:
    go = asyncio.Event()
    made = Made(enter=go.wait)
    first = await started(made)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    second = asyncio.create_task(made.lifecycle.get())
    await asyncio.sleep(0)
    go.set()
    assert isinstance(await second, Plugin)
    await made.lifecycle.close()
    assert made.log == ["enter", "entered", "leave", "left"]


async def test_an_entry_whose_caller_was_cancelled_is_left_at_the_end() -> None:
    go = asyncio.Event()
    made = Made(enter=go.wait)
    first = await started(made)
    first.cancel()
    await asyncio.wait({first})
    go.set()
    while "entered" not in made.log:
        await asyncio.sleep(0)
    await made.lifecycle.close()
    assert made.log == ["enter", "entered", "leave", "left"]
    assert made.warnings == []


async def test_the_error_of_an_entry_that_nobody_waits_for_is_dropped() -> None:
    go = asyncio.Event()

    async def late() -> None:
        await go.wait()
        await breaks()

    made = Made(enter=late)
    first = await started(made)
    first.cancel()
    await asyncio.wait({first})
    go.set()
    await asyncio.sleep(0.01)
    await made.lifecycle.close()
    assert (made.log, made.warnings) == (["enter"], [])


@pytest.mark.parametrize("enter", [never, stubborn])
async def test_an_entry_that_never_returns_is_an_error_and_the_next_use_tries_again(enter: Step) -> None:
    made = Made(enter=enter, seconds=0.01)
    for _ in range(2):
        with pytest.raises(PluginError, match=r"plugin 'mine' was not entered: .* took longer than 0\.01 s"):
            await made.lifecycle.get()
    assert made.log.count("enter") == 2
    await asyncio.wait_for(made.lifecycle.close(), 60)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await asyncio.sleep(0.01)


@pytest.mark.parametrize("enter", [never, stubborn])
async def test_a_plugin_that_is_closed_while_it_is_entered_ends_its_callers(enter: Step) -> None:
    made = Made(enter=enter)
    waiting = await started(made)
    await asyncio.wait_for(made.lifecycle.close(), 60)
    with pytest.raises(PluginError, match="plugin 'mine' was closed while it was being entered"):
        await waiting


@pytest.mark.parametrize(
    ("leave", "warning"),
    [
        (nothing, []),
        (breaks, ["plugin 'mine' raised on exit: OSError: no such server"]),
        (exits, ["plugin 'mine' raised on exit: SystemExit: 3"]),
        (cancels_itself, ["plugin 'mine' raised on exit: CancelledError: cancelled from within"]),
        (never, ["plugin 'mine' did not end within 0.05 s"]),
        (stubborn, ["plugin 'mine' did not end within 0.05 s and goes on although it was cancelled"]),
    ],
)
async def test_however_a_plugin_exits_closing_ends_and_names_what_went_wrong(leave: Step, warning: list[str]) -> None:
    made = Made(leave=leave)
    await made.lifecycle.get()
    await asyncio.wait_for(made.lifecycle.close(), 60)
    await made.lifecycle.close()
    assert made.warnings == warning
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("enter", "error", "message"),
    [
        (breaks, OSError, "no such server"),
        (exits, PluginError, "plugin 'mine' raised SystemExit: 3 while it was being entered"),
        (cancels_itself, PluginError, "plugin 'mine' raised CancelledError: cancelled from within while"),
    ],
)
async def test_however_an_entry_fails_everybody_who_waits_is_told(
    enter: Step, error: type[Exception], message: str
) -> None:
    made = Made(enter=enter)
    told = await asyncio.gather(*(made.lifecycle.get() for _ in range(5)), return_exceptions=True)
    assert {type(one) for one in told} == {error}
    assert all(str(one).startswith(message) for one in told)
    assert made.log == ["enter"], "one attempt for all"
    await made.lifecycle.close()
    assert made.warnings == []


async def test_of_callers_that_lost_the_same_session_the_first_restarts_it_for_all() -> None:
    made = Made()
    loop = asyncio.get_running_loop()
    before = await made.lifecycle.get()
    lost = loop.time()
    while loop.time() <= lost:
        await asyncio.sleep(0)
    after = []
    for _ in range(3):
        await made.lifecycle.restart(lost)
        after.append(await made.lifecycle.get())
    assert after[0] is after[1] is after[2] is not before
    await made.lifecycle.close()
    assert made.log == ["enter", "entered", "leave", "left"] * 2


async def test_a_plugin_whose_session_ended_by_itself_is_entered_again() -> None:
    made = Made()
    before = await made.lifecycle.get()
    session = made.lifecycle._session
    assert session is not None
    assert session._task is not None
    session._task.cancel()  # as an anyio SDK does when its connection is lost
    await asyncio.wait({session._task})
    assert await made.lifecycle.get() is not before
    await made.lifecycle.close()
    assert made.log == ["enter", "entered", "leave", "left"] * 2
    assert made.warnings == []


async def test_a_factory_that_is_async_is_named() -> None:
    async def make() -> object:
        return object()

    with pytest.raises(PluginError, match="plugin 'mine' has an async factory: write `def`"):
        await PluginLifecycle("plugin 'mine'", make).get()
