"""The interpreter inside a sandbox: imports what is slow once, then runs each piece of code in a fork of itself.

It runs as the first process of its own, with nothing but the standard library, over a text that the host hands it; so
it imports nothing of Leadline, and is one file however long: it travels as one argument of `python -c`, into images
that have no copy of it. Messages are JSON behind their length (four bytes, big-endian), requests on standard input and
replies on standard output. It ends when its input does: when the host is gone, so is it, and all it started.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import ctypes
import importlib
import json
import linecache
import os
import resource
import select
import shutil
import signal
import stat
import struct
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

TIMED_OUT, VALUE_FD, DUMPABLE = 124, 3, 4
# Characters of a value, at most.
TEXT = 200_000
# As they were before any code ran, which may replace them.
DUMPS, WRITE, EXIT = json.dumps, os.write, os._exit


def main() -> None:
    """Serve until the input ends."""
    limits = json.loads(sys.argv[1])
    ctypes.CDLL(None).prctl(DUMPABLE, 0, 0, 0, 0)  # forks run as the same user: they must not reach into this one
    for module in limits["preload"]:
        with contextlib.suppress(Exception):  # the code that needs it will say what is wrong
            importlib.import_module(module)
    send({"ready": True})
    before = standing()
    while (head := read(4)) is not None:
        body = read(struct.unpack(">I", head)[0])
        if body is None:
            return
        send(execute(json.loads(body), limits))
        if not swept() or standing() != before:
            return


def read(size: int) -> bytes | None:
    """Return so many bytes of the input; None at its end."""
    data = bytearray()
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)


def send(message: dict[str, Any]) -> None:
    body = json.dumps(message).encode()
    data = memoryview(struct.pack(">I", len(body)) + body)
    while data:
        data = data[os.write(1, data) :]


def execute(request: dict[str, Any], limits: dict[str, Any]) -> dict[str, Any]:
    """Run one piece of code in a fork, within its limits, and gather what it left."""
    folder = tempfile.mkdtemp()
    given = {file["name"]: base64.b64decode(file["data"]) for file in request["files"]}
    for name, data in given.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    began = time.monotonic()
    pipes = [os.pipe() for _ in range(3)]
    pid = os.fork()
    if pid == 0:
        child(request, folder, limits, [write for _, write in pipes])
    for _, write in pipes:
        os.close(write)
    texts, status = watch(pid, [read for read, _ in pipes], began + request["seconds"], limits["output"])
    stop_all(pid)
    files, notes = gather(folder, given, limits)
    code = os.waitstatus_to_exitcode(status) if status is not None else TIMED_OUT
    if status is None:
        notes.insert(0, f"stopped after {request['seconds']:g} seconds")
    elif code == -signal.SIGKILL:
        notes.insert(0, "killed: out of memory, most likely, or by the code itself")
    elif code and not texts[1]:
        notes.insert(0, f"the code ended with {code} and wrote no error")
    errors = texts[1] + "".join(f"\n[sandbox] {note}" for note in notes)
    exit_code = 128 - code if code < 0 else code
    seconds = round(time.monotonic() - began, 3)
    # The value is text of the code's making: the host reads it, so that nothing in it can end this interpreter.
    return {"stdout": texts[0], "stderr": errors.lstrip("\n"), "value": texts[2] if code == 0 else "",
            "exit_code": exit_code, "seconds": seconds, "files": files}  # fmt: skip


def watch(pid: int, ends: list[int], deadline: float, limit: int) -> tuple[list[str], int | None]:
    """Return what a fork wrote into its pipes, each cut, and its status: None where its time ran out."""
    taken = {end: bytearray() for end in ends}
    lost = dict.fromkeys(ends, 0)
    status: int | None = None
    host = select.poll()
    host.register(0, 0)  # tells only of a host that is gone
    open_ends = set(ends)
    while time.monotonic() < deadline:
        if host.poll(0):
            os._exit(0)
        wait = 0.0 if status is not None else min(0.05, max(0.0, deadline - time.monotonic()))
        ready = select.select(list(open_ends), [], [], wait)[0]
        for end in ready:
            piece = os.read(end, 1 << 16)
            room = limit - len(taken[end])
            taken[end] += piece[:room]
            lost[end] += max(0, len(piece) - room)
            if not piece:
                open_ends.discard(end)
        if status is not None and not ready:
            break
        if status is None:
            # Without open ends there is nothing to wait for but its end.
            done, exit_status = os.waitpid(pid, 0 if not open_ends and gone_soon(pid, deadline) else os.WNOHANG)
            status = exit_status if done else None
    for end in ends:
        os.close(end)
    return [said(taken[end], lost[end]) for end in ends], status


def gone_soon(pid: int, deadline: float) -> bool:
    """Wait for the end of a fork, without taking it; False where its time ran out first."""
    while time.monotonic() < deadline:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return True
        time.sleep(0.002)
    return False


def said(data: bytearray, lost: int) -> str:
    """Return text, and how much of it there was beyond the limit."""
    text = data.decode("utf-8", "replace")
    return text + f"\n[sandbox] {lost:,} more bytes were left out" if lost else text


def stop_all(pid: int) -> None:
    """Kill the fork and all it started, whatever group or session they fled to, and take their ends."""
    with contextlib.suppress(ProcessLookupError):
        if os.getpid() == 1:
            os.kill(-1, signal.SIGKILL)  # as the first process of the sandbox: everyone else
        else:
            os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def gather(folder: str, given: dict[str, bytes], limits: dict[str, Any]) -> tuple[list[dict[str, str]], list[str]]:
    """Return the regular files that were left, and what was not taken and why."""
    files: list[dict[str, str]] = []
    notes: list[str] = []
    room = limits["bytes"]
    for path, info in sorted(walk(folder)):
        name = os.path.relpath(path, folder)
        if not stat.S_ISREG(info.st_mode):
            notes.append(f"{name!a} is no regular file and was left out")
        elif len(files) >= limits["files"] or info.st_size > room:
            notes.append(f"{name!a} ({info.st_size:,} bytes) is over the limit of files and was left out")
        elif (data := taken(path, info.st_size)) is not None and given.get(name) != data:
            room -= len(data)
            files.append({"name": name, "data": base64.b64encode(data).decode()})
    return files, notes[:20]


def walk(folder: str, depth: int = 0) -> Any:
    """Yield what is in a folder and below, links as links."""
    try:
        entries = list(os.scandir(folder))[:10_000]
    except OSError:  # a folder that it made unreadable is nothing it left for us
        return
    for entry in entries:
        info = entry.stat(follow_symlinks=False)
        if not stat.S_ISDIR(info.st_mode):
            yield entry.path, info
        elif depth < 8:
            yield from walk(entry.path, depth + 1)


def taken(path: str, size: int) -> bytes | None:
    """Return what is in a file; None for one that cannot be read. Nobody is left to exchange it for a link."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return file.read(size)
    except OSError:
        return None


