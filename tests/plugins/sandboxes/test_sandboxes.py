"""Real sandboxes: what code gives, and every way out of it that was thought of. Each engine that is here takes part.

Docker: `DOCKER_HOST`, or the usual socket, with the image of `python -m leadline_plugins.sandboxes.docker.image`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline._hosting.context import PluginContext
from leadline.errors import Unavailable, Unsupported
from leadline.hookspecs import Offer
from leadline.records import Blob, Code, Execution
from leadline.testing.context import FakeCall, fake_context
from leadline.testing.contracts import SandboxContract
from leadline_plugins.sandboxes import bubblewrap, docker

pytestmark = pytest.mark.slow
Preload = tuple[str, ...]
LIMITS: dict[str, Any] = {"timeout": 4, "memory": 256, "output": 10_000, "files": 4, "files_size": 1, "processes": 32}
PNG = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.savefig('a.png')\n"


async def docker_here(context: PluginContext, preload: Preload = ()) -> docker.Docker:
    settings = docker.DockerSettings(preload=preload, **LIMITS)
    if reason := docker.ready(settings):
        pytest.skip(f"docker: {reason}")
    sandbox = docker.Docker(settings, context)
    try:
        await sandbox._interpreters.execute("probe", Code(language="python", text="0"), 4)
    except (Unavailable, Unsupported) as problem:
        pytest.skip(f"docker: {problem}")
    return sandbox


async def bubblewrap_here(preload: Preload = ()) -> bubblewrap.Bubblewrap:
    # Root is refused, for the kernel's files are its own: the tests become nobody then.
    program = str(Path(__file__).with_name("as_nobody.py")) if os.geteuid() == 0 else "bwrap"
    settings = bubblewrap.BubblewrapSettings(program=program, preload=preload, **LIMITS)
    if not shutil.which("bwrap"):
        pytest.skip("there is no bwrap: install bubblewrap")
    sandbox = bubblewrap.Bubblewrap(settings)
    try:
        await sandbox._interpreters.execute("probe", Code(language="python", text="0"), 4)
    except Unavailable as problem:
        pytest.skip(str(problem))
    return sandbox


@pytest.fixture
def preload() -> Preload:
    """Import nothing at the start: for most tests it is seconds of waiting."""
    return ()


@pytest.fixture(params=["docker", "bubblewrap"])
async def sandbox(request: pytest.FixtureRequest, tmp_path: Path, preload: Preload) -> AsyncIterator[Any]:
    context = fake_context(tmp_path)
    try:
        made: Any = await (docker_here(context, preload) if request.param == "docker" else bubblewrap_here(preload))
        async with made as entered:
            yield entered
    finally:
        await context.close()


async def ran(sandbox: Any, text: str, *files: Blob) -> Execution:
    result: Execution = await sandbox.execute(Code(language="python", text=text, files=files), FakeCall())
    return result


async def test_bubblewrap_never_runs_code_as_root() -> None:
    async with await bubblewrap_here() as sandbox:
        await ran(sandbox, "1")
        process: Any = sandbox._interpreters._kept[""].interpreter
        status = Path(f"/proc/{process._process.pid}/status").read_text()
    users = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]
    assert "0" not in users


async def test_an_execution_has_all_that_came_of_it(sandbox: Any) -> None:
    given = Blob(name="in/data.txt", media_type="text/plain", data=b"41")
    text = "import sys\nn = int(open('in/data.txt').read())\nprint('out'); print('err', file=sys.stderr)\n"
    done = await ran(sandbox, text + "open('made.txt', 'w').write('x')\n{'answer': n + 1}", given)
    assert (done.stdout, done.stderr, done.value, done.exit_code) == ("out\n", "err\n", {"answer": 42}, 0)
    assert [(file.name, file.data) for file in done.files] == [("made.txt", b"x")]
    assert 0 < done.seconds < 4


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("1/0", 1, "ZeroDivisionError"),
        ("import sys; sys.exit(7)", 7, ""),
        ("def f(:", 1, "SyntaxError"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139, ""),
        ("while True: pass", 124, "stopped after 4 seconds"),
        ("import time; time.sleep(60)", 124, "stopped after 4 seconds"),
    ],
)
async def test_code_that_fails_is_an_execution(sandbox: Any, text: str, code: int, said: str) -> None:
    done = await ran(sandbox, text)
    assert done.exit_code == code
    assert said in done.stderr
    assert (await ran(sandbox, "6 * 7")).value == 42


@pytest.mark.parametrize(
    "escape",
    [
        "import socket; socket.create_connection(('1.1.1.1', 53), 2)",
        "import socket; socket.getaddrinfo('example.org', 80)",
        "open('/etc/escaped', 'w')",
        "open('/usr/escaped', 'w')",
        "open('/proc/1/mem', 'wb')",
        "open('/proc/1/fd/1', 'wb')",
        "open('/proc/sys/kernel/core_pattern', 'w')",
        "import os; os.setuid(0)",
        "import os; os.chroot('/tmp')",
        "import os; os.mknod('/tmp/disk', 0o60644, os.makedev(8, 0))",
        "import os; os.kill(1, 9); os.listdir('/host')",
        "import ctypes; assert ctypes.CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0",
        "import ctypes; assert ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0",
        "open('/home/escaped', 'w')",
        "open('/dev/sda', 'rb')",
        "open('/dev/kept', 'w')",
        "open('/dev/shm/kept', 'w')",
        "assert open('/var/run/docker.sock')",
    ],
)
async def test_there_is_no_way_out(sandbox: Any, escape: str) -> None:
    done = await ran(sandbox, escape)
    assert done.exit_code != 0
    assert (await ran(sandbox, "6 * 7")).value == 42


NAMESPACE, KEYCTL = "0x10000000", "import ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\n"


@pytest.mark.parametrize(
    ("call", "number"),
    [
        (f"libc.unshare({NAMESPACE})", "EPERM"),
        ("libc.unshare(0x20000)", "EPERM"),
        (f"libc.syscall(56 if x86 else 220, {NAMESPACE} | 17, 0, 0, 0, 0)", "EPERM"),
        ("libc.syscall(435, 0, 0)", "ENOSYS"),
        ("libc.setns(0, 0)", "EPERM"),
        ("libc.syscall(250 if x86 else 219, 0, -3, 1)", "EPERM"),
        ("libc.syscall(248 if x86 else 217, b'user', b'k', b'v', 1, -3)", "EPERM"),
        ("libc.syscall(321 if x86 else 280, 0, 0, 0)", "EPERM"),
        ("libc.syscall(298 if x86 else 241, 0, 0, -1, -1, 0)", "EPERM"),
        ("libc.syscall(323 if x86 else 282, 0)", "EPERM"),
        ("libc.syscall(425, 1, 0)", "EPERM"),
        ("libc.ptrace(0, 0, 0, 0)", "EPERM"),
        ("libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)", "EPERM"),
        ("libc.socket(40, 1, 0)", "EAFNOSUPPORT"),
        ("libc.syscall(0x40000000, 0)", "ENOSYS"),
        ("libc.syscall(9999, 0)", "ENOSYS"),
    ],
)
async def test_calls_that_code_does_not_need_are_denied(sandbox: Any, call: str, number: str) -> None:
    if isinstance(sandbox, docker.Docker):
        pytest.skip("the filter is Docker's own")
    text = f"import platform\nx86 = platform.machine() == 'x86_64'\n{KEYCTL}failed = {call}\n"
    done = await ran(sandbox, f"{text}[failed, errno.errorcode.get(ctypes.get_errno())]")
    assert done.value == [-1, number], done.stderr


ORDINARY = """
import concurrent.futures, multiprocessing, socket, subprocess, sys, threading
one, other = socket.socketpair()
threads = [threading.Thread(target=one.send, args=(b"x",)) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout)
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(abs, range(-9, 0))))
try:
    import numpy
    print(numpy.linalg.inv(numpy.eye(200) * 2).trace())
