"""What of a plugin the kit names: lines that block the event loop, read the clock, leave a client; heavy imports."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import re
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.metadata import requires
from pathlib import Path
from threading import Lock
from types import FrameType
from typing import Any

# A wait is one that holds the same line for so many seconds, over so many looks.
_WAIT, _LOOKS, _PAUSE = 0.25, 3, 0.02
_NOW = ("now", "utcnow", "today")
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


# --- synchronous requests, and the clock ------------------------------------------------------------------------------


class BlockedEventLoop(BaseException):
    """A synchronous request; no `Exception`, because plugins catch those of their requests."""


@contextmanager
def refused_blocking_connections(code: PluginCode) -> Iterator[None]:
    """Refuse connections by blocking sockets that the plugin makes on a running event loop, and name the line.

    At once: a server in the same thread would never answer.
    """
    before = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        running = asyncio._get_running_loop() is not None
        line = code.line(sys._getframe(1), through_core=True) if running and self.gettimeout() != 0 else ""
        if line and (not code.own or any(line.startswith(f"{own}") for own in code.own)):  # not that of a fixture
            raise BlockedEventLoop(
                f"makes a synchronous request on the event loop at {line}, which blocks every run of the process: "
                "use `await context.http().get(…)`, or `await context.in_thread(…)` for an SDK"
            )
        before(self, address)

    with _replaced(socket.socket, "connect", connect):
        yield


@contextmanager
def record_clock_reads(code: PluginCode) -> Iterator[list[str]]:
    """Record the lines of the plugin that read the time of day on the event loop."""
    lines: list[str] = []
    clocks = {time.time, time.time_ns, time.localtime, time.gmtime, time.strftime}

    def look(frame: FrameType, event: str, function: Any) -> None:
        if event != "c_call" or not code.contains(frame.f_code.co_filename):
            return
        owner = getattr(function, "__self__", None)
        if function in clocks or (isinstance(owner, type) and issubclass(owner, date) and function.__name__ in _NOW):
            lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_name}")

    earlier = sys.getprofile()
    sys.setprofile(look)
    try:
        yield lines
    finally:
        sys.setprofile(earlier)


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    with suppress(AttributeError):  # such as a loop that is not written in Python
        setattr(owner, name, value)
    try:
        yield
    finally:
        with suppress(AttributeError):
            setattr(owner, name, before)


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
    def noting(kind: type[Any]) -> Callable[..., None]:
        before = kind.__init__

        def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807 - it takes the place of one
            before(self, *args, **options)
            if line := code.line(sys._getframe(1), through_core=True):
                made.append((f"a {kind.__module__}.{kind.__name__}", lambda: self.is_closed, line))

        return __init__

    with ExitStack() as replaced:
        for kind in types:
            replaced.enter_context(_replaced(kind, "__init__", noting(kind)))
        yield


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

    with _replaced(loop, "create_connection", connect):
        yield


# --- heavy imports at the top of modules ------------------------------------------------------------------------------


# Modules of other packages. NumPy has 84, pandas over 600; Leadline's own dependencies do not count. And bytes of their
# native libraries: lxml has 5 MB, pypdfium2 7 MB.
MOST, MOST_NATIVE = 60, 3_000_000
_ASKING = Lock()
# Imports what every command imports, then each module that it is told in a child of its own.
_PROBE = """
import importlib, json, os, sys
import httpx, leadline.disk_cache, leadline.hookspecs, leadline.http, leadline.schemas, leadline.tasks, leadline.workers

def native():
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if "-packages/" in line}
    except OSError:  # not Linux
        return {}
    return {path: os.path.getsize(path) for path in paths if os.path.exists(path)}

before, libraries, reply = set(sys.modules), set(native()), os.dup(1)
os.dup2(2, 1)
for line in sys.stdin:
    if child := os.fork():
        if os.waitpid(child, 0)[1]:
            os.write(reply, b"[[], {}]\\n")
    else:
        module, sys.path = json.loads(line)
        importlib.import_module(module)
        with open(reply, "w") as file:
            added = {path: size for path, size in native().items() if path not in libraries}
            print(json.dumps([sorted(set(sys.modules) - before), added]), file=file)
        os._exit(0)
"""


def modules_of(*parts: object) -> list[str]:
    """Return the modules that define these objects, without Leadline's and those of scripts."""
    names = {str(getattr(part, "__module__", "")) for part in parts}
    return sorted(name for name in names if name and name.partition(".")[0] not in ("leadline", "__main__", "builtins"))


def heavy_imports(module: str, required: tuple[str, ...]) -> list[str]:
    """Return what a module imports at its top and should not: modules that its offer requires, and big packages.

    It counts modules and native bytes, because seconds would depend on the machine. A module that cannot be imported in
    a process of its own, such as a test, has none.
    """
    own = {"leadline", module.partition(".")[0]}
    new, libraries = _imported(module)
    found = [name for name in required if name in new and name.partition(".")[0] not in own]
    counts: dict[str, int] = {}
    for top in (name.partition(".")[0] for name in new):
        if top not in own and top not in sys.stdlib_module_names:
            counts[top] = counts.get(top, 0) + 1
    if sum(counts.values()) > MOST:
        largest = sorted(counts, key=lambda top: -counts[top])[:3]
        found += [f"{top} ({counts[top]} modules)" for top in largest if top not in found]
    sizes: dict[str, int] = {}
    for path, size in libraries.items():
        top = path.rpartition("-packages/")[2].partition("/")[0].removesuffix(".libs")
        if top not in _dependencies():
            sizes[top] = sizes.get(top, 0) + size
    if sum(sizes.values()) > MOST_NATIVE:
        largest = sorted(sizes, key=lambda top: -sizes[top])[:3]
        named = " ".join(found)
        found += [f"{top} ({sizes[top] / 1e6:.0f} MB of native code)" for top in largest if top not in named]
    return found


@cache
def _dependencies() -> frozenset[str]:
    """Return the packages that Leadline installs itself."""
    needed = (need for need in requires("leadline") or () if "extra ==" not in need)
    return frozenset(re.split(r"[^\w-]", need)[0].lower().replace("-", "_") for need in needed)


@cache
def _imported(module: str) -> tuple[frozenset[str], dict[str, int]]:
    with _ASKING:
        probe = _probe()
        assert probe.stdin
        assert probe.stdout
        probe.stdin.write(f"{json.dumps([module, sys.path])}\n")
        probe.stdin.flush()
        modules, libraries = json.loads(probe.stdout.readline() or "[[], {}]")
        return frozenset(modules), libraries


@cache
def _probe() -> subprocess.Popen[str]:
    """Start the process that imports modules, once: each start would cost half a second."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    probe = subprocess.Popen([sys.executable, "-c", _PROBE], env=environment, text=True, **streams)  # noqa: S603
    atexit.register(probe.communicate)  # ends its input, and so the process
    return probe
