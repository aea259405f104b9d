"""What of a plugin the kit names: lines that block the event loop, read the clock, leave a client; heavy imports."""

from __future__ import annotations

import ast
import asyncio
import atexit
import inspect
import json
import re
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.metadata import requires
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

# A wait lasts for so many seconds, over so many looks after the first.
_WAIT, _LOOKS, _PAUSE = 0.25, 2, 0.02
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

        Without `through_core`, a call of Leadline further in is not the plugin's, nor is an import, which happens once.
        """
        while frame is not None:
            file = frame.f_code.co_filename
            if self.contains(file):
                return f"{file}:{frame.f_lineno}, in {frame.f_code.co_name}"
            is_core = Path(file).is_relative_to(_CORE) and not Path(file).is_relative_to(_KIT)
            if not through_core and (is_core or file == "<frozen importlib._bootstrap>"):
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

    Computing is measured in CPU seconds. A wait is a blocking call in which the thread of the event loop was not
    switched on once: a slow or loaded machine does not count as a fault of the plugin.
    """
    held, ends = Held(), threading.Event()
    watcher = threading.Thread(target=_watch, args=(threading.current_thread(), code, held, ends), daemon=True)
    watcher.start()
    task, last = asyncio.create_task(work), time.thread_time()
    try:
        while not task.done():
            await asyncio.sleep(0.005)
            held.cpu, last = max(held.cpu, time.thread_time() - last), time.thread_time()
    finally:
        ends.set()
        watcher.join()
    await task
    return held


def _watch(thread: threading.Thread, code: PluginCode, held: Held, ends: threading.Event) -> None:
    """Look at the thread of the event loop again and again, and note the longest wait in a line of the plugin."""
    before, since, looks = None, 0.0, 0
    while not ends.wait(_PAUSE):
        switches = _switches_of_sleeper(thread.native_id)
        line = "" if switches is None else code.line(sys._current_frames().get(thread.ident or 0))
        if not line or switches != before:
            before, since, looks = switches, time.monotonic(), 0
            continue
        looks += 1
        seconds = time.monotonic() - since
        if looks >= _LOOKS and seconds >= max(_WAIT, held.wait):
            held.wait, held.line = seconds, line


def _switches_of_sleeper(native_id: int | None) -> int | None:
    """Return how often a thread that sleeps was switched off; None if it runs, lacks a processor, or not on Linux.

    The number stays the same during a blocking call. A thread that waits for the interpreter lock wakes every 5 ms.
    """
    try:
        lines = Path(f"/proc/self/task/{native_id}/status").read_text().splitlines()
    except OSError:
        return None
    fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    return int(fields["voluntary_ctxt_switches"]) if fields["State"][0] in "SD" else None


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
            self.close()  # else its collection would warn in another test
            raise BlockedEventLoop(
                f"makes a synchronous request on the event loop at {line}, which blocks every run of the process: "
                "use `await context.http().get(…)`, or `await context.in_thread(…)` for an SDK"
            )
        before(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect)
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
def record_opened(code: PluginCode) -> Iterator[Callable[[], list[str]]]:
    """Record the HTTP clients and connections that are made in the block; provide those that are still open."""
    import httpx

    made: list[tuple[str, Callable[[], bool], str]] = []
    loop = asyncio.get_running_loop()
    create_connection = loop.create_connection

    def noting(kind: type[Any]) -> Callable[..., None]:
        init = kind.__init__

        def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807 - it replaces such a method
            init(self, *args, **options)
            made.append((f"a {kind.__module__}.{kind.__name__}", lambda: self.is_closed, caller()))

        return __init__

    def caller() -> str:
        return code.line(sys._getframe(2), through_core=True)

    async def connect(*args: Any, **options: Any) -> Any:
        line = caller()
        transport, protocol = await create_connection(*args, **options)
        made.append(("a connection", transport.is_closing, line))
        return transport, protocol

    with pytest.MonkeyPatch.context() as patch:
        for kind in (httpx.AsyncClient, httpx.Client):
            patch.setattr(kind, "__init__", noting(kind))
        if isinstance(loop, asyncio.BaseEventLoop):  # others cannot be changed
            patch.setattr(loop, "create_connection", connect)
        yield lambda: list(
            dict.fromkeys(f"{what} made at {line}" for what, closed, line in made if line and not closed())
        )


# --- heavy imports at the top of modules ------------------------------------------------------------------------------


# Modules of other packages. NumPy has 84, pandas over 600; Leadline's own dependencies do not count. And bytes of their
# native libraries: lxml has 5 MB, pypdfium2 7 MB.
MOST, MOST_NATIVE = 60, 3_000_000
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
    light = {"leadline", module.partition(".")[0]}
    new, libraries = _imported(module)
    heavy = [name for name in required if name in new and name.partition(".")[0] not in light]
    tops = (name.partition(".")[0] for name in new)
    modules = Counter(top for top in tops if top not in light and top not in sys.stdlib_module_names)
    if modules.total() > MOST:
        heavy += [f"{top} ({count} modules)" for top, count in modules.most_common(3)]
    native = Counter[str]()
    for path, size in libraries.items():
        native[path.rpartition("-packages/")[2].partition("/")[0].removesuffix(".libs")] += size
    for top in _dependencies():
        del native[top]
    if native.total() > MOST_NATIVE:
        heavy += [f"{top} ({size / 1e6:.0f} MB of native code)" for top, size in native.most_common(3)]
    return heavy


def line_of_import(module: str, heavy: Iterable[str]) -> str:
    """Return where a module imports one of these packages, as ` (file:line)`; empty if another module does."""
    tops = {text.partition(" ")[0].partition(".")[0] for text in heavy}
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError):  # it has none, or is not imported here
        return ""
    for node in ast.parse(source).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        roots = [name.partition(".")[0] for name in names]
        if any(top == root or top.startswith(f"{root}_") for top in tops for root in roots):
            return f" ({sys.modules[module].__file__}:{node.lineno})"
    return ""


@cache
def _dependencies() -> frozenset[str]:
    """Return the packages that Leadline installs itself."""
    needed = (need for need in requires("leadline") or () if "extra ==" not in need)
    return frozenset(re.split(r"[^\w-]", need)[0].lower().replace("-", "_") for need in needed)


@cache
def _imported(module: str) -> tuple[list[str], dict[str, int]]:
    """Return the modules that a module imports, and the sizes of the native libraries that it loads."""
    probe = _probe()
    assert probe.stdin and probe.stdout  # noqa: PT018 - both are pipes
    print(json.dumps([module, sys.path]), file=probe.stdin, flush=True)
    modules, libraries = json.loads(probe.stdout.readline() or "[[], {}]")
    return modules, libraries


@cache
def _probe() -> subprocess.Popen[str]:
    """Start the process that imports modules, once: each start would cost half a second."""
    code = f"import sys; sys.path[:] = {sys.path!r}\n{_PROBE}"
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    probe = subprocess.Popen([sys.executable, "-c", code], text=True, **streams)  # noqa: S603 - our own code
    atexit.register(probe.communicate)  # ends its input, and so the process
    return probe
