"""The end of an event loop with tasks that ignore their cancellation."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from leadline._runtime import task_groups


class Stubborn:
    """Ignores every cancellation until `let_go` is set."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()

    async def work(self) -> str:
        while not self.let_go.is_set():
            try:
                await self.let_go.wait()
            except asyncio.CancelledError:
                continue
        return "late"


def test_a_loop_ends_although_a_task_ignores_its_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_groups, "TASK_GRACE", 0.05)
    abandoned: list[asyncio.Runner] = []
    monkeypatch.setattr(task_groups, "_abandoned", abandoned)
    stubborn: list[Stubborn] = []

    async def main() -> int:
        stubborn.append(Stubborn())
        stubborn.append(asyncio.create_task(stubborn[0].work()))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        return 7

    assert task_groups.run_loop(main()) == 7
    (runner,) = abandoned
    stubborn[0].let_go.set()
    runner.run(asyncio.sleep(0.01))
    runner.close()
    assert task_groups.run_loop(asyncio.sleep(0, 3)) == 3
    assert len(abandoned) == 1


@pytest.mark.parametrize(
    "goes_on",
    [
        "loop.append(asyncio.create_task(forever()))",
        "threading.Thread(target=time.sleep, args=(60,), name='leadline-acts_0').start()",
    ],
)
def test_the_process_exits_with_its_code_although_a_task_or_thread_is_left(goes_on: str) -> None:
    code = f"""
import asyncio, sys, threading, time
from leadline._runtime import task_groups
from leadline.cli import main
loop = []
task_groups.THREAD_GRACE = 0.2
async def forever():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass
async def work():
    {goes_on}
    await asyncio.sleep(0)
def run(args):
    task_groups.run_loop(work())
    print("last words")
    return 4
from leadline.cli import doctor
doctor.run = run
sys.argv = ["leadline", "doctor"]
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (4, "last words\n", "")
