from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from leadline.errors import Unsupported
from leadline.testing.context import FakeCall
from leadline_plugins.formats.pandoc import run


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


async def test_a_program_gets_its_input_and_gives_its_output() -> None:
    code = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])"
    assert await run(python(code), b"abc", "nothing", FakeCall()) == b"cba"


async def test_the_error_of_a_program_is_reported() -> None:
    with pytest.raises(Unsupported, match="could not be set: no room"):
        await run(python("import sys; sys.exit('no room')"), b"", "could not be set", FakeCall())
    with pytest.raises(Unsupported, match="could not be set: exit code 3"):
        await run(python("import sys; sys.exit(3)"), b"", "could not be set", FakeCall())


async def test_a_program_that_computes_too_long_is_no_fault_of_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline_plugins.formats.pandoc._SECONDS", 1)
    with pytest.raises(Unsupported, match="could not be set: it did not end within 1 s of processor time") as failed:
        await run(python("while True: pass"), b"", "could not be set", FakeCall())
    assert not failed.value.retry


async def test_a_program_ends_with_its_call(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    code = f"import os, time; open({str(told)!r}, 'w').write(f'{{os.getpid()}}.'); time.sleep(600)"
    task = asyncio.create_task(run(python(code), b"", "nothing", FakeCall()))
    while not told.exists() or not told.read_text().endswith("."):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()[:-1]), 0)


async def test_a_program_ends_when_the_time_is_up() -> None:
    with pytest.raises(TimeoutError):
        await run(python("import time; time.sleep(600)"), b"", "nothing", FakeCall(0.2))
