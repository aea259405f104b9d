"""The pipeline `code`: a program is written, run in a sandbox, repaired once, and reported with all that it left."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline import hookspecs
from leadline.contracts import Call
from leadline.errors import ConfigError
from leadline.plugin import ai_provider
from leadline.records import Blob, Code, Execution, Message
from leadline.testing.fakes import Reply, ScriptedChat
from leadline.testing.plugins import plugin
from leadline_plugins.sandboxes import bubblewrap, docker
from leadline_plugins.stages.code import WrittenCode

ASKED = "Compute the sum of the first ten square numbers in Python"
GOOD = "total = sum(n * n for n in range(1, 11))\nprint('sum:', total)\ntotal"
BAD = "print('start')\ntotal = sum(n * n for n in range(1, 11)) / 0\n"
AS_NOBODY = Path(__file__).parents[1] / "sandboxes" / "as_nobody.py"


def written(code: str, title: str = "Sum of ten squares") -> Message:
    data = {"title": title, "explanation": "It adds up the squares of the numbers from 1 to 10.", "code": code}
    return Message(role="assistant", text=json.dumps(data))


class Bench:
    """A sandbox for unit tests: it runs nothing, and answers with what it was given."""

    def __init__(self, *results: Execution) -> None:
        self.results = list(results)
        self.ran: list[str] = []

    async def execute(self, code: Code, call: Call, /) -> Execution:
        self.ran.append(code.text)
        return self.results.pop(0)


def client(folder: Path, replies: Sequence[Reply], sandbox: Any = None, **more: Any) -> tuple[Any, ScriptedChat]:
    chat = ScriptedChat(replies)
    mine = [ai_provider("Scripted", priced=True)(lambda: chat)]
    if sandbox is not None:
        mine.append(hookspecs.sandbox("For a test")(lambda: sandbox))
    values: dict[str, Any] = {
        "pipeline": "code",
        "ai.providers": ["mine"],
        "report.formats": ["markdown", "json", "html"],
        "retry.base": 0,
    }
    values |= {"code.sandbox": "mine"} if sandbox is not None else {}
    values |= {name.replace("__", "."): value for name, value in more.items()}
    made = leadline.Client(plugins=[plugin("mine", *mine)], folder=folder / "runs", cache=folder / "cache", set=values)
    return made, chat


async def test_the_report_shows_program_output_value_exit_code_time_and_files(tmp_path: Path) -> None:
    bench = Bench(
        Execution(
            stdout="sum: 385\n",
            value=385,
            seconds=0.25,
            files=(Blob(name="table.csv", media_type="text/csv", data=b"n,square\n1,1\n"),),
        )
    )
    runs, chat = client(tmp_path, [written(GOOD)], bench)
    async with runs:
        result = await runs.research(ASKED)
    assert (result.status, result.exit_code) == ("complete", 0), result.reason
    assert len(chat.asked) == 1
    assert bench.ran == [GOOD]
    text = (result.folder / "report.md").read_text()
    for shown in (GOOD, "sum: 385", "**Return value**", "| Exit code | 0 |", "0.25 s", "code/files/table.csv"):
        assert shown in text
    assert "Cited Sources" not in text
    assert (result.folder / "code" / "main.py").read_text() == GOOD + "\n"
    assert (result.folder / "code" / "files" / "table.csv").read_bytes() == b"n,square\n1,1\n"
    (kept,) = json.loads((result.folder / "execution.json").read_text())
    assert (kept["exit_code"], kept["value"], kept["files"]) == (0, 385, ["table.csv"])


async def test_a_program_that_fails_is_repaired_once_with_its_error(tmp_path: Path) -> None:
    bench = Bench(
        Execution(stdout="start\n", stderr="ZeroDivisionError: division by zero", exit_code=1),
        Execution(stdout="sum: 385\n"),
    )
    runs, chat = client(tmp_path, [written(BAD), written(GOOD)], bench)
    async with runs:
        result = await runs.research(ASKED)
    assert (result.status, len(chat.asked)) == ("complete", 2)
    again = chat.asked[1].messages[-1].text
    assert "ZeroDivisionError: division by zero" in again
    assert BAD.splitlines()[1] in again
    assert [one["exit_code"] for one in json.loads((result.folder / "execution.json").read_text())] == [1, 0]
    assert "| Attempts | 2 |" in (result.folder / "report.md").read_text()


async def test_a_program_that_fails_twice_is_shown_with_its_error_and_the_run_is_partial(tmp_path: Path) -> None:
    failed = Execution(stderr="ZeroDivisionError: division by zero", exit_code=1)
    runs, chat = client(tmp_path, [written(BAD), written(BAD)], Bench(failed, failed))
    async with runs:
        result = await runs.research(ASKED)
    assert (result.status, result.reason) == ("partial", "the program ended with exit code 1")
    assert len(chat.asked) == 2
    text = (result.folder / "report.md").read_text()
    assert "**Error**" in text
    assert "ZeroDivisionError: division by zero" in text


async def test_without_a_sandbox_nothing_is_asked_or_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker, "endpoint_of", lambda host: None)
    monkeypatch.setattr(shutil, "which", lambda name, *more: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    runs, chat = client(tmp_path, [written(GOOD)])
    async with runs:
        with pytest.raises(ConfigError) as refused:
            await runs.research(ASKED)
    assert "code.sandbox" in str(refused.value)
    assert "apt-get install bubblewrap" in str(refused.value)
    assert not chat.asked


async def test_without_a_language_model_it_says_what_to_set(tmp_path: Path) -> None:
    runs, _ = client(tmp_path, [], Bench(), ai__providers=["embedded"])
    async with runs:
        with pytest.raises(ConfigError, match="needs a language model"):
            await runs.research(ASKED)


async def test_printed_text_cannot_leave_its_block(tmp_path: Path) -> None:
    hostile = "```\n# A heading\n<script>alert(1)</script>"
    runs, _ = client(tmp_path, [written("print(1)")], Bench(Execution(stdout=hostile)))
    async with runs:
        result = await runs.research(ASKED)
    assert f"````text\n{hostile}\n````" in (result.folder / "report.md").read_text()
    assert "<script>alert(1)" not in (result.folder / "report.html").read_text()


async def test_a_picture_that_the_program_saved_is_a_figure_unless_it_has_too_many_pixels(tmp_path: Path) -> None:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
    png, huge = head + bytes([0, 0, 2, 0, 0, 0, 1, 0]), head + bytes([0, 0, 0x60, 0] * 2)
    files = {"plot.png": png, "huge.png": huge}
    kind = "application/octet-stream"
    drawn = Execution(files=tuple(Blob(name=name, media_type=kind, data=data) for name, data in files.items()))
    runs, _ = client(tmp_path, [written("draw()")], Bench(drawn), report__formats=["json"])
    async with runs:
        result = await runs.research(ASKED)
    assert result.report is not None
    (figure,) = result.report.figures
    assert figure.media["image/png"] == png
    assert f"![](figure:{figure.id})" in (result.report.sections[0].text or "")


@pytest.mark.parametrize("code", ["print(1)", "```python\nprint(1)\n```", "~~~\nprint(1)\n~~~\n"])
def test_a_fence_around_the_program_is_removed(code: str) -> None:
    assert WrittenCode(code=code).program == "print(1)"


@pytest.mark.slow
async def test_a_real_sandbox_runs_repairs_and_returns_files(tmp_path: Path) -> None:
    if not shutil.which("bwrap"):
        pytest.skip("there is no bwrap: install bubblewrap")
    program = str(AS_NOBODY) if os.geteuid() == 0 else "bwrap"
    sandbox = bubblewrap.Bubblewrap(bubblewrap.BubblewrapSettings(program=program, preload=()))
    saving = (
        f"{GOOD.rpartition(chr(10))[0]}\nopen('squares.csv', 'w').write('n,square\\n')\nimport math\nmath.sqrt(total)"
    )
    runs, chat = client(tmp_path, [written(BAD), written(saving)], sandbox)
    async with runs, sandbox:
        result = await runs.research(ASKED)
    assert (result.status, len(chat.asked)) == ("complete", 2), result.reason
    first, last = json.loads((result.folder / "execution.json").read_text())
    assert "ZeroDivisionError" in first["stderr"]
    assert "ZeroDivisionError" in chat.asked[1].messages[-1].text
    assert (last["stdout"], last["exit_code"], last["files"]) == ("sum: 385\n", 0, ["squares.csv"])
    assert last["value"] == pytest.approx(19.62, abs=0.01)
    assert (result.folder / "code" / "files" / "squares.csv").read_text() == "n,square\n"