except ImportError:
    print(100.0)
"""


async def test_ordinary_code_meets_no_denied_call(sandbox: Any) -> None:
    done = await ran(sandbox, ORDINARY)
    assert done.stdout.split() == ["42", "45", "100.0"], done.stderr


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("import os; os.write(3, b'{'); 1", 1, "the code broke the way of its value"),
        ("import os; os.write(3, b'1 2')", 1, "it wrote to file descriptor 3 itself"),
        ("import os; os.write(3, b'[' * 9000)", 1, "the code broke the way of its value"),
        ("import os; os.write(3, b'[' * 900 + b']' * 900)", 1, "at most 100 levels"),
        ("import os; os.write(3, b'NaN')", 1, "the code broke the way of its value"),
        ("import os; os.write(3, b'1' * 9000)", 1, "the code broke the way of its value"),
        ("import os; os.write(3, b'x' * 20000)", 1, "the code broke the way of its value"),
        ("import os; os.close(3); 1", 1, "the code closed or replaced file descriptor 3"),
        ("import os; os.dup2(0, 3); 1", 1, "the code closed or replaced file descriptor 3"),
        ("import os; os.closerange(0, 99); 1", 1, "wrote no error"),
        ("import sys; sys.stdout.close(); print(1)", 1, "ValueError: I/O operation on closed file"),
        ("import sys; sys.stderr.close(); 1/0", 1, "the code ended with 1 and wrote no error"),
        ("import os; os._exit(9)", 9, "the code ended with 9 and wrote no error"),
        ("import os; os._exit = print; 1/0", 1, "ZeroDivisionError"),
        ("import os, signal; os.kill(0, 9)", 137, "or by the code itself"),
    ],
)
async def test_code_that_breaks_the_protocol_is_named_as_the_cause(
    sandbox: Any, text: str, code: int, said: str
) -> None:
    await ran(sandbox, "1")
    kept = sandbox._interpreters._kept[""].interpreter
    done = await ran(sandbox, text)
    assert (done.exit_code, said in done.stderr) == (code, True), done
    assert sandbox._interpreters._kept[""].interpreter is kept, "it ended the interpreter"
    assert (await ran(sandbox, "6 * 7")).value == 42


@pytest.mark.parametrize(
    "text",
    [
        "import json; json.dumps = None; 42",
        "import json; json.dumps = lambda *_, **__: 7; 42",
        "import os; os.write = None; 42",
        "import sys; sys.stdout.close(); sys.stderr.close(); 42",
        "import sys; sys.stdout = sys.stderr = None; 42",
        "import os; os._exit = None; 42",
    ],
)
async def test_code_that_replaces_what_the_interpreter_uses_has_its_value(sandbox: Any, text: str) -> None:
    done = await ran(sandbox, text)
    assert (done.value, done.exit_code) == (42, 0), done.stderr


async def test_a_value_that_is_too_long_is_cut(sandbox: Any) -> None:
    done = await ran(sandbox, "['\"' * 99] * 999")
    assert done.exit_code == 0, done.stderr
    assert isinstance(done.value, str)
    assert len(done.value) < LIMITS["output"]


async def test_a_fork_bomb_goes_nowhere(sandbox: Any) -> None:
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    assert (await ran(sandbox, bomb)).exit_code in (124, 137)
    assert (await ran(sandbox, "6 * 7")).value == 42


async def test_a_process_that_fled_is_gone_before_the_next_code_runs(sandbox: Any) -> None:
    flee = (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(99)\n    os._exit(0)"
    )
    assert (await ran(sandbox, flee)).exit_code == 0
    alive = "import os\n[p for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())]"
    assert (await ran(sandbox, alive)).value == []


@pytest.mark.parametrize(
    "text",
    [
        "x = bytearray(2_000_000_000)",
        "x = []\nwhile True: x.append(bytearray(1_000_000))",
        "import mmap; x = mmap.mmap(-1, 600_000_000); x.write(bytes(600_000_000))",
        "import mmap; x = mmap.mmap(os.open('/dev/zero', os.O_RDWR), 600_000_000); x.write(bytes(600_000_000))",
        "x = libc.shmat(libc.shmget(0, ctypes.c_size_t(600_000_000), 0o1600), None, 0)\nassert x != -1, 'no memory'",
        "x = [open(f'/proc/self/fd/{os.memfd_create(str(n))}', 'wb').write(bytes(900_000)) for n in range(9999)]",
    ],
)
async def test_memory_ends_at_the_limit(sandbox: Any, text: str) -> None:
    done = await ran(
        sandbox, f"import ctypes, os\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_long\n{text}"
    )
    assert done.exit_code in (1, 137)
    assert any(word in done.stderr for word in ("MemoryError", "memory", "Cannot allocate", "not permitted"))
    assert (await ran(sandbox, "6 * 7")).value == 42


@pytest.mark.parametrize(
    "text",
    [
        "import os; os.makedirs('/tmp/.cache', exist_ok=True); open('/tmp/.cache/matplotlibrc', 'w').write('x')",
        "import ctypes; ctypes.CDLL(None).shmget(0, 4096, 0o1600)",
        "import ctypes; ctypes.CDLL(None).semget(0, 1, 0o1600)",
        "import ctypes; ctypes.CDLL(None).msgget(0, 0o1600)",
    ],
)
async def test_nothing_of_an_execution_is_there_for_the_next(sandbox: Any, text: str) -> None:
    await ran(sandbox, text)
    left = await ran(
        sandbox,
        "import os\ntables = [f'/proc/sysvipc/{name}' for name in ('shm', 'sem', 'msg')]\n"
        "[os.path.exists('/tmp/.cache/matplotlibrc'), [len(open(table).readlines()) for table in tables]]",
    )
    assert left.value == [False, [1, 1, 1]]


@pytest.mark.parametrize(
    "text",
    [
        "import resource; resource.prlimit(parent, resource.RLIMIT_NOFILE, (64, 64))",
        "os.setpriority(os.PRIO_PROCESS, parent, 19)",
        "os.sched_setscheduler(parent, os.SCHED_IDLE, os.sched_param(0))",
    ],
)
async def test_code_does_not_slow_down_or_limit_the_next(sandbox: Any, text: str) -> None:
    known = (
        "import os, resource\nparent = os.getppid()\n[resource.prlimit(parent, resource.RLIMIT_NOFILE), "
        "os.getpriority(os.PRIO_PROCESS, parent), os.sched_getscheduler(parent)]"
    )
    before = (await ran(sandbox, known)).value
    await ran(sandbox, f"import os; parent = os.getppid(); {text}")
    assert (await ran(sandbox, known)).value == before


async def test_a_full_temporary_folder_is_emptied(sandbox: Any) -> None:
    fill = "import os\nfor n in range(9999):\n    open(f'/tmp/{n}', 'wb').write(bytes(900_000))"
    assert (await ran(sandbox, fill)).exit_code != 0
    assert (await ran(sandbox, "import os\nlen(os.listdir('/tmp/')) <= 2")).value is True


async def test_output_without_end_is_cut(sandbox: Any) -> None:
    done = await ran(sandbox, "print('a' * 50_000_000)")
    assert len(done.stdout) < 11_000
    assert "more bytes were left out" in done.stdout


async def test_only_plain_files_come_back(sandbox: Any) -> None:
    text = "import os\nos.symlink('/etc/passwd', 'link.png'); os.symlink('/', 'folder'); os.mkfifo('pipe')\n"
    done = await ran(sandbox, text + "open('ok.txt', 'w').write('fine')")
    assert [file.name for file in done.files] == ["ok.txt"]
    assert all(name in done.stderr for name in ("link.png", "folder", "pipe"))


async def test_too_many_files_are_left_out_and_told(sandbox: Any) -> None:
    done = await ran(sandbox, "for n in range(9): open(f'{n}.txt', 'w').write('x')")
    assert len(done.files) == LIMITS["files"]
    assert "over the limit of files" in done.stderr


async def test_a_cancelled_execution_leaves_nothing_running(sandbox: Any) -> None:
    task = asyncio.create_task(ran(sandbox, "import time; time.sleep(3)"))
    await asyncio.sleep(0.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await ran(sandbox, "6 * 7")).value == 42


@pytest.mark.parametrize("preload", [("matplotlib.pyplot",)])
async def test_a_run_keeps_its_interpreter(sandbox: Any) -> None:
    await ran(sandbox, PNG)
    again = await ran(sandbox, PNG)
    assert again.files[0].data.startswith(b"\x89PNG")
    assert len(sandbox._interpreters._kept) >= 1


async def test_an_interpreter_that_is_lost_is_replaced(sandbox: Any) -> None:
    await ran(sandbox, "1")
    await sandbox._interpreters._kept[""].interpreter.close()
    assert (await ran(sandbox, "6 * 7")).value == 42


@pytest.mark.parametrize("name", ["../out", "/abs", "a/../../b", ""])
async def test_a_file_outside_is_refused(sandbox: Any, name: str) -> None:
    with pytest.raises(Unsupported, match="cannot be named"):
        await ran(sandbox, "1", Blob(name=name, media_type="text/plain", data=b""))


KILLED = """
import asyncio, sys
from pathlib import Path
from leadline.records import Code
from leadline.testing.context import FakeCall, fake_context
from leadline.testing.contracts import SandboxContract
from leadline_plugins.sandboxes.docker import Docker, DockerSettings

