"""Count the files on a question's way: `python reading_path.py`.

Runs `leadline research` in this process, without a model, over two small documents, and records every function of
Leadline that is entered. Prints the files and lines touched, and how often control moves to another file,

* from the command line to the first call of an engine's `search`, with the files on the stack at that moment: those of
  the running task and of the tasks that created it;
* from the stage `extract` to the end of the Markdown formatter.

`--list` prints the files in the order in which they are entered. The question is asked
twice, and the second time counts: code that runs only on import is left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import sys
import tempfile
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import leadline.cli

ROOT = Path(leadline.cli.__file__).parents[3]
QUESTION = "How many ships does the harbour of Alderney hold?"
PAGES = {
    "harbour.md": "# The harbour\n\nThe harbour of Alderney holds 40 ships. It was built in 1847 by the Admiralty.\n",
    "history.md": "# History\n\nUntil 1864 the harbour of Alderney held 12 ships, because the breakwater was short.\n",
}


class Span:
    """The part of a run between two events: the files entered in it, and the moves between them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.open = False
        self.files: list[str] = []
        self.functions: set[CodeType] = set()
        self.moves = 0
        self._last = ""

    def enter(self, path: str, code: CodeType) -> None:
        """Record the entry of a function."""
        if path not in self.files:
            self.files.append(path)
        self.functions.add(code)
        self.moves += path != self._last
        self._last = path

    def summary(self) -> str:
        """Return the figures of the span in one line."""
        lines = sum((ROOT / path).read_text(encoding="utf-8").count("\n") for path in self.files)
        return (
            f"{self.name}: {len(self.files)} files ({lines:,} lines), {len(self.functions)} functions, "
            f"{self.moves:,} moves between files"
        )


class Recorder:
    """A profile function that fills the spans, and the stack at the engine."""

    def __init__(self) -> None:
        self.question = Span("question to engine")
        self.page = Span("page to citation")
        self.stack: list[str] = []
        self.frames = self.tasks = 0
        self._paths: dict[CodeType, str] = {}
        self._creators: dict[asyncio.Task[Any], asyncio.Task[Any] | None] = {}
        self.question.open = True
        self._done = False

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Receive an event of `sys.setprofile`."""
        code = frame.f_code
        path = self._paths.get(code)
        if path is None:
            path = self._paths[code] = _own(code.co_filename)
        if not path or not code.co_flags & inspect.CO_OPTIMIZED:
            return
        if event == "call":
            self._enter(path, code, frame)
        elif event == "return" and self.page.open and "/formats/markdown" in path and code.co_name == "format":
            self.page.open = False

    def _enter(self, path: str, code: CodeType, frame: FrameType) -> None:
        if self.question.open and "/search/local" in path and code.co_name == "search":
            self.question.enter(path, code)
            self.question.open = False
            self._record_stack(frame)
        if path.endswith("/stages/extract.py") and code.co_name in ("map", "run") and not self._done:
            self.page.open = self._done = True
        for span in (self.question, self.page):
            if span.open:
                span.enter(path, code)

    def created(self, task: asyncio.Task[Any]) -> None:
        """Record which task created a task."""
        with contextlib.suppress(RuntimeError):
            self._creators[task] = asyncio.current_task()

    def _record_stack(self, frame: FrameType | None) -> None:
        frames: list[str] = []
        while frame:
            frames.append(_own(frame.f_code.co_filename))
            frame = frame.f_back
        task = asyncio.current_task()
        self.tasks = 1
        while task and (task := self._creators.get(task)):
            self.tasks += 1
            awaited: Any = task.get_coro()
            while awaited is not None:
                if code := getattr(awaited, "cr_code", None):
                    frames.append(_own(code.co_filename))
                awaited = getattr(awaited, "cr_await", None)
        found = [path for path in frames if path]
        self.frames = len(found)
        self.stack = list(dict.fromkeys(found))


def _own(filename: str) -> str:
    """Return the path of a source file of Leadline, relative to the repository; empty for all other code."""
    path = Path(filename)
    inside = path.is_relative_to(ROOT / "core") or path.is_relative_to(ROOT / "plugins")
    return path.relative_to(ROOT).as_posix() if inside else ""


def record() -> Recorder:
    """Run a question and return what was recorded."""
    recorder = Recorder()
    create = asyncio.base_events.BaseEventLoop.create_task

    def create_task(loop: Any, *args: Any, **kwargs: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = create(loop, *args, **kwargs)
        recorder.created(task)
        return task

    ask()  # imports everything: what modules execute when they are imported does not count
    asyncio.base_events.BaseEventLoop.create_task = create_task  # type: ignore[method-assign, assignment]
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        ask()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        asyncio.base_events.BaseEventLoop.create_task = create  # type: ignore[method-assign]
    return recorder


def ask() -> None:
    """Run the question from the command line; exits if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PAGES.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        command = ["research", QUESTION, "--docs", folder, "--set", f"runs.folder={folder}/runs"]
        command += ["--set", "ai.providers=embedded", "--set", "report.formats=markdown"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
            code = leadline.cli.main(command)
    if code != 0:
        sys.exit(f"the run failed with exit code {code}:\n{errors.getvalue()}")


def main() -> None:
    """Print the figures."""
    recorder = record()
    for span in (recorder.question, recorder.page):
        print(span.summary())
        if "--list" in sys.argv:
            print("\n".join(f"    {path}" for path in span.files))
    print(f"stack at the engine: {len(recorder.stack)} files, {recorder.frames} frames, {recorder.tasks} tasks")
    if "--list" in sys.argv:
        print("\n".join(f"    {path}" for path in recorder.stack))


if __name__ == "__main__":
    main()
