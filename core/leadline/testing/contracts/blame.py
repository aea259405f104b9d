"""Which line of a plugin the kit names: for a blocked event loop, a task that is left running, a client left open."""

from __future__ import annotations

import asyncio
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

# A wait is one that holds the same line for so many seconds, over so many looks.
_WAIT, _LOOKS, _PAUSE = 0.25, 3, 0.02
_KIT = Path(__file__).parents[1]
_CORE = _KIT.parent
_OTHERS = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))


@dataclass(frozen=True)
class PluginCode:
    """The files of a plugin: everything but Leadline, the standard library and other installed packages."""

    own: tuple[Path, ...] = ()

    @classmethod
    def of(cls, *parts: object) -> PluginCode:
        """Return the code of the packages that define these objects."""
        tops = {str(getattr(part, "__module__", "")).partition(".")[0] for part in parts}
        files = (getattr(sys.modules.get(top), "__file__", None) for top in tops if top not in ("", "leadline"))
        paths = (Path(file) for file in files if file)
        return cls(tuple(path.parent if path.stem == "__init__" else path for path in paths))

    def contains(self, file: str) -> bool:
        """Return whether a file belongs to the plugin or to its test."""
        path = Path(file)
        if any(path.is_relative_to(own) for own in self.own):
            return True
        return not file.startswith("<") and not any(map(path.is_relative_to, (_CORE, *_OTHERS)))

    def line(self, frame: FrameType | None, *, through_core: bool = False) -> str:
        """Return the innermost line of the plugin in a stack, as `file:line, in name`; empty if there is none.

        Without `through_core`, a call of Leadline further in is not the plugin's.
        """
        while frame is not None:
            file = frame.f_code.co_filename
            if self.contains(file):
                return f"{file}:{frame.f_lineno}, in {frame.f_code.co_name}"
            path = Path(file)
            if not through_core and path.is_relative_to(_CORE) and not path.is_relative_to(_KIT):
                return ""
            frame = frame.f_back
        return ""


@dataclass
class Held:
    """How work held the event loop: the most CPU seconds at a stretch, and the line that waited and its seconds."""

    cpu: float = 0.0
    wait: float = 0.0
    line: str = ""


async def held_by(work: Coroutine[Any, Any, Any], code: PluginCode) -> Held:
    """Await work and return how it held the event loop.

    Computing is measured in CPU seconds and waiting by the line that does not move on, so that a slow or loaded machine
    does not count as a fault of the plugin.
    """
    held, beats, ends = Held(), [0], threading.Event()
    loop_thread = threading.current_thread()
    watcher = threading.Thread(target=_watch, args=(loop_thread, code, beats, held, ends), daemon=True)
    watcher.start()
    task, last = asyncio.create_task(work), time.thread_time()
    try:
        while not task.done():
            await asyncio.sleep(0.005)
            beats[0] += 1
            held.cpu, last = max(held.cpu, time.thread_time() - last), time.thread_time()
    finally:
        ends.set()
        watcher.join()
    await task
    return held


def _watch(thread: threading.Thread, code: PluginCode, beats: list[int], held: Held, ends: threading.Event) -> None:
    """Look at the stack of the event loop again and again, and note the longest wait in one place of the plugin."""
    place, since, looks = None, 0.0, 0
    while not ends.wait(_PAUSE):
        frame = sys._current_frames().get(thread.ident or 0)
        line = code.line(frame) if frame is not None and _waits(thread.native_id) and not _imports(frame) else ""
        now = (beats[0], line, frame and frame.f_lasti)
        del frame
        if not line or now != place:
            place, since, looks = now, time.monotonic(), 0
            continue
        looks += 1
        seconds = time.monotonic() - since
        if looks >= _LOOKS and seconds >= max(_WAIT, held.wait):
            held.wait, held.line = seconds, line


def _waits(native_id: int | None) -> bool:
    """Return whether a thread waits; False for one that does not get the processor. Not on Linux: True."""
    with suppress(OSError, IndexError):
        state = Path(f"/proc/self/task/{native_id}/stat").read_text().rpartition(")")[2].split()[0]
        return state in ("S", "D")
    return True


def _imports(frame: FrameType | None) -> bool:
    """Return whether a module is being imported, which happens once."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


# --- what is left open -----------------------------------------------------------------------------------------------


@contextmanager
def record_opened(code: PluginCode) -> Iterator[Callable[[], list[str]]]:
    """Record the HTTP clients and connections that are made in the block; provide those that are still open."""
    import httpx

    made: list[tuple[str, Callable[[], bool], str]] = []
    with _noted_clients((httpx.AsyncClient, httpx.Client), made, code), _noted_connections(made, code):
        yield lambda: list(dict.fromkeys(f"{what} made at {line}" for what, closed, line in made if not closed()))


@contextmanager
def _noted_clients(types: Iterable[type[Any]], made: list[Any], code: PluginCode) -> Iterator[None]:
    before = {kind: kind.__init__ for kind in types}

    def noting(kind: type[Any]) -> Callable[..., None]:
        def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807 - it takes the place of one
            before[kind](self, *args, **options)
            if line := code.line(sys._getframe(1), through_core=True):
                made.append((f"a {kind.__module__}.{kind.__name__}", lambda: self.is_closed, line))

        return __init__

    for kind in before:
        kind.__init__ = noting(kind)
    try:
        yield
    finally:
        for kind, original in before.items():
            kind.__init__ = original


@contextmanager
def _noted_connections(made: list[Any], code: PluginCode) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    before = loop.create_connection

    async def connect(*args: Any, **options: Any) -> Any:
        line = code.line(sys._getframe(1), through_core=True)
        transport, protocol = await before(*args, **options)
        if line:
            made.append(("a connection", transport.is_closing, line))
        return transport, protocol

    with suppress(AttributeError):  # a loop that is not written in Python
        loop.create_connection = connect  # type: ignore[method-assign]
    try:
        yield
    finally:
        with suppress(AttributeError):
            loop.create_connection = before  # type: ignore[method-assign]