async def main():
    async with Docker(DockerSettings(timeout=60), fake_context(Path(sys.argv[1]))) as sandbox:
        await sandbox.execute(Code(language="python", text="1"), FakeCall())
        print("warm", flush=True)
        await sandbox.execute(Code(language="python", text="import time; time.sleep(50)"), FakeCall(70))

asyncio.run(main())
"""


async def test_no_container_outlives_a_run_that_was_killed(tmp_path: Path) -> None:
    context = fake_context(tmp_path)
    async with await docker_here(context) as sandbox:
        before = await _containers(sandbox)
        child = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE)
        assert child.stdout
        assert child.stdout.readline() == b"warm\n"
        assert await _containers(sandbox) > before
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        for _ in range(100):
            if await _containers(sandbox) == before:
                break
            await asyncio.sleep(0.1)
        assert await _containers(sandbox) == before
        child.stdout.close()
    await context.close()


async def _containers(sandbox: docker.Docker) -> set[str]:
    client: httpx.AsyncClient = sandbox._engine._client
    found = await client.get("/containers/json", params={"all": "1"})
    return {container["Id"] for container in found.json()}


class TestSandboxes(SandboxContract):
    @pytest.fixture
    def plugin(self, sandbox: Any) -> Any:
        return sandbox

    @pytest.fixture
    def offer(self, sandbox: Any) -> Offer[Any]:
        name = "bubblewrap" if isinstance(sandbox, bubblewrap.Bubblewrap) else "docker"
        return PluginCatalog.discover().offer("sandboxes", name)
