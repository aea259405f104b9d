"""What of a plugin the kit names: lines that block the event loop, leave a task or a client; heavy imports."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
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


# --- heavy imports at the top of modules ------------------------------------------------------------------------------


# Modules of other packages. NumPy has 84, pandas over 600; Leadline's own dependencies do not count.
MOST = 60
_ASKING = Lock()
# Imports what every command imports, then each module that it is told in a child of its own.
_PROBE = """
import importlib, json, os, sys
import httpx, leadline.disk_cache, leadline.hookspecs, leadline.http, leadline.schemas, leadline.tasks, leadline.workers
before, reply = set(sys.modules), os.dup(1)
os.dup2(2, 1)
for line in sys.stdin:
    if child := os.fork():
        if os.waitpid(child, 0)[1]:
            os.write(reply, b"[]\\n")
    else:
        module, sys.path = json.loads(line)
        importlib.import_module(module)
        with open(reply, "w") as file:
            print(json.dumps(sorted(set(sys.modules) - before)), file=file)
        os._exit(0)
"""


def modules_of(*parts: object) -> list[str]:
    """Return the modules that define these objects, without Leadline's and those of scripts."""
    names = {str(getattr(part, "__module__", "")) for part in parts}
    return sorted(name for name in names if name and name.partition(".")[0] not in ("leadline", "__main__", "builtins"))


def heavy_imports(module: str, required: tuple[str, ...]) -> list[str]:
    """Return what a module imports at its top and should not: modules that its offer requires, and big packages.

    It counts modules, because seconds would depend on the machine. A module that cannot be imported in a process of its
    own, such as a test, has none.
    """
    own = {"leadline", module.partition(".")[0]}
    new = _imported(module)
    found = [name for name in required if name in new and name.partition(".")[0] not in own]
    counts: dict[str, int] = {}
    for top in (name.partition(".")[0] for name in new):
        if top not in own and top not in sys.stdlib_module_names:
            counts[top] = counts.get(top, 0) + 1
    if sum(counts.values()) > MOST:
        largest = sorted(counts, key=lambda top: -counts[top])[:3]
        found += [f"{top} ({counts[top]} modules)" for top in largest if top not in found]
    return found


@cache
def _imported(module: str) -> frozenset[str]:
    with _ASKING:
        probe = _probe()
        assert probe.stdin
        assert probe.stdout
        probe.stdin.write(f"{json.dumps([module, sys.path])}\n")
        probe.stdin.flush()
        return frozenset(json.loads(probe.stdout.readline() or "[]"))


@cache
def _probe() -> subprocess.Popen[str]:
    """Start the process that imports modules, once: each start would cost half a second."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    probe = subprocess.Popen([sys.executable, "-c", _PROBE], env=environment, text=True, **streams)  # noqa: S603
    atexit.register(probe.communicate)  # ends its input, and so the process
    return probe