def standing() -> list[Any]:
    """Return what code can change of this interpreter, as of the same user, and leave to the next: limits, priority."""
    limits = [resource.getrlimit(kind) for kind in range(resource.RLIMIT_CPU, 16)]
    return [limits, os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), os.sched_getaffinity(0)]


def swept() -> bool:
    """Empty the temporary folder; False where something is left, and then this interpreter serves no more."""
    top = tempfile.gettempdir()
    for entry in list(os.scandir(top)):
        with contextlib.suppress(OSError):
            shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else Path(entry.path).unlink()
    # Shared memory, semaphores and messages of System V end with the namespace; each table has one line of titles.
    tables = [Path("/proc/sysvipc", name) for name in ("shm", "sem", "msg")]
    return not list(Path(top).iterdir()) and not any(
        table.exists() and table.read_text().count("\n") > 1 for table in tables
    )


# --- in the fork ------------------------------------------------------------------------------------------------------


def child(request: dict[str, Any], folder: str, limits: dict[str, Any], ends: list[int]) -> None:
    """Become the process that runs the code; never returns."""
    code = 1
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for target, end in zip((1, 2, VALUE_FD), [os.dup(end) for end in ends], strict=True):
            os.dup2(end, target)
        os.closerange(VALUE_FD + 1, 4096)
        os.chdir(folder)
        confine(limits, request["seconds"])
        code = run(request["text"], min(TEXT, limits["output"]))
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        EXIT(code & 0xFF)


def confine(limits: dict[str, Any], seconds: float) -> None:
    """Set what the kernel counts for one process; what it counts for all together is the sandbox's."""
    ctypes.CDLL(None).prctl(DUMPABLE, 1, 0, 0, 0)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # where memory runs out, this one goes, not the server
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    wanted = {
        resource.RLIMIT_AS: mapped + limits["memory"],  # with what is shared, which is no data
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_CPU: int(seconds) + 1,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: limits["memory"],
        resource.RLIMIT_FSIZE: limits["bytes"],
        resource.RLIMIT_NOFILE: 256,
    }
    if limits.get("processes"):
        wanted[resource.RLIMIT_NPROC] = limits["processes"]
    for kind, limit in wanted.items():
        hard = resource.getrlimit(kind)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (limit, limit))


def run(text: str, limit: int) -> int:
    """Run the code and return its exit code; the value of a last expression goes to its pipe, cut to so many bytes."""
    name = "<code>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    sys.path.insert(0, "")
    scope: dict[str, Any] = {"__name__": "__main__"}
    try:
        tree = ast.parse(text, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), scope)  # noqa: S102 - what it is for
        if isinstance(last, ast.Expr):
            tell(eval(compile(ast.Expression(last.value), name, "eval"), scope), limit)  # noqa: S307
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            sys.stderr.write(f"{end.code}\n")
        return 0 if end.code is None else end.code if isinstance(end.code, int) else 1
    except BaseException as error:  # noqa: BLE001 - told to whoever asked
        scope.clear()  # where memory ran out, there must be some to say so
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        traceback.print_exception(error)
        return 1
    return 0


def tell(value: Any, limit: int) -> None:
    """Hand over a value: as JSON, else as its `repr`. Raises `OSError` if the code closed the way."""
    try:
        encoded = DUMPS(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        encoded = DUMPS(repr(value)[:TEXT])
    if len(encoded) > limit:
        encoded = DUMPS(encoded[: limit // 2 - 1])  # ASCII, of which quotes and backslashes become two
    data = memoryview(encoded.encode())
    try:
        while data:
            data = data[WRITE(VALUE_FD, data) :]
    except OSError as error:
        cause = f"the code closed or replaced file descriptor {VALUE_FD}, where its value goes"
        raise OSError(f"{cause}: {error}") from None


if __name__ == "__main__":
    main()
